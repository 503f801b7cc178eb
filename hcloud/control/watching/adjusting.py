"""A job that is off its target is adjusted: on its server, at the expense of best effort, or on another server; where
none pays, its neighbours move (Quasar §4.1; Paragon §3.4)."""

from __future__ import annotations

import math

from hcloud.control.admission import has_local_queues
from hcloud.control.controller import drain, move
from hcloud.control.mapped import map_job, utilisation
from hcloud.control.pieces import is_piece
from hcloud.control.searching.local import serve
from hcloud.control.searching.renting import command, sit_down
from hcloud.control.searching.search import excess
from hcloud.control.servers.tenancy import free_cores, is_shared, resize, unseat, weight_on
from hcloud.control.state import OWN, Control, Job, Server
from hcloud.control.waits.mixing import note_end
from hcloud.control.waits.queue import notice
from hcloud.control.watched import evict, lent
from hcloud.policy.adjusting import (
    EVICT,
    GROW,
    MIGRATE,
    SHRINK,
    Position,
    below_or_above,
    migration_seconds,
    needed,
    next_step,
    pays,
    remember,
)
from hcloud.policy.codes import (
    BETTER_ELSEWHERE,
    ENLARGE,
    MAKES_ROOM,
    MOVE,
    PLACE,
    QUEUE,
    RESERVED,
)
from hcloud.policy.codes import SHRINK as LESS
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.repair import ADJUST

_HUNDRED = 100.0
_FEW_SECONDS = 60.0
"""Ours: a job of which nobody knows how long it runs is to run for as long as it has, and for this at least."""


def adjust(c: Control, number: int, measured: tuple[float, float], now: float) -> None:
    """A job was measured to be off its target: its performance, and the rate that it could reach."""
    c.desk.now = now
    job, mine = c.jobs[number], c.watched[number]
    is_below, _ = below_or_above(c.rules, measured)
    _correct_size(c, number, measured[1])
    elsewhere = _offered_elsewhere(c, number, measured[1], now) if is_below else 0
    step, had = (MIGRATE if elsewhere > 0 else 0, elsewhere), job.cores
    if c.rules.watching == ADJUST:
        step = next_step(c.rules, mine, measured, _position(c, number, elsewhere))
    if step[0] == GROW:
        _give(c, number, step[1], measured[0])
    elif step[0] == EVICT:
        _evict_for(c, number, step[1], measured[0], now)
    elif step[0] == SHRINK:
        _take_back(c, number, step[1], measured[1], now)
    elif step[0] == MIGRATE and _goes(c, number, step[1], measured[0], now):
        pass
    elif is_below and c.rules.isolate and _excess(c, number) > 0:
        step = _isolate(c, number, measured[0], now), 0
    else:
        return
    if step[0] > 0:
        remember(c.rules, mine, measured[1], (step[0], had), now)


def _correct_size(c: Control, number: int, rate: float) -> None:
    """What was measured takes the place of what is known of the job where the two are apart, unless neighbours may be
    the reason: sizing would then give it as much as it was found to need."""
    job, mine = c.jobs[number], c.watched[number]
    expected = job.cores / mine.sized
    is_off = abs(rate - expected) > c.rules.learn_from * expected
    if c.rules.learn and is_off and rate > 0.0 and _excess(c, number) == 0:
        mine.sized = max(math.ceil(job.cores / rate), 1)


def _position(c: Control, number: int, elsewhere: int) -> Position:
    job = c.jobs[number]
    server = c.servers[job.server]
    may_change = server.paid == OWN or is_shared(c, server)
    free = free_cores(c, job.server) if may_change and not _has_to_wait(c) else 0
    may_evict = server.paid == OWN and not c.watched[number].spare
    on_loan = lent(c, job.server, number)[0] if may_evict else 0
    floor = c.watched[number].sized if may_change else job.cores
    return Position(job.cores, floor, free, on_loan, elsewhere, c.kinds[c.rules.large].cores, 0, 1)


def _has_to_wait(c: Control) -> bool:
    """Whether nobody gets more of what is free, since others wait for a server."""
    return c.rules.queue_first == 1 and c.desk.queued > 0


def _offered_elsewhere(c: Control, number: int, rate: float, now: float) -> int:
    """What another server would give a job that is below its target, where a move there pays; 0 where none does. Its
    rate would change by its size, by the type, and by what it is taken to suffer here and there."""
    job, mine = c.jobs[number], c.watched[number]
    if not c.rules.migrate or is_piece(job) or not job.movable:
        return 0
    asked, most = job.ask, c.kinds[c.rules.large].cores
    wanted = max(needed(c.rules, job.cores, rate), job.cores + c.rules.grain)
    may_grow = c.rules.watching == ADJUST and not _has_to_wait(c)
    job.ask = max(min(wanted, most), asked) if may_grow else asked
    offered, unharmed = job.ask, rate * (1.0 + _excess(c, number) / _HUNDRED) * job.ask / job.cores
    target, verdict = map_job(c, number, now, job.server)
    job.ask = asked
    reserved = verdict[0] == RESERVED
    there = min(1.0, unharmed * _change_of_rate(c, job, target)) if reserved else min(1.0, unharmed)
    ran = now - mine.came
    left = job.expected - ran if job.expected > ran else max(ran, _FEW_SECONDS)
    seconds = migration_seconds(c.rules, job.memory, not job.again)
    return offered if verdict[0] != QUEUE and pays(rate, there, left, seconds) else 0


def _change_of_rate(c: Control, job: Job, target: int) -> float:
    """By what an unharmed job's rate is multiplied on a reserved server: how fast its type is known to be for the job,
    over that of the job's own server, and what the tenants there do to it."""
    here, there = c.servers[job.server].kind, c.servers[target].kind
    faster = c.speeds[job.platform, there] / c.speeds[job.platform, here] if c.rules.informed else 1.0
    return faster / (1.0 + _excess_on(c, job, target, 0) / _HUNDRED)


def _excess(c: Control, number: int) -> int:
    """By how many points the others on a job's server press harder than it is known to tolerate, summed over the
    resources."""
    job = c.jobs[number]
    return _excess_on(c, job, job.server, weight_on(c, c.servers[job.server], job.cores))


def _excess_on(c: Control, job: Job, place: int, weight: int) -> int:
    """The same of any server, of whose tenants the job itself has a ``weight``."""
    server = c.servers[place]
    capacity, total = c.kinds[server.kind].cores, 0
    for i in range(RESOURCES):
        total += max(server.pressure[i] - job.vector[i] * weight - job.tolerates[i] * capacity, 0)
    return total // capacity


def _give(c: Control, number: int, cores: int, performance: float) -> None:
    """More of the server that a job is on."""
    job, place = c.jobs[number], c.jobs[number].server
    if c.servers[place].paid == OWN:
        c.desk.used += cores - job.cores
    resize(c, number, cores)
    job.ask = cores
    command(c, ENLARGE, number, place, (0, 0, performance))


def _evict_for(c: Control, number: int, cores: int, performance: float, now: float) -> None:
    """The same after best effort has left the server, the youngest first."""
    place, missing = c.jobs[number].server, cores - c.jobs[number].cores
    evict(c, place, (missing, 0), number, now)
    _give(c, number, c.jobs[number].cores + min(missing, free_cores(c, place)), performance)


def _take_back(c: Control, number: int, cores: int, rate: float, now: float) -> None:
    """What a job does not need is free for others."""
    job, place = c.jobs[number], c.jobs[number].server
    own = c.servers[place].paid == OWN
    if own:
        c.desk.used -= job.cores - cores
    resize(c, number, cores)
    job.ask = cores
    command(c, LESS, number, place, (0, 0, rate))
    if own:
        _left(c, place, now)


def _goes(c: Control, number: int, cores: int, performance: float, now: float) -> bool:
    """Whether a job moves to a server that gives it so much."""
    job = c.jobs[number]
    before, job.ask = job.ask, cores
    if _transfer(c, number, (BETTER_ELSEWHERE, performance), now):
        return True
    job.ask = before
    return False


def _transfer(c: Control, number: int, why: tuple[int, float], now: float) -> bool:
    """Move a job to a server that has room for it, which it takes before those who wait get what it leaves; False where
    none has. A neighbour that makes room goes where nobody is harmed: else it would be sent on from there."""
    job, place, strict = c.jobs[number], c.jobs[number].server, c.desk.strict
    own, cores = c.servers[place].paid == OWN, job.cores
    c.desk.strict = 1 if why[0] == MAKES_ROOM else strict
    target, verdict = map_job(c, number, now, place)
    c.desk.strict = strict
    if why[0] == MAKES_ROOM and verdict[0] == RESERVED and excess(c, c.servers[target], job, job.ask) > 0:
        return False  # a placement that knows nothing of harm chose it
    if verdict[0] != RESERVED or not own:
        return verdict[0] != QUEUE and move(c, number, why, now)
    command(c, MOVE, number, place, (0, why[0], why[1]))
    if c.rules.classes > 0:
        note_end(c, job, place, now)
    unseat(c, number)
    c.desk.used -= cores
    c.desk.left += 1.0
    c.desk.stayed += now - job.seated
    job.moves += 1
    job.asked = now
    sit_down(c, number, target, job.ask)
    command(c, PLACE, number, target, verdict)
    _left(c, place, now)
    return True


def _left(c: Control, place: int, now: float) -> None:
    """A reserved server has more room: for those who wait, and those who are followed."""
    if has_local_queues(c):
        serve(c, place, now)
    drain(c, place, now)
    notice(c, place, utilisation(c) >= c.rules.hard, now)


def _isolate(c: Control, number: int, performance: float, now: float) -> int:
    """Move neighbours of a job that suffers, the cheapest first, until it does not: whether any went."""
    place, went = c.jobs[number].server, 0
    while _excess(c, number) > 0:
        other = _cheapest(c, c.servers[place], number, now)
        if other < 0:
            break
        c.watched[other].asked = now
        if _transfer(c, other, (MAKES_ROOM, performance), now):
            went = 1
    return went


def _cheapest(c: Control, server: Server, number: int, now: float) -> int:
    """The tenant beside a job that moves in the least time, of those not asked yet; -1: none."""
    found, tenant = -1, server.first
    while tenant >= 0:
        job = c.jobs[tenant]
        may = tenant != number and job.movable and not is_piece(job) and c.watched[tenant].asked < now
        if may and (found < 0 or job.memory < c.jobs[found].memory):
            found = tenant
        tenant = job.next
    return found

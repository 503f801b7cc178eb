"""A job that is off its target is adjusted: on its server, at the expense of best effort, or on another server; where
none pays, its neighbours move (Quasar §4.1; Paragon §3.4)."""

from __future__ import annotations

import math

from hcloud.control.admission import has_local_queues
from hcloud.control.controller import drain, move
from hcloud.control.mapped import map_job, utilisation
from hcloud.control.pieces import bar_servers, cores_beside, is_piece, may_have_more
from hcloud.control.searching.local import serve
from hcloud.control.searching.renting import command, sit_down
from hcloud.control.searching.search import excess
from hcloud.control.servers.tenancy import free_cores, is_shared, resize, unseat, weight_on
from hcloud.control.state import BARRED, OWN, Control, Job, Server
from hcloud.control.waits.mixing import note_end
from hcloud.control.waits.queue import notice
from hcloud.control.watched import evict, lent
from hcloud.policy.adjusting import (
    ADD,
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
    scaled,
)
from hcloud.policy.codes import (
    ADD_SERVER,
    BETTER_ELSEWHERE,
    DROP_SERVER,
    ENLARGE,
    MAKES_ROOM,
    MOVE,
    PLACE,
    QUEUE,
    RESERVED,
)
from hcloud.policy.codes import SHRINK as LESS
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.repair import ADJUST, AUTOSCALE

_HUNDRED = 100.0
_FEW_SECONDS = 60.0
"""Ours: a job of which nobody knows how long it runs is to run for as long as it has, and for this at least."""


def adjust(c: Control, number: int, measured: tuple[float, float], now: float) -> None:
    """A job was measured to be off its target: its performance, and the rate that it could reach."""
    c.desk.now = now
    job, mine = c.jobs[number], c.watched[number]
    is_below, _ = below_or_above(c.rules, measured)
    others = cores_beside(c, number)
    had, step = job.cores + others, _step(c, number, measured, now)
    if step[0] == GROW:
        _give(c, number, step[1] - others, measured[0])
    elif step[0] == EVICT:
        _evict_for(c, number, step[1] - others, measured[0], now)
    elif step[0] == ADD:
        mine.to_add = step[1]
        seen = measured[1] if c.rules.watching == AUTOSCALE else measured[0]
        command(c, ADD_SERVER, number, job.server, (0, 0, seen))
    elif _takes_back_or_goes(c, number, (*step, had), measured, now):
        pass
    elif is_below and c.rules.isolate and _excess(c, number) > 0:
        step = _isolate(c, number, measured[0], now), 0
    else:
        return
    if step[0] > 0:
        remember(c.rules, mine, measured[1], (step[0], had), now)


def _takes_back_or_goes(
    c: Control, number: int, step: tuple[int, int, int], measured: tuple[float, float], now: float
) -> bool:
    """Whether a job gives back what it does not need of what it had, or moves to a server that gives it so much."""
    what, cores, had = step
    if what == SHRINK:
        return _take_back(c, number, had - cores, measured[1], now)
    return what == MIGRATE and _goes(c, number, cores, measured[0], now)


def _step(c: Control, number: int, measured: tuple[float, float], now: float) -> tuple[int, int]:
    """What is to be done for a job, and what it has after that."""
    mine, is_below = c.watched[number], below_or_above(c.rules, measured)[0]
    if c.rules.watching == AUTOSCALE:
        more = _offered_beside(c, number, 0, now) if is_below else 0
        return scaled(c.rules, measured, _position(c, number, (0, more)))
    _correct_size(c, number, measured[1])
    elsewhere = _offered_elsewhere(c, number, measured[1], now) if is_below else 0
    if c.rules.watching != ADJUST:
        return (MIGRATE if elsewhere > 0 else 0), elsewhere
    has = c.jobs[number].cores + cores_beside(c, number)
    missing = max(needed(c.rules, has, measured[1]) - has, c.rules.grain)
    beside = _offered_beside(c, number, missing, now) if is_below else 0
    return next_step(c.rules, mine, measured, _position(c, number, (elsewhere, beside)))


def _correct_size(c: Control, number: int, rate: float) -> None:
    """What was measured takes the place of what is known of the job where the two are apart, unless neighbours may be
    the reason: sizing would then give it as much as it was found to need."""
    mine, has = c.watched[number], c.jobs[number].cores + cores_beside(c, number)
    expected = has / mine.sized
    is_off = abs(rate - expected) > c.rules.learn_from * expected
    if c.rules.learn and is_off and rate > 0.0 and _excess(c, number) == 0:
        mine.sized = max(math.ceil(has / rate), 1)


def _position(c: Control, number: int, offered: tuple[int, int]) -> Position:
    """Where a job is, with what another server has for it if it moves there, and beside those that it has."""
    job, last = c.jobs[number], c.watched[number].last - 1
    server = c.servers[job.server]
    may_change = server.paid == OWN or is_shared(c, server)
    free = free_cores(c, job.server) if may_change and not _has_to_wait(c) else 0
    may_evict = server.paid == OWN and not c.watched[number].spare
    on_loan = lent(c, job.server, number)[0] if may_evict else 0
    has = job.cores + cores_beside(c, number)
    floor = c.watched[number].sized if may_change or last >= 0 else has
    of_last, part = (c.jobs[last].cores, _part_of(c, last, number)) if last >= 0 else (0, 0.0)
    return Position(has, floor, free, on_loan, offered[0], c.kinds[c.rules.large].cores, offered[1], of_last, 1, part)


def _part_of(c: Control, last: int, number: int) -> float:
    """What part of all that the servers of a service do the last does, by their vCPUs and how fast their types are
    known to be for it."""
    whole, row = _does(c, number), last
    while row >= 0:
        whole += _does(c, row)
        row = c.watched[row].ahead - 1
    return _does(c, last) / whole


def _does(c: Control, number: int) -> float:
    job = c.jobs[number]
    if job.server < 0:
        return 0.0
    speed = c.speeds[job.platform, c.servers[job.server].kind] if c.rules.informed else 1
    return float(job.cores * speed)


def _has_to_wait(c: Control) -> bool:
    """Whether nobody gets more of what is free, since others wait for a server."""
    return c.rules.queue_first == 1 and c.desk.queued > 0


def _offered_elsewhere(c: Control, number: int, rate: float, now: float) -> int:
    """What another server would give a job that is below its target, where a move there pays; 0 where none does. Its
    rate would change by its size, by the type, and by what it is taken to suffer here and there."""
    job, mine = c.jobs[number], c.watched[number]
    if not c.rules.migrate or is_piece(job) or not job.movable or mine.beside > 0:
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


def _offered_beside(c: Control, number: int, missing: int, now: float) -> int:
    """What another server would have for a service beside those that it has: what it is ``missing``, or (0) as much as
    it asked for; 0 where it may have no other or none has room."""
    if not may_have_more(c, number) or _has_to_wait(c):
        return 0
    job = c.jobs[number]
    asked, most = job.ask, c.kinds[job.kind].cores
    job.ask = min(missing, most) if missing > 0 else asked
    offered = job.ask
    bar_servers(c, number, BARRED)
    _, verdict = map_job(c, number, now, job.server)
    bar_servers(c, number, -BARRED)
    job.ask = asked
    return offered if verdict[0] != QUEUE else 0


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


def _take_back(c: Control, number: int, spare: int, rate: float, now: float) -> bool:
    """What a job does not need is free for others: the server that it was given last, where it can do without that;
    else a part of it, if that can be told apart."""
    last = c.watched[number].last - 1
    row = last if last >= 0 else number
    job, place = c.jobs[row], c.jobs[row].server
    own, cores = c.servers[place].paid == OWN, job.cores - spare
    if last >= 0 and cores <= 0:
        c.watched[number].to_drop = last + 1
        command(c, DROP_SERVER, number, place, (0, 0, rate))
        return True
    if cores < c.rules.grain or not (own or is_shared(c, c.servers[place])):
        return False
    if own:
        c.desk.used -= job.cores - cores
    resize(c, row, cores)
    job.ask = cores
    command(c, LESS, row, place, (0, 0, rate))
    if own:
        _left(c, place, now)
    return True


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

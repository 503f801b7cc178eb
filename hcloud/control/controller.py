"""The controller: what happens on each event. The simulator and the live driver call the same functions."""

from __future__ import annotations

from typing import Annotated

from hcloud.control.admission import has_local_queues, hold_back, is_held, wait_in_queue
from hcloud.control.groups import begin_pieces_anew, rent_pieces, seat_chosen, settle_pieces, turn_pieces_away
from hcloud.control.mapped import map_job, utilisation
from hcloud.control.pieces import is_piece, leave_ring, unlink
from hcloud.control.searching.candidates import has_capacity
from hcloud.control.searching.local import serve
from hcloud.control.searching.renting import command, release, rent, sit_down
from hcloud.control.searching.search import find_idle, place_for_queued
from hcloud.control.searching.together import chosen_for_queued
from hcloud.control.servers.buckets import count_server
from hcloud.control.servers.pools import rank_server
from hcloud.control.servers.tenancy import (
    free_cores,
    is_shared,
    open_server,
    reshelve,
    resize,
    runs_jobs,
    seat,
    unseat,
)
from hcloud.control.state import CLOSED, INTERRUPTIBLE, OWN, UP, Control
from hcloud.control.waits.admitting import admit, dispatch
from hcloud.control.waits.mixing import note_end
from hcloud.control.waits.offers import make_offers
from hcloud.control.waits.queue import append, await_opening, cause_of, follow, learn_wait, notice, remove, wait_of
from hcloud.control.watched import begin_watch, displace_for_queued, displace_or_wait
from hcloud.policy.codes import (
    BADLY_BEHAVED,
    BY_OFFER,
    ENLARGE,
    FROM_QUEUE,
    INTERRUPTED,
    LARGE,
    MISCLASSIFIED,
    MOVE,
    NO_JOB_LEFT,
    ON_DEMAND,
    PLACE,
    QUEUE,
    REFUSE,
    RESERVED,
    RETAIN,
    RETENTION_OVER,
    SPOT,
    STILL_WANTED,
    TAKEN_AWAY,
    TOO_LARGE,
    TOO_NOISY,
    TURN_AWAY,
    WAIT,
    WAIT_TOO_LONG,
)
from hcloud.policy.limits import next_soft_limit
from hcloud.policy.mapping import MAP_DYNAMIC
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.quality import encode, leading, observe, reaches
from hcloud.policy.records import Ints
from hcloud.policy.repair import enlarged, may_move
from hcloud.policy.retention import behaved, gap_with, keep_seconds

_DRAINED = 64
"""Queued jobs looked at in one go where later ones may overtake."""


def open_pool(c: Control, kind: int, servers: int) -> None:
    """Reserved servers of a type with no more vCPUs than the large one, up from the start."""
    for _ in range(servers):
        enlist(c, kind)


def enlist(c: Control, kind: int) -> int:
    """One more reserved server, which counts as up; returns its slot."""
    cores = c.kinds[kind].cores
    number = open_server(c, kind, OWN, 0.0)
    c.servers[number].status = UP
    c.desk.own += 1
    c.desk.pool += cores
    c.desk.vacated += 1
    c.desk.narrowest = min(c.desk.narrowest, cores)
    count_server(c, number, 1)
    if c.rules.classes > 0:
        rank_server(c, number)
    reshelve(c, number)
    return number


def arrive(c: Control, number: int, now: float) -> None:
    """A job came: reserved, on demand, spot, queued, or refused where nothing rented or reserved can hold it."""
    agent = c.desk.agent
    if not decide_on(c, number, now):
        c.desk.agent, c.desk.refused, c.desk.copy_age = agent, c.desk.refused + 1, 0.0
        decide_on(c, number, now)
    c.desk.agent, c.desk.copy_age, c.desk.refused, c.desk.proposed, c.desk.drawn_anew = -1, 0.0, 0, 0, 0


def decide_on(c: Control, number: int, now: float) -> bool:
    """Decide on a job that came, with all its pieces, of which this is the last; False where others took all that its
    agent chose: then nothing has happened."""
    desk, job = c.desk, c.jobs[number]
    desk.now = now
    job.server, job.asked, job.tried, job.ticket, job.agent = -1, now, 0, 0, desk.agent
    if c.rules.watching > 0:
        begin_watch(c, number, now)
    if job.kind < 0 and is_piece(job):
        turn_pieces_away(c, number)
    elif job.kind < 0:
        command(c, TURN_AWAY, number, -1, (REFUSE, TOO_LARGE, 0.0))
    elif c.rules.classes > 0:
        admit(c, number, now)
    elif c.rules.buckets == 0 or not hold_back(c, number, now):
        searches, cold_starts = desk.searches, desk.cold_starts
        server, verdict = map_job(c, number, now, -1)
        if not desk.lost and is_piece(job):
            settle_pieces(c, number, verdict, now)
        elif not desk.lost:
            _carry_out(c, number, server, verdict, now)
        if desk.lost:
            desk.searches, desk.cold_starts, desk.lost = searches, cold_starts, 0
            return False
    _note_gap(c, now)
    return True


def _note_gap(c: Control, now: float) -> None:
    desk = c.desk
    if desk.last_arrival >= 0.0:
        desk.mean_gap = gap_with(desk.mean_gap, now - desk.last_arrival)
    else:
        desk.first_arrival = now
    desk.last_arrival = now


def nominee(c: Control, number: int) -> int:
    """The idle instance a job would reuse if it went on demand: to be probed before; -1 where that is unneeded."""
    job = c.jobs[number]
    if not c.rules.probe_before_reuse or job.kind < 0 or (c.rules.shared and c.kinds[job.kind].whole):
        return -1
    return find_idle(c, job.kind, job)


def _carry_out(c: Control, number: int, server: int, verdict: tuple[int, int, float], now: float) -> None:
    await_opening(c.jobs[number])
    if verdict[0] == RESERVED:
        sit_down(c, number, server, c.jobs[number].ask)
        command(c, PLACE, number, server, verdict)
    elif verdict[0] == QUEUE and c.rules.evict > 0 and c.desk.lenders > 0:
        displace_or_wait(c, number, verdict, now)
    elif verdict[0] == QUEUE:
        wait_in_queue(c, number, verdict)
    else:
        rent(c, number, verdict, -1, now)
        if verdict[0] == LARGE and not c.desk.lost:
            follow(c, number, c.jobs[number].asked)


def ready(c: Control, number: int, spin_up: float) -> None:
    """A launched instance has started after ``spin_up`` seconds."""
    c.servers[number].status = UP
    c.servers[number].spin_up = spin_up
    reshelve(c, number)


def sampled(c: Control, number: int, quality: tuple[int, int], now: float) -> None:
    """The quality of an instance was measured: the two halves of its encoding.

    Only its first sample tells of its type. An instance is measured again the longer it is kept, and it is kept for
    being good: counted each time, the good ones would make the type look better than what a launch gives.
    """
    server = c.servers[number]
    first = server.high < 0
    server.high, server.low = quality
    if server.paid != OWN:
        if first:
            observe(c.windows[server.kind], now, leading(quality[0]))
        reshelve(c, number)


def leave(c: Control, number: int, performance: float, now: float) -> None:
    """A job ended (or was moved away) after running at ``performance``, the share of what was expected of it."""
    c.desk.now = now
    if c.rules.classes > 0:
        note_end(c, c.jobs[number], c.jobs[number].server, now)
    if is_piece(c.jobs[number]):
        leave_ring(c, number)
    if c.rules.most_servers > 1:
        unlink(c, number)
    place = unseat(c, number)
    server = c.servers[place]
    if server.paid == OWN:
        c.desk.used -= c.jobs[number].cores
        c.desk.left += 1.0
        c.desk.stayed += now - c.jobs[number].seated
        if has_local_queues(c):
            serve(c, place, now)
        drain(c, place, now)
        notice(c, place, utilisation(c) >= c.rules.hard, now)
    elif server.tenants == 0:
        _retain_or_release(c, number, place, performance, now)


def _retain_or_release(c: Control, number: int, place: int, performance: float, now: float) -> None:
    server, job = c.servers[place], c.jobs[number]
    good = server.high < 0 or reaches(server.high, server.low, job.high, job.low)  # never measured: not known bad
    keep = keep_seconds(c.rules, server.spin_up, c.desk.mean_gap)
    satisfied = behaved(c.rules, performance, good)
    if server.status == CLOSED:
        release(c, place, TAKEN_AWAY, now)
        return
    if server.paid == INTERRUPTIBLE or not satisfied or keep <= 0.0:
        release(c, place, NO_JOB_LEFT if satisfied else BADLY_BEHAVED, now)
        return
    server.deadline = now + keep
    command(c, RETAIN, number, place, (0, STILL_WANTED, now + keep))


def expire(c: Control, number: int, now: float) -> None:
    """A retention deadline passed: an instance that is still idle goes."""
    server = c.servers[number]
    if runs_jobs(server) and server.tenants == 0 and 0.0 <= server.deadline <= now:
        release(c, number, RETENTION_OVER, now)


def drain(c: Control, freed: int, now: float) -> None:
    """Start what can be started from the queue; ``freed`` is the server that just got room (-1: any may have)."""
    if c.rules.classes > 0:
        dispatch(c, freed, now)
        return
    ahead, number, looked = -1, -1 if c.rules.ranking == BY_OFFER else c.desk.head, 0
    while number >= 0 and looked < _DRAINED:
        follower = c.jobs[number].behind
        started = _start_queued(c, number, ahead, freed, now)
        if not started and not c.rules.overtaking:
            return
        ahead = ahead if started else number
        number = follower
        looked += 0 if started else 1


def _start_queued(c: Control, number: int, ahead: int, freed: int, now: float) -> bool:
    if is_held(c, number):
        return False
    dynamic = c.rules.mapping == MAP_DYNAMIC
    if not dynamic or utilisation(c) < c.rules.hard:
        server = _place_for_queued(c, number, freed)
        if server < 0 and ahead < 0 and c.rules.evict > 0 and c.desk.lenders > 0:
            vacated = c.desk.vacated
            displace_for_queued(c, number, now)
            server = _place_for_queued(c, number, -1) if c.desk.vacated > vacated else -1
        if server >= 0:
            learn_wait(c, c.jobs[number], number, now)
            remove(c, number, ahead, now)
            verdict = (RESERVED, FROM_QUEUE, now - c.jobs[number].asked)
            if is_piece(c.jobs[number]):
                seat_chosen(c, number, verdict)
                return True
            sit_down(c, number, server, c.jobs[number].ask)
            command(c, PLACE, number, server, verdict)
            return True
    else:
        c.desk.blocked = 0  # nobody looked at the freed server: the next look is at all
    return dynamic and c.rules.recheck == 1 and _leave_queue(c, number, ahead, now)


def _place_for_queued(c: Control, number: int, freed: int) -> int:
    """A server for a queued job, or for the first of its pieces where all get one."""
    if is_piece(c.jobs[number]):
        return chosen_for_queued(c, number)
    return place_for_queued(c, number, freed)


def _leave_queue(c: Control, number: int, ahead: int, now: float) -> bool:
    """Whether a queued job went to a large on-demand instance because its wait has become too long."""
    job = c.jobs[number]
    margin = wait_of(c, job.cause, job.pace, now - job.asked) - c.kinds[c.rules.large].spin_up
    if margin <= 0.0:
        return False
    remove(c, number, ahead, now)
    follow(c, number, now)
    if is_piece(job):
        rent_pieces(c, number, (LARGE, WAIT_TOO_LONG, margin), now)
    else:
        rent(c, number, (LARGE, WAIT_TOO_LONG, margin), -1, now)
    return True


def tick(c: Control, now: float) -> None:
    """A control period passed: the soft limit follows the queue, and the queue is looked at again."""
    c.desk.now = now
    desk = c.desk
    if c.rules.feedback:
        growth = desk.queued - desk.queued_before
        empty = now - desk.last_queued if desk.queued == 0 else 0.0
        desk.soft = next_soft_limit(c.rules, desk.soft, growth, empty)
    desk.queued_before = desk.queued
    if desk.queued > 0 and c.rules.ranking == BY_OFFER:
        make_offers(c, now)
    elif desk.queued > 0:
        drain(c, -1, now)


def suffer(c: Control, number: int, performance: float, now: float) -> bool:
    """A job stayed below its quality of service: enlarge it in place, else move it; False where neither can be."""
    c.desk.now = now
    job, place = c.jobs[number], c.jobs[number].server
    server = c.servers[place]
    own = server.paid == OWN
    free = free_cores(c, place) if own or is_shared(c, server) else 0
    cores = enlarged(c.rules, job.cores, free)
    if cores > job.cores and not job.enlarged:
        if own:
            c.desk.used += cores - job.cores
        resize(c, number, cores)
        job.enlarged = 1
        command(c, ENLARGE, number, place, (0, 0, performance))
        return True
    if is_piece(job) or not (job.movable and may_move(c.rules, job.moves)):
        return False
    return move(c, number, (TOO_NOISY, performance), now)


def move(c: Control, number: int, why: tuple[int, float], now: float) -> bool:
    """Map a running job anew, away from its server; False where that would be into the queue. ``why`` is a reason and
    the performance it had."""
    job, place = c.jobs[number], c.jobs[number].server
    target, verdict = map_job(c, number, now, place)
    if verdict[0] == QUEUE:
        return False
    job.moves += 1
    job.asked = now
    command(c, MOVE, number, place, (0, why[0], why[1]))
    leave(c, number, why[1], now)
    _resettle(c, number, target, verdict, place)
    return True


def reclassify(c: Control, number: int, nature: Annotated[Ints, 2 * RESOURCES], performance: float, now: float) -> None:
    """A job causes and then tolerates other pressure (``nature``) than was estimated, and needs the quality that
    follows. Where it runs below its quality of service it is placed anew by that (Quasar §3.2), once more than it may
    be moved for the old estimate's sake."""
    c.desk.now = now
    job, place = c.jobs[number], c.jobs[number].server
    if place >= 0:
        unseat(c, number)  # its server forgets the old vector
    for i in range(RESOURCES):
        job.vector[i], job.tolerates[i] = nature[i], nature[RESOURCES + i]
        c.desk.scratch[i] = 99 - nature[RESOURCES + i]
    job.high, job.low = encode(c.desk.scratch)
    if place < 0:
        c.desk.blocked = 0  # it may fit now where it did not
        return
    seat(c, number, place)
    stays = is_piece(job) or not job.movable or c.rules.watching > 0  # who watches it decides where it goes
    if runs_jobs(c.servers[place]) and not stays and performance < c.rules.monitor_level:
        move(c, number, (MISCLASSIFIED, performance), now)


def _resettle(c: Control, number: int, target: int, verdict: tuple[int, int, float], avoid: int) -> None:
    """Place a job that left its server; one whose place in the pool was taken meanwhile is queued."""
    job = c.jobs[number]
    if verdict[0] != RESERVED:
        rent(c, number, verdict, avoid, c.jobs[number].asked)
    elif has_capacity(c, c.servers[target], job, job.ask):
        sit_down(c, number, target, job.ask)
        command(c, PLACE, number, target, verdict)
    else:
        job.cause, job.pace = cause_of(c, job, 1)
        await_opening(job)
        append(c, number)
        command(c, WAIT, number, -1, verdict)


def interrupt(c: Control, number: int, now: float) -> None:
    """Spot capacity was taken back: its job is mapped anew, to capacity that stays."""
    c.desk.now = now
    job, up = c.servers[number].first, runs_jobs(c.servers[number])
    if job >= 0:
        unseat(c, job)
    release(c, number, INTERRUPTED, now)
    if job >= 0 and is_piece(c.jobs[job]):
        if begin_pieces_anew(c, job, (INTERRUPTIBLE, up), now):
            drain(c, -1, now)
    elif job >= 0:
        begin_anew(c, job, INTERRUPTIBLE, now)


def begin_anew(c: Control, number: int, paid: int, now: float) -> None:
    """A job that lost its server is mapped anew; one that lost spot capacity goes to capacity that stays."""
    c.jobs[number].asked = now
    target, verdict = map_job(c, number, now, -1)
    stays = verdict[0] == SPOT and paid == INTERRUPTIBLE
    _carry_out(c, number, target, (ON_DEMAND, verdict[1], verdict[2]) if stays else verdict, now)

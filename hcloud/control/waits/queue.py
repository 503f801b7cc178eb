"""The local queue of the reserved pool: jobs in the order in which they came; and what is learnt of how long they
wait."""

from __future__ import annotations

import math

from hcloud.control.pieces import pieces_of
from hcloud.control.searching.search import bears_in, could_take, reserved_for
from hcloud.control.servers.buckets import reserve_holds
from hcloud.control.state import FREED, Control, Job
from hcloud.control.waits.lines import begin_wait, find_ahead, join_own, leave_line
from hcloud.control.waits.tenants import tenants_in_the_way
from hcloud.policy.mapping import MAP_DYNAMIC
from hcloud.policy.placing.placement import RESOURCES, most_pressed
from hcloud.policy.waiting.queueing import (
    FIRST_BAND,
    SUFFERING,
    assumed_wait,
    belief_in,
    cause_of_wait,
    count_wait,
    end_wait,
    expected_stay,
    first_alike,
    judge_bound,
    judge_mean,
    kind_of_wait,
    mean_wait,
    pace_of_wait,
    rate_of_ending,
    wait_within,
)

_COUNTED_EVERY = 10.0
"""Ours: the seconds between two counts of what those have waited who still wait."""


def append(c: Control, number: int) -> None:
    """Put a job into the queue, behind all that are as urgent, or into that of its class."""
    job = c.jobs[number]
    if c.rules.classes > 0:
        begin_wait(c, job, job.asked)
        join_own(c, number)
        return
    ahead, other = c.desk.tail, -1
    if ahead >= 0 and c.jobs[ahead].urgent < job.urgent:
        ahead, other = -1, c.desk.head
        while c.jobs[other].urgent >= job.urgent:
            ahead, other = other, c.jobs[other].behind
    job.behind = other
    if ahead >= 0:
        c.jobs[ahead].behind = number
    else:
        c.desk.head, c.desk.blocked = number, 0
    if other < 0:
        c.desk.tail = number
    c.desk.queued += pieces_of(c, number)


def remove(c: Control, number: int, ahead: int, now: float) -> None:
    """Take a job out of the queue, ``ahead`` being the one before it (-1: it is the head)."""
    job = c.jobs[number]
    if ahead >= 0:
        c.jobs[ahead].behind = job.behind
    else:
        c.desk.head = job.behind
    if job.behind < 0:
        c.desk.tail = ahead
    job.behind, job.held, job.stands = -1, 0, 0
    c.desk.blocked = 0
    c.desk.queued -= pieces_of(c, number)
    c.desk.last_queued = now


def give_up(c: Control, number: int, now: float) -> None:
    """A job leaves the queue and goes nowhere: of its wait it is known only that it would have been longer."""
    if c.rules.classes > 0:
        leave_line(c, number, find_ahead(c, number), now)
        return
    ahead, other = -1, c.desk.head
    while other != number:
        ahead, other = other, c.jobs[other].behind
    if c.rules.mapping == MAP_DYNAMIC:
        _count(c, c.jobs[number], now)
    remove(c, number, ahead, now)


def hand_over(c: Control, number: int, heir: int) -> None:
    """Another piece of a job stands in the queue for all of them."""
    ahead, other = -1, c.desk.head
    while other != number:
        ahead, other = other, c.jobs[other].behind
    if ahead >= 0:
        c.jobs[ahead].behind = heir
    else:
        c.desk.head = heir
    c.desk.tail = heir if c.desk.tail == number else c.desk.tail
    job, other_job = c.jobs[number], c.jobs[heir]
    other_job.behind, other_job.stands, other_job.asked = job.behind, 1, job.asked
    other_job.cause, other_job.pace, other_job.band = job.cause, job.pace, job.band
    other_job.band_end, other_job.counted, other_job.opened = job.band_end, job.counted, job.opened
    other_job.promised, other_job.foretold, other_job.usually = job.promised, job.foretold, job.usually
    job.behind, job.stands = -1, 0
    c.desk.blocked = 0


def is_behind(c: Control, job: Job) -> bool:
    """Whether somebody queues who is as urgent as a job, so that its turn comes later."""
    head = c.desk.head
    return c.desk.queued > 0 and (head < 0 or c.jobs[head].urgent >= job.urgent)


def _ahead_of(c: Control, job: Job) -> int:
    """How many of those who queue are as urgent as a job: it passes the others."""
    number, ahead = c.desk.head, 0
    if c.desk.tail < 0 or c.jobs[c.desk.tail].urgent >= job.urgent:
        return c.desk.queued
    while c.jobs[number].urgent >= job.urgent:
        ahead += pieces_of(c, number)
        number = c.jobs[number].behind
    return ahead


def cause_of(c: Control, job: Job, room: int) -> tuple[int, float]:
    """Why a job that came now would have to wait, and at what pace; ``room`` is 1 where a reserved server could take it
    but for the limit."""
    desk, rules = c.desk, c.rules
    if not rules.overtaking and rules.count_ahead and is_behind(c, job):
        return cause_of_wait(_ahead_of(c, job), 0, 0, 0.0), 1.0
    if room:
        return cause_of_wait(0, room, desk.used - int(rules.hard * desk.pool), 0.0), 1.0
    leavers, tenants, age = tenants_in_the_way(c, job)
    left, since = (desk.left, desk.stayed + tenants * age), desk.now - desk.first_arrival
    stay = expected_stay(age, left, c.kinds[rules.large].spin_up, since)
    return cause_of_wait(0, 0, 0, leavers), pace_of_wait(leavers, stay)


def wait_of(c: Control, cause: int, pace: float, age: float) -> float:
    """Seconds more that a job is to wait which has waited for ``age`` for a cause, at the level the strategy asks
    for."""
    if c.desk.pool == 0 or (c.waits[cause].all_ended == 0.0 and not c.rules.assumes_waits):
        return math.inf
    share, rate = c.rules.wait_quantile, usual_rate(c, cause)
    judged = pace * math.exp(-c.drifts[kind_of_wait(cause)].longer)
    return wait_within(c.waits[cause], share, rate, age * judged, belief_in(cause)) / judged


def mean_of(c: Control, cause: int, pace: float) -> float:
    """Seconds that a job is to wait for a cause, in the mean, as counted so far."""
    return mean_wait(c.waits[cause], usual_rate(c, cause), belief_in(cause)) / pace


def promise(c: Control, job: Job, room: int) -> float:
    """Why a job that came now would have to wait, and how long: what is promised is held against what comes."""
    job.cause, job.pace = cause_of(c, job, room)
    wait = wait_of(c, job.cause, job.pace, 0.0)
    job.promised = wait if wait < math.inf else -1.0
    if job.cause >= SUFFERING:  # at the limit and behind others means hold as counted
        job.usually = mean_of(c, job.cause, job.pace)
        job.foretold = job.usually * math.exp(c.drifts[kind_of_wait(job.cause)].longer_mean)
    return wait


def usual_rate(c: Control, cause: int) -> float:
    """Waits that end a second (or point), of all causes of a kind."""
    ended, waited = 0.0, 0.0
    first, last = first_alike(cause)
    for kin in range(first, last):
        ended += c.waits[kin].all_ended
        waited += c.waits[kin].all_waited
    return rate_of_ending(ended, waited, assumed_wait(cause, c.kinds[c.rules.large].spin_up), belief_in(cause)[0])


def promise_nothing(job: Job) -> None:
    """Nothing is said of the job's wait."""
    job.promised = job.foretold = job.usually = -1.0


def await_opening(job: Job) -> None:
    """The wait of a job begins; its cause is known."""
    job.band, job.band_end, job.counted, job.opened = 0, FIRST_BAND, 0.0, -1.0


def _count_waiting(c: Control, now: float) -> None:
    """Count what those who queue and those who are followed have waited so far."""
    c.desk.counted = now
    if c.rules.mapping != MAP_DYNAMIC or not c.rules.count_ages:
        return
    for at in range(c.desk.followed):
        _count(c, c.followed[at], now)
    number = c.desk.head
    while number >= 0:
        _count(c, c.jobs[number], now)
        number = c.jobs[number].behind


def _count(c: Control, job: Job, now: float) -> None:
    """Count what a job has waited since it was last counted, at its pace, and a bound that it has missed."""
    age = (now - job.asked) * job.pace
    job.band, job.band_end = count_wait(c.waits[job.cause], job.band, job.band_end, (job.counted, age))
    job.counted = age
    if 0.0 <= job.promised < now - job.asked:
        judge_bound(c.drifts[kind_of_wait(job.cause)], 0, c.rules.wait_quantile)
        job.promised = -1.0


def learn_wait(c: Control, job: Job, number: int, now: float) -> None:
    """The reserve takes a job of a row, or could take it while it is elsewhere, if the row is still that job's."""
    if c.rules.mapping != MAP_DYNAMIC:
        return
    _count(c, job, now)
    end_wait(c.waits[job.cause], job.band, c.rules.history)
    _judge(c, job, now - job.asked)
    if c.jobs[number].asked == job.asked:
        c.jobs[number].opened = now - job.asked


def _judge(c: Control, job: Job, waited: float) -> None:
    """Hold what was promised against a wait that has ended; a bound that was missed has been counted."""
    drift = c.drifts[kind_of_wait(job.cause)]
    if job.promised >= 0.0:
        judge_bound(drift, 1, c.rules.wait_quantile)
    if job.usually >= 0.0:
        judge_mean(drift, job.usually, job.foretold, waited)
    job.promised = job.usually = -1.0


def follow(c: Control, number: int, now: float) -> None:
    """A job that is not to wait any longer goes elsewhere, and is followed until the reserve could take it, if it ever
    could. Where too many are, it is known of it only that it would have waited longer than it did."""
    job, desk = c.jobs[number], c.desk
    if not reserve_holds(c, job):
        return
    if desk.followed == len(c.followed):
        _count(c, job, now)
        return
    other = c.followed[desk.followed]
    _copy(job, other)
    other.moves, other.next = 0, number
    other.low = most_pressed(job.vector)
    desk.followed += 1


def _copy(job: Job, other: Job) -> None:
    """What the search asks of a job, and its wait, in a record of those that are followed: there ``next`` is the job's
    row, ``moves`` is 1 when every server but those freed since was looked at for it, ``low`` its largest entry's
    place."""
    other.ask, other.memory, other.asked, other.cause = job.ask, job.memory, job.asked, job.cause
    other.band, other.band_end, other.counted, other.pace = job.band, job.band_end, job.counted, job.pace
    other.moves, other.next, other.low = job.moves, job.next, job.low
    other.promised, other.foretold, other.usually = job.promised, job.foretold, job.usually
    other.platform, other.coin, other.expected, other.urgent = job.platform, job.coin, job.expected, job.urgent
    for i in range(RESOURCES):
        other.vector[i], other.tolerates[i] = job.vector[i], job.tolerates[i]


def notice(c: Control, freed: int, full: bool, now: float) -> None:
    """After a departure: which of the jobs that are followed the reserve could take by now; at its limit, none. One
    whose turn comes after the head of the queue has to wait for that, too."""
    desk, at = c.desk, 0
    if desk.freed < FREED:
        desk.freed_servers[desk.freed] = freed
    desk.freed += 1
    if now - desk.counted >= _COUNTED_EVERY:
        _count_waiting(c, now)
    if full:
        return
    head = desk.head if desk.queued > 0 and not c.rules.overtaking else -1
    while at < desk.followed:
        job = c.followed[at]
        is_next = head < 0 or _goes_before(job, c.jobs[head])
        if is_next and _could_start(c, job):
            learn_wait(c, job, job.next, now)
            desk.followed -= 1
            _copy(c.followed[desk.followed], job)
        else:
            job.moves = 1 if is_next else 0
            at += 1
    desk.freed = 0


def _goes_before(job: Job, other: Job) -> bool:
    """Whether a job is more urgent than another, or as urgent and there before."""
    return bool(job.urgent > other.urgent or (job.urgent == other.urgent and job.asked < other.asked))


def _could_start(c: Control, job: Job) -> bool:
    """Whether a reserved server has a place for a job that is followed."""
    if not job.moves or c.desk.freed > FREED:
        return reserved_for(c, job, -1) >= 0
    for at in range(c.desk.freed):
        server = c.desk.freed_servers[at]
        if bears_in(c, server, job, job.low) and could_take(c, server, job):
            return True
    return False

"""The local queue of the reserved pool: jobs in the order in which they came."""

from __future__ import annotations

from hcloud.control.search import could_take, reserved_for
from hcloud.control.state import LOOKED_AT, Control, Job
from hcloud.policy.placement import RESOURCES
from hcloud.policy.queueing import expected_wait, record_opening, record_wait, wait_quantile


def append(c: Control, number: int) -> None:
    """Put a job at the end of the queue."""
    if c.desk.tail >= 0:
        c.jobs[c.desk.tail].behind = number
    else:
        c.desk.head = number
    c.jobs[number].behind = -1
    c.desk.tail = number
    c.desk.queued += 1


def remove(c: Control, number: int, ahead: int, now: float) -> None:
    """Take a job out of the queue, ``ahead`` being the one before it (-1: it is the head)."""
    job = c.jobs[number]
    if ahead >= 0:
        c.jobs[ahead].behind = job.behind
    else:
        c.desk.head = job.behind
    if job.behind < 0:
        c.desk.tail = ahead
    job.behind = -1
    c.desk.blocked = 0
    c.desk.queued -= 1
    c.desk.last_queued = now


def learn_wait(c: Control, number: int, now: float) -> None:
    """A queued job is taken, and still in the queue: how long it waited, and how long of that at the head."""
    job = c.jobs[number]
    record_wait(c.waits[job.size_class], c.rules.history, now - job.asked, 0)
    _note_opening(c, job.size_class, now - max(job.asked, c.desk.last_queued))


def _note_opening(c: Control, size: int, seconds: float) -> None:
    """A job of a size was at the head for so long; what was an opening for it is one for all smaller sizes."""
    for smaller in range(size + 1):
        record_opening(c.waits[smaller], seconds)


def follow(c: Control, number: int, now: float) -> None:
    """A job that is not to wait any longer goes elsewhere, and is followed until the reserve could take it. Where too
    many are, it is known of it only that it would have waited longer than it did."""
    job, desk = c.jobs[number], c.desk
    if desk.followed == len(c.followed):
        if now > job.asked:
            record_wait(c.waits[job.size_class], c.rules.history, now - job.asked, 1)
        return
    copy_job(job, c.followed[desk.followed])
    desk.followed += 1


def copy_job(job: Job, other: Job) -> None:
    """What the search asks of a job, in another record; ``moves`` 0 says that nobody looked for it."""
    other.ask, other.memory, other.size_class = job.ask, job.memory, job.size_class
    other.asked, other.moves = job.asked, 0
    for i in range(RESOURCES):
        other.vector[i] = job.vector[i]


def notice(c: Control, freed: int, full: bool, now: float) -> None:
    """After a departure: which of the jobs that are followed the reserve could take by now; at its limit, none."""
    desk, at = c.desk, 0
    if full:
        desk.unseen = 1
        return
    while at < desk.followed:
        job = c.followed[at]
        if could_take(c, freed, job) if job.moves and not desk.unseen else reserved_for(c, job, -1) >= 0:
            record_wait(c.waits[job.size_class], c.rules.history, now - job.asked, 0)
            _note_opening(c, job.size_class, now - job.asked)
            desk.followed -= 1
            copy_job(c.followed[desk.followed], job)
        else:
            job.moves = 1
            at += 1
    desk.unseen = 0


def wait_of(c: Control, size: int, ahead: int, now: float) -> float:
    """Seconds a job of a size class would wait behind ``ahead`` others."""
    waiting = _ages(c, size, now) if c.rules.count_ages else 0
    quantile = wait_quantile(c.waits[size], c.rules.wait_quantile, c.desk.ages, waiting)
    return expected_wait(c.rules, c.waits[size], ahead, quantile)


def _ages(c: Control, size: int, now: float) -> int:
    """How long the queued jobs of a size have waited so far, longest first, into ``desk.ages``; how many they are."""
    number, looked, found = c.desk.head, 0, 0
    while number >= 0 and looked < LOOKED_AT:
        job = c.jobs[number]
        if job.size_class == size:
            c.desk.ages[found] = now - job.asked
            found += 1
        number = job.behind
        looked += 1
    return found

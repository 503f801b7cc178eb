"""The local queue of the reserved pool: jobs in the order in which they came."""

from __future__ import annotations

from hcloud.control.state import LOOKED_AT, Control
from hcloud.policy.queueing import expected_wait, record_wait, wait_quantile


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
    """Take a job out of the queue, ``ahead`` being the one before it (-1: it is the head), and learn its wait."""
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
    record_wait(c.waits[job.size_class], c.rules.history, now - job.asked)


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

"""When a job that the reserve has no room for begins: it waits for units that suit it, not longer than a bound; then at
the servers with the best two units of a larger sample, whoever gets room first (Tarcil, thesis §7.4)."""

from __future__ import annotations

from hcloud.control.searching.candidates import best_of_busy
from hcloud.control.searching.local import wait_at
from hcloud.control.searching.renting import command, sit_down
from hcloud.control.servers.buckets import expected, free_for, units_of
from hcloud.control.state import Control
from hcloud.control.waits.admitting import wake_up
from hcloud.control.waits.queue import append, remove
from hcloud.policy.codes import (
    AT_SERVERS,
    AWAITS_OFFER,
    BY_OFFER,
    BY_PROBES,
    FROM_QUEUE,
    HELD_BACK,
    ONLY_RESERVED,
    PLACE,
    POOL_FULL,
    QUEUE,
    RESERVED,
    WAIT,
)

Verdict = tuple[int, int, float]


def hold_back(c: Control, number: int, now: float) -> bool:
    """Whether a job that came is to wait for units that suit it: hardly any is free, and usually some are before the
    bound. Where no bucket could ever suit it, it goes straight on."""
    desk, job = c.desk, c.jobs[number]
    job.held = 0
    if not _lacks(c, number):
        return False
    usual, bound = expected(c, job, now)
    if usual >= bound or bound <= 0.0:
        return False
    desk.tickets += 1
    job.held, job.until, job.usual = desk.tickets, now + bound, usual
    append(c, number)
    command(c, WAIT, number, -1, (QUEUE, HELD_BACK, job.until))
    return True


def is_held(c: Control, number: int) -> bool:
    """Whether a queued job still waits for units that suit it."""
    return c.jobs[number].held > 0 and _lacks(c, number)


def _lacks(c: Control, number: int) -> bool:
    free = free_for(c, c.jobs[number])
    return 0 <= free <= c.rules.closeness * units_of(c.jobs[number])


def overdue(c: Control, number: int, now: float) -> None:
    """The bound of a job has passed: it no longer waits for units that suit it. With several queues those who wait
    there are looked after, whoever is due."""
    if c.rules.classes > 0:
        wake_up(c, now)
        return
    job, ahead, other = c.jobs[number], -1, c.desk.head
    if job.held == 0 or job.until != now:
        return
    c.desk.now = now
    while other != number:
        ahead, other = other, c.jobs[other].behind
    remove(c, number, ahead, now)
    queue_up(c, number, (QUEUE, POOL_FULL, 0.0), (RESERVED, FROM_QUEUE, now - job.asked))


def wait_in_queue(c: Control, number: int, verdict: Verdict) -> None:
    """A job that just came, and for which nothing has room, waits; or one of the best units is free after all."""
    queue_up(c, number, verdict, (RESERVED, ONLY_RESERVED, 0.0))


def queue_up(c: Control, number: int, verdict: Verdict, otherwise: Verdict) -> None:
    """Let a job wait: at servers where the rules have queues there, else in that of the reserve. Before it waits at a
    server the server itself is asked: if it has room after all, the job begins, which ``otherwise`` is the word for."""
    if c.rules.buckets > 0:
        place = best_of_busy(c, c.jobs[number])
        if place >= 0:
            sit_down(c, number, place, c.jobs[number].ask)
            command(c, PLACE, number, place, otherwise)
            return
    if has_local_queues(c) and c.desk.found > 0:
        wait_at(c, number)
        verdict = (QUEUE, AT_SERVERS, 0.0) if c.rules.buckets > 0 else verdict
    else:
        append(c, number)
        verdict = (QUEUE, AWAITS_OFFER, 0.0) if c.rules.ranking == BY_OFFER else verdict
    command(c, WAIT, number, -1, verdict)


def has_local_queues(c: Control) -> bool:
    """Whether jobs may wait at servers."""
    return bool(c.rules.ranking == BY_PROBES or c.rules.buckets > 0)

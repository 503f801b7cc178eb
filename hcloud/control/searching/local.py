"""Local queues: a job that finds no room waits at several servers, and the first that gets room takes it (Sparrow's
late binding, as Tarcil §7.2 describes it). In the other queues its entry is void from then on."""

from __future__ import annotations

from hcloud.control.searching.candidates import has_capacity
from hcloud.control.searching.renting import command, sit_down
from hcloud.control.state import Control
from hcloud.policy.codes import FROM_QUEUE, PLACE, RESERVED


def wait_at(c: Control, number: int) -> None:
    """Queue a job at the servers that the last search looked at."""
    desk, job = c.desk, c.jobs[number]
    desk.tickets += 1
    job.ticket, job.waiting = desk.tickets, 0
    desk.queued += 1
    for at in range(desk.found):
        place, entry = c.candidates[at].server, desk.free_entry
        waiting, row = c.local[entry], c.rosters[place]
        desk.free_entry = waiting.after - 1 if waiting.after > 0 else entry + 1  # never used: 0
        waiting.job, waiting.ticket, waiting.after = number, job.ticket, 0
        if row.tail > 0:
            c.local[row.tail - 1].after = entry + 1
        else:
            row.head = entry + 1
        row.tail = entry + 1
        job.waiting += 1


def serve(c: Control, place: int, now: float) -> None:
    """Start what waits at a server that got room, in order, as long as the first of those that still wait fits."""
    row = c.rosters[place]
    while row.head > 0:
        entry = c.local[row.head - 1]
        number = entry.job
        job = c.jobs[number]
        if job.ticket == entry.ticket:
            if not has_capacity(c, c.servers[place], job, job.ask):
                return
            no_longer(c, number, now)
            sit_down(c, number, place, job.ask)
            command(c, PLACE, number, place, (RESERVED, FROM_QUEUE, now - job.asked))
        _pop(c, place)


def first_left(c: Control, place: int) -> int:
    """Take the first off the queue of a server that is no more: the job, if it waits nowhere else; -1 where it does, or
    nobody is left."""
    row = c.rosters[place]
    while row.head > 0:
        entry = c.local[row.head - 1]
        number = entry.job
        job = c.jobs[number]
        still = job.ticket == entry.ticket
        _pop(c, place)
        if still:
            job.waiting -= 1
            if job.waiting == 0:
                return int(number)
    return -1


def no_longer(c: Control, number: int, now: float) -> None:
    """A job waits at no server any more; its entries are void."""
    c.jobs[number].ticket = 0
    c.desk.queued -= 1
    c.desk.last_queued = now


def _pop(c: Control, place: int) -> None:
    row = c.rosters[place]
    entry = row.head - 1
    row.head = c.local[entry].after
    if row.head == 0:
        row.tail = 0
    c.local[entry].after = c.desk.free_entry + 1
    c.desk.free_entry = entry

"""The coming events: a binary heap by time, then rank."""

from __future__ import annotations

import math

from hcloud.sim.kernels.world import RANK, Event, SimulatedWorld


def push(w: SimulatedWorld, time: float, kind: int, number: int, tag: int) -> None:
    """Add an event of a kind for a job or instance; ``tag`` tells later whether it is still meant."""
    at, rank = w.tally.events, kind * RANK + number
    if at >= len(w.events):
        w.tally.full = 1
        return
    w.tally.events = at + 1
    while at > 0:
        above = w.events[(at - 1) >> 1]
        if above.time < time or (above.time == time and above.rank <= rank):
            break
        write(w.events[at], above.time, above.rank, above.tag)
        at = (at - 1) >> 1
    write(w.events[at], time, rank, tag)


def has_more(w: SimulatedWorld) -> bool:
    """Whether more jobs are to come; second runs of pieces of jobs, whose rows are the last, do not come by
    themselves."""
    return bool(w.tally.next_job < len(w.tasks) and w.tasks[w.tally.next_job].decide < math.inf)


def write(event: Event, time: float, rank: int, tag: int) -> None:
    """Set all of an event."""
    event.time, event.rank, event.tag = time, rank, tag


def pop(w: SimulatedWorld) -> tuple[float, int, int]:
    """Take the next event: time, rank and tag."""
    events = w.events
    first = (events[0].time, events[0].rank, events[0].tag)
    size = w.tally.events - 1
    w.tally.events = size
    time, rank, tag = events[size].time, events[size].rank, events[size].tag
    at, below = 0, 1
    while below < size:
        if below + 1 < size and _before(events[below + 1], events[below].time, events[below].rank):
            below += 1
        if not _before(events[below], time, rank):
            break
        write(events[at], events[below].time, events[below].rank, events[below].tag)
        at, below = below, 2 * below + 1
    write(events[at], time, rank, tag)
    return first


def _before(event: Event, time: float, rank: int) -> bool:
    return event.time < time or (event.time == time and event.rank < rank)

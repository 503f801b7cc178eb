"""The coming events: a heap by time, then rank, in which four come after each."""

from __future__ import annotations

import math

from hcloud.sim.kernels.world import RANK, Event, SimulatedWorld

_BITS = 2
_BELOW = 1 << _BITS
"""Events that come after each in the heap; half the levels of one with two, and what is compared lies side by side."""


def push(w: SimulatedWorld, time: float, kind: int, number: int, tag: int) -> None:
    """Add an event of a kind for a job or instance; ``tag`` tells later whether it is still meant."""
    at, rank = w.tally.events, kind * RANK + number
    if at >= len(w.events):
        w.tally.full = 1
        return
    w.tally.events = at + 1
    while at > 0:
        above = w.events[(at - 1) >> _BITS]
        if above.time < time or (above.time == time and above.rank <= rank):
            break
        write(w.events[at], above.time, above.rank, above.tag)
        at = (at - 1) >> _BITS
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
        below = _first_of_four(w, below) if below + _BELOW <= size else _first_of(w, below, size)
        if not _before(events[below], time, rank):
            break
        write(events[at], events[below].time, events[below].rank, events[below].tag)
        at, below = below, _BELOW * below + 1
    write(events[at], time, rank, tag)
    return first


def _first_of_four(w: SimulatedWorld, at: int) -> int:
    """Which of four events comes first, without a branch: nobody foresees which."""
    one = at + _is_later(w.events[at], w.events[at + 1])
    other = at + 2 + _is_later(w.events[at + 2], w.events[at + 3])
    return one + (other - one) * _is_later(w.events[one], w.events[other])


def _first_of(w: SimulatedWorld, at: int, end: int) -> int:
    """Which of the last events comes first."""
    found = at
    for other in range(at + 1, end):
        found += (other - found) * _is_later(w.events[found], w.events[other])
    return found


def _is_later(event: Event, other: Event) -> int:
    """1 where the other one comes first."""
    return int((other.time < event.time) | ((other.time == event.time) & (other.rank < event.rank)))


def _before(event: Event, time: float, rank: int) -> bool:
    return event.time < time or (event.time == time and event.rank < rank)

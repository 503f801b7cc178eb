"""Which of the tasks of one job lag behind the others, as three schools see it (Quasar §4.3; Hadoop; LATE, OSDI 2008).

A task's ``score`` is the share of its work that is done, its pace that share over the seconds it has run.
"""

from __future__ import annotations

from typing import NamedTuple

NOBODY, RECLASSIFIED, HADOOP, LATE = range(4)
"""Who looks for stragglers: nobody; Quasar, which measures those at half of the median's pace anew; Hadoop's first
rule; LATE."""
WAYS = ("none", "reclassified", "hadoop", "late")
BEGUN = 60.0
"""Hadoop and LATE judge no task that has run for less (their published default)."""
_BEHIND = 0.2
_SLOWEST = 0.25
_AT_ONCE = 0.1
_FORCED = 0.97
"""Paragon §3.4: a microbenchmark stops when the job falls below this, here at once."""


class Peers(NamedTuple):
    """The tasks of a job beside one of them: how many there are with it, how many are at least ``twice`` as fast, how
    many are ``faster``, the mean of their scores, how many of them have a copy."""

    pieces: int
    twice: int
    faster: int
    mean: float
    copies: int


def lags(way: int, score: float, ran: float, peers: Peers) -> bool:
    """Whether a task that has done so much in so many seconds is suspected. The median is at least twice its pace
    where half of the tasks are at least twice as fast."""
    if way == RECLASSIFIED:
        return ran > 0.0 and 2 * peers.twice >= peers.pieces
    if ran < BEGUN:
        return False
    if way == HADOOP:
        return score < peers.mean - _BEHIND
    few = max(int(_AT_ONCE * peers.pieces), 1)
    return way == LATE and peers.faster >= (1.0 - _SLOWEST) * peers.pieces and peers.copies < few


def time_left(score: float, ran: float) -> float:
    """Seconds that a task is estimated to need still, at the pace it had up to now (LATE §4)."""
    return (1.0 - score) / max(score, 1e-9) * ran


def is_confirmed(performance: float, changed: int) -> bool:
    """Whether one that lags does so where it is: two microbenchmarks find it below what it does in isolation as they
    begin, or of another kind than it was taken for. One that was only slow before is left alone."""
    return performance < _FORCED or changed == 1

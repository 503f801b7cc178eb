"""What those wait for who the reserve has no room for: units that become free, and their turn at a server."""

from __future__ import annotations


class UnitBucket:
    """The ``free`` units of the reserve that are alike."""

    free: int


class UnitRelease:
    """That ``units`` of a ``bucket`` became free, and when. ``gap`` is no part of it: there the intervals of one
    estimate are sorted."""

    at: float
    bucket: int
    units: int
    gap: float


class LocalEntry:
    """A job in the queue of a server, void where the job has another ticket by now; the entry ``after`` it (plus one,
    0: none), in those that are free the next free one."""

    job: int
    ticket: int
    after: int

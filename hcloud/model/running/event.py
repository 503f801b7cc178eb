"""What a running system tells the controller: jobs come and end, instances start, are measured and are taken away."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hcloud.model.measured.profile import RESOURCES, UNKNOWN_SCORE

ENTRIES = len(RESOURCES)
"""Shared resources in a vector of pressure or sensitivity, 0..99 each."""
UNKNOWN = (UNKNOWN_SCORE,) * ENTRIES
"""What is assumed of a job about which nothing is known: the middle of the scale."""


class EventError(ValueError):
    """An event that cannot be: its values are impossible, or it does not fit what happened before."""


class During(StrEnum):
    """Which event a quality sample was taken for; it says where the sample stands among equal times."""

    WATCH = "watch"
    ARRIVAL = "arrival"
    COMPLETION = "completion"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job came: thousandths of a vCPU and MiB asked for, its vector, whether it may be interrupted, and a number in
    0..1 that is its own (read by random mapping only). ``submitted`` is when its user submitted it, where that was
    before (it was profiled first); nothing is decided by it, reports count its wait from then. ``true_vector`` is what
    a simulator knows the job to be like, where ``vector`` is what was estimated; nothing is decided by it either."""

    at: float
    job: str
    ask: int
    memory: int
    vector: tuple[int, ...]
    restartable: bool
    coin: float
    submitted: float | None = None
    true_vector: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A job ended after running at a share of its performance in isolation. ``tail`` is a service's tail latency in
    multiples of that in isolation, waiting counted in; None where nobody told it. Nothing is decided by it."""

    at: float
    job: str
    performance: float
    tail: float | None = None


@dataclass(frozen=True, slots=True)
class BelowQos:
    """A running job has been below its quality of service for longer than the patience of the strategy."""

    at: float
    job: str
    performance: float


@dataclass(frozen=True, slots=True)
class Ready:
    """A launched instance has started."""

    at: float
    instance: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The contention on an instance was measured, by resource."""

    at: float
    instance: int
    contention: tuple[int, ...]
    during: During


@dataclass(frozen=True, slots=True)
class Interruption:
    """Spot capacity was taken back."""

    at: float
    instance: int


@dataclass(frozen=True, slots=True)
class ClockTick:
    """Time has passed; what is due up to and including now happens."""

    at: float


Event = Arrival | Completion | BelowQos | Ready | Sample | Interruption | ClockTick

"""What a running system tells the controller: jobs come and end, instances start, are measured, fail and are lost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hcloud.model.measured.profile import RESOURCES, UNKNOWN_SCORE

ENTRIES = len(RESOURCES)
"""Shared resources in a vector of pressure or sensitivity, 0..99 each."""
UNKNOWN = (UNKNOWN_SCORE,) * ENTRIES
"""What is assumed of a job about which nothing is known: the middle of the scale."""


HIGHEST = 99
"""Points of pressure or tolerance at most."""

Known = tuple[tuple[int, ...], tuple[int, ...]]
"""What a job is known to cause, and to tolerate."""


class EventError(ValueError):
    """An event that cannot be: its values are impossible, or it does not fit what happened before."""


def tolerated(vector: tuple[int, ...], known: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """What a job tolerates: as known, else so much less than all as it causes (Tarcil, thesis §7.3.2)."""
    return tuple([HIGHEST - points for points in vector]) if known is None else known


class During(StrEnum):
    """Which event a quality sample was taken for; it says where the sample stands among equal times."""

    WATCH = "watch"
    ARRIVAL = "arrival"
    COMPLETION = "completion"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job came: thousandths of a vCPU and MiB asked for, the pressure that it causes (``vector``), whether it may be
    interrupted, and a number in 0..1 that is its own (read by random mapping and by placements that draw). One
    that is not ``movable`` is enlarged in place but never moved while it runs. ``submitted`` is when its user
    submitted it, where that was before (it was profiled first); nothing is decided by it, reports count its wait
    from then. ``true_vector`` is what a simulator knows the job to be like, where ``vector`` is what was
    estimated; nothing is decided by it either. ``tolerates`` and ``true_tolerates`` are what it bears, likewise;
    None: 99 less what it causes. Where several agents decide, ``agent`` is the one that did, with a copy of the
    servers that was so old (``copy_age``, s), after others had taken all that it had chosen so many times before
    (``refused``); where it is a process, ``ranked`` are the instances that it proposed, the best first. ``platform`` is
    the job's row of the speeds of types. It is ``expected`` to run for so many seconds, by its application's last run
    or by its user, and may wait for its ``slack`` without missing what it was promised (below 0: that is missed
    already; None: it follows from how long it runs). An ``urgent`` one goes before others that wait, then those with a
    higher ``priority``, then those that came before. It is one of so
    many ``pieces`` of a job of several servers, and comes ``after`` that piece (None: the first); nothing is decided
    before the last has come. A ``spare`` one is best effort: where jobs are watched it yields to others. One that is a
    ``copy_of`` another does the same work once more, on another server than that one's."""

    at: float
    job: str
    ask: int
    memory: int
    vector: tuple[int, ...]
    restartable: bool
    coin: float
    submitted: float | None = None
    true_vector: tuple[int, ...] | None = None
    movable: bool = True
    agent: int | None = None
    copy_age: float = 0.0
    platform: int = 0
    ranked: tuple[int, ...] = ()
    tolerates: tuple[int, ...] | None = None
    true_tolerates: tuple[int, ...] | None = None
    refused: int = 0
    expected: float | None = None
    pieces: int = 1
    after: str | None = None
    slack: float | None = None
    urgent: bool = False
    priority: int = 0
    spare: bool = False
    copy_of: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A job ended after running at a share of its performance in isolation. ``tail`` is a service's tail latency in
    multiples of that in isolation, waiting counted in; None where nobody told it. Nothing is decided by it."""

    at: float
    job: str
    performance: float
    tail: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A job ended by itself with an exit ``code`` other than 0 (127: there is no such command). It says nothing of the
    machine that it ran on."""

    at: float
    job: str
    code: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A job ended because its user said so: in the queue, on an instance that was starting, or while it ran."""

    at: float
    job: str


@dataclass(frozen=True, slots=True)
class Progress:
    """A share of the work of a running job is done. Nothing is decided by it; reports read it."""

    at: float
    job: str
    share: float


@dataclass(frozen=True, slots=True)
class Latency:
    """The 99th percentile of a running service's latency, in milliseconds. Nothing is decided by it; reports read
    it."""

    at: float
    job: str
    p99: float


@dataclass(frozen=True, slots=True)
class BelowQos:
    """A running job has been below its quality of service for longer than the patience of the strategy. ``rate`` is the
    most that it could do of what it is to do, where that was measured: a job above 1 has more than it needs, which is
    told where the strategy takes that back."""

    at: float
    job: str
    performance: float
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Reclassified:
    """The vector of a job was estimated anew from what was seen of its application, and what it ``tolerates`` (None: 99
    less the vector). A running job that is at a ``performance`` below the level of the strategy is placed anew by it,
    one that waits when its turn comes."""

    at: float
    job: str
    estimate: tuple[int, ...]
    performance: float
    tolerates: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A launched instance has started. ``spin_up`` is how many seconds that took where it is not the time since it was
    decided: its launch was held back for a while."""

    at: float
    instance: int
    spin_up: float | None = None


@dataclass(frozen=True, slots=True)
class LaunchFailed:
    """An instance that was to be launched will never start, for the reason ``why``; its type is not launched again
    before ``until`` unless no other type holds the job."""

    at: float
    instance: int
    why: str
    until: float


@dataclass(frozen=True, slots=True)
class Lost:
    """An instance is gone and everything on it has certainly ended, whether it was reserved, on demand or spot.
    ``unbegun`` are its jobs that had certainly not begun to run."""

    at: float
    instance: int
    unbegun: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Closing:
    """The cloud of an instance is going to take it away or to work on what it runs on, or its node drains: no job is
    placed there from now on, those that are there go on. ``over``: that is not so any more. Or it is empty, and
    ``measures`` a running job; or a job on it ``suffers``: it is below its target."""

    at: float
    instance: int
    over: bool = False
    measures: str | None = None
    suffers: str | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """An instance was probed: the share of its performance, 0 to 1, that every resource of it has left."""

    at: float
    instance: int
    score: float


@dataclass(frozen=True, slots=True)
class Pool:
    """The reserve has ``size`` servers of a type from now on, of the large one where none is named. Those that are
    added count as up and get the next numbers of instances; those that go have no job."""

    at: float
    size: int
    type: str | None = None


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


OfJob = Completion | Failed | Cancelled | BelowQos | Progress | Latency | Reclassified
"""What happens to a job that has come."""
OfInstance = Ready | LaunchFailed | Interruption | Lost | Closing | Sample | Quality
"""What happens to an instance."""
Event = Arrival | OfJob | OfInstance | Pool | ClockTick

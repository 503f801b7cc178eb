"""What a journal of live work holds of batch on idle capacity: a ledger of its own, of which no decision about the jobs
of services knows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hcloud.model.running.job import JobOrder
from hcloud.model.running.job_graph import JobGraph


class Yielded(StrEnum):
    """How an attempt on idle capacity ended: it was done or went wrong by itself, it gave way, or it was lost with its
    machine or cancelled. The last two begin anew where somebody still wants them."""

    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class HarvestSet:
    """By which numbers idle capacity is used from now on: shares of cores and memory that nobody may have, the vCPUs to
    which use is rounded up, seconds between two looks, seconds whose most use counts for what begins; and when a job
    moves to machines of its own: kills, or time lost beside ``spin_up`` and ``slowdown``."""

    at: float
    reserve_cores: float
    reserve_memory: float
    unit: float
    tick: float
    window: float
    most_kills: int
    moves_on_slip: bool
    spin_up: float
    slowdown: float


@dataclass(frozen=True, slots=True)
class HarvestClass:
    """Services of like use, by their history: what they use of a machine on average and at their peak, and how much it
    speaks for it with short, medium and long jobs."""

    name: str
    mean: float
    peak: float
    weights: tuple[float, float, float]
    services: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HarvestClasses:
    """The classes by which jobs are put on machines from now on, and the seconds up to which a job is short and above
    which it is long."""

    at: float
    short: float
    long: float
    classes: tuple[HarvestClass, ...] = ()


@dataclass(frozen=True, slots=True)
class HarvestTaken:
    """A job for idle capacity came, and was put on machines of these classes (none: any)."""

    at: float
    order: JobOrder
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HarvestGraphTaken:
    """A job for idle capacity came that is a graph of tasks; each of them is on machines of these classes (none:
    any)."""

    at: float
    graph: JobGraph
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HarvestWaiting:
    """A job finds no room on idle capacity, and why; told once a reason, and only of the first of jobs that are
    alike."""

    at: float
    job: str
    why: str


@dataclass(frozen=True, slots=True)
class HarvestBeginning:
    """An attempt is about to begin beside what runs on a machine: ``use`` is how many vCPUs its services used, ``free``
    what was left of them beside the reserve and what other such jobs hold."""

    at: float
    job: str
    attempt: int
    instance: int
    use: float
    free: float


@dataclass(frozen=True, slots=True)
class HarvestYielding:
    """An attempt is about to be killed, and why: the services of its machine used ``use`` vCPUs, and such jobs held
    ``held``."""

    at: float
    job: str
    attempt: int
    instance: int
    why: str
    use: float | None = None
    held: float = 0.0


@dataclass(frozen=True, slots=True)
class HarvestOver:
    """Nothing of an attempt on idle capacity is left."""

    at: float
    job: str
    attempt: int
    result: Yielded
    began: float | None = None
    ended: float | None = None
    code: int | None = None
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True)
class HarvestMoved:
    """A job leaves idle capacity, and why: it is taken on as any other, and may have machines of its own. Of a graph
    all tasks leave that have not begun: each is told of apart."""

    at: float
    job: str
    why: str


@dataclass(frozen=True, slots=True)
class HarvestCancelled:
    """Somebody wants a job for idle capacity no more; a task that nobody wants ends its whole graph."""

    at: float
    job: str


HarvestNote = (
    HarvestSet
    | HarvestClasses
    | HarvestTaken
    | HarvestGraphTaken
    | HarvestWaiting
    | HarvestBeginning
    | HarvestYielding
    | HarvestOver
    | HarvestMoved
    | HarvestCancelled
)
"""A line of a journal about batch on idle capacity."""

"""What a journal of live work holds beside events and decisions: what was intended, and what came of it.

A decision rests on none of these; a restart does: they say which machine was ordered under which key, which attempt of
a job was begun where, and what is certain to have ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.harvest_note import HarvestNote
from hcloud.model.running.job import JobOrder, JobPhase


@dataclass(frozen=True, slots=True)
class JobTaken:
    """A job was taken on; its arrival follows. It had ``attempt`` attempts on idle capacity before."""

    at: float
    order: JobOrder
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Launching:
    """A machine is about to be ordered; ``hourly`` is dollars an hour as it was priced then, and ``least_seconds`` are
    charged at least."""

    at: float
    instance: int
    key: str
    type_name: str
    zone: str
    option: PurchaseOption
    hourly: Decimal
    reserved: bool = False
    least_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Launched:
    """The cloud has a machine for an order; ``launched`` is the cloud's own time, in seconds since 1970."""

    at: float
    instance: int
    id: str
    launched: float


@dataclass(frozen=True, slots=True)
class Joined:
    """A machine is ready to run jobs."""

    at: float
    instance: int


@dataclass(frozen=True, slots=True)
class Settled:
    """A machine was ordered so long ago that its cloud, whose lists may be late, shows it if it is there."""

    at: float
    instance: int


@dataclass(frozen=True, slots=True)
class NotLaunched:
    """An order came to nothing; the same type is not ordered again before ``until``."""

    at: float
    instance: int
    why: str
    until: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A machine is certain to have ended; ``ended`` is when, as its cloud tells it (None: it tells nothing), and
    ``why`` what ended it where that was not hcloud."""

    at: float
    instance: int
    ended: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Beginning:
    """An attempt of a job is about to be begun on a machine."""

    at: float
    job: str
    attempt: int
    instance: int


@dataclass(frozen=True, slots=True)
class Sized:
    """A running job is about to have so many thousandths of a vCPU."""

    at: float
    job: str
    cores: int


@dataclass(frozen=True, slots=True)
class AttemptOver:
    """Nothing of an attempt of a job is left."""

    at: float
    job: str
    attempt: int
    phase: JobPhase
    began: float | None = None
    ended: float | None = None
    code: int | None = None
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """A launch waits, or a machine will go, and why; an empty ``why`` says that nothing keeps a launch any more."""

    at: float
    instance: int
    why: str


KEEPING = "stop --keep-machines"
"""Until the next controller begins; whoever follows a controller that was killed drains or stops as it did."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asked the controller for something: ``drain``, ``stop``, ``go-on``, or to ``cancel`` a job."""

    at: float
    what: str
    job: str = ""


@dataclass(frozen=True, slots=True)
class LimitsSet:
    """How far controllers may go from now on: dollars an hour, dollars in all, machines at a time; None is no limit."""

    at: float
    hourly: Decimal | None = None
    total: Decimal | None = None
    machines: int | None = None


@dataclass(frozen=True, slots=True)
class EstimateFitted:
    """What is estimated of an application was fitted anew, and why: jobs of it that come later are placed by it."""

    at: float
    app: str
    vector: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class CommitmentsAdvised:
    """What a plan of the last ``seconds`` of demand would buy beside the commitments that are held: ``purchases`` in
    words, and dollars a month of these (``added``), of all that the plan has (``after``), and of everything on demand.
    ``too_short`` says that there is too little history to buy by it, ``notes`` what else is to be known, ``why_not``
    why nothing could be planned. Nothing is bought by it."""

    at: float
    seconds: float
    jobs: int = 0
    vcpus: float = 0.0
    purchases: tuple[str, ...] = ()
    added: Decimal | None = None
    after: Decimal | None = None
    on_demand: Decimal | None = None
    too_short: str = ""
    notes: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class ControllerStarted:
    """A controller began, or went on, with this journal; with ``follow`` it waits for more jobs when all are over."""

    at: float
    version: str
    follow: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing was left to do, and somebody was told so: what comes next is other work."""

    at: float


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """All that was before this line is in a file beside the journal, with this SHA-256; it is the first line."""

    at: float
    file: str
    digest: str


@dataclass(frozen=True, slots=True)
class PassNoted:
    """All that one pass of the loop noted stands before this line: without it none of that counts. ``sum`` is the
    checksum of all that stands before it in the file."""

    at: float
    sum: str | None = None


Note = (
    JobTaken
    | Launching
    | Launched
    | Joined
    | Settled
    | NotLaunched
    | Ended
    | Beginning
    | Sized
    | AttemptOver
    | Held
    | Asked
    | ControllerStarted
    | LimitsSet
    | EstimateFitted
    | CommitmentsAdvised
    | Finished
    | SnapshotTaken
    | PassNoted
    | HarvestNote
)
"""A line of a journal that is about machines and attempts."""

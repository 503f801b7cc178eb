"""What ran: a table of jobs or a series of demand, as columns, with what was repaired, left out or modelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hcloud.errors import InputError
    from hcloud.model.target import TargetedSize

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int32]
    Kinds = NDArray[np.int8]
    Ids = NDArray[np.bytes_]
    Ints = NDArray[np.int64]


class JobKind(IntEnum):
    """What a job is: a batch job ends by itself, a service is latency-critical."""

    BATCH = 0
    SERVICE = 1


@dataclass(frozen=True, slots=True)
class Modelled:
    """A column the input did not carry, the rule that made it and the key that changes the rule."""

    column: str
    rule: str
    key: str


class SeriesMarks(NamedTuple):
    """Hashes of some hours of a measured series, by their begin in seconds: two that have one in common are of one
    machine. ``where`` is where it stands in its file, with its name."""

    where: str
    name: str
    hours: Mapping[int, int]


SCENARIO = "scenario"
"""The format of jobs that are drawn by a published scenario."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a workload came from and what was done to it; ``repaired`` and ``left_out`` count rows by reason.
    ``machines`` is how many series a measured demand is the sum of, 0 for all else; ``marks`` tell these
    apart."""

    name: str
    format: str
    digest: str
    rows: int
    repaired: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    modelled: tuple[Modelled, ...] = ()
    machines: int = 0
    marks: tuple[SeriesMarks, ...] = ()


class WindowRule(StrEnum):
    """Who says which part of a trace counts: the user (``asked``; ``shorter``: the whole trace, which is shorter),
    the trace itself, its jobs (``arrivals``: they come and end within it; ``standing``: most of them outlast the
    submissions), its demand (``fallen``: earlier weeks had more of it), or nobody (``whole``: all of a series)."""

    ASKED = "asked"
    SHORTER = "shorter"
    TRACE = "trace"
    ARRIVALS = "arrivals"
    STANDING = "standing"
    FALLEN = "fallen"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a trace that is evidence of demand, from ``start`` to ``end``, in the trace's seconds; ``first`` and
    ``last`` are the first begin of a job (or step) and the last end in the trace. ``waited`` are the mean seconds from
    submission to start where jobs count from their start."""

    start: float
    end: float
    first: float
    last: float
    rule: WindowRule
    waited: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the trace."""
        return (self.start, self.end) == (self.first, self.last)

    @property
    def cut_before(self) -> float:
        """Seconds of the trace before it."""
        return max(self.start - self.first, 0.0)

    @property
    def cut_after(self) -> float:
        """Seconds of the trace after it."""
        return max(self.last - self.end, 0.0)


OF_GPUS = "asks for GPUs, planned by themselves with --set gpu=only"
OF_NO_GPUS = "ask for no GPUs, or another number (gpu)"
"""Why jobs are left out, of either part."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs as columns of one length, sorted by submit time.

    ``submit`` and ``duration`` in seconds (submit from the trace's own origin; ``start`` alike, where the trace says
    when jobs began to run and some of them waited), ``cores`` in vCPUs, ``memory`` in GiB,
    ``gpus`` in devices, ``kind`` as :class:`JobKind`, ``app`` as index into ``apps`` (-1: none), ``qos`` as index into
    ``qos_classes`` (-1: none). ``vectors`` holds the interference vectors that are known, by application: 0..99 for
    each resource of :data:`hcloud.model.measured.profile.RESOURCES`; ``vector_errors`` the standard deviation of each
    entry, in points, where one is known (NaN: as the strategy classifies; infinite: nobody knows the entry).
    ``tolerates`` holds what an application bears, likewise; of one that is not in
    it, 99 less its vector is assumed. ``performance`` is what is known of it on instance types, by application and
    type, more is better. ``window`` is the part of the trace that counts where the user states it; ``recorded_until``
    the second at which the trace says that its record ends. ``ids`` are the trace's own names of its jobs, as UTF-8;
    ``divisible`` says of each whether it may be split over several machines: 1 yes, 0 no, -1 nothing. ``causes`` and
    ``bears`` [job, resource] are the vectors that single jobs state, before those of their applications; -1: none.
    ``target`` is the index into ``targets`` of jobs that state what they are to achieve instead of a size (-1: none).
    ``requires`` is what each requires of a machine, as index into ``requirements`` (-1: nothing); ``servers`` is on how
    many servers each runs at once, an equal part on each; ``urgent`` (1) ones go before others that wait. ``courses``
    say of applications how the need of their jobs changes while they run: from which share of the work each needs how
    many times as much; nobody is told. ``serial`` numbers jobs where some wait for others: ``after`` [pair] are the
    numbers of a job and of one that has to end before, of all jobs that were read; ``submit`` is then when those before
    would have ended if nobody waited for a server, and ``think`` the seconds that pass from their end until each is
    submitted.
    """

    submit: Floats
    duration: Floats
    cores: Floats
    memory: Floats
    gpus: Floats
    kind: Kinds
    app: Codes
    apps: tuple[str, ...]
    qos: Codes
    qos_classes: tuple[str, ...]
    provenance: Provenance
    vectors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    vector_errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    tolerates: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    performance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    window: Window | None = None
    recorded_until: float | None = None
    ids: Ids | None = None
    divisible: Kinds | None = None
    start: Floats | None = None
    target: Codes | None = None
    targets: tuple[TargetedSize, ...] = ()
    causes: Kinds | None = None
    bears: Kinds | None = None
    requires: Codes | None = None
    requirements: tuple[str, ...] = ()
    servers: Codes | None = None
    urgent: Kinds | None = None
    courses: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    serial: Codes | None = None
    after: Ints | None = None
    think: Floats | None = None

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def begins(self) -> Floats:
        """When each job begins to use capacity: when it started, else when it was submitted; not sorted."""
        return self.submit if self.start is None else self.start

    @property
    def ends(self) -> Floats:
        """When each job ends."""
        return self.begins + self.duration

    @property
    def arriving(self) -> Jobs:
        """The jobs as they came: a simulation decides itself when they start."""
        return replace(self, start=None)

    @property
    def as_started(self) -> Jobs:
        """The jobs as if each had come when it started: what a plan's own fleet is to serve is the demand planned."""
        if self.start is None:
            return self
        jobs = self.at(self.start.argsort(kind="stable"))
        return replace(jobs, submit=jobs.begins, start=None)

    def at(self, rows: NDArray[np.intp]) -> Jobs:
        """The jobs of some rows."""
        columns = {name: getattr(self, name)[rows] for name in JOB_COLUMNS}
        known = {name: getattr(self, name) for name in SPARSE_COLUMNS}
        columns |= {name: column[rows] for name, column in known.items() if column is not None}
        return replace(self, **columns)

    def name(self, row: int) -> str:
        """The trace's own name of a job, or its row where it has none."""
        return job_name(None if self.ids is None else self.ids[row], row)


@dataclass(frozen=True, slots=True)
class Summary:
    """A workload in figures, with its demand in steps fit to be drawn; ``kinds`` counts jobs (none for a series).

    Means, peak and batch share are those of ``counted``, the window that counts in the steps a plan takes;
    ``peak_at_once`` is the most vCPUs of the whole trace at one moment (of a series: in one step), ``outlier`` what to
    say of one job that is much of it.
    """

    provenance: Provenance
    entries: int
    kinds: dict[str, int]
    span_seconds: float
    mean_duration_seconds: float
    counted: Demand
    window: Window
    peak_at_once: float
    core_hours: float
    gpus: float
    demand: Demand
    outlier: str = ""

    @property
    def mean_cores(self) -> float:
        """The mean vCPUs in use in the window."""
        return float(self.counted.cores.mean())

    @property
    def peak_cores(self) -> float:
        """The most vCPUs in use in one step of the window."""
        return float(self.counted.cores.max())

    @property
    def mean_memory_gib(self) -> float:
        """The mean GiB in use in the window."""
        return float(self.counted.memory.mean())

    @property
    def batch_share(self) -> float:
        """The part of the window's core-hours that batch jobs take."""
        total = float(self.counted.cores.sum())
        return float(self.counted.batch_cores.sum()) / total if total else 0.0

    @property
    def dated(self) -> bool:
        """Whether the times are dates."""
        return self.demand.start >= DATES_FROM


@dataclass(frozen=True, slots=True)
class WorkloadVerdict:
    """Whether a file can be used: its workload, or the error that says why not."""

    name: str
    workload: Workload | None
    error: InputError | None


def job_name(known: bytes | None, row: int) -> str:
    """What a job is called: by the trace's own id, or by its row where it has none."""
    return f"{row}" if known is None else known.decode() or f"row {row}"


SPARSE_COLUMNS = (
    *("ids", "divisible", "start", "causes", "bears", "target", "requires", "servers", "urgent", "serial", "think"),
)
"""The columns that a trace may lack."""
JOB_COLUMNS = ("submit", "duration", "cores", "memory", "gpus", "kind", "app", "qos")
LONGEST_LIKELY_SECONDS = 5 * 8760 * 3600  # ours: a trace over more than five years has its times in another unit
FULL_YEAR_SECONDS = 8760 * 3600
DATES_FROM = 1e8
"""A trace that begins later than this many seconds counts from 1970 and is shown with dates."""


def odd_times(span_seconds: float) -> str:
    """What to say of a trace over so long a time that its times are hardly seconds; nothing of any other."""
    if span_seconds <= LONGEST_LIKELY_SECONDS:
        return ""
    years = span_seconds / FULL_YEAR_SECONDS
    return (
        f"the trace spans {years:,.0f} years: times are read as seconds; if they are milliseconds, divide them by 1000"
    )


@dataclass(frozen=True, slots=True)
class Demand:
    """Capacity in use over time, one entry a step of ``step_seconds``: mean vCPUs and GiB within the step.

    ``batch_cores`` is the part of ``cores`` that batch jobs take (what spot capacity may serve); ``start`` is the
    time of the first step in seconds (Unix time where the input has dates, else the trace's own origin). ``window`` is
    the part of the trace it is of, where it is a part. ``by_part`` says that it is what machines were billed for: who
    ran one for a part of a step paid that part.
    """

    start: float
    step_seconds: int
    cores: Floats
    memory: Floats
    batch_cores: Floats
    provenance: Provenance
    window: Window | None = None
    by_part: bool = False

    def __len__(self) -> int:
        return len(self.cores)


Workload = Jobs | Demand

"""What became of batch on idle capacity, by system and seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hcloud.harvest.jobs import Thresholds
from hcloud.harvest.results import OpenedUse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True)
class Hours:
    """Where the vCPU-hours that are paid for went: what services got, what harvested tasks did (``useful``), did in
    vain (``wasted``) and had begun at the end (``unfinished``), what nobody used of the reserve and beside it; and the
    hours on demand (``rented``) and those that services wanted and did not get (``slowed``)."""

    services: float
    useful: float
    wasted: float
    unfinished: float
    reserve: float
    idle: float
    rented: float
    slowed: float

    @property
    def paid(self) -> float:
        """All that is paid for."""
        return self.services + self.useful + self.wasted + self.unfinished + self.reserve + self.idle


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One system with one seed. Of every job the seconds that it took (of those not done: until the end of the run),
    and whether it is done; jobs that got no class, one and several (all none where the system has no classes), jobs
    that moved on demand, tasks killed; the share of server-time in which containers broke a reserve, the longest such
    time of a server, and the share of time with one anywhere (seconds); server-seconds in which a service was slowed;
    and the proxy of its tail, beside containers and alone."""

    seed: int
    seconds: Floats = field(repr=False)
    done: NDArray[np.bool_] = field(repr=False)
    labels: tuple[int, int, int]
    moved: int
    kills: int
    broken: float
    longest: float
    anywhere: float
    slowed_seconds: float
    tail: float
    tail_alone: float
    hours: Hours

    @property
    def jobs(self) -> int:
        """Jobs that came."""
        return len(self.seconds)

    @property
    def mean(self) -> float:
        """The mean time of a job."""
        return float(self.seconds.mean()) if len(self.seconds) else 0.0


@dataclass(frozen=True, slots=True)
class TaskSystem:
    """A system over all seeds."""

    system: str
    has_classes: bool
    runs: tuple[TaskRun, ...]

    @property
    def seconds(self) -> Floats:
        """The time of every job of every seed."""
        found: Floats = np.concatenate([run.seconds for run in self.runs])
        return found

    def quantile(self, at: float) -> float:
        """A quantile of the times of jobs."""
        times = self.seconds
        return float(np.quantile(times, at)) if len(times) else 0.0

    @property
    def mean(self) -> float:
        """The mean time of a job."""
        times = self.seconds
        return float(times.mean()) if len(times) else 0.0

    def total(self, name: str) -> float:
        """A count of all runs, added up."""
        return float(sum(getattr(run, name) for run in self.runs))

    def each(self, name: str) -> float:
        """The mean over seeds of a count."""
        return self.total(name) / len(self.runs)

    def hours(self, name: str) -> float:
        """The mean over seeds of an account of vCPU-hours."""
        return sum(float(getattr(run.hours, name)) for run in self.runs) / len(self.runs)

    @property
    def unfinished(self) -> int:
        """Jobs that were not done at the end."""
        return sum(int((~run.done).sum()) for run in self.runs)

    @property
    def labels(self) -> tuple[float, float, float]:
        """The shares of jobs that got no class, one, several."""
        counts = np.sum([run.labels for run in self.runs], axis=0)
        shares: tuple[float, float, float] = tuple((counts / max(counts.sum(), 1)).tolist())
        return shares

    @property
    def lost_share(self) -> float:
        """Of the vCPU-hours that containers held, those whose task was killed."""
        held = self.hours("useful") + self.hours("wasted") + self.hours("unfinished")
        return self.hours("wasted") / held if held > 0 else 0.0


@dataclass(frozen=True, slots=True)
class TaskStudy:
    """Systems side by side: on which servers, for how many hours after how many days of history, with which jobs.
    ``without_use`` counts servers whose use is not known, which nobody harvests."""

    opened: OpenedUse
    jobs_name: str
    dags: int
    every: float
    hours: float
    days_before: int
    servers: int
    without_use: int
    vcpus: float
    mean_use: float
    patterns: tuple[int, int, int]
    classes: int
    lengths: Thresholds
    by_length: tuple[int, int, int]
    known_runs: bool
    memory_known: bool
    systems: tuple[TaskSystem, ...]

    def named(self, name: str) -> TaskSystem | None:
        """A system by its name."""
        return next((one for one in self.systems if one.system == name), None)


@dataclass(frozen=True, slots=True)
class Gain:
    """How much less a system has of something than another, as a share of that, in the mean over paired seeds and from
    the least to the most of a seed; None where the other has nothing."""

    mean: float
    low: float
    high: float


def gain(ours: TaskSystem, other: TaskSystem) -> Gain | None:
    """How much sooner jobs are done, seed by seed."""
    pairs = [(a.mean, b.mean) for a, b in zip(ours.runs, other.runs, strict=True) if b.mean > 0]
    if not pairs:
        return None
    shares = [1.0 - a / b for a, b in pairs]
    return Gain(sum(shares) / len(shares), min(shares), max(shares))

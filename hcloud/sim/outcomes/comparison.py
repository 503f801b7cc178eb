"""Strategies compared over one workload, and sweeps: what is kept of their runs, intervals over seeds, and the
front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hcloud.model.workload import Window
from hcloud.planning.strategies.choice import OperatingTarget, unbeaten
from hcloud.policy.records import Reals
from hcloud.sim.outcomes.interval import Interval
from hcloud.sim.outcomes.measure import Measures
from hcloud.sim.setup.grid import SweepGrid
from hcloud.sim.setup.scenarios import ScenarioCheck
from hcloud.sim.setup.shop import Shop

WEEKS = (1, 4, 13, 26, 52, 53, 104)
"""Spans that cumulative costs are told for; a term of the reserve is 52 weeks."""
RESERVED = "reserved"
MOST_REFUSED = 0.01  # ours: a strategy that leaves out more of the work than this is not compared


@dataclass(frozen=True, slots=True)
class Dropped:
    """Jobs that were left out before any run, since no type holds them, and the part of all work that they are."""

    jobs: int = 0
    work: float = 0.0


NOTHING_DROPPED = Dropped()


@dataclass(frozen=True, slots=True)
class Timeline:
    """What was in use at even times (s): servers reserved; instances rented by type, with the ``vcpus`` of one of each;
    vCPUs of the pool in use; the queue; the soft limit; ``heat`` [time, reserved server] is the share of each server
    in use."""

    times: Reals
    reserved: int
    rented: dict[str, Reals]
    vcpus: dict[str, float]
    pool_cores: Reals
    queue: Reals
    soft: Reals
    heat: Reals


@dataclass(frozen=True, slots=True)
class Simulated:
    """One run in figures, with what pictures need."""

    measures: Measures
    timeline: Timeline
    batch: Reals
    tails: Reals
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class SizedReserve:
    """The least reserve that keeps a share of jobs: servers of all types and their vCPUs, and in the mean of the seeds
    dollars an ideal hour and the share kept."""

    servers: int
    vcpus: float
    dollars: Decimal
    kept: float


@dataclass(frozen=True, slots=True)
class ComparedStrategy:
    """A strategy over all seeds; ``first`` is its run at the first of them. ``on_front`` says that no other strategy is
    both cheaper and better in the mean. Where several loads are compared, ``load`` is that of its runs."""

    name: str
    runs: tuple[Measures, ...]
    first: Simulated
    on_front: bool = False
    dropped: Dropped = NOTHING_DROPPED
    sized: SizedReserve | None = None
    load: float | None = None

    @property
    def refused_work(self) -> float:
        """The largest part of the work that it left out in any run or that was dropped before, as no type holds it."""
        left = 1 - self.dropped.work
        return self.dropped.work + left * max(run.use.refused_work for run in self.runs)

    @property
    def is_compared(self) -> bool:
        """Whether it did (nearly) all of the work, so that its dollars can be compared."""
        return self.refused_work <= MOST_REFUSED

    def interval(self, figure: Callable[[Measures], float]) -> Interval:
        """A figure over the seeds."""
        return Interval.of([figure(run) for run in self.runs])


NOTHING_ASKED = OperatingTarget(0.0, None)


@dataclass(frozen=True, slots=True)
class StrategyComparison:
    """Strategies over the same workload and seeds, what the scenario states about itself, and the types that are
    reserved ``beside`` the large one. ``sized_for`` is the share of jobs that each was told the least reserve for;
    ``assumed`` are sentences on what is not known of the jobs; ``target`` is the quality that is asked for."""

    workload: str
    jobs: int
    cloud: str
    shop: Shop
    profiled: bool
    seeds: tuple[int, ...]
    strategies: tuple[ComparedStrategy, ...]
    checks: tuple[ScenarioCheck, ...]
    window: Window | None = None
    beside: tuple[str, ...] = ()
    sized_for: float | None = None
    assumed: tuple[str, ...] = ()
    target: OperatingTarget = NOTHING_ASKED

    @property
    def workload_name(self) -> str:
        """What people call the workload: a file without its folder."""
        return self.workload.rpartition("/")[2]


def dollars_per_hour(run: Measures) -> float:
    """Dollars an ideal hour, as a real number for intervals and pictures."""
    return float(run.cost.per_ideal_hour)


def kept_qos(run: Measures) -> float:
    """The share of jobs that kept 95 % of their performance."""
    return run.service.kept_qos


def with_front(made: Sequence[ComparedStrategy]) -> list[ComparedStrategy]:
    """The strategies, each told whether no other one that did the work is both cheaper and better in the mean."""
    able = [c for c in made if c.is_compared]
    front = unbeaten([(c.interval(dollars_per_hour).mean, c.interval(kept_qos).mean) for c in able])
    best = {c.name for c, told in zip(able, front, strict=True) if told}
    return [replace(c, on_front=c.name in best) for c in made]


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of the table: a strategy with its changes, and every figure over the seeds."""

    strategy: str
    changes: Mapping[str, str]
    seeds: int
    figures: Mapping[str, Interval | None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A finished sweep: its grid, the digest of its inputs, its cells in the order of the grid, notes, the place."""

    grid: SweepGrid
    workload: str
    inputs: str
    figures: tuple[str, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    place: str

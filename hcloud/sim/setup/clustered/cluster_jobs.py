"""Jobs for the clusters of published studies: which applications come when, on how many vCPUs and for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.measured.profile import RESOURCES
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.cluster import Cluster
from hcloud.model.workload import JobKind
from hcloud.sim.setup.streams import stream

if TYPE_CHECKING:
    from hcloud.model.workload import Floats
    from hcloud.policy.records import Ints

MOST = 99
_WITHIN = 6.0
"""Ours: standard deviations of bell-shaped arrivals in the time in which jobs come."""
MEMORY = ("llcbw", "llc", "membw", "memcap")
CPU = ("l1i", "l1d", "llc", "cpu", "tlb")
MEMORY_GROUPED = 32
"""Memory of a job in parts of a GiB: as many vCPUs as a server has find room on it."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long jobs run where nothing slows them down, before the load stretches all alike: around ``seconds`` in the
    mean with a log-normal spread, or evenly by ratio ``between`` two lengths."""

    seconds: float = 1.0
    sigma: float = 0.0
    between: tuple[float, float] | None = None

    @property
    def mean(self) -> float:
        """Seconds in the mean."""
        if self.between is None:
            return self.seconds
        low, high = self.between
        return float((high - low) / np.log(high / low))

    def drawn(self, chance: np.random.Generator, count: int) -> Floats:
        """The lengths of so many jobs."""
        found: Floats
        if self.between is None:
            found = self.seconds * np.exp(self.sigma * chance.standard_normal(count) - self.sigma**2 / 2)
        else:
            low, high = np.log(self.between)
            found = np.exp(low + (high - low) * chance.random(count))
        return found


@dataclass(frozen=True, slots=True)
class AppGroup:
    """Applications of one class: how many there are, which part of the jobs is theirs, what they press on most, the
    vCPUs that a job of theirs may hold, and how long one runs. Jobs that are ``resident`` hold that part of all vCPUs
    from the start to the end, and have no other share. Those of a ``course`` change while they run: from each share of
    their time they need so many times as much. ``best_effort`` takes what others leave."""

    name: str
    apps: int
    share: float
    presses: tuple[str, ...]
    vcpus: tuple[int, ...] = (1,)
    lengths: Lengths = Lengths()
    kind: JobKind = JobKind.BATCH
    resident: float = 0.0
    course: tuple[tuple[float, float], ...] = ()
    best_effort: bool = False


@dataclass(frozen=True, slots=True)
class Burst:
    """More jobs, spread evenly over some seconds after a job of the usual ones."""

    after: int
    jobs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ArrivalPattern:
    """When jobs come: ``gap`` seconds apart (with a normal ``spread``), and in a burst beside; with ``bell`` as many in
    the same time, most of them in its middle; with a gap of None at random, so often that the usual load comes of the
    usual lengths, so many ``together``, which are tasks of one application."""

    jobs: int
    gap: float | None = None
    spread: float = 0.0
    burst: Burst | None = None
    bell: bool = False
    together: int = 1

    @property
    def count(self) -> int:
        """All jobs."""
        return self.jobs + (self.burst.jobs if self.burst else 0)


@dataclass(frozen=True, slots=True)
class Filler:
    """So many jobs of the last group, one every ``gap`` seconds, that come beside those of the study."""

    jobs: int
    gap: float


@dataclass(frozen=True, slots=True)
class Queries:
    """Jobs that are stages of queries: as many as the arrivals say come at random times of so many ``seconds``, of
    which the first ``left_out`` do not count. A query has one of some numbers of ``stages`` with its probability, one
    after the other; the first runs on one of the ``holders``, the servers that hold its data, one of so many
    ``tables``."""

    seconds: float
    left_out: float
    stages: tuple[tuple[int, float], ...]
    holders: int
    tables: int

    @property
    def mean_stages(self) -> float:
        """Stages of a query in the mean."""
        return sum(count * share for count, share in self.stages)


@dataclass(frozen=True, slots=True)
class ClusterRecipe:
    """The jobs of a scenario: ``cluster`` is where they run, ``load`` the vCPUs needed over those there are: at the
    peak, or where a ``steady`` stream comes in the mean. All lengths are stretched alike until that holds, none
    beyond the ``limits``. ``once_each`` jobs begin with every application once; in ``phases`` the middle third of the
    jobs presses on memory more than the others. ``tolerance_apart`` says that what applications tolerate is drawn
    beside what they cause. ``filler`` is best effort beside the jobs. Where lengths are ``stated`` the load follows
    from them, unless another is asked for. Where jobs are ``queries`` each is several jobs, and residents are on all
    servers alike.
    """

    name: str
    cluster: str
    groups: tuple[AppGroup, ...]
    arrivals: ArrivalPattern
    load: float
    steady: bool = True
    limits: tuple[float, float] = (0.0, float("inf"))
    once_each: bool = False
    phases: bool = False
    tolerance_apart: bool = False
    filler: Filler | None = None
    stated: bool = False
    queries: Queries | None = None

    @property
    def resident(self) -> float:
        """The part of all vCPUs that residents hold."""
        return sum(group.resident for group in self.groups)

    @property
    def mean_seconds(self) -> float:
        """The mean length of a job before it is stretched."""
        return sum(group.share * group.lengths.mean for group in self.groups)


@dataclass(frozen=True, slots=True, eq=False)
class Applications:
    """The applications of a scenario: names, group of each, and points that each causes [application, resource]."""

    names: tuple[str, ...]
    group: Ints
    causes: Ints

    @classmethod
    def drawn(cls, recipe: ClusterRecipe, cloud: CloudModel, seed: int) -> Applications:
        """Each presses most on one of the resources that its group does, as hard as the jobs of a cloud."""
        chance = stream(seed, f"{recipe.name}: applications")
        names = tuple(f"{g.name}-{n:03d}" for g in recipe.groups for n in range(1, g.apps + 1))
        group = np.repeat(np.arange(len(recipe.groups)), [g.apps for g in recipe.groups])
        low, high = cloud.numbers("jobs", "other_entries")
        shares = chance.uniform(low, high, (len(names), len(RESOURCES)))
        largest = np.zeros(len(names))
        for at, of in enumerate(group.tolist()):
            shares[at, RESOURCES.index(chance.choice(recipe.groups[of].presses))] = 1.0
            tolerant = chance.random() < cloud.number("jobs", "batch_tolerant_share")
            usual = "batch_tolerant" if tolerant else "batch_sensitive"
            kind = usual if recipe.groups[of].kind is JobKind.BATCH else "service_sensitive"
            least, most = cloud.numbers("jobs", kind)
            largest[at] = chance.uniform(least, most)
        return cls(names, group, np.rint(shares * largest[:, None]).astype(np.int64))

    @property
    def memory_pressure(self) -> Floats:
        """What each causes on caches and memory, in the mean."""
        found: Floats = self.causes[:, [RESOURCES.index(name) for name in MEMORY]].mean(axis=1)
        return found


def submissions(recipe: ClusterRecipe, cluster: Cluster, seed: int) -> tuple[Floats, float]:
    """When the jobs come, and over how many seconds."""
    chance, arrivals = stream(seed, f"{recipe.name}: arrivals"), recipe.arrivals
    if recipe.queries is not None:
        span = recipe.queries.seconds
        return np.sort(chance.random(arrivals.jobs)) * span, span
    if arrivals.gap is None:
        span = arrivals.jobs * _cores_seconds(recipe) / ((recipe.load - recipe.resident) * cluster.vcpus)
        times = np.sort(chance.random(arrivals.jobs // arrivals.together)) * span
        return np.repeat(times, arrivals.together), span
    if arrivals.bell:
        window = arrivals.gap * (arrivals.jobs - 1)
        times = np.sort(window * np.clip(0.5 + chance.standard_normal(arrivals.jobs) / _WITHIN, 0.0, 1.0))
        return times - times[0], float(times[-1] - times[0])
    gaps = arrivals.gap + arrivals.spread * chance.standard_normal(arrivals.jobs)
    times = np.cumsum(np.maximum(gaps, 0.0)) - gaps[0]
    if arrivals.burst is not None:
        begins = times[arrivals.burst.after - 1]
        times = np.sort(np.append(times, begins + arrivals.burst.seconds * chance.random(arrivals.burst.jobs)))
    return times, float(times[-1])


def _cores_seconds(recipe: ClusterRecipe) -> float:
    """vCPU-seconds of a job in the mean, before it is stretched."""
    return sum(g.share * g.lengths.mean * sum(g.vcpus) / len(g.vcpus) for g in recipe.groups)


def applications_of_jobs(recipe: ClusterRecipe, found: Applications, seed: int) -> Ints:
    """The application of each job, in the order in which jobs come."""
    chance, count = stream(seed, f"{recipe.name}: jobs"), recipe.arrivals.count
    own = sum(g.apps for g in recipe.groups if not g.best_effort)
    first = min(own, count) if recipe.once_each else 0
    begun = chance.permutation(own)[:first]
    if recipe.phases:
        begun = _in_phases(found, chance, first)
    together = recipe.arrivals.together
    groups = chance.choice(len(recipe.groups), (count - first) // together, p=[g.share for g in recipe.groups])
    starts = np.searchsorted(found.group, np.arange(len(recipe.groups)))
    sizes = np.array([g.apps for g in recipe.groups])
    drawn = starts[groups] + (chance.random(len(groups)) * sizes[groups]).astype(np.int64)
    return np.concatenate([begun, np.repeat(drawn, together)]).astype(np.int64)


def fillers_of(recipe: ClusterRecipe, found: Applications, seed: int) -> tuple[Ints, Floats]:
    """The applications of best effort that comes beside the jobs, and when."""
    if recipe.filler is None:
        return np.zeros(0, np.int64), np.zeros(0)
    group = len(recipe.groups) - 1
    drawn = stream(seed, f"{recipe.name}: best effort").random(recipe.filler.jobs) * recipe.groups[group].apps
    first = int(np.searchsorted(found.group, group))
    return first + drawn.astype(np.int64), recipe.filler.gap * np.arange(recipe.filler.jobs, dtype=np.float64)


def residents_of(recipe: ClusterRecipe, found: Applications, cluster: Cluster) -> tuple[Ints, Floats]:
    """The applications of the jobs that are there from the start to the end, and the vCPUs of each."""
    apps, cores = np.zeros(0, np.int64), np.zeros(0)
    for at, group in enumerate(recipe.groups):
        each = group.vcpus[0]
        count = int(group.resident * cluster.vcpus / each)
        apps = np.append(apps, np.resize(np.flatnonzero(found.group == at), count))
        cores = np.append(cores, np.full(count, float(each)))
    return apps, cores


def _in_phases(found: Applications, chance: np.random.Generator, count: int) -> Ints:
    """Applications of medium pressure on memory, then of high, then of medium: thirds of the jobs, none twice."""
    order = np.argsort(found.memory_pressure, kind="stable")
    third = count // 3
    high = chance.permutation(order[-2 * third :])[:third]
    medium = chance.permutation(order[len(order) // 4 : -2 * third])[: count - third]
    return np.concatenate([medium[: (count - third) // 2], high, medium[(count - third) // 2 :]])


def of_each(recipe: ClusterRecipe, groups: Ints, draw: Callable[[AppGroup, int], Floats]) -> Floats:
    """Numbers of jobs, drawn group by group."""
    made = np.zeros(len(groups))
    for at, group in enumerate(recipe.groups):
        chosen = groups == at
        made[chosen] = draw(group, int(chosen.sum()))
    return made


def stretched(lengths: Floats, factor: float, limits: tuple[float, float]) -> Floats:
    """All lengths times a factor, none beyond the limits."""
    made: Floats = np.clip(lengths * factor, *limits)
    return made


def peak(submit: Floats, seconds: Floats, cores: Floats) -> float:
    """The most vCPUs that jobs hold at one moment where each begins when it comes."""
    times, held = np.concatenate([submit + seconds, submit]), np.concatenate([-cores, cores])
    return float(np.cumsum(held[np.lexsort((held, times))]).max())

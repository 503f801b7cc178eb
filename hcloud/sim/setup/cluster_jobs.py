"""Jobs for the clusters of published studies: which applications come when, on how many vCPUs and for how long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    from the start to the end, and have no other share."""

    name: str
    apps: int
    share: float
    presses: tuple[str, ...]
    vcpus: tuple[int, ...] = (1,)
    lengths: Lengths = Lengths()
    kind: JobKind = JobKind.BATCH
    resident: float = 0.0


@dataclass(frozen=True, slots=True)
class Burst:
    """More jobs, spread evenly over some seconds after a job of the usual ones."""

    after: int
    jobs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Arrivals:
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
class ClusterRecipe:
    """The jobs of a scenario: ``cluster`` is where they run, ``load`` the vCPUs needed over those there are: at the
    peak, or where a ``steady`` stream comes in the mean. All lengths are stretched alike until that holds, none
    beyond the ``limits``. ``once_each`` jobs begin with every application once; in ``phases`` the middle third of the
    jobs presses on memory more than the others. ``tolerance_apart`` says that what applications tolerate is drawn
    beside what they cause."""

    name: str
    cluster: str
    groups: tuple[AppGroup, ...]
    arrivals: Arrivals
    load: float
    steady: bool = True
    limits: tuple[float, float] = (0.0, float("inf"))
    once_each: bool = False
    phases: bool = False
    tolerance_apart: bool = False

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
    first = min(len(found.names), count) if recipe.once_each else 0
    begun = chance.permutation(len(found.names))[:first]
    if recipe.phases:
        begun = _in_phases(found, chance, first)
    together = recipe.arrivals.together
    groups = chance.choice(len(recipe.groups), (count - first) // together, p=[g.share for g in recipe.groups])
    starts = np.searchsorted(found.group, np.arange(len(recipe.groups)))
    sizes = np.array([g.apps for g in recipe.groups])
    drawn = starts[groups] + (chance.random(len(groups)) * sizes[groups]).astype(np.int64)
    return np.concatenate([begun, np.repeat(drawn, together)]).astype(np.int64)


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


_SINGLE, _THREADED, _MIXED, _STORAGE = ("single", "threaded", "mix", "storage")


def _paragon(shares: Sequence[float], *, threads: bool, mixes: tuple[int, ...]) -> tuple[AppGroup, ...]:
    """The pool of Paragon and ARQ (§5): 29 single-threaded applications, 22 multithreaded, 350 mixes of four, 25 that
    use storage. Ours: what each presses on, and log-normal lengths."""
    lengths = Lengths(900.0, 0.8)
    return (
        AppGroup(_SINGLE, 29, shares[0], CPU, (1,), lengths),
        AppGroup(_THREADED, 22, shares[1], MEMORY, (1, 2, 3, 4) if threads else (1,), lengths),
        AppGroup(_MIXED, 350, shares[2], (*CPU, *MEMORY), mixes, lengths),
        AppGroup(_STORAGE, 25, shares[3], ("disk", "network", "memcap"), (1,), lengths),
    )


_POOL, _ONE_EACH = (29 / 426, 22 / 426, 350 / 426, 25 / 426), (0.25, 0.25, 0.25, 0.25)
_MINUTES = (120.0, 14_400.0)


def _local(name: str, arrivals: Arrivals, load: float, *, threads: bool = False, phases: bool = False) -> ClusterRecipe:
    """178 jobs for 178 cores: one core each. Ours: where more are needed than there are, threads hold up to four and
    mixes one or two."""
    groups = _paragon(_POOL, threads=threads, mixes=(1, 2) if threads else (1,))
    return ClusterRecipe(
        name, "local-40", groups, arrivals, load, steady=False, limits=_MINUTES, once_each=True, phases=phases,
        tolerance_apart=True,
    )  # fmt: skip


def _ec2(name: str, arrivals: Arrivals, load: float) -> ClusterRecipe:
    """2,500 jobs of one vCPU cannot need half of 7,355. Ours: a mix of four holds four, threads one to four."""
    groups = _paragon(_ONE_EACH, threads=True, mixes=(4,))
    return ClusterRecipe(
        name, "ec2-1000", groups, arrivals, load, steady=False, limits=_MINUTES, once_each=True, tolerance_apart=True
    )


def _tasks(name: str, cluster: str, jobs: int, lengths: Lengths) -> ClusterRecipe:
    """A steady stream of tasks of one vCPU at 80 % of what there is."""
    groups = (
        AppGroup("compute", 10, 0.5, CPU, lengths=lengths),
        AppGroup("memory", 10, 0.5, (*MEMORY, "network"), lengths=lengths),
    )
    return ClusterRecipe(name, cluster, groups, Arrivals(jobs), 0.8)


_MEMCACHED = AppGroup(
    "memcached", 5, 0.0, ("llc", "llcbw", "membw", "network"), (4,), kind=JobKind.SERVICE, resident=0.4
)
"""Ours: four vCPUs each."""


def _beside_residents(name: str, cluster: str, jobs: int) -> ClusterRecipe:
    """Tasks of 100 ms, 20 a job, beside services on 40 % of the vCPUs. Ours: 70 % are needed in all, and the services
    are placed as the first jobs."""
    usual = _tasks(name, cluster, jobs, Lengths(0.1))
    return replace(usual, groups=(*usual.groups, _MEMCACHED), arrivals=Arrivals(jobs, together=20), load=0.7)


_FRAMEWORKS = (
    AppGroup("spark", 10, 0.4, (*MEMORY, "network"), (4, 8), Lengths(30.0, 0.8)),
    AppGroup("hadoop", 10, 0.2, ("disk", "network", "membw", "cpu"), (4, 8, 16), Lengths(600.0, 0.8)),
    AppGroup("storm", 5, 0.1, ("network", "cpu", "llc"), (4, 8), Lengths(900.0, 0.8)),
    AppGroup("service", 5, 0.1, ("llc", "llcbw", "membw", "network"), (2, 4, 8), Lengths(1800.0, 0.8), JobKind.SERVICE),
    AppGroup("single-node", 20, 0.2, CPU, (1, 2, 4), Lengths(300.0, 0.8)),
)
"""Ours: shares, sizes and lengths of what the text names (thesis §7.6.3)."""

RECIPES = {
    recipe.name: recipe
    for recipe in (
        _local("local-40", Arrivals(178, 10.0), 0.5),
        _local("local-40-medium", Arrivals(178, 10.0, 1.0), 0.95),
        _local("local-40-bell", Arrivals(178, 10.0, bell=True), 0.95),
        _local("local-40-phases", Arrivals(178, 10.0), 0.95, phases=True),
        _local("local-40-oversubscribed", Arrivals(178, 1.0), 1.2, threads=True),
        _ec2("ec2-1000", Arrivals(2500, 1.0), 0.5),
        _ec2("ec2-1000-high", Arrivals(5000, 1.0), 0.95),
        _ec2("ec2-1000-oversubscribed", Arrivals(7500, 1.0, burst=Burst(3750, 1000, 100.0)), 1.2),
        _tasks("tarcil-110", "tarcil-110", 100_000, Lengths(0.1)),
        _tasks("tarcil-110-mixed", "tarcil-110-mixed", 100_000, Lengths(0.1)),
        _tasks("tarcil-110-durations", "tarcil-110", 20_000, Lengths(between=(0.01, 600.0))),
        _beside_residents("tarcil-110-residents", "tarcil-110", 60_000),
        _beside_residents("tarcil-110-mixed-residents", "tarcil-110-mixed", 60_000),
        ClusterRecipe("quasar-200", "quasar-200", _FRAMEWORKS, Arrivals(1200, 1.0), 0.95, steady=False),
        _tasks("tarcil-200-short", "tarcil-200", 100_000, Lengths(0.1)),
        _tasks("tarcil-200-medium", "tarcil-200", 100_000, Lengths(between=(1.0, 10.0))),
        _tasks("tarcil-200-long", "tarcil-200", 30_000, Lengths(between=(10.0, 600.0))),
        ClusterRecipe("tarcil-400", "tarcil-400", _FRAMEWORKS, Arrivals(7200, 1.0), 0.725),
        _tasks("fleet-10000", "fleet-10000", 1_000_000, Lengths(60.0, 0.8)),
    )
}
"""The scenarios by name."""

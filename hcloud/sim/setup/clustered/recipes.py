"""The jobs of published studies on their clusters, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import cos, pi, sin

from hcloud.model.workload import JobKind
from hcloud.sim.setup.clustered.cluster_jobs import (
    CPU,
    MEMORY,
    AppGroup,
    ArrivalPattern,
    Burst,
    ClusterRecipe,
    Filler,
    Lengths,
    Queries,
)

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


def _local(
    name: str, arrivals: ArrivalPattern, load: float, *, threads: bool = False, phases: bool = False
) -> ClusterRecipe:
    """178 jobs for 178 cores: one core each. Ours: where more are needed than there are, threads hold up to four and
    mixes one or two."""
    groups = _paragon(_POOL, threads=threads, mixes=(1, 2) if threads else (1,))
    return ClusterRecipe(
        name, "local-40", groups, arrivals, load, steady=False, limits=_MINUTES, once_each=True, phases=phases,
        tolerance_apart=True,
    )  # fmt: skip


def _ec2(name: str, arrivals: ArrivalPattern, load: float) -> ClusterRecipe:
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
    return ClusterRecipe(name, cluster, groups, ArrivalPattern(jobs), 0.8)


_MEMCACHED = AppGroup(
    "memcached", 5, 0.0, ("llc", "llcbw", "membw", "network"), (4,), kind=JobKind.SERVICE, resident=0.4
)
"""Ours: four vCPUs each."""


def _beside_residents(name: str, cluster: str, jobs: int) -> ClusterRecipe:
    """Tasks of 100 ms, 20 a job, beside services on 40 % of the vCPUs. Ours: 70 % are needed in all, and the services
    are placed as the first jobs."""
    usual = _tasks(name, cluster, jobs, Lengths(0.1))
    return replace(usual, groups=(*usual.groups, _MEMCACHED), arrivals=ArrivalPattern(jobs, together=20), load=0.7)


def _queries(name: str, cluster: str, resident: float = 0.0) -> ClusterRecipe:
    """33.3 queries a second of 3.35 stages for half an hour, of which the first ten minutes are left out (thesis
    §7.6.1). Ours: three stages or four, one after the other, of one vCPU and about a second; a hundred tables; and
    residents of the kind of memcached, as large on each server as its share is."""
    lengths = Lengths(1.0, 0.8)
    groups = (
        AppGroup("query-compute", 10, 0.5, CPU, lengths=lengths),
        AppGroup("query-memory", 10, 0.5, (*MEMORY, "network"), lengths=lengths),
        *((replace(_MEMCACHED, vcpus=(1,), resident=resident),) if resident else ()),
    )
    plan = Queries(1800.0, 600.0, ((3, 0.65), (4, 0.35)), holders=3, tables=100)
    return ClusterRecipe(name, cluster, groups, ArrivalPattern(59_940), 0.5, stated=True, queries=plan)


_FRAMEWORKS = (
    AppGroup("spark", 10, 0.4, (*MEMORY, "network"), (4, 8), Lengths(30.0, 0.8)),
    AppGroup("hadoop", 10, 0.2, ("disk", "network", "membw", "cpu"), (4, 8, 16), Lengths(600.0, 0.8)),
    AppGroup("storm", 5, 0.1, ("network", "cpu", "llc"), (4, 8), Lengths(900.0, 0.8)),
    AppGroup("service", 5, 0.1, ("llc", "llcbw", "membw", "network"), (2, 4, 8), Lengths(1800.0, 0.8), JobKind.SERVICE),
    AppGroup("single-node", 20, 0.2, CPU, (1, 2, 4), Lengths(300.0, 0.8)),
)
"""Ours: shares, sizes and lengths of what the text names (thesis §7.6.3)."""

_HOUR = 3600.0
_HADOOP = AppGroup("hadoop", 10, 1.0, ("disk", "network", "membw", "cpu"), (16,), Lengths(_HOUR, 0.3))
_STORM = AppGroup("storm", 4, 1 / 6, ("network", "cpu", "llc"), (8,), Lengths(_HOUR, 0.3))
_SPARK = AppGroup("spark", 4, 1 / 6, (*MEMORY, "network"), (8,), Lengths(_HOUR / 2, 0.3))
_SERVED = ("llc", "llcbw", "membw", "network")
_WEB = AppGroup("web", 1, 1.0, _SERVED, (2,), Lengths(2 * _HOUR), JobKind.SERVICE)
_DIURNAL = tuple((hour / 24, round(0.65 - 0.35 * cos(2 * pi * (hour - 4) / 24), 3)) for hour in range(1, 24))
_CACHE = AppGroup("memcached", 16, 2 / 3, _SERVED, (4,), Lengths(24 * _HOUR), JobKind.SERVICE, course=_DIURNAL)
_STORE = AppGroup("cassandra", 8, 1 / 3, ("disk", "network", "memcap"), (8,), Lengths(24 * _HOUR), JobKind.SERVICE)
_IDLE = AppGroup("best-effort", 10, 0.0, CPU, (1, 2, 4), Lengths(300.0, 0.8), best_effort=True)
_LOADS = {
    "flat": (),
    "fluctuating": tuple((step / 12, round(1 + 0.5 * sin(2 * pi * step / 6), 3)) for step in range(1, 12)),
    "spike": ((0.45, 2.5), (0.6, 1.0)),
}
"""Ours: over two hours the load stays, or moves by half up and down twice, or is two and a half times as high for 18
minutes."""


def _quasar(
    name: str, groups: tuple[AppGroup, ...], arrivals: ArrivalPattern, filler: Filler | None = None
) -> ClusterRecipe:
    """The first four of Quasar's scenarios (§5). Ours: lengths, vCPUs a job, and services as jobs of one server each; a
    web service is eight of them, memcached sixteen (low at 4 h, 0.3 to 1 of its peak), Cassandra eight."""
    beside = (*groups, _IDLE) if filler else groups
    return ClusterRecipe(
        f"quasar-200-{name}", "quasar-200", beside, arrivals, 0.5, steady=False, once_each=True, filler=filler,
        stated=True,
    )  # fmt: skip


RECIPES = {
    recipe.name: recipe
    for recipe in (
        _local("local-40", ArrivalPattern(178, 10.0), 0.5),
        _local("local-40-medium", ArrivalPattern(178, 10.0, 1.0), 0.95),
        _local("local-40-bell", ArrivalPattern(178, 10.0, bell=True), 0.95),
        _local("local-40-phases", ArrivalPattern(178, 10.0), 0.95, phases=True),
        _local("local-40-oversubscribed", ArrivalPattern(178, 1.0), 1.2, threads=True),
        _ec2("ec2-1000", ArrivalPattern(2500, 1.0), 0.5),
        _ec2("ec2-1000-high", ArrivalPattern(5000, 1.0), 0.95),
        _ec2("ec2-1000-oversubscribed", ArrivalPattern(7500, 1.0, burst=Burst(3750, 1000, 100.0)), 1.2),
        _tasks("tarcil-110", "tarcil-110", 100_000, Lengths(0.1)),
        _tasks("tarcil-110-mixed", "tarcil-110-mixed", 100_000, Lengths(0.1)),
        _tasks("tarcil-110-durations", "tarcil-110", 20_000, Lengths(between=(0.01, 600.0))),
        _beside_residents("tarcil-110-residents", "tarcil-110", 60_000),
        _beside_residents("tarcil-110-mixed-residents", "tarcil-110-mixed", 60_000),
        _queries("tarcil-110-queries", "tarcil-110"),
        _queries("tarcil-110-queries-residents", "tarcil-110", 0.4),
        _queries("tarcil-110-mixed-queries-residents", "tarcil-110-mixed", 0.4),
        ClusterRecipe("quasar-200", "quasar-200", _FRAMEWORKS, ArrivalPattern(1200, 1.0), 0.95, steady=False),
        _quasar("hadoop", (_HADOOP,), ArrivalPattern(10, 7200.0)),
        _quasar(
            "frameworks",
            (replace(_HADOOP, apps=16, share=2 / 3), _STORM, _SPARK),
            ArrivalPattern(24, 5.0),
            Filler(3600, 1.0),
        ),
        *(
            _quasar(f"web-{name}", (replace(_WEB, course=course),), ArrivalPattern(8, 0.0), Filler(7200, 1.0))
            for name, course in _LOADS.items()
        ),
        _quasar("day", (_CACHE, _STORE), ArrivalPattern(24, 0.0), Filler(8640, 10.0)),
        _tasks("tarcil-200-short", "tarcil-200", 100_000, Lengths(0.1)),
        _tasks("tarcil-200-medium", "tarcil-200", 100_000, Lengths(between=(1.0, 10.0))),
        _tasks("tarcil-200-long", "tarcil-200", 30_000, Lengths(between=(10.0, 600.0))),
        ClusterRecipe("tarcil-400", "tarcil-400", _FRAMEWORKS, ArrivalPattern(7200, 1.0), 0.725),
        _tasks("fleet-10000", "fleet-10000", 1_000_000, Lengths(60.0, 0.8)),
    )
}
"""The scenarios by name."""

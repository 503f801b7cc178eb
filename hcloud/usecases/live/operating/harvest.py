"""Batch on idle capacity of live work: which jobs, on which machines, and by which numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.control.operating.fold import Fold
from hcloud.control.ports import JobSource
from hcloud.errors import EvidenceError, InputError, UsageError
from hcloud.harvest.hosts import IdleHost, free_cores, free_memory
from hcloud.harvest.kernels.holding import VCPU
from hcloud.harvest.tasks.dags import dag_of
from hcloud.live.harvesting.terms import Harvestable, HarvestTerms, settings_of
from hcloud.model.running.harvest_note import HarvestClass, HarvestClasses, HarvestSet
from hcloud.model.running.job import JobOrder, NewJobs
from hcloud.model.running.job_graph import JobGraph
from hcloud.model.workload import JobKind
from hcloud.policy.facts import Setup
from hcloud.units import some_of
from hcloud.usecases.live.operating.engine import LOCAL_ENGINE, EngineParts, NoMoreJobs

if TYPE_CHECKING:
    from hcloud.harvest.classes import UseTypes
    from hcloud.harvest.policy import HarvestPolicy

_FAR = 1e15
NAMED = 5
"""Jobs that a message names."""


@dataclass(frozen=True, slots=True)
class BesideServices:
    """A file of jobs, or of graphs of tasks, for idle capacity (None: those that are known), numbers of one's own
    (None: the bundled ones), and what has the use of services in the past by classes (None: no history)."""

    jobs: Path | None = None
    policy: Path | None = None
    types: Callable[[], UseTypes] | None = None


def harvest_terms(
    asked: BesideServices, fold: Fold, setup: Setup, world: EngineParts, jobs: tuple[NewJobs, str, bool]
) -> HarvestTerms | None:
    """What runs on idle capacity; None where nothing does. ``jobs`` are the others that are known, which engine runs
    them, and whether their file is followed. Raises UsageError for an engine that cannot, or without a reserve,
    InputError for jobs that cannot be run so, EvidenceError for those for which no machine has room."""
    others, engine, follow = jobs
    settings = fold.harvested.settings
    if asked.jobs is None:
        if asked.policy is not None or asked.types is not None:
            raise UsageError("--harvest-policy and --util say how --batch works", hint="add --batch BATCH")
        return None if settings is None else HarvestTerms(NoMoreJobs(), _engine(world, engine))
    if not setup.reserve:
        raise UsageError(
            f"--batch uses machines of the reserve, and {setup.strategy} reserves none",
            hint="a strategy that reserves, as SR or HM, and --pool N",
        )
    from hcloud.readers.harvest.policy import load_harvest

    runs, policy = _engine(world, engine), load_harvest(asked.policy)
    wanted = _wanted(asked.jobs, fold, follow=follow)
    _check(wanted, asked.jobs, fold, others)
    _check_room(wanted, asked.jobs, setup, settings_of(policy, 0.0))
    classes = None if asked.types is None else _classes(asked.types(), policy, wanted, others.orders)
    return HarvestTerms(_Told(wanted.jobs, wanted.source), runs, policy, classes, wanted.graphs)


class _Wanted(NamedTuple):
    """What a file has for idle capacity: jobs, what more of them comes from, and graphs."""

    jobs: NewJobs
    source: JobSource
    graphs: tuple[JobGraph, ...] = ()

    def sizes(self) -> Iterator[JobOrder]:
        """Every job, and a task of every vertex."""
        yield from self.jobs.orders
        for graph in self.graphs:
            seen = set[str]()
            for vertex, order in graph.orders():
                if vertex not in seen:
                    seen.add(vertex)
                    yield order

    def names(self) -> Iterator[str]:
        """What jobs, graphs and tasks are called."""
        yield from (order.id for order in self.jobs.orders)
        for graph in self.graphs:
            yield graph.id
            yield from (order.id for _, order in graph.orders())

    def runs(self) -> Iterator[tuple[float, float]]:
        """Of each job of which that is known how many seconds it takes, and seconds times vCPUs."""
        for order in self.jobs.orders:
            if order.expect:
                yield order.expect, order.expect * order.cores / VCPU
        for dag in map(dag_of, self.graphs):
            yield max(dag.chains), dag.work


def _wanted(path: Path, fold: Fold, *, follow: bool) -> _Wanted:
    """The jobs of a file, or its graphs. UsageError for graphs that are to be followed."""
    from hcloud.readers.harvest.dags import holds_dags, read_graphs
    from hcloud.readers.jobs import FollowedFile, JobsFile

    if not holds_dags(path):
        source = FollowedFile(JobsFile(path), fold.began, follow=follow, fits=lambda order, servers: ALONE)
        return _Wanted(source.new(), source)
    if follow:
        why = "nothing shows that its last graph is whole"
        raise UsageError(
            f"{path}: graphs of tasks cannot be followed: {why}",
            hint="write jobs of one task as CSV, or say --no-follow",
        )
    return _Wanted(NewJobs(closed=True), NoMoreJobs(), read_graphs(path, fold.began))


def _classes(types: UseTypes, policy: HarvestPolicy, wanted: _Wanted, others: Sequence[JobOrder]) -> HarvestClasses:
    """The classes of a history, and where short and long jobs begin. InputError where it is of none of the services."""
    from hcloud.harvest.jobs import thresholds, weights_of

    tenants = types.histories.tenants
    services = sorted({order.app or order.id for order in others})
    if services and not set(services) & set(tenants):
        raise InputError(
            f"--util: none of its tenants ({some_of(tenants, NAMED)}) is"
            f" a service of these jobs ({some_of(services, NAMED)})",
            hint="a tenant is met with a service by its app, else by its id; --servers names the tenants of servers",
        )
    known = np.array([*wanted.runs()], np.float64).reshape(-1, 2)
    at = thresholds(types, policy, known[:, 0], known[:, 1]) if len(known) else None
    short, long = (at.short, at.long) if at else (policy.short_below, policy.long_above or math.inf)
    weights = weights_of([one.pattern for one in types.classes], policy)
    return HarvestClasses(
        0.0,
        short,
        min(long, _FAR),
        tuple(
            HarvestClass(
                one.name, one.mean, one.peak, tuple(weights[:, n].tolist()), tuple(tenants[m] for m in one.members)
            )
            for n, one in enumerate(types.classes)
        ),
    )


ALONE = "1: what runs on idle capacity runs on one machine"


class _Told:
    """Implements hcloud.control.ports.JobSource: what was read already, then what comes."""

    def __init__(self, first: NewJobs, source: JobSource) -> None:
        self._first: NewJobs | None = first
        self._source = source

    def new(self) -> NewJobs:
        """What came."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return self._source.new()


def _engine(world: EngineParts, name: str) -> Harvestable:
    """What runs jobs beside others; UsageError for an engine that cannot."""
    from hcloud.profiling.local.engine import LocalEngine

    if not isinstance(world.engine, LocalEngine):
        raise UsageError(
            f"--batch measures what services use on this machine, and the jobs are run by {name}",
            hint=f"--engine {LOCAL_ENGINE} --cloud local",
        )
    return world.engine


def _check(wanted: _Wanted, path: Path, fold: Fold, others: NewJobs) -> None:
    """InputError for services, and for names that other jobs have."""
    services = [o.id for o in wanted.jobs.orders if o.kind is JobKind.SERVICE]
    if services:
        raise InputError(
            f"{path}: {some_of(services, NAMED)}: a service cannot give way",
            hint="put services into the other file of jobs",
        )
    taken = {o.id for o in others.orders}
    seen = Counter(wanted.names())
    taken |= {name for name in seen if name in fold.known}
    both = [name for name in seen if seen[name] > 1 or (name in taken and not fold.harvested.knows(name))]
    if both:
        raise InputError(
            f"{path}: {some_of(both, NAMED)}: another job has this id", hint="each job needs an id of its own"
        )


def _check_room(wanted: _Wanted, path: Path, setup: Setup, rules: HarvestSet) -> None:
    """EvidenceError for jobs that have no room beside the reserve of any machine, even where services use nothing."""
    kinds = {setup.types[kind] for kind in setup.reserve}
    idle = [(t, IdleHost(0, t.cores, t.memory, 0.0, 0.0, 0)) for t in kinds]
    room = {t.name: (free_cores(host, rules, 0), free_memory(host, rules, 0)) for t, host in idle}
    bad = [
        o for o in wanted.sizes() if not any(o.cores <= cores and o.memory <= memory for cores, memory in room.values())
    ]
    if bad:
        name, (cores, memory) = max(room.items(), key=lambda of: of[1])
        told = some_of([f"{o.id} ({o.cores / 1000:g} cores, {o.memory:,} MiB)" for o in bad], NAMED)
        raise EvidenceError(
            f"{path}: no reserved machine has room for {told}: beside its reserve {name} has"
            f" {cores / 1000:g} cores and {memory:,} MiB",
            hint="ask for less, or put them into the other file of jobs",
        )

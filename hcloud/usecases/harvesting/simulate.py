"""``harvest simulate``: batch on the idle capacity of servers whose services go on as their history says, by several
systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hcloud.errors import EvidenceError, UsageError, did_you_mean
from hcloud.harvest.centre import TESTBED
from hcloud.harvest.classes import HOURS, UseTypes, use_types
from hcloud.harvest.histories import DAY, Scaling, TenantHistories, scaled_use
from hcloud.harvest.jobs import LENGTHS, Thresholds, thresholds
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.results import OpenedUse
from hcloud.harvest.tasks.dags import Dag, queries, times
from hcloud.harvest.tasks.outcomes import TaskRun, TaskStudy, TaskSystem
from hcloud.harvest.typing import PATTERNS
from hcloud.readers.harvest.dags import check_sizes, read_dags, read_runs
from hcloud.sim.harvesting.graphs import VCPU
from hcloud.sim.harvesting.run import last_runs, run_system
from hcloud.sim.harvesting.setup import SYSTEMS, IdlePool, idle_pool, kept_cores, poisson
from hcloud.units import SECONDS_PER_HOUR, counted, format_span
from hcloud.usecases.harvesting.opened import UseRequest, open_use
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX

QUERIES = "queries"
WARM_SYSTEM, _WARM_SEED = "aware", 1_000_003
"""Last runs are those of another seed with the system that knows nothing of classes."""


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """Whose idle capacity is used by which jobs (a file or ``scenario:queries``, with last runs where they are known),
    by which systems, for how long, how often a job comes, and how many seeds."""

    use: UseRequest
    jobs: str
    runs: Path | None = None
    systems: tuple[str, ...] = ("stock", "aware", "history")
    every: float = 300.0
    hours: float = 24.0
    seeds: int = 5
    mean_use: float | None = None
    scaling: Scaling = Scaling.LINEAR
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What all systems are run with."""

    opened: OpenedUse
    pool: IdlePool
    without_use: int
    days_before: int
    dags: tuple[Dag, ...] = field(repr=False)

    @property
    def policy(self) -> HarvestPolicy:
        return self.opened.policy


def simulate_tasks(request: TaskRequest, progress: Callable[[float], None]) -> TaskStudy:
    """Every system with every seed; the jobs of a seed are the same for all.

    UsageError for what does not exist, InputError for files that cannot be used, EvidenceError for too little history.
    """
    check_request(request)
    ready = _prepared(request)
    seconds, seed = request.hours * SECONDS_PER_HOUR, request.use.seed
    dags, total = ready.dags, len(request.systems) * request.seeds + 1
    lengths = _lengths(ready.pool.types, ready.policy, dags)
    if request.runs is None:
        warm = poisson(seed + _WARM_SEED, request.every, seconds, len(dags))
        plan = (ready.policy, lengths, seed + _WARM_SEED)
        _, world = run_system(ready.pool, SYSTEMS[WARM_SYSTEM], (dags, warm), plan, seconds)
        dags = last_runs(world, dags)
        lengths = _lengths(ready.pool.types, ready.policy, dags)
    progress(1 / total)
    systems, by_length, done = list[TaskSystem](), np.zeros(len(LENGTHS), np.int64), 1
    for name in request.systems:
        runs = list[TaskRun]()
        for own in range(seed, seed + request.seeds):
            jobs = (dags, poisson(own, request.every, seconds, len(dags)))
            run, world = run_system(ready.pool, SYSTEMS[name], jobs, (ready.policy, lengths, own), seconds)
            runs.append(run)
            if not systems:
                by_length += np.bincount(world.work.length[world.work.length >= 0], minlength=len(LENGTHS))
            done += 1
            progress(done / total)
        systems.append(TaskSystem(name, SYSTEMS[name].chooses, tuple(runs)))
    return _study(request, ready, (lengths, by_length.tolist()), tuple(systems))


def check_request(request: TaskRequest) -> None:
    """UsageError for a system that there is not, or numbers that say nothing."""
    for name in request.systems:
        if name not in SYSTEMS:
            raise UsageError(f"there is no system {name!r}{did_you_mean(name, SYSTEMS)}", hint=", ".join(SYSTEMS))
    if len(set(request.systems)) < len(request.systems):
        raise UsageError(f"--system {','.join(request.systems)}: each once")


def _prepared(request: TaskRequest) -> _Prepared:
    """The jobs are read first: that takes no time."""
    dags = _jobs(request)
    opened = open_use(request.use)
    if opened.unsized:
        raise EvidenceError(
            f"{opened.name}: the vCPUs of {opened.unsized[0]!r} are unknown: idle capacity cannot be counted",
            hint="name the servers: --servers servers.csv, with the columns server, tenant and cores",
        )
    histories = _scaled(opened.histories, request)
    days = int(np.ceil(request.hours * SECONDS_PER_HOUR / DAY))
    before = histories.days - days
    if before < opened.policy.least_days:
        most = histories.days - opened.policy.least_days
        raise EvidenceError(
            f"{opened.name}: the history is {counted(histories.days, 'day')} long; {format_span(days * DAY)} of it are"
            f" run, and types of use need {counted(opened.policy.least_days, 'day')} before",
            hint=f"--hours {most * HOURS} at most" if most > 0 else "give a longer history",
        )
    types = use_types(replace(histories, use=histories.part(0, before)), opened.policy, request.use.seed)
    servers, without_use = _servers(opened)
    steps = int(np.ceil(request.hours * SECONDS_PER_HOUR / histories.step))
    pool = idle_pool(types, histories.use[:, -steps:], histories.step, servers)
    check_fit(dags, request.jobs, pool, opened.policy)
    return _Prepared(opened, pool, without_use, types.days, dags)


def _jobs(request: TaskRequest) -> tuple[Dag, ...]:
    if request.jobs.startswith(SCENARIO_PREFIX):
        name = request.jobs.removeprefix(SCENARIO_PREFIX)
        if name != QUERIES:
            raise UsageError(
                f"there are no jobs {name!r}{did_you_mean(name, (QUERIES,))}", hint=f"scenario:{QUERIES}, or a file"
            )
        dags = queries(request.use.seed)
    else:
        dags = read_dags(Path(request.jobs))
    scaled = tuple(times(dag, request.scale) for dag in dags) if request.scale != 1.0 else dags
    return scaled if request.runs is None else read_runs(request.runs, scaled)


def _scaled(histories: TenantHistories, request: TaskRequest) -> TenantHistories:
    """The histories at the mean use that is asked for; a testbed has its own."""
    mean = request.mean_use
    if mean is None and request.use.util == f"{SCENARIO_PREFIX}{TESTBED.name}":
        mean = TESTBED.mean_use
    if mean is None:
        return histories
    return replace(histories, use=scaled_use(histories.use, histories.cores, mean, request.scaling))


def _servers(opened: OpenedUse) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray] | None, int]:
    """Sizes and tenants of the servers with a history, and how many have none: nobody may have these, since nobody
    knows what their services use."""
    servers = opened.servers
    if servers is None:
        return None, 0
    row = {name: at for at, name in enumerate(opened.histories.tenants)}
    of_tenant = np.array([row.get(name, -1) for name in servers.tenants.names], np.int64)
    tenant = of_tenant[servers.tenants.of]
    known = tenant >= 0
    return (servers.cores[known], servers.memory[known], tenant[known]), int((~known).sum())


def check_fit(dags: Sequence[Dag], name: str, pool: IdlePool, policy: HarvestPolicy) -> None:
    """InputError for tasks that no server has room for beside its reserve."""
    cores = float(np.max(pool.cores - kept_cores(pool.cores, policy) / VCPU))
    known = bool((pool.memory > 0).all())
    memory = float(pool.memory.max()) * (1.0 - policy.reserve_memory) if known else None
    check_sizes(dags, name, cores, memory)


def _lengths(types: UseTypes, policy: HarvestPolicy, dags: Sequence[Dag]) -> Thresholds:
    """Where short and long begin, each DAG as often as any other; of one that has not run its longest chain counts."""
    seconds = np.array([max(dag.chains) if dag.last is None else dag.last for dag in dags])
    return thresholds(types, policy, seconds, np.array([dag.work for dag in dags]))


def _study(
    request: TaskRequest, ready: _Prepared, lengths: tuple[Thresholds, list[int]], systems: tuple[TaskSystem, ...]
) -> TaskStudy:
    pool, patterns = ready.pool, ready.pool.types.typed.pattern
    counts = np.bincount(patterns, minlength=len(PATTERNS)).tolist()
    use = pool.use.mean(axis=1)[pool.tenant]
    short, medium, long = lengths[1]
    return TaskStudy(
        ready.opened,
        request.jobs,
        len(ready.dags),
        request.every,
        request.hours,
        ready.days_before,
        len(pool),
        ready.without_use,
        float(pool.cores.sum()),
        float((use * pool.cores).sum() / pool.cores.sum()),
        (counts[0], counts[1], counts[2]),
        len(pool.types.classes),
        lengths[0],
        (short, medium, long),
        request.runs is not None,
        bool((pool.memory > 0).all()),
        systems,
    )

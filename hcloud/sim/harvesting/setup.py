"""Builds the tables of a run: servers in their classes, jobs as they come, a system's rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.harvest.classes import UseTypes
from hcloud.harvest.jobs import Thresholds, weights_of
from hcloud.harvest.kernels.holding import in_use
from hcloud.harvest.policy import HarvestPolicy
from hcloud.sim.harvesting.graphs import MIB, ROUNDING, VCPU, Graphs
from hcloud.sim.harvesting.world import LEVELS, NEVER, DagWork, Hosts, IdleRules, IdleWorld
from hcloud.sim.setup.streams import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Ints = NDArray[np.int64]

_ANY_MEMORY = 1 << 40


class System(NamedTuple):
    """Whether a system knows of services and keeps their reserve, puts jobs on classes, balances its servers, and has
    another place for jobs that no class has room for."""

    guards: bool
    chooses: bool
    balances: bool
    leaves: bool = False


SYSTEMS: Mapping[str, System] = {
    "stock": System(guards=False, chooses=False, balances=False),
    "aware": System(guards=True, chooses=False, balances=False),
    "history": System(guards=True, chooses=True, balances=True),
    "balanced": System(guards=True, chooses=False, balances=True),
    "classes": System(guards=True, chooses=True, balances=False),
}
"""By name: one that ignores services; one that yields to them; the study's; and what each part of it does alone."""
BESIDE = System(guards=True, chooses=True, balances=True, leaves=True)
"""The study's beside a strategy, which takes what no class has room for."""


@dataclass(frozen=True)
class IdlePool:
    """The servers of a run, those of a class together: vCPUs, GiB (0: not known), the tenant of each as row of ``use``;
    what each tenant uses in steps of ``step`` seconds; and the classes, by what was before."""

    cores: Floats
    memory: Floats
    tenant: Ints
    types: UseTypes
    use: NDArray[np.float32]
    step: int

    def __len__(self) -> int:
        return len(self.cores)


class Arrivals(NamedTuple):
    """When jobs come (seconds, in order), and which DAG each is."""

    times: Floats
    dags: Ints


def idle_pool(
    types: UseTypes, use: NDArray[np.float32], step: int, servers: tuple[Floats, Floats, Ints] | None
) -> IdlePool:
    """The pool of some servers (vCPUs, GiB, tenant), or of those that histories tell of."""
    if servers is None:
        of = types.histories
        tenant = np.repeat(np.arange(len(of.tenants)), of.servers)
        servers = (of.cores / of.servers)[tenant], np.zeros(len(tenant)), tenant
    cores, memory, tenant = servers
    order = np.argsort(types.label[tenant], kind="stable")
    return IdlePool(cores[order], memory[order], tenant[order].astype(np.int64), types, use, step)


def poisson(seed: int, every: float, seconds: float, dags: int) -> Arrivals:
    """Jobs that come by chance, on average ``every`` so many seconds, any of the DAGs as likely."""
    chance = stream(seed, "harvested jobs")
    times = np.cumsum(chance.exponential(every, 20 + int(2 * seconds / every)))
    times = times[times < seconds]
    return Arrivals(times, chance.integers(0, dags, len(times)))


def build(
    pool: IdlePool, system: System, jobs: tuple[Graphs, Arrivals], plan: tuple[HarvestPolicy, Thresholds, int]
) -> IdleWorld:
    """A world at its begin; ``plan`` is the policy, where short and long jobs begin, and the seed."""
    policy, lengths, seed = plan
    graphs, arrivals = jobs
    work = _work(graphs, arrivals, len(pool.types.classes), max(policy.most_kills, 1))
    rules = _rules(system, policy, lengths, pool.step, work)
    classes = pool.types.classes
    return IdleWorld(
        rules,
        _hosts(pool, policy, work, rules),
        work,
        np.array([[0.0, c.mean, c.peak] for c in classes]).T.copy(),
        weights_of([c.pattern for c in classes], policy),
        np.zeros(len(classes), np.int64),
        np.zeros(len(classes), np.bool_),
        stream(seed, "harvesting").integers(1, 2_000_000_000, 2).astype(np.int64),
        np.zeros(8),
        np.zeros(11, np.int64),
    )


def _rules(system: System, policy: HarvestPolicy, lengths: Thresholds, step: int, work: DagWork) -> IdleRules:
    return IdleRules(
        guards=int(system.guards),
        chooses=int(system.chooses),
        balances=int(system.balances),
        leaves=int(system.leaves),
        tick=policy.tick,
        step=step,
        look=max(policy.look_every // policy.tick, 1),
        short=float(lengths.short),
        long=float(lengths.long),
        kills=policy.most_kills,
        slips=int(policy.moves_on_slip),
        spin_up=float(policy.spin_up),
        slowdown=float(policy.slowdown),
        least_cores=int(work.cores.min()),
        least_memory=int(work.memory.min()),
    )


def kept_cores(cores: Floats, policy: HarvestPolicy) -> Ints:
    """The reserve of each server, whole vCPUs, in thousandths."""
    kept: Ints = in_use(cores * VCPU, policy.reserve_cores)
    return kept


def _hosts(pool: IdlePool, policy: HarvestPolicy, work: DagWork, rules: IdleRules) -> Hosts:
    count = len(pool)
    known = pool.memory > 0
    memory = np.where(known, np.floor(pool.memory * MIB), _ANY_MEMORY).astype(np.int64)
    cores = np.floor(pool.cores * VCPU + ROUNDING).astype(np.int64)
    class_of = pool.types.label[pool.tenant]
    slots = int(np.max(cores // rules.least_cores)) if count else 1
    if rules.least_memory > 0 and known.any() and known.all():
        slots = min(slots, int(np.max(memory // rules.least_memory)))
    slots = max(min(slots, int(work.undone.sum())), 1)
    zeros = [np.zeros(count, np.int64) for _ in range(6)]
    return Hosts(
        cores=cores,
        memory=memory,
        kept=kept_cores(pool.cores, policy),
        kept_memory=np.where(known, np.ceil(pool.memory * policy.reserve_memory * MIB), 0).astype(np.int64),
        tenant=pool.tenant,
        class_first=np.searchsorted(class_of, np.arange(len(pool.types.classes) + 1)).astype(np.int64),
        use=np.ascontiguousarray(pool.use, np.float32),
        held=zeros[0],
        held_memory=zeros[1],
        many=zeros[2],
        broken=zeros[3],
        row=np.zeros((count, slots), np.int32),
        left=np.zeros((count, slots)),
        kills=np.zeros((count, slots), np.int32),
        begun=np.zeros((count, slots), np.int32),
        weight=zeros[4],
        tree=np.zeros(count + 1, np.int64),
        aside=zeros[5],
        load=np.zeros((2, LEVELS), np.int64),
    )


def _work(graphs: Graphs, arrivals: Arrivals, classes: int, kinds_of_kills: int) -> DagWork:
    jobs, of = len(arrivals.times), arrivals.dags.astype(np.int64)
    rows = np.diff(graphs.first)[of]
    first_row = np.concatenate(([0], np.cumsum(rows))).astype(np.int64)
    row_vertex = np.arange(first_row[-1]) + np.repeat(graphs.first[of] - first_row[:-1], rows)
    every = int(graphs.tasks[row_vertex].sum())
    return DagWork(
        *graphs[1:],
        submit=arrivals.times.astype(np.float64),
        dag=of,
        first_row=first_row,
        length=np.full(jobs, -1, np.int64),
        labels=np.full(jobs, -1, np.int64),
        label=np.zeros((jobs, classes), np.bool_),
        open_rows=rows,
        ended=np.full(jobs, NEVER),
        latest=np.full(jobs, NEVER),
        moves=np.full(jobs, NEVER),
        killed=np.zeros(jobs, np.int64),
        moved=np.zeros(jobs, np.int64),
        row_job=np.repeat(np.arange(jobs), rows),
        row_vertex=row_vertex,
        waiting=np.zeros((len(row_vertex), kinds_of_kills), np.int64),
        undone=graphs.tasks[row_vertex],
        blocked=graphs.needs[row_vertex],
        active=np.zeros(jobs + 1, np.int64),
        rented_row=np.zeros(every + 1, np.int64),
        rented_end=np.zeros(every + 1),
    )

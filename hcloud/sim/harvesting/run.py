"""One run of a system from begin to end, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hcloud.harvest.jobs import Thresholds
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.tasks.dags import Dag
from hcloud.harvest.tasks.outcomes import Hours, TaskRun
from hcloud.sim.harvesting import compiled
from hcloud.sim.harvesting.graphs import VCPU, of_dags
from hcloud.sim.harvesting.setup import Arrivals, IdlePool, System, build
from hcloud.sim.harvesting.world import (
    ANY_BROKEN,
    BROKEN,
    IDLE,
    KILLED,
    LEVELS,
    LONGEST,
    MOVED,
    RENTED,
    RESERVE,
    SERVICES,
    SHORT_TICKS,
    SLOWED,
    USEFUL,
    WASTED,
    IdleWorld,
)
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

_STEPS = 20
_AT_ONCE = 4_000_000
"""Ours: server-ticks that take less than a second; each step beside looks at all tables."""


def run_ticks(w: IdleWorld, ticks: int) -> None:
    """Go through all ticks, in steps, between which Ctrl-C is heard; a short run in one."""
    servers, step = len(w.hosts.cores), max(-(-ticks // _STEPS), 1)
    if servers * ticks <= _AT_ONCE:
        step = max(ticks, 1)
    for begin in range(0, ticks, step):
        until = min(begin + step, ticks)
        compiled.go_through(servers * (until - begin))(w, begin, until)


def run_system(
    pool: IdlePool, system: System, jobs: tuple[Sequence[Dag], Arrivals], plan: tuple[HarvestPolicy, Thresholds, int],
    seconds: float,
) -> tuple[TaskRun, IdleWorld]:  # fmt: skip
    """A system with its jobs for so many seconds."""
    world, ticks = build(pool, system, (of_dags(jobs[0]), jobs[1]), plan), int(seconds // plan[0].tick)
    run_ticks(world, ticks)
    return outcome(world, ticks, plan[2]), world


def last_runs(world: IdleWorld, before: Sequence[Dag]) -> tuple[Dag, ...]:
    """The same jobs with what their last run took in a run that is over."""
    taken = world.work.last.tolist()
    return tuple(Dag(dag.name, dag.vertices, last if last >= 0 else None)
                 for dag, last in zip(before, taken, strict=True))  # fmt: skip


def outcome(w: IdleWorld, ticks: int, seed: int) -> TaskRun:
    """What a run did in so many ticks."""
    work, end = w.work, float(ticks * w.rules.tick)
    done = work.ended >= 0
    seconds = np.where(done, work.ended, end) - work.submit
    counts = np.bincount(np.clip(work.labels[work.labels >= 0], 0, 2), minlength=3).tolist()
    server_ticks = max(len(w.hosts.cores) * ticks, 1)
    return TaskRun(
        seed,
        seconds,
        done,
        (counts[0], counts[1], counts[2]),
        int(w.tally[MOVED]),
        int(w.tally[KILLED]),
        float(w.tally[BROKEN]) / server_ticks,
        float(w.tally[LONGEST] * w.rules.tick),
        float(w.tally[ANY_BROKEN]) / max(ticks, 1),
        float(w.tally[SHORT_TICKS] * w.rules.tick),
        tail_proxy(w.hosts.load[0].astype(np.float64)),
        tail_proxy(w.hosts.load[1].astype(np.float64)),
        hours(w),
    )


def hours(w: IdleWorld) -> Hours:
    """The ledgers in vCPU-hours. What services got, the reserve and the idle rest are counted by server and tick, what
    tasks did by task: that both together are what is paid for is no definition."""
    at = w.ledger / (VCPU * SECONDS_PER_HOUR)
    begun = 0.0
    for server in np.flatnonzero(w.hosts.many).tolist():
        slots = slice(0, int(w.hosts.many[server]))
        vertex = w.work.row_vertex[w.hosts.row[server, slots]]
        begun += float((w.work.cores[vertex] * (w.work.seconds[vertex] - w.hosts.left[server, slots])).sum())
    return Hours(
        services=float(at[SERVICES]),
        useful=float(at[USEFUL]),
        wasted=float(at[WASTED]),
        unfinished=begun / (VCPU * SECONDS_PER_HOUR),
        reserve=float(at[RESERVE]),
        idle=float(at[IDLE]),
        rented=float(at[RENTED]),
        slowed=float(at[SLOWED]),
    )


def tail_proxy(load: Floats) -> float:
    """How many times an idle server's time a service takes, in the mean over servers and ticks: 1 / (1 - how busy it is
    of what it has), a proxy of queueing and no latency. Where it wants all that it has that counts as a hundred."""
    busy = (np.arange(LEVELS) + 0.5) / LEVELS
    times = 1.0 / (1.0 - np.minimum(busy, 1.0 - 1.0 / LEVELS))
    return float((load * times).sum() / max(load.sum(), 1.0))

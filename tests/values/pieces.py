"""Jobs of several servers for tests, and what has to hold of them whatever happens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from simulating import excerpt

from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import Jobs
from hcloud.sim.kernels.world import SimulatedWorld
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.variation import parse_axis, varied_strategy


def with_keys(strategy: Strategy, *keys: str) -> Strategy:
    """A strategy with other values of keys, as sweeps write them."""
    return varied_strategy(strategy, [change for text in keys for change in parse_axis(text)])


def several(count: int, most: int = 5, seed: int = 1) -> Jobs:
    """The first jobs of a scenario, every other one of them on several servers."""
    jobs = excerpt(count)
    servers = np.random.default_rng(seed).choice([1, 1, 2, 3, most], count).astype(np.int32)
    return replace(jobs, servers=servers, cores=jobs.cores * servers**0.7, memory=jobs.memory * servers**0.7)


def rows_of_jobs(tasks: Tasks) -> list[list[int]]:
    """The rows of each job of several servers."""
    assert tasks.pieces is not None
    return [np.flatnonzero(tasks.job == job).tolist() for job in np.unique(tasks.job[tasks.pieces > 1])]


def check_together(world: SimulatedWorld, tasks: Tasks) -> None:
    """Of each job all pieces that have not ended have a server, or none has; all that run began at one moment, and none
    ends before the others."""
    for rows in rows_of_jobs(tasks):
        here = [row for row in rows if not world.tasks[row].over and world.tasks[row].decided >= 0]
        assert len({world.control.jobs[row].server >= 0 for row in here}) <= 1, rows
        busy = {bool(world.tasks[row].running or world.tasks[row].rests) for row in here}
        assert len(busy) <= 1, rows
        ended = {world.tasks[row].ended for row in rows if world.tasks[row].ended >= 0}
        assert len(ended) <= 1, rows
        assert not ended or all(world.tasks[row].over for row in rows)

"""Batch played on the idle capacity of a pool that has nothing but its services: what ends there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.harvest.classes import UseTypes
from hcloud.harvest.histories import DAY
from hcloud.harvest.results import OpenedUse, PlayedBatch
from hcloud.model.workload import Jobs
from hcloud.planning.forecasting.dividing import can_split
from hcloud.sim.harvesting.beside import course
from hcloud.sim.harvesting.graphs import VCPU
from hcloud.sim.harvesting.setup import idle_pool, kept_cores
from hcloud.usecases.harvesting.idle import AskIdle
from hcloud.usecases.harvesting.played import may_ask, play_on

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_WORK = 4_000_000
"""Ours: server-ticks; where batch is longer or there are more servers these are looked at less often."""


def played_on_pool(jobs: Jobs, types: UseTypes, opened: OpenedUse) -> tuple[PlayedBatch, NDArray[np.bool_]]:
    """What became of batch beside services that go on as their history says, on the same weekdays; and which jobs
    ended in idle hours."""
    histories, policy = types.histories, opened.policy
    sizes = histories.cores / histories.servers
    room = float((sizes - kept_cores(sizes, policy) / VCPU).max())
    asks = may_ask(jobs, room, can_split(jobs))
    begins = float(jobs.submit[asks].min()) if asks.any() else 0.0
    seconds = (float(jobs.ends[asks].max()) if asks.any() else 0.0) - begins + DAY
    at = begins + histories.step * np.arange(int(seconds // histories.step) + 1, dtype=np.float64)
    use = np.array([course(histories, row, at) for row in range(len(histories.tenants))], np.float32)
    return play_on(idle_pool(types, use, histories.step, None), jobs, asks, AskIdle(opened, types), (begins, MOST_WORK))

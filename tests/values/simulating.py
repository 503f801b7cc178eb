"""Small studies for tests of the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hcloud.model.running.strategy import Parameter, Strategy, Value
from hcloud.model.workload import Jobs, Provenance
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.sim.kernels.world import SimulatedWorld
from hcloud.sim.setup.build import Capacity, Setting, build
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.prepare import Tasks, tasks_of
from hcloud.sim.setup.scenarios import scenario
from hcloud.sim.setup.shop import Shop, ShopChoice, open_shop
from hcloud.usecases.prices.pricing import open_book

Row = tuple[float, float, float, float, int]


def paper_shop() -> Shop:
    """What the study rents."""
    return open_shop(open_book(), ShopChoice.paper())


def jobs_of(rows: Sequence[Row]) -> Jobs:
    """Jobs from rows of submit, duration, cores, memory, kind."""
    table = np.array(rows, np.float64).reshape(len(rows), 5)
    submit, duration, cores, memory = (np.ascontiguousarray(table[:, i]) for i in range(4))
    none = np.full(len(rows), -1, np.int32)
    kind = table[:, 4].astype(np.int8)
    origin = Provenance("test", "test", "", len(rows))
    return Jobs(submit, duration, cores, memory, np.zeros(len(rows)), kind, none, (), none.copy(), (), origin)


def excerpt(count: int, name: str = "high-variability", each: int = 1) -> Jobs:
    """The first jobs of a scenario; or of each so many one, over a longer time."""
    jobs = scenario(name)
    names = ("submit", "duration", "cores", "memory", "gpus", "kind", "app", "qos")
    fields: dict[str, Any] = {name: getattr(jobs, name)[: count * each : each] for name in names}
    return replace(jobs, **fields)


def changed(strategy: Strategy, mechanism: str, **values: Value) -> Strategy:
    """A strategy with other values for some keys of a mechanism."""

    def new(parameter: Parameter) -> Parameter:
        return replace(parameter, value=values.get(parameter.key, parameter.value))

    parts = tuple(
        replace(m, parameters=tuple(map(new, m.parameters))) if m.name == mechanism else m for m in strategy.mechanisms
    )
    return replace(strategy, mechanisms=parts)


def hasty(strategy: Strategy) -> Strategy:
    """Agents that know of each other what a copy of 20 to 40 s ago says, draw anew where they come too late, and take a
    second for a decision."""
    return changed(
        strategy,
        "placement",
        notices="none",
        copy_seconds=(20.0, 40.0),
        commit="resample",
        decision_seconds=1.0,
        takeover_seconds=5.0,
    )


def crashing(setting: Setting, crashes: float, losses: float = 0.0, cancelled: float = 0.0) -> Setting:
    """The same with agents that crash and machines that are lost so often an hour, and jobs that users cancel."""
    values = {"agent_crashes_per_hour": crashes, "lost_per_hour": losses, "cancelled": cancelled}
    faults = tuple(replace(p, value=values.get(p.key, p.value)) for p in setting.cloud.sections["faults"])
    return replace(setting, cloud=replace(setting.cloud, sections={**setting.cloud.sections, "faults": faults}))


def with_spot(strategy: Strategy, below_quality: float) -> Strategy:
    """A strategy that sends tolerant batch jobs to spot capacity."""
    spot = strategy.mechanism("spot")
    key = Parameter("below_quality", below_quality, "quality", spot.origin, "", "test")
    parts = tuple(
        replace(m, rule="tolerant-batch", parameters=(key,)) if m.name == "spot" else m for m in strategy.mechanisms
    )
    return replace(strategy, name=f"{strategy.name}+spot", mechanisms=parts)


def setting_of(strategy: Strategy | str, pool: int, seed: int = 7) -> Setting:
    """A strategy in the study's cloud."""
    chosen = load_strategy(strategy) if isinstance(strategy, str) else strategy
    return Setting(chosen, load_cloud("paper"), paper_shop(), pool, seed, samples=24)


def tasks_in(setting: Setting, jobs: Jobs) -> Tasks:
    """The jobs as the strategy is told about them."""
    return tasks_of(jobs, setting.cloud, setting.strategy, Room(16_000, 61_440), setting.seed)


SPARE = 64


def world_of(setting: Setting, tasks: Tasks, spare: int = SPARE) -> SimulatedWorld:
    """A world with a journal, before its first event, with less room than a run has: plain Python copies it row by row.
    :func:`was_roomy` says afterwards whether that was enough."""
    rows = len(tasks) + spare
    return build(setting, tasks, Capacity(setting.pool + rows, 4 * rows, 2 * rows, 24 * rows, 4 * SPARE))


def was_roomy(world: SimulatedWorld) -> bool:
    """Whether no table was too short: a run ends where one is."""
    return world.tally.full == 0 and world.control.desk.overflow == 0

"""Builds the tables of a run from what people write: strategy, cloud model, shop and workload."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hcloud.control.controller import open_pool
from hcloud.control.state import COMMANDS, Job, Kind, new_control
from hcloud.model.cloud import CloudModel, Quantiles, SizeModel
from hcloud.model.profile import RESOURCES
from hcloud.model.strategy import Strategy
from hcloud.policy.compose import compose
from hcloud.policy.quality import HALF, SCALE, complement, encode, leading
from hcloud.policy.records import Ints, Reals, Table, column, record, table
from hcloud.sim import world
from hcloud.sim.engine import open_host
from hcloud.sim.prepare import Tasks
from hcloud.sim.shop import Shop
from hcloud.sim.streams import stream

_SPARE = 1024
_MOST_DRAWS = 1 << 18


@dataclass(frozen=True, slots=True)
class Setting:
    """All of a run but its jobs: the strategy, the cloud, what it sells, the reserved servers, the seed, how many
    samples of the record are taken, and from when to when (s from the first submission) use and dollars count, None for
    all."""

    strategy: Strategy
    cloud: CloudModel
    shop: Shop
    pool: int
    seed: int
    samples: int = 240
    window: tuple[float, float] | None = None


def usual_capacity(tasks: int, pool: int, *, journal: bool) -> world.Capacity:
    """Room that is nearly always enough."""
    lines = 24 * tasks + _SPARE if journal else 0
    return world.Capacity(pool + tasks + _SPARE, 4 * (tasks + _SPARE), 2 * tasks + _SPARE, lines, COMMANDS)


def build(setting: Setting, tasks: Tasks, capacity: world.Capacity) -> world.World:
    """The world of a run before its first event."""
    kinds = rental_kinds(setting)
    jobs = job_table(setting, tasks, kinds)
    rules = compose(setting.strategy, setting.shop.large, (column(jobs, "high") // (HALF // SCALE)).tolist())
    control = new_control(rules, kinds, jobs, capacity.servers, capacity.commands)
    open_pool(control, setting.pool)
    series = np.zeros((setting.samples, 4 + 3 * len(kinds)))
    series[:, 0] = sample_times(tasks, setting.samples)
    made = world.World(
        control,
        record(cloud_numbers(setting.cloud)),
        behaviours(setting.cloud, kinds),
        draws(setting, len(tasks)),
        task_table(tasks),
        *world.new_record(capacity, len(kinds)),
        series,
        np.zeros((setting.samples, setting.pool)),
    )
    made.tally.since, made.tally.until = setting.window or (0.0, math.inf)
    for place in range(setting.pool):
        open_host(made, place, 0.0)
    return made


def sample_times(tasks: Tasks, samples: int) -> Reals:
    """When the record is sampled: evenly over the time that the jobs would take without waiting."""
    end = float((tasks.submit + tasks.work).max()) if len(tasks) else 0.0
    steps = np.arange(samples, dtype=np.float64) + 0.5
    return steps * (end / max(samples, 1))


def rental_kinds(setting: Setting) -> Table[Kind]:
    """The types of the shop as the controller sees them, with the quality the cloud model leads one to expect."""
    kinds = table(Kind, len(setting.shop.types))
    for at, rentable in enumerate(setting.shop.types):
        kind = kinds[at]
        kind.cores, kind.memory = int(rentable.shape.vcpus * 1000), int(rentable.shape.memory_gib * 1024)
        kind.spin_up = mean_of(size_model(setting.cloud, kind.cores).spin_up)
        load = setting.cloud.number("neighbours", "mean_load")
        felt = (external_pressure(setting.cloud, kind.cores) * load).astype(np.int64)
        kind.prior = leading(complement(*encode(felt))[0])
    return kinds


def size_model(model: CloudModel, cores: int) -> SizeModel:
    """The model of the largest size that is not above the type's (the smallest for a type below all)."""
    return next((s for s in reversed(model.sizes) if s.vcpus * 1000 <= cores), model.sizes[0])


def mean_of(quantiles: Quantiles) -> float:
    """The mean of a distribution given by its quantiles."""
    return float(np.trapezoid(quantiles.values, quantiles.probabilities))


def external_pressure(model: CloudModel, cores: int) -> Reals:
    """Points of pressure by resource at full load of the neighbours: the less of a server a type is, the more of it
    belongs to others; a whole server still shares its network."""
    weights = np.array([model.number("neighbours", f"weight_{r}") for r in RESOURCES])
    exposure = np.full(len(RESOURCES), max(1 - cores / (model.number("neighbours", "server_vcpus") * 1000), 0.0))
    network = RESOURCES.index("network")
    exposure[network] = max(exposure[network], model.number("neighbours", "network_floor"))
    pressure: Reals = exposure * weights * 100
    return pressure


def cloud_numbers(model: CloudModel) -> world.Cloud:
    """The numbers of a cloud model that do not depend on the type."""
    keys = {
        "neighbours": ("mean_load", "amplitude", "period_seconds", "resample_seconds"),
        "batch": ("sensitivity", "worst_slowdown"),
        "service": ("load", "sensitivity", "worst_tail", "waiting_tail"),
    }
    numbers = [float(model.number(section, key)) for section, names in keys.items() for key in names]
    interruptions = float(model.number("spot", "interruptions_per_hour")) / 3600
    return world.Cloud._make([*numbers, interruptions, float(model.number("spot", "lost_share"))])


def behaviours(model: CloudModel, kinds: Table[Kind]) -> Table[world.Behaviour]:
    """How each type behaves in a cloud."""
    made, steps = table(world.Behaviour, len(kinds)), np.linspace(0, 1, world.STEPS)
    for at in range(len(kinds)):
        cores, one = kinds[at].cores, made[at]
        size = size_model(model, cores)
        one.varies = int(cores < model.number("neighbours", "server_vcpus") * 1000)
        one.external[:] = external_pressure(model, cores)
        for field in ("spin_up", "spread", "slowness"):
            quantiles: Quantiles = getattr(size, field)
            getattr(one, field)[:] = np.interp(steps, quantiles.probabilities, quantiles.values)
    return made


def draws(setting: Setting, tasks: int) -> Table[world.Draw]:
    """Chance for every instance that may be launched; a very long run uses the same numbers again."""
    made = table(world.Draw, min(setting.pool + tasks + _SPARE, _MOST_DRAWS))
    purposes = ("spin_up", "spread", "slowness", "phase", "interruption")
    for purpose in purposes:
        column(made, purpose)[:] = stream(setting.seed, f"instance {purpose}").random(len(made))
    return made


def task_table(tasks: Tasks) -> Table[world.Task]:
    """The jobs as the cloud sees them, none of them begun."""
    made = table(world.Task, len(tasks))
    for field in ("submit", "decide", "work", "service", "need"):
        column(made, field)[:] = getattr(tasks, field)
    column(made, "vector")[:] = tasks.truth
    for field in ("began", "ended", "queued", "action"):
        column(made, field)[:] = -1
    return made


def job_table(setting: Setting, tasks: Tasks, kinds: Table[Kind]) -> Table[Job]:
    """What the controller is told about the jobs."""
    made = table(Job, len(tasks))
    size = smallest_fitting(tasks, kinds)
    rule, large = setting.strategy.mechanism("on_demand").rule, kinds[setting.shop.large]
    in_large = (tasks.ask <= large.cores) & (tasks.memory <= large.memory)
    whole = in_large if rule != "smallest-fitting" else np.zeros(len(tasks), np.bool_)
    column(made, "high")[:], column(made, "low")[:] = encoded(tasks.vector)
    column(made, "size_class")[:] = np.maximum(size, 0)
    column(made, "kind")[:] = np.where(whole, setting.shop.large, size if rule != "none" else -1)
    if setting.strategy.mechanism("spot").rule != "none":
        column(made, "restartable")[:] = 1 - tasks.service
    for field in ("ask", "memory", "vector", "coin"):
        column(made, field)[:] = getattr(tasks, field)
    for field in ("server", "next", "before", "behind"):
        column(made, field)[:] = -1
    return made


def encoded(vector: Ints) -> tuple[Ints, Ints]:
    """The two halves of the encodings of many vectors, as :func:`hcloud.policy.quality.encode` gives them for one."""
    digits = -np.sort(-np.clip(vector, 0, 99), axis=1)
    weights = 100 ** np.arange(4, -1, -1, dtype=np.int64)
    return digits[:, :5] @ weights, digits[:, 5:] @ weights


def unplaceable(setting: Setting, tasks: Tasks) -> NDArray[np.bool_]:
    """Which tasks no server holds that the strategy may use: reserved ones, or any type where it rents on demand."""
    kinds = rental_kinds(setting)
    large = kinds[setting.shop.large]
    held = (tasks.ask <= large.cores) & (tasks.memory <= large.memory)
    if setting.strategy.mechanism("on_demand").rule != "none":
        held |= smallest_fitting(tasks, kinds) >= 0
    return ~held


def smallest_fitting(tasks: Tasks, kinds: Table[Kind]) -> Ints:
    """The first type (they stand by size, then price) that holds each task; -1 where none does."""
    size = np.full(len(tasks), -1, np.int64)
    for kind in range(len(kinds) - 1, -1, -1):
        size[(tasks.ask <= kinds[kind].cores) & (tasks.memory <= kinds[kind].memory)] = kind
    return size

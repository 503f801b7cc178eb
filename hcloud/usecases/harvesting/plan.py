"""``harvest plan``: which hours of batch the idle capacity of reserved machines carries, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import EvidenceError, InputError, UsageError
from hcloud.harvest.classes import HOURS, UseTypes, free_vcpus, use_types
from hcloud.harvest.histories import DAY
from hcloud.harvest.jobs import LENGTHS, Length, Thresholds, lengths_of
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.results import (
    BatchWork,
    HarvestMoney,
    HarvestPlan,
    OpenedUse,
    PlayedBatch,
    PoolWeek,
    Spread,
    TypedUse,
)
from hcloud.harvest.room import carried, reserve_needed, room_by_hour, sizes_of
from hcloud.model.plans.plan import Plan
from hcloud.model.workload import Demand, JobKind, Jobs, Workload
from hcloud.planning.fleets.gpu_jobs import without_gpu_jobs
from hcloud.planning.forecasting.dividing import can_split, settled
from hcloud.planning.forecasting.forecast import Forecast, whole_periods
from hcloud.planning.forecasting.window import demand_within, window_of
from hcloud.planning.risks.futures import draw_futures
from hcloud.planning.risks.rivals import ON_DEMAND
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.typed import typed
from hcloud.sim.harvesting.beside import course
from hcloud.sim.harvesting.graphs import VCPU
from hcloud.sim.harvesting.setup import idle_pool, kept_cores
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from hcloud.usecases.deciding.plan import plan_for
from hcloud.usecases.harvesting.idle import AskIdle
from hcloud.usecases.harvesting.opened import UseRequest, open_use
from hcloud.usecases.harvesting.planned import MOST_JOBS
from hcloud.usecases.harvesting.played import may_ask, play_on
from hcloud.usecases.workloads.sources import open_workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

LOW, HIGH = 0.1, 0.9
WEEK_DAYS = 7
SERVICES = "a service: it has machines of its own"
TOO_LARGE = "more vCPUs than a server has beside the reserve, and cannot be split"
_NOTHING = 1e-9
MOST_WORK = 4_000_000
"""Ours: server-ticks; where batch is longer or there are more servers these are looked at less often."""


def harvest_plan(
    request: UseRequest, loaded: Loaded, now: datetime, progress: Callable[[float], None] | None = None
) -> HarvestPlan:
    """What idle capacity carries of the batch that the configuration names.

    UsageError where it names none, EvidenceError where sizes of servers, batch jobs or prices are missing; else as
    histories, workloads and plans are refused.
    """
    named = loaded.config.workload
    if named.path is None and named.scenario is None:
        raise UsageError(
            "no batch workload given for the idle hours",
            hint="--workload batch.csv or scenario:static, or workload.path in hcloud.yaml",
        )
    opened = open_use(request, progress)
    if opened.unsized:
        raise EvidenceError(
            f"{opened.name}: the vCPUs of {opened.unsized[0]!r} are unknown: idle hours cannot be counted",
            hint="name the servers: --servers servers.csv, with the columns server, tenant and cores",
        )
    types = use_types(opened.histories, opened.policy, request.seed)
    with typed(keys="configuration"):
        workload = without_gpu_jobs(open_workload(loaded))
    batch = batch_of(workload, types, opened, loaded)
    idle, room = (room_by_hour(types, opened.policy, sizes) for sizes in (None, batch.sizes))
    month = HOURS_PER_MONTH / batch.hours
    used, futures = _carried(batch, room, types, loaded)
    arithmetic, played, carries = float(used.sum()) * month, None, batch
    if isinstance(workload, Jobs) and len(workload) <= MOST_JOBS:
        jobs = settled(workload, loaded.config.settings().divisible)
        played, ended = played_on_pool(jobs, types, opened)
        carries = batch_of(workload, types, opened, loaded, ended)
        room = room_by_hour(types, opened.policy, carries.sizes)
        used, futures = _carried(carries, room, types, loaded)
    mean = float(used.sum()) * month
    low, high = np.quantile(futures, (LOW, HIGH)).tolist() if len(futures) else (mean / month, mean / month)
    money = _money(batch, used.sum(axis=(0, 1)), loaded, now)
    in_hour = np.eye(HOURS)[_hours_of_day(batch)]
    by_hour: Floats = used @ (in_hour / in_hour.sum(axis=0))
    spread = Spread(mean, low * month, high * month)
    return HarvestPlan(
        TypedUse(opened, types),
        batch,
        idle.mean(axis=2),
        by_hour,
        float(idle[LENGTHS.index(Length.SHORT)].sum()) / types.days * HOURS_PER_MONTH / HOURS,
        float(batch.demand.sum()) * month,
        spread,
        (_dollars(spread.low, money), _dollars(spread.high, money)),
        money,
        reserve_needed(types, opened.policy),
        _week(carries, (idle, room), types),
        arithmetic,
        played,
    )


def batch_of(
    workload: Workload, types: UseTypes, opened: OpenedUse, loaded: Loaded, ended: NDArray[np.bool_] | None = None
) -> BatchWork:
    """The jobs that may be harvested, by length and hour; with what those demand that ``ended`` in idle hours, and
    their sizes, where that is known. EvidenceError where there are none."""
    if isinstance(workload, Demand):
        return _batch_of_series(workload, opened.policy)
    batch = workload.kind == JobKind.BATCH
    vcpus = types.histories.cores / types.histories.servers  # of a server; those of a tenant are alike
    holds = float(free_vcpus(vcpus, 0.0, opened.policy.reserve_cores).max())
    splits = can_split(workload, loaded.config.settings().divisible)
    fits = (workload.cores <= holds + _NOTHING) | splits
    kept = np.flatnonzero(batch & fits)
    left_out = {SERVICES: int((~batch).sum()), TOO_LARGE: int((batch & ~fits).sum())}
    left_out = {why: count for why, count in left_out.items() if count}
    if not len(kept):
        said = "; ".join(f"{count:,} left out: {why}" for why, count in left_out.items())
        hint = "--divisible all, if the jobs can be split" if TOO_LARGE in left_out else ""
        raise EvidenceError(
            f"{workload.provenance.name}: has no batch job that can use idle capacity ({said})", hint=hint
        )
    jobs, window = workload.at(kept), window_of(workload)
    length, bounds = lengths_of(jobs, types, opened.policy)
    whole = demand_within(jobs, SECONDS_PER_HOUR, window)
    # the same steps for every length: which steps at the ends count depends on what is in use there
    hours = replace(window, start=whole.start, end=whole.start + len(whole) * SECONDS_PER_HOUR)
    demand = np.zeros((len(LENGTHS), len(whole)))
    counted = np.ones(len(kept), bool) if ended is None else ended[kept]
    for at in range(len(LENGTHS)):
        rows = np.flatnonzero((length == at) & counted)
        if len(rows):
            demand[at] = demand_within(jobs.at(rows), SECONDS_PER_HOUR, hours).cores
    counts = tuple(np.bincount(length, minlength=len(LENGTHS)).tolist())
    sizes = sizes_of(jobs, splits[kept], counted)
    return _latest(
        BatchWork(jobs.provenance, whole.start, demand, whole.memory, counts, bounds, left_out, len(whole), sizes)
    )


def _batch_of_series(series: Demand, policy: HarvestPolicy) -> BatchWork:
    if not series.batch_cores.any():
        raise EvidenceError(
            f"{series.provenance.name}: a series of demand does not say what of it is batch",
            hint="give a trace of jobs: id, submit, duration, cores, memory, kind",
        )
    hourly = demand_within(series, max(SECONDS_PER_HOUR, series.step_seconds), window_of(series))
    if hourly.step_seconds != SECONDS_PER_HOUR:
        raise InputError(f"{series.provenance.name}: steps of {hourly.step_seconds} s; an hour at most is needed")
    demand = np.zeros((len(LENGTHS), len(hourly)))
    demand[LENGTHS.index(Length.MEDIUM)] = hourly.batch_cores
    part = np.divide(hourly.batch_cores, hourly.cores, out=np.zeros(len(hourly)), where=hourly.cores > 0)
    known = Thresholds(policy.short_below, policy.long_above)
    return _latest(
        BatchWork(series.provenance, hourly.start, demand, hourly.memory * part, (0, 0, 0), known, {}, len(hourly))
    )


def _latest(batch: BatchWork) -> BatchWork:
    """What planning repeats: the latest whole weeks, else days. Less than a day is repeated at every hour of one."""
    if batch.hours < HOURS:
        rows = np.arange(HOURS) % batch.hours
        start = batch.start - batch.start % (HOURS * SECONDS_PER_HOUR)
        return replace(batch, start=start, demand=batch.demand[:, rows], memory=batch.memory[rows], seen=batch.hours)
    first = batch.hours - whole_periods(batch.hours, SECONDS_PER_HOUR)
    start = batch.start + first * SECONDS_PER_HOUR
    return replace(
        batch, start=start, demand=batch.demand[:, first:], memory=batch.memory[first:], seen=batch.hours - first
    )


def _hours_of_day(batch: BatchWork) -> NDArray[np.intp]:
    begins = int(batch.start // SECONDS_PER_HOUR)
    return (begins + np.arange(batch.hours, dtype=np.intp)) % HOURS


def _carried(batch: BatchWork, room: Floats, types: UseTypes, loaded: Loaded) -> tuple[Floats, Floats]:
    """The vCPUs carried, [length, class, hour of the batch], in the mean over the days of the history; and the
    vCPU-hours that each future has carried in as many hours."""
    hour, patterns = _hours_of_day(batch), [c.pattern for c in types.classes]
    days = room.shape[2]
    mean = np.zeros((*room.shape[:2], batch.hours))
    for day in range(days):
        mean += carried(batch.demand, room[:, :, day, hour], patterns) / days
    if not batch.demand.any():
        return mean, np.zeros(0)
    settings = loaded.config.settings()
    generator = np.random.default_rng([settings.seed, days])
    whole = batch.demand.sum(axis=0)
    pattern = Forecast(SECONDS_PER_HOUR, whole, batch.memory, whole, batch.hours)
    futures = draw_futures(pattern, settings.outlook, settings.risk, generator)
    if futures is None:
        return mean, np.zeros(0)
    blocks = np.arange(batch.hours) // futures.block_steps
    sums = np.zeros(len(futures.counts))
    for at, (counts, paths) in enumerate(zip(futures.counts, futures.paths, strict=True)):
        drawn = generator.integers(days, size=blocks[-1] + 1)[blocks]
        got = carried(batch.demand * paths.mean(), room[:, :, drawn, hour], patterns).sum(axis=(0, 1))
        weight = counts[np.minimum(blocks, len(counts) - 1)]
        sums[at] = float(got @ weight / weight.mean())
    return mean, sums


def _dollars(vcpu_hours: float, money: HarvestMoney) -> Decimal:
    return Decimal(repr(vcpu_hours)) * money.per_vcpu_hour


def _week(batch: BatchWork, room: tuple[Floats, Floats], types: UseTypes) -> PoolWeek:
    """The last days of the history, with the batch of its latest days in them; ``room`` is what is idle, and what of it
    jobs of their sizes may have."""
    histories, days = types.histories, min(types.days, WEEK_DAYS)
    hours = days * HOURS
    use = histories.part(histories.days - days, days).astype(np.float64)
    services = (histories.cores @ use).reshape(hours, -1).mean(axis=1)
    first = int(histories.start // SECONDS_PER_HOUR) % HOURS
    hour = (first + np.arange(hours)) % HOURS
    shape = (*room[0].shape[:2], hours)
    whole, there = (r[:, :, :, (first + np.arange(HOURS)) % HOURS][:, :, -days:].reshape(shape) for r in room)
    begins = int(_hours_of_day(batch)[0])
    rows = (hour[0] - begins + np.arange(hours) - hours) % batch.hours
    got = carried(batch.demand[:, rows], there, [c.pattern for c in types.classes]).sum(axis=(0, 1))
    idle = whole[LENGTHS.index(Length.SHORT)].sum(axis=0) - got
    return PoolWeek(first, float(histories.cores.sum()), services, got, idle)


def _money(batch: BatchWork, got: Floats, loaded: Loaded, now: datetime) -> HarvestMoney:
    """What batch costs with machines of its own, and what the rest of it does; of the same hours, however unlike the
    rest of them is: idle hours that carry all of the last week are no fall of demand."""
    loaded = loaded.changed(planning={"shrunk": 0.0})
    whole = batch.demand.sum(axis=0)
    left = np.where(whole - got > _NOTHING, whole - got, 0.0)
    share = np.divide(left, whole, out=np.zeros(len(whole)), where=whole > 0)
    alone = _planned(batch, whole, batch.memory, loaded, now)
    rest = _planned(batch, left, batch.memory * share, loaded, now) if left.any() else None
    on_demand, planned = _rented(alone), alone.after.monthly
    month = float(got.sum()) * HOURS_PER_MONTH / batch.hours
    on_demand_left = Decimal(0) if rest is None else _rented(rest)
    each = (on_demand - on_demand_left) / Decimal(repr(month)) if month > _NOTHING else Decimal(0)
    duties = [line.break_even for line in alone.mix if line.break_even is not None]
    types = " + ".join(dict.fromkeys(f"{m.instance_type} ({m.provider}, {m.region})" for m in alone.mix))
    left_planned = Decimal(0) if rest is None else rest.after.monthly
    return HarvestMoney(on_demand, on_demand_left, planned, left_planned, each, min(duties, default=None), types)


def _planned(batch: BatchWork, cores: Floats, memory: Floats, loaded: Loaded, now: datetime) -> Plan:
    demand = Demand(batch.start, SECONDS_PER_HOUR, cores, memory, cores, batch.provenance)
    return plan_for(demand, loaded, now).plan


def _rented(plan: Plan) -> Decimal:
    return next(a.monthly for a in plan.alternatives if a.name == ON_DEMAND)


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

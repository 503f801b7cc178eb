"""From jobs to demand over time: the exact mean capacity in use in every step, whatever the order of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.workload import Demand, JobKind, Jobs, Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

MOST_STEPS = 20_000_000
_CHUNK = 1 << 20
"""Rows worked on at a time, so that twenty million jobs need no copies of their columns."""


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Steps of equal length: ``count`` of them, ``step`` seconds each, the first one beginning at ``start``."""

    start: float
    step: int
    count: int

    @classmethod
    def over(cls, first: float, last: float, step: int) -> TimeGrid:
        """The steps that cover a span, beginning at a multiple of the step; UsageError when they are too many."""
        if step < 1:
            raise UsageError(f"a step of {step} s is not possible; the shortest is 1 s")
        begin = math.floor(first / step)
        count = max(math.ceil(last / step) - begin, 1)
        if count > MOST_STEPS:
            raise UsageError(
                f"{count:,} steps of {step} s are more than {MOST_STEPS:,}",
                hint="choose a longer step, or check the submit times and durations",
            )
        return cls(float(begin * step), step, count)


def demand_of(workload: Workload, step_seconds: int) -> Demand:
    """The demand in steps of ``step_seconds``, each the exact time-mean of what is in use within the step.

    Jobs count from their start to their end; where no start is known, from their submission for their duration. The
    same jobs in another order give the same bits. A demand series is resampled to a coarser step (or returned as it
    is); time outside the series counts as no demand, so that the integral is kept.
    """
    if isinstance(workload, Demand):
        return coarser(workload, step_seconds)
    order = canonical_order(workload)
    begin = workload.begins[order]
    end = begin + workload.duration[order]
    cores, memory = workload.cores[order], workload.memory[order]
    grid = (
        TimeGrid.over(float(begin[0]), float(end.max()), step_seconds) if len(begin) else TimeGrid(0.0, step_seconds, 0)
    )
    batch = cores * (workload.kind[order] == JobKind.BATCH)
    return Demand(
        start=grid.start,
        step_seconds=step_seconds,
        cores=mean_in_use(grid, begin, end, cores),
        memory=mean_in_use(grid, begin, end, memory),
        batch_cores=mean_in_use(grid, begin, end, batch),
        provenance=workload.provenance,
    )


def mean_in_use(grid: TimeGrid, begin: Floats, end: Floats, weight: Floats) -> Floats:
    """The time-mean, per step, of the sum of weights over the intervals ``[begin, end)``; all lie within the grid."""
    up, up_inside = _steps(grid, begin, weight)
    down, down_inside = _steps(grid, end, weight)
    level = np.cumsum(up - down)
    before = np.concatenate(([0.0], level[:-1])) if grid.count else level
    mean: Floats = (before + up_inside - down_inside)[: grid.count]
    return np.maximum(mean, 0.0)


def coarser(demand: Demand, step_seconds: int) -> Demand:
    """The series in longer steps that begin at multiples of the step; its integral is kept."""
    if step_seconds == demand.step_seconds:
        return demand
    if step_seconds < demand.step_seconds:
        raise UsageError(
            f"a series of {demand.step_seconds} s steps cannot be refined to {step_seconds} s",
            hint="leave planning.step out, or choose one at least as long as the series'",
        )
    return in_steps(demand, step_seconds)


def in_steps(demand: Demand, step_seconds: int) -> Demand:
    """The series in steps of any length that begin at multiples of it, each value held through its own step."""
    last = demand.start + demand.step_seconds * len(demand)
    grid = TimeGrid.over(demand.start, last, step_seconds)
    return replace(
        demand,
        start=grid.start,
        step_seconds=step_seconds,
        cores=_resampled(demand, demand.cores, grid),
        memory=_resampled(demand, demand.memory, grid),
        batch_cores=_resampled(demand, demand.batch_cores, grid),
    )


def peak_cores(workload: Workload) -> float:
    """The most vCPUs in use at one moment (of a series: in one step); a job that ends makes room at that moment."""
    if isinstance(workload, Demand):
        return float(workload.cores.max(initial=0.0))
    return most_at_once(workload.begins, workload.ends, workload.cores)


def most_at_once(begins: Floats, ends: Floats, weight: Floats) -> float:
    """The largest sum of weights over the intervals ``[begin, end)`` at one moment."""
    first, last = np.argsort(begins, kind="stable"), np.argsort(ends, kind="stable")
    ended = np.concatenate([[0.0], np.cumsum(weight[last])])[np.searchsorted(ends[last], begins[first], "right")]
    return float((np.cumsum(weight[first]) - ended).max(initial=0.0))


def mean_cores(workload: Workload) -> float:
    """The mean vCPUs in use from the first start to the last end (of a series: over its steps)."""
    if isinstance(workload, Demand):
        return float(workload.cores.mean()) if len(workload) else 0.0
    if not len(workload):
        return 0.0
    span = float(workload.ends.max() - workload.begins.min())
    return float((workload.duration * workload.cores).sum()) / span


def canonical_order(jobs: Jobs) -> NDArray[np.intp] | slice:
    """Rows by when jobs begin, ties by the other figures: sums taken in this order do not depend on the input's order.

    A slice of everything, which copies nothing, where the rows stand in that order already.
    """
    begins = jobs.begins
    keys = (jobs.kind, jobs.memory, jobs.cores, jobs.duration, begins)
    order = np.argsort(begins, kind="stable") if (begins[1:] < begins[:-1]).any() else None
    tied = _tied(begins if order is None else begins[order])
    if order is None and not len(tied):
        return slice(None)
    order = np.arange(len(jobs)) if order is None else order
    rows = order[tied]
    rows = rows[np.lexsort((jobs.duration[rows], begins[rows]))]
    again = _tied(begins[rows], jobs.duration[rows])  # few of those that begin together end together
    some = rows[again]
    rows[again] = some[np.lexsort([key[some] for key in keys])]
    order[tied] = rows
    return order


def _tied(*columns: Floats) -> NDArray[np.intp]:
    """The places at which all columns hold what they hold at the place before or after."""
    same = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    return np.flatnonzero(np.concatenate([same, [False]]) | np.concatenate([[False], same]))


def _steps(grid: TimeGrid, times: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Per step: the weight that changes in it, and that weight times the part of the step after the change."""
    changes, inside = np.zeros(grid.count + 1), np.zeros(grid.count + 1)
    size = max(_CHUNK, grid.count)
    for first in range(0, len(times), size):
        some = slice(first, first + size)
        position = (times[some] - grid.start) / grid.step
        step = np.floor(position)
        index = step.astype(np.intp)
        changes += np.bincount(index, weight[some], grid.count + 1)
        inside += np.bincount(index, weight[some] * (step + 1.0 - position), grid.count + 1)
    return changes, inside


def _resampled(demand: Demand, values: Floats, grid: TimeGrid) -> Floats:
    used = np.concatenate(([0.0], np.cumsum(values) * demand.step_seconds))
    known = demand.start + demand.step_seconds * np.arange(len(values) + 1)
    bounds = grid.start + grid.step * np.arange(grid.count + 1)
    means: Floats = np.diff(np.interp(bounds, known, used)) / grid.step
    return means

"""Whether machines of several shapes hold the jobs there are: the vCPUs and the GiB of a job stay together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import Demand, Jobs
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Fleet, rented_counts
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.planning.forecasting.forecast import Forecast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


APART = 0.02  # ours: types are mixed where their machines hold all but this part of the jobs' vCPUs,
RESERVED_APART = 0.01  # ours: and where several of them are reserved all but this
MOST_LEVELS = 32  # ours: of more GiB per vCPU than these, jobs of about one are taken together


@dataclass(frozen=True, slots=True, eq=False)
class Leanest:
    """The work of jobs in the order of their GiB per vCPU, for each step of their demand: the mean vCPUs that the
    leanest so many levels of them take, and the GiB (levels + 1 by steps)."""

    cores: Floats
    memory: Floats

    @classmethod
    def of(cls, jobs: Jobs, demand: Demand) -> Leanest:
        """The levels of jobs that run in the steps of a demand."""
        grid = TimeGrid(demand.start, demand.step_seconds, len(demand))
        begin, end = (np.clip(at, grid.start, grid.start + grid.step * grid.count) for at in (jobs.begins, jobs.ends))
        level, count = _levels(jobs.memory / jobs.cores, jobs.cores * (end - begin))
        rows = [np.flatnonzero(level == one) for one in range(count)]
        of_levels = (
            [mean_in_use(grid, begin[some], end[some], column[some]) for some in rows]
            for column in (jobs.cores, jobs.memory)
        )
        return cls(*(np.cumsum([np.zeros(grid.count), *levels], axis=0) for levels in of_levels))

    @property
    def over_time(self) -> Leanest:
        """The same with the jobs of all steps in each of them."""
        return Leanest(*(np.repeat(of.sum(axis=1)[:, None], of.shape[1], axis=1) for of in (self.cores, self.memory)))

    def vcpus_within(self, memory: Floats, steps: NDArray[np.int64]) -> Floats:
        """The largest part of the vCPUs of some steps, from 0 to 1, that need no more than a part of their GiB."""
        cores, gib = _parts(self.cores), _parts(self.memory)
        at, above = steps, np.zeros(len(steps), np.int64)
        for level in gib[:-1]:
            above += level[at] <= memory
        below = above - 1
        wide = gib[above, at] - gib[below, at]
        part = np.divide(memory - gib[below, at], wide, out=np.ones(len(at)), where=wide > 0)
        most: Floats = cores[below, at] + np.clip(part, 0.0, 1.0) * (cores[above, at] - cores[below, at])
        return most


def _levels(ratio: Floats, work: Floats) -> tuple[NDArray[np.int64], int]:
    """The level of each job: of more GiB per vCPU than there are levels, each has about as much work."""
    values, level = np.unique(ratio, return_inverse=True)
    if len(values) > MOST_LEVELS:
        of_values = np.bincount(level, work)
        upto = np.cumsum(of_values)
        return ((upto - of_values / 2) / upto[-1] * MOST_LEVELS).astype(np.int64)[level], MOST_LEVELS
    return level, len(values)


def _parts(upto: Floats) -> Floats:
    """Sums of the first so many levels in each step, in parts of all; of a step without any each has as much."""
    even = np.linspace(0.0, 1.0, len(upto))[:, None]
    return np.where(upto[-1] > 0, upto / np.where(upto[-1] > 0, upto[-1], 1.0), even)


def are_held(fleet: Fleet, types: Sequence[Candidate], forecast: Forecast, leanest: Leanest) -> bool:
    """Whether a fleet holds all jobs but a part that is too small to count."""
    most = RESERVED_APART if reserves_several(fleet) else APART
    return not_held(fleet, types, forecast, leanest) <= most


def reserves_several(fleet: Fleet) -> bool:
    """Whether commitments of several types are held."""
    return len({holding.offer.key.instance_type for holding in fleet.holdings}) > 1


def not_held(fleet: Fleet, types: Sequence[Candidate], forecast: Forecast, leanest: Leanest) -> float:
    """The part of the vCPUs for which a fleet has no machine whose GiB suffice, at the least, though it has vCPUs and
    GiB enough in sum.

    Machines of a shape hold no more vCPUs than they have, nor more than the leanest jobs of the step have that fit into
    their GiB. For two shapes that is exact, for more of them a bound from below. What is held of several shapes has to
    hold the jobs of any step (ours): run, such reserves cost more than their sums where the jobs change.
    """
    steps = forecast.cores > 0
    if reserves_several(fleet):
        leanest = leanest.over_time
    rows = forecast.rows(leanest.cores.shape[1])[steps]
    cores, memory = forecast.cores[steps], np.maximum(forecast.memory[steps], 1e-9)
    room = np.zeros(len(cores))
    for candidate, rented in zip(types, rented_counts(forecast, types, fleet.holdings), strict=True):
        counts = rented.copy()
        for holding in fleet.holdings:
            if holding.offer.key.instance_type == candidate.shape.name:
                counts[holding.steps(forecast)] += holding.count
        vcpus, gib = map(float, candidate.capacity)
        lean = leanest.vcpus_within(np.minimum(counts[steps] * gib / memory, 1.0), rows)
        room += np.minimum(counts[steps] * vcpus / cores, lean)
    return float((np.maximum(1.0 - room, 0.0) * cores).sum() / cores.sum()) if len(cores) else 0.0

"""Whether machines of several shapes hold the jobs there are: the vCPUs and the GiB of a job stay together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Fleet, rented_counts
from hcloud.planning.forecasting.forecast import Forecast

if TYPE_CHECKING:
    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Leanest:
    """The work of jobs in the order of their GiB per vCPU: the part of all vCPUs, from 0 to 1, that the leanest so many
    of them take, and of all GiB."""

    cores: Floats
    memory: Floats

    @classmethod
    def of(cls, cores: Floats, memory: Floats, seconds: Floats) -> Leanest:
        """The curve of jobs that run for so long."""
        order = np.argsort(memory / cores, kind="stable")
        return cls(*(_parts((column * seconds)[order]) for column in (cores, memory)))

    def vcpus_within(self, memory: Floats) -> Floats:
        """The largest part of the vCPUs that need no more than a part of the GiB."""
        most: Floats = np.interp(memory, self.memory, self.cores)
        return np.where(memory >= 1.0, 1.0, most)


def _parts(weight: Floats) -> Floats:
    upto = np.concatenate([[0.0], np.cumsum(weight)])
    parts: Floats = upto / upto[-1] if upto[-1] else np.linspace(0.0, 1.0, len(upto))
    return parts


def not_held(fleet: Fleet, types: Sequence[Candidate], forecast: Forecast, leanest: Leanest) -> float:
    """The part of the vCPUs for which a fleet has no machine whose GiB suffice, at the least, though it has vCPUs and
    GiB enough in sum.

    Machines of a shape hold no more vCPUs than they have, nor more than the leanest jobs have that fit into their GiB.
    For two shapes that is exact, for more of them a bound from below.
    """
    steps = forecast.cores > 0
    cores, memory = forecast.cores[steps], np.maximum(forecast.memory[steps], 1e-9)
    room = np.zeros(len(cores))
    for candidate, rented in zip(types, rented_counts(forecast, types, fleet.holdings), strict=True):
        counts = rented.copy()
        for holding in fleet.holdings:
            if holding.offer.key.instance_type == candidate.shape.name:
                counts[holding.steps(forecast)] += holding.count
        vcpus, gib = map(float, candidate.capacity)
        room += np.minimum(counts[steps] * vcpus / cores, leanest.vcpus_within(counts[steps] * gib / memory))
    return float((np.maximum(1.0 - room, 0.0) * cores).sum() / cores.sum()) if len(cores) else 0.0

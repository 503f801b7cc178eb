"""Commitments that are already paid for: finite pools, used before anything is bought, until they expire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from hcloud.model.catalog import InstanceType, Offer
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.units import SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True)
class Owned:
    """``count`` instances of a commitment bought before, the hours until it expires, and a candidate's ``speed``."""

    offer: Offer
    shape: InstanceType
    count: Decimal
    hours_left: int
    speed: Decimal = Decimal(1)

    def cost(self, horizon_hours: int) -> Decimal:
        """Amortised dollars of what is left of it inside the horizon: sunk, and the same for every alternative."""
        return self.offer.effective_hourly * self.count * min(self.hours_left, horizon_hours)


def use_first(forecast: Forecast, owned: Sequence[Owned]) -> Forecast:
    """The demand that is left when what is owned serves what it can."""
    if not owned:
        return forecast
    cores, memory, vcpus = forecast.cores.copy(), forecast.memory.copy(), np.zeros(len(forecast))
    for pool in owned:
        end = pool.hours_left * SECONDS_PER_HOUR // forecast.step_seconds
        cores[:end] -= float(pool.shape.vcpus * pool.speed * pool.count)
        vcpus[:end] += float(pool.shape.vcpus * pool.speed * pool.count)
        memory[:end] -= float(pool.shape.memory_gib * pool.count)
    left = np.maximum(cores, 0.0)
    batch = np.minimum(forecast.batch_cores, left)
    idle = None if forecast.idle is None else replace(forecast.idle, owned=forecast.idle.owned + vcpus)
    return replace(forecast, cores=left, memory=np.maximum(memory, 0.0), batch_cores=batch, idle=idle)


def without_spot(forecast: Forecast, share_of_batch: float) -> tuple[Forecast, Forecast]:
    """(the demand without the part of the batch jobs that spot capacity serves, that part itself)."""
    if not share_of_batch:
        nothing = np.zeros(len(forecast))
        return forecast, replace(forecast, cores=nothing, memory=nothing, idle=None)
    cores = forecast.batch_cores * share_of_batch
    memory = forecast.memory * np.divide(cores, forecast.cores, out=np.zeros_like(cores), where=forecast.cores > 0)
    idle = forecast.idle
    kept = None if idle is None else replace(idle, batch=idle.batch * (1.0 - share_of_batch))
    left = replace(forecast, cores=forecast.cores - cores, memory=forecast.memory - memory, idle=kept)
    return left, replace(forecast, cores=cores, memory=memory, idle=None)

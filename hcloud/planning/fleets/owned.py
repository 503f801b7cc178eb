"""Commitments that are already paid for: finite pools, used before anything is bought, until they expire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.flexibility import covers_all_sizes
from hcloud.model.catalog import InstanceType, Offer, OfferKey
from hcloud.planning.forecasting.covered import CoveredParts
from hcloud.planning.forecasting.forecast import Forecast, latest_rows
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True)
class Owned:
    """``count`` instances of a commitment bought before, the hours until it expires, and a candidate's ``speed``;
    ``elsewhere`` says why it covers nothing of what the markets allow, where it does not; ``expires`` is the moment at
    which it ends, None where that is not known. Dollars that were bought for a type that these do not allow are
    counted in one that they do; ``bought_as`` is then the former. What floats between kinds of machines is worth
    another number in each hour that demand was measured in, and another until each of the hours of ``phases``;
    ``count`` is the mean."""

    offer: Offer
    shape: InstanceType
    count: Decimal
    hours_left: int
    speed: Decimal = Decimal(1)
    elsewhere: str = ""
    expires: datetime | None = None
    bought_as: OfferKey | None = None
    phases: tuple[tuple[int, Floats], ...] = field(default=(), compare=False)

    @property
    def is_used(self) -> bool:
        """Whether it serves demand: it has not expired, and covers something that the markets allow."""
        return bool(self.hours_left) and not self.elsewhere

    def cost(self, horizon_hours: int) -> Decimal:
        """Amortised dollars of what is left of it inside the horizon: sunk, and the same for every alternative."""
        return self.offer.effective_hourly * self.count * min(self.hours_left, horizon_hours)

    def phase(self, hour: float) -> int:
        """The number of its phase at an hour of the horizon."""
        return sum(until <= hour for until, _ in self.phases[:-1])

    def at(self, hour: float) -> float | Floats:
        """How many instances it is worth at an hour of the horizon, none from its end on."""
        if hour >= self.hours_left:
            return 0.0
        return self.phases[self.phase(hour)][1] if self.phases else float(self.count)

    def lasting(self, phase: int, until: int) -> Owned:
        """The same as it is in a phase, from now on until an hour."""
        phases = ((until, self.phases[phase][1]),) if self.phases else ()
        return replace(self, hours_left=until, phases=phases)

    def counts(self, forecast: Forecast) -> Floats:
        """How many instances it is worth at each step."""
        each, begin = np.full(len(forecast), float(self.count)), 0
        for until, by_hour in self.phases:
            end = until * SECONDS_PER_HOUR // forecast.step_seconds
            each[begin:end] = _repeated(by_hour, forecast)[begin:end]
            begin = end
        each[self.hours_left * SECONDS_PER_HOUR // forecast.step_seconds :] = 0.0
        return each


def _repeated(by_hour: Floats, forecast: Forecast) -> Floats:
    """Hours of the past as a forecast repeats the last of them."""
    hours = forecast.step_seconds // SECONDS_PER_HOUR
    if hours > 1:
        by_hour = by_hour[len(by_hour) % hours :].reshape(-1, hours).mean(axis=1)
    steps = by_hour if hours else np.repeat(by_hour, SECONDS_PER_HOUR // forecast.step_seconds)
    return steps[latest_rows(len(steps), len(forecast), forecast.pattern, forecast.step_seconds) % len(steps)]


@dataclass(frozen=True, slots=True)
class OwnedCapacity:
    """What owned commitments serve at each step: vCPUs, GiB, and the parts of larger machines that they cover."""

    vcpus: Floats
    gib: Floats
    parts: tuple[CoveredParts, ...] = ()

    @classmethod
    def of(cls, owned: Sequence[Owned], forecast: Forecast) -> OwnedCapacity:
        """That of these at the steps of a forecast, however much demand it has."""
        used = [(pool, pool.counts(forecast)) for pool in owned if pool.is_used]
        vcpus, gib = np.zeros(len(forecast)), np.zeros(len(forecast))
        for pool, counts in used:
            vcpus += counts * float(pool.shape.vcpus * pool.speed)
            gib += counts * float(pool.shape.memory_gib)
        whole = forecast.idle is not None or forecast.by_part  # parts of machines are not told apart
        return cls(vcpus, gib, () if whole else tuple(_covered(*one) for one in used if _flexes(one[0])))

    def beside(self, forecast: Forecast) -> Forecast:
        """The demand that it leaves."""
        left, memory = (np.maximum(x, 0.0) for x in (forecast.cores - self.vcpus, forecast.memory - self.gib))
        batch = np.minimum(forecast.batch_cores, left)
        idle = None if forecast.idle is None else replace(forecast.idle, owned=forecast.idle.owned + self.vcpus)
        return replace(forecast, cores=left, memory=memory, batch_cores=batch, idle=idle, covered=self.parts)


def use_first(forecast: Forecast, owned: Sequence[Owned]) -> Forecast:
    """The demand that is left when what is owned serves what it can."""
    owned = [pool for pool in owned if pool.is_used]
    return OwnedCapacity.of(owned, forecast).beside(forecast) if owned else forecast


def _flexes(pool: Owned) -> bool:
    """Whether it covers a part of a larger machine."""
    return covers_all_sizes(pool.offer.key, pool.shape.family)


def _covered(pool: Owned, lasts: Floats) -> CoveredParts:
    """What it covers of machines at each step, where it lasts for so many."""
    key = pool.offer.key
    place = ("", "") if key.option.floats else (key.region, pool.shape.family)
    vcpus, gib = float(pool.shape.vcpus * pool.speed), float(pool.shape.memory_gib)
    return CoveredParts(key.provider, *place, lasts * vcpus, lasts * gib)


def without_spot(forecast: Forecast, share_of_batch: float) -> tuple[Forecast, Forecast]:
    """(the demand without the part of the batch jobs that spot capacity serves, that part itself)."""
    if not share_of_batch:
        nothing = np.zeros(len(forecast))
        return forecast, replace(forecast, cores=nothing, memory=nothing, idle=None, covered=())
    cores = forecast.batch_cores * share_of_batch
    memory = forecast.memory * np.divide(cores, forecast.cores, out=np.zeros_like(cores), where=forecast.cores > 0)
    idle = forecast.idle
    kept = None if idle is None else replace(idle, batch=idle.batch * (1.0 - share_of_batch))
    left = replace(forecast, cores=forecast.cores - cores, memory=forecast.memory - memory, idle=kept)
    return left, replace(forecast, cores=cores, memory=memory, idle=None, covered=())

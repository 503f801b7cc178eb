"""Stretch the demand of a trace over the planning horizon: whole periods repeated, growth, bootstrap futures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Demand
from hcloud.planning.settings import Outlook
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

DAY = 86_400
WEEK = 7 * DAY
FINE_STEP = 300


@dataclass(frozen=True, slots=True)
class Forecast:
    """Demand for every step of the horizon in vCPUs and GiB (headroom and growth included).

    ``pattern`` is the number of steps of the trace that repeats.
    """

    step_seconds: int
    cores: Floats
    memory: Floats
    batch_cores: Floats
    pattern: int

    def __len__(self) -> int:
        return len(self.cores)

    @property
    def step_hours(self) -> float:
        """Length of a step in hours."""
        return self.step_seconds / SECONDS_PER_HOUR

    @property
    def hours(self) -> int:
        """Length of the horizon in hours."""
        return len(self) * self.step_seconds // SECONDS_PER_HOUR

    @property
    def months(self) -> NDArray[np.int64]:
        """The month (730 h) of each step, counted from 0."""
        return np.arange(len(self)) // (HOURS_PER_MONTH * SECONDS_PER_HOUR // self.step_seconds)


def choose_step(trace_seconds: float, outlook: Outlook) -> int:
    """The planning step in seconds: what the settings say, else an hour, or 5 minutes for a trace under a day."""
    if outlook.step_seconds:
        return outlook.step_seconds
    return SECONDS_PER_HOUR if trace_seconds >= DAY else FINE_STEP


def whole_periods(steps: int, step_seconds: int) -> int:
    """How many steps repeat cleanly: whole weeks of two weeks or more, whole days of a day or more, else all."""
    for period, least in ((WEEK, 2 * WEEK), (DAY, DAY)):
        if steps * step_seconds >= least and period % step_seconds == 0:
            per_period = period // step_seconds
            return steps // per_period * per_period
    return steps


def stretch(demand: Demand, outlook: Outlook) -> Forecast:
    """Repeat the latest whole periods of the demand over the horizon, grown and with headroom.

    Growth compounds and is applied month by month. Raises InputError where the demand is empty or zero throughout.
    """
    steps = outlook.horizon_hours * SECONDS_PER_HOUR // demand.step_seconds
    kept = max(len(demand) - outlook.warm_up_seconds // demand.step_seconds, 0)
    pattern = whole_periods(min(kept, steps), demand.step_seconds)
    first = len(demand) - pattern
    if not float(np.max(demand.cores[first:], initial=0.0)) > 0:
        raise InputError(f"{demand.provenance.name}: no demand is left to plan for in its latest whole period")
    scale = _growth(steps, demand.step_seconds, outlook.growth_per_year) * (1 + outlook.headroom)

    def repeated(column: Floats) -> Floats:
        return np.resize(column[first:], steps) * scale

    return Forecast(
        demand.step_seconds,
        repeated(demand.cores),
        repeated(demand.memory),
        repeated(demand.batch_cores),
        pattern,
    )


def _growth(steps: int, step_seconds: int, per_year: float) -> Floats:
    months = np.arange(steps) * step_seconds // (HOURS_PER_MONTH * SECONDS_PER_HOUR)
    grown: Floats = np.power(1.0 + per_year, months * (HOURS_PER_MONTH / HOURS_PER_YEAR))
    return grown


@dataclass(frozen=True, slots=True)
class Futures:
    """Bootstrap futures: how often each block (a day, in trace order) occurs in each future, futures x blocks."""

    block_steps: int
    counts: NDArray[np.int64]


def bootstrap(forecast: Forecast, futures: int, generator: np.random.Generator) -> Futures | None:
    """Draw futures by resampling whole days of the pattern, keeping weekdays together where it holds two weeks or more.

    Returns None for a pattern under two days: there is nothing to resample.
    """
    per_day = DAY // forecast.step_seconds
    days = forecast.pattern // per_day if per_day else 0
    if days < 2 or futures < 1:
        return None
    horizon_days = math.ceil(len(forecast) / per_day)
    period = 7 if days >= 14 else 1
    counts = np.zeros((futures, days), dtype=np.int64)
    for weekday in range(period):
        pool = np.arange(weekday, days, period)
        wanted = len(range(weekday, horizon_days, period))
        counts[:, pool] = generator.multinomial(wanted, np.full(len(pool), 1 / len(pool)), size=futures)
    return Futures(per_day, counts)

"""Futures of a demand: its days drawn again, and beside them how far its level and its growth may be off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.forecasting.forecast import DAY, WEEK, Forecast, per_year_to_month
from hcloud.planning.settings import Outlook, RiskSettings
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

DAYS_PER_WEEK = 7
WIDEST = 3.0  # ours: no future has more than e^3, 20 times, the demand of the trace, or less than a 20th
NEARLY_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Futures:
    """Drawn futures. ``counts`` says how often each block of the pattern (a day, in trace order; all of it where it is
    shorter than two days) occurs in each of them, futures x blocks. ``factors`` is the multiple of the forecast's
    demand in each month of the horizon, futures x months, ``stated`` what stated growth makes of the pattern by then.
    """

    block_steps: int
    counts: Floats
    factors: Floats
    stated: Floats

    @property
    def paths(self) -> Floats:
        """The multiple of the pattern's demand, futures x months."""
        grown: Floats = self.factors * self.stated
        return grown

    def mean_demand(self, pattern: Forecast) -> Floats:
        """The mean vCPUs of each future over the horizon."""
        means: Floats = self.counts @ self._blocks(pattern) / self.counts.sum(axis=1) * self.paths.mean(axis=1)
        return means

    def forecast_demand(self, pattern: Forecast) -> float:
        """The mean vCPUs of the forecast over the horizon."""
        return float(_day_shares(self.counts.shape[1]) @ self._blocks(pattern) * self.stated.mean())

    def _blocks(self, pattern: Forecast) -> Floats:
        cores = pattern.cores[: self.counts.shape[1] * self.block_steps]
        means: Floats = cores.reshape(-1, self.block_steps).mean(axis=1)
        return means


@dataclass(frozen=True, slots=True)
class DemandDrift:
    """What a trace and the prior say of level and growth, both of the logarithm of demand.

    The level of the horizon differs from the trace's by a draw with standard deviation ``level``, which itself is only
    known with ``freedom`` degrees of freedom. ``growth`` a year has the mean and the standard deviation given, and acts
    from the middle of the trace on, ``lead`` years before the horizon begins.
    """

    level: float
    freedom: float
    growth: float
    growth_deviation: float
    lead: float


def drift_of(pattern: Forecast, outlook: Outlook, risk: RiskSettings) -> DemandDrift:
    """The drift of a pattern: from its own weeks, and from the prior, which counts as ``risk.level_prior_weeks`` more.

    Of a pattern under two weeks each day is a seventh of a week's evidence; one under two days leaves the prior alone.
    The level of the horizon is one more draw from the levels of weeks: known for more weeks, it is no less restless.
    """
    weekly = pattern.pattern * pattern.step_seconds >= 2 * WEEK
    levels = _levels(pattern, WEEK if weekly else DAY)
    own = (len(levels) - 1) * (1.0 if weekly else 1 / DAYS_PER_WEEK)
    freedom = risk.level_prior_weeks + own
    scattered = float(np.log1p(levels.var(ddof=1))) if len(levels) > 1 else 0.0
    variance = (risk.level_prior_weeks * risk.level_prior**2 + own * scattered) / freedom
    stated = float(np.log1p(outlook.growth_per_year))
    growth, deviation = _growth(levels if weekly else levels[:1], variance, stated, risk.growth_prior)
    lead = pattern.pattern * pattern.step_seconds / SECONDS_PER_HOUR / HOURS_PER_YEAR / 2
    return DemandDrift(float(np.sqrt(variance * (1 + 1 / (1 + own)))), freedom, growth, deviation, lead)


def _levels(pattern: Forecast, period: int) -> Floats:
    """The mean demand of each whole period of the pattern as a multiple of their mean; one alone where it has less than
    two. Multiples, not logarithms: an idle week is one with no demand, not one with a thousandth of it."""
    cores = pattern.cores[: pattern.pattern]
    per_period = max(period // pattern.step_seconds, 1)
    count = len(cores) // per_period
    if count < 2:
        return np.ones(1)
    means = cores[: count * per_period].reshape(count, per_period).mean(axis=1)
    levels: Floats = means / means.mean()
    return levels


def _growth(levels: Floats, variance: float, stated: float, prior: float) -> tuple[float, float]:
    """Growth a year: the slope of weekly levels, drawn towards what is stated by a normal prior."""
    if not prior:
        return stated, 0.0
    noise = max(variance, NEARLY_NOTHING)
    years = (np.arange(len(levels)) - (len(levels) - 1) / 2) * (WEEK / SECONDS_PER_HOUR / HOURS_PER_YEAR)
    precision = 1 / prior**2 + float((years**2).sum()) / noise
    mean = (stated / prior**2 + float((years * levels).sum()) / noise) / precision
    return mean, precision**-0.5


def draw_futures(
    pattern: Forecast, outlook: Outlook, risk: RiskSettings, generator: np.random.Generator
) -> Futures | None:
    """Futures of ``outlook.horizon_hours``: whole days of the pattern drawn again, weekdays kept together where it
    holds two weeks or more, times a level and a growth drawn from its drift. The stated growth is in all of them.

    ``pattern`` is without growth. Returns None where no future is asked for.
    """
    if risk.futures < 1:
        return None
    steps = outlook.horizon_hours * SECONDS_PER_HOUR // pattern.step_seconds
    per_day = max(DAY // pattern.step_seconds, 1)
    days = pattern.pattern // per_day
    if days < 2:
        block, counts = pattern.pattern, np.full((risk.futures, 1), steps / pattern.pattern)
    else:
        block, counts = per_day, _days(days, steps / per_day, risk.futures, generator)
    months = np.arange(-(-outlook.horizon_hours // HOURS_PER_MONTH))
    factors = _factors(drift_of(pattern, outlook, risk), outlook, risk.futures, generator)
    return Futures(block, counts, factors, per_year_to_month(outlook.growth_per_year, months))


def _days(days: int, wanted: float, futures: int, generator: np.random.Generator) -> Floats:
    """How often each day occurs in ``wanted`` days, a part of a day being that part of every draw."""
    horizon_days = int(np.ceil(wanted))
    period = DAYS_PER_WEEK if days >= 2 * DAYS_PER_WEEK else 1
    counts = np.zeros((futures, days))
    for weekday in range(period):
        pool = np.arange(weekday, days, period)
        drawn = len(range(weekday, horizon_days, period))
        shares = _day_shares(days)[pool]
        counts[:, pool] = generator.multinomial(drawn, shares / shares.sum(), size=futures)
    return counts * (wanted / horizon_days)


def _day_shares(days: int) -> Floats:
    """How much of a horizon each day of a pattern is: as much as any other, but for a weekday that is there twice in
    over a week and under two."""
    shares: Floats = np.ones(days)
    if DAYS_PER_WEEK < days < 2 * DAYS_PER_WEEK:
        shares[: days - DAYS_PER_WEEK] = shares[DAYS_PER_WEEK:] = 0.5
    shares /= shares.sum()
    return shares


def _factors(drift: DemandDrift, outlook: Outlook, futures: int, generator: np.random.Generator) -> Floats:
    """The multiple of the forecast's demand in each month; drawn growth acts from the middle of the trace on."""
    months = -(-outlook.horizon_hours // HOURS_PER_MONTH)
    middles = (np.arange(months) + 0.5) * outlook.horizon_hours / months / HOURS_PER_YEAR
    level = drift.level * np.sqrt(drift.freedom / generator.chisquare(drift.freedom, futures))
    level *= generator.standard_normal(futures)
    beyond = drift.growth - float(np.log1p(outlook.growth_per_year))
    growth = beyond + drift.growth_deviation * generator.standard_normal(futures)
    logs = level[:, None] + growth[:, None] * (drift.lead + middles)
    factors: Floats = np.exp(np.clip(logs, -WIDEST, WIDEST))
    return factors

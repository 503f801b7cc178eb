"""Stretch the demand of a trace over the planning horizon: whole weeks or days repeated, growth, headroom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.plans.held import FIRST_WEEKS
from hcloud.model.workload import Demand
from hcloud.planning.forecasting.covered import CoveredParts
from hcloud.planning.forecasting.demand import in_steps, most_at_once
from hcloud.planning.forecasting.idle import IdleHours
from hcloud.planning.forecasting.window import demand_within
from hcloud.planning.settings import Outlook
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats, Jobs, Window, Workload

DAY = 86_400
WEEK = 7 * DAY
YEAR = 52 * WEEK  # where that repeats, weekdays stay in place and seasons move by a day a year
FINE_STEP = 300
TO_FILL = DAY  # ours: a trace of four weeks that begins and ends by its jobs lacks part of a day, not a week


@dataclass(frozen=True, slots=True)
class Forecast:
    """Demand for every step of the horizon in vCPUs and GiB (headroom and growth included).

    ``pattern`` is the number of steps of the trace that repeats. ``idle`` is what of it may run in the idle hours of
    what is reserved, where that is asked for; ``covered`` are the parts of machines that are owned beside it.
    ``by_part`` says that machines are rented for parts of steps, as demand is what ran, not what jobs ask for. What is
    rented is told of its ``first_weeks`` apart.
    """

    step_seconds: int
    cores: Floats
    memory: Floats
    batch_cores: Floats
    pattern: int
    idle: IdleHours | None = None
    covered: tuple[CoveredParts, ...] = ()
    by_part: bool = False
    first_weeks: int = FIRST_WEEKS

    def __len__(self) -> int:
        return len(self.cores)

    def first(self, steps: int) -> Forecast:
        """Its first steps."""
        some = slice(steps)
        idle = None if self.idle is None else self.idle.each(lambda column: column[..., some])
        covered = tuple(p.first(steps) for p in self.covered)
        columns = {name: getattr(self, name)[some] for name in ("cores", "memory", "batch_cores")}
        return replace(self, **columns, idle=idle, covered=covered)

    def rows(self, steps: int) -> NDArray[np.int64]:
        """Which step of a demand of so many each step is, of all of a horizon or of one pattern."""
        return latest_rows(steps, len(self), self.pattern, self.step_seconds)

    def times(self, factor: float | Floats) -> Forecast:
        """The same with so much more demand."""
        return replace(
            self,
            cores=self.cores * factor,
            memory=self.memory * factor,
            batch_cores=self.batch_cores * factor,
            idle=None if self.idle is None else self.idle.times(factor),
        )

    def beside(self, reserved: float | Floats) -> Forecast:
        """What machines have to be there for where so many vCPUs are reserved: without what idle hours carry."""
        if self.idle is None:
            return self
        carried = self.idle.carried(reserved)
        return replace(
            self,
            cores=np.maximum(self.cores - carried, 0.0),
            memory=np.maximum(self.memory - carried * self.idle.gib, 0.0),
            batch_cores=np.maximum(self.batch_cores - carried, 0.0),
            idle=None,
        )

    @property
    def in_whole_machines(self) -> Forecast:
        """The same as if machines were rented whole alone."""
        return replace(self, covered=(), by_part=False) if self.has_parts else self

    @property
    def has_parts(self) -> bool:
        """Whether a part of a machine may be rented, and not all of it."""
        return self.by_part or bool(self.covered)

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


def choose_step(workload: Workload, window: Window, outlook: Outlook) -> int:
    """The planning step in seconds: what the settings say, else an hour; or 5 minutes for a trace under a day, and
    where means of an hour hide much of how use varies. UsageError as of :func:`demand_within`."""
    if outlook.step_seconds:
        return outlook.step_seconds
    is_fine = window.seconds < DAY or hidden_in_steps(workload, SECONDS_PER_HOUR, window) > 0
    return FINE_STEP if is_fine else SECONDS_PER_HOUR


def hidden_in_steps(workload: Workload, seconds: int, window: Window) -> float:
    """How far use by how long it lasts, which is what commitments are sized by, lies apart in means over so many
    seconds and in the :func:`finest_step`, as a part of all use; 0 where that is less than ``APART``."""
    step = finest_step(workload, seconds)
    of_longer = not isinstance(workload, Demand) and _used_by_shorter(workload, seconds) < MUCH_OF_USE
    if of_longer or seconds % step or seconds == step:
        return 0.0
    if isinstance(workload, Demand) and workload.step_seconds > step:
        workload = in_steps(workload, step)
    fine, means = (np.sort(demand_within(workload, each, window).cores) for each in (step, seconds))
    count = min(len(fine), len(means) * (seconds // step))
    apart = np.abs(fine[-count:] - np.repeat(means, seconds // step)[-count:])
    share = float(apart.sum() / max(fine.sum(), ROUNDING))
    return share if share > APART else 0.0


def finest_step(workload: Workload, seconds: int) -> int:
    """The steps of a series where such fill so many seconds, else 5 minutes, which is the shortest."""
    own = workload.step_seconds if isinstance(workload, Demand) else FINE_STEP
    return own if own > FINE_STEP and seconds % own == 0 else FINE_STEP


def _used_by_shorter(jobs: Jobs, seconds: float) -> float:
    """The part of what jobs use that those use which are shorter than this."""
    used = jobs.cores * jobs.duration
    return float(used[jobs.duration < seconds].sum() / used.sum()) if len(jobs) else 0.0


def whole_periods(steps: int, step_seconds: int) -> int:
    """How many steps repeat cleanly: whole weeks of two weeks or more (of a year at most), whole days of a day or more,
    else all."""
    for period, least in ((WEEK, 2 * WEEK), (DAY, DAY)):
        if steps * step_seconds >= least and period % step_seconds == 0:
            return min(steps * step_seconds, YEAR) // period * (period // step_seconds)
    return steps


def repeated_rows(steps: int, pattern: int, step_seconds: int) -> NDArray[np.int64]:
    """Which step of a pattern each step of a horizon is. Of weeks that do not fill it evenly those repeat once more
    that lie evenly spread over the pattern, and a part of a week is of one in its middle: its oldest ones alone would
    not have its mean. Of a year the next day is its first. Days that are missing to two weeks are those of the week
    before, so that each weekday has its share."""
    week = WEEK // step_seconds
    if is_filled_up(pattern, step_seconds):
        rows = np.arange(steps) % (2 * week)
        return np.where(rows < pattern, rows, rows - week)
    rows, rest = np.arange(steps) % pattern, steps % pattern
    if rest and WEEK % step_seconds == 0 and pattern % week == 0:
        weeks = _once_more(rest // week, pattern // week)
        rows[steps - rest :] = (weeks[:, None] * week + np.arange(week)).ravel()[:rest]
    return rows


def missing_to_weeks(steps: int, step_seconds: int) -> int:
    """The steps that are missing to whole weeks, where these are a day at most of two weeks or more; else none."""
    if WEEK % step_seconds or steps * step_seconds < 2 * WEEK:
        return 0
    missing = -steps % (WEEK // step_seconds)
    return missing if missing * step_seconds <= TO_FILL else 0


def latest_rows(given: int, steps: int, pattern: int, step_seconds: int) -> NDArray[np.int64]:
    """Which of the steps that are given each step of a horizon is, where the latest so many repeat. What a pattern has
    before the first of them is what came a week later, at the same hours of the same weekday."""
    rows = given - pattern + repeated_rows(steps, pattern, step_seconds)
    return np.where(rows < 0, rows + WEEK // step_seconds, rows)


def is_filled_up(pattern: int, step_seconds: int) -> bool:
    """Whether a pattern is over a week and under two, of which the week before makes two."""
    return WEEK % step_seconds == 0 and WEEK < pattern * step_seconds < 2 * WEEK


def _once_more(whole: int, weeks: int) -> NDArray[np.int64]:
    """The weeks of a pattern of so many that come once more, and the one of which a part does."""
    spread = (2 * np.arange(whole) + 1) * weeks // max(2 * whole, 1)
    goes_on = weeks < 3 or (weeks * WEEK == YEAR and not whole)  # no middle, or a season that begins again
    return np.append(spread, 0 if goes_on else weeks // 2)


def of_its_last_year(window: Window) -> Window:
    """The part of a window that a plan is made of: a year at most."""
    return replace(window, start=max(window.start, window.end - YEAR))


def stretch(demand: Demand, outlook: Outlook, idle: IdleHours | None = None) -> Forecast:
    """Repeat the latest whole periods of the demand over the horizon, grown and with headroom; ``idle`` is of the
    demand's steps.

    Growth compounds and is applied month by month. Raises InputError where the demand is empty or zero throughout.
    """
    steps = outlook.horizon_hours * SECONDS_PER_HOUR // demand.step_seconds
    kept = max(len(demand) - outlook.warm_up_seconds // demand.step_seconds, 0)
    filled = kept + missing_to_weeks(kept, demand.step_seconds)
    pattern = whole_periods(filled if filled <= steps else min(kept, steps), demand.step_seconds)
    first = len(demand) - min(pattern, kept)
    if not float(np.max(demand.cores[first:], initial=0.0)) > 0:
        raise InputError(f"{demand.provenance.name}: no demand is left to plan for in its latest whole period")
    scale = _growth(steps, demand.step_seconds, outlook.growth_per_year) * (1 + outlook.headroom)

    rows = len(demand) - kept + latest_rows(kept, steps, pattern, demand.step_seconds)

    def repeated(column: Floats) -> Floats:
        return column[rows] * scale

    return Forecast(
        demand.step_seconds,
        repeated(demand.cores),
        repeated(demand.memory),
        repeated(demand.batch_cores),
        pattern,
        None if idle is None else idle.each(lambda column: column[..., rows]).times(scale),
        by_part=demand.by_part,
        first_weeks=outlook.first_weeks,
    )


def repeating(forecast: Forecast, outlook: Outlook) -> Forecast:
    """The pattern that a forecast repeats, once and without growth."""
    once = forecast.first(forecast.pattern)
    grown = _growth(len(once), once.step_seconds, outlook.growth_per_year)
    idle = None if once.idle is None else once.idle.times(1.0 / grown)
    return replace(
        once, cores=once.cores / grown, memory=once.memory / grown, batch_cores=once.batch_cores / grown, idle=idle
    )


def _growth(steps: int, step_seconds: int, per_year: float) -> Floats:
    return per_year_to_month(per_year, np.arange(steps) * step_seconds // (HOURS_PER_MONTH * SECONDS_PER_HOUR))


def per_year_to_month(per_year: float, months: NDArray[np.int64]) -> Floats:
    """What growth makes of demand by each month, counted from 0."""
    grown: Floats = np.power(1.0 + per_year, months * (HOURS_PER_MONTH / HOURS_PER_YEAR))
    return grown


FAR_ABOVE = 1.5  # ours: at once so many times the highest mean of a step
MUCH_OF_USE = 0.1  # ours: jobs shorter than a step that are less of all use than this do not matter,
APART = 0.05  # nor does so small a difference of means: savings are told by half of it too high
ROUNDING = 1e-9


def far_above_means(jobs: Jobs, demand: Demand) -> float:
    """The most vCPUs in use at one moment of the window, where that is far above the means of its steps, as jobs are
    shorter than these; 0 where it is not."""
    assert demand.window is not None
    if _used_by_shorter(jobs, demand.step_seconds) < MUCH_OF_USE:
        return 0.0
    begins, ends = jobs.begins, jobs.ends
    counts = (begins < demand.window.end) & (ends > demand.window.start)
    most = most_at_once(begins[counts], ends[counts], jobs.cores[counts])
    return most if most >= FAR_ABOVE * demand.cores.max() else 0.0

"""Demand that rises: by how much a year, where the trace is long enough to show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hcloud.planning.forecasting.forecast import DAY, WEEK, YEAR
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

SHOWS_GROWTH = 13  # ours: weeks of a trace that show whether demand grows, as for three-year terms (planning.history)
AT_EACH_END = 4  # ours: weeks whose means are compared, as a term of one year deserves
HOURS_PER_WEEK = WEEK // SECONDS_PER_HOUR


def growth_of(cores: Floats, per_day: int) -> float | None:
    """The growth a year of the mean of a trace's last four weeks: what it was since the same ones a year before, or
    where the trace has no such, as many vCPUs more in the next year as at the pace since its first four (a rise by half
    in a quarter, compounded, would be fivefold). None where the trace, in so many steps a day, is shorter than a
    quarter or those have nothing."""
    week = WEEK // DAY * per_day
    weeks = len(cores) // week
    if weeks < SHOWS_GROWTH:
        return None
    weeks = min(weeks, YEAR // WEEK + AT_EACH_END)
    whole = cores[len(cores) - weeks * week :]
    first, last = (float(part.mean()) for part in (whole[: AT_EACH_END * week], whole[-AT_EACH_END * week :]))
    years = (weeks - AT_EACH_END) * WEEK / YEAR
    return (last - first) / (first if years >= 1 else years * last) if first and last else None

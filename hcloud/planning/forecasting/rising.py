"""Demand that rises: by how much a year, where the trace is long enough to show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hcloud.planning.forecasting.forecast import DAY, WEEK, YEAR
from hcloud.units import HOURS_PER_YEAR, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

SHOWS_GROWTH = 13  # ours: weeks of a trace that show whether demand grows, as for three-year terms (planning.history)
AT_EACH_END = 4  # ours: weeks whose means are compared, as a term of one year deserves
HOURS_PER_WEEK = WEEK // SECONDS_PER_HOUR


def growth_of(cores: Floats, per_day: int) -> float | None:
    """The growth a year to the mean of a trace's last four weeks from that of the same ones a year before, or of its
    first four where it has no such; None where the trace, in so many steps a day, is shorter than a quarter or those
    have nothing."""
    week = WEEK // DAY * per_day
    weeks = len(cores) // week
    if weeks < SHOWS_GROWTH:
        return None
    weeks = min(weeks, YEAR // WEEK + AT_EACH_END)
    whole = cores[len(cores) - weeks * week :]
    first, last = (float(part.mean()) for part in (whole[: AT_EACH_END * week], whole[-AT_EACH_END * week :]))
    years = (weeks - AT_EACH_END) * HOURS_PER_WEEK / HOURS_PER_YEAR
    return float((last / first) ** (1 / years)) - 1 if first else None

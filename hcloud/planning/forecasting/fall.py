"""Demand that fell: of which weeks or days at the end of a trace a commitment may be planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.forecasting.forecast import DAY, WEEK
from hcloud.units import counted

if TYPE_CHECKING:
    from hcloud.model.workload import Demand, Floats

DAYS_OF_WEEK, LEAST_DAYS = WEEK // DAY, 3  # ours: fewer days are chance
WORTH_A_WARNING = 1.5  # ours: how many times what it needs at last a demand needed at first


@dataclass(frozen=True, slots=True)
class DemandFall:
    """That the last ``seconds`` of a trace used a ``share`` of what they are compared with (``than``)."""

    seconds: int
    share: float
    than: str


def fall_of(demand: Demand, below: float, warm_up_seconds: int = 0, missing: float = 2.0) -> DemandFall | None:
    """The fall of a demand, by whole days within its last week and by whole weeks before that, counted from its end;
    None where there is none. The first ``warm_up_seconds`` are left out.

    What is committed to is paid for after the trace. A mean over weeks that had more demand would commit to what is no
    longer there, and a trace that rises is only committed to less than it may come to need: so only falls count.
    """
    cores, per_day = demand.cores[warm_up_seconds // demand.step_seconds :], DAY // demand.step_seconds
    if DAY % demand.step_seconds:
        return None
    days = cores[len(cores) % per_day :].reshape(-1, per_day).mean(axis=1)
    return _within_a_week(days, below, missing) or _of_weeks(days, below)


def _within_a_week(days: Floats, below: float, missing: float) -> DemandFall | None:
    """Three to six days at the end, each with less than the part ``below`` of the same day a week before, to which so
    many days of demand are ``missing`` in all. A weekend is no fall, nor is a quiet day or two."""
    if len(days) < DAYS_OF_WEEK + LEAST_DAYS:
        return None
    last, before = days[DAYS_OF_WEEK:][::-1], days[:-DAYS_OF_WEEK][::-1]
    kept = last >= below * before
    fell = int(np.argmax(kept)) if kept.any() else len(kept)
    if not LEAST_DAYS <= fell < DAYS_OF_WEEK or fell - float((last[:fell] / before[:fell]).sum()) < missing:
        return None
    return DemandFall(fell * DAY, float(last[:fell].sum() / before[:fell].sum()), "the same days a week before")


def _of_weeks(days: Floats, below: float) -> DemandFall | None:
    """The longest run of weeks at the end whose last one is not below that part of their mean, where the last week is
    below it of the mean of all weeks."""
    count = len(days) // DAYS_OF_WEEK
    if count < 2:
        return None
    means = days[len(days) - count * DAYS_OF_WEEK :].reshape(count, DAYS_OF_WEEK).mean(axis=1)
    weeks = 1
    while weeks < count and means[-1] >= below * means[-weeks - 1 :].mean():
        weeks += 1
    earlier = means[: count - weeks]
    if weeks == count or not means[-1] < below * float(means.mean()):
        return None
    share = float(means[-weeks:].mean() / earlier.mean())
    return DemandFall(weeks * WEEK, share, f"the mean of the {counted(count - weeks, 'week')} before")


@dataclass(frozen=True, slots=True)
class LowerEnd:
    """That the last ``part`` of a demand has a ``share`` of what it is compared with (``than``)."""

    part: str
    share: float
    than: str


def ends_lower(cores: Floats, per_day: int) -> LowerEnd | None:
    """That a demand, in so many steps a day, needs much less in its last whole week than in its first one, or, where
    there is one alone, on its last day than a week before: a weekend is no fall."""
    week = WEEK // DAY * per_day
    if len(cores) < week + per_day:
        return None
    weeks = len(cores) // week
    part, length, than, begin = (
        ("week", week, "the first", len(cores) - weeks * week)
        if weeks > 1
        else ("day", per_day, "the same day a week before", len(cores) - week - per_day)
    )
    first, last = float(cores[begin:][:length].mean()), float(cores[-length:].mean())
    return LowerEnd(part, last / first, than) if first > WORTH_A_WARNING * last else None

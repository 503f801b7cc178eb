"""Demand that fell: of which weeks at the end of a trace a commitment may be planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hcloud.planning.forecasting.forecast import DAY, WEEK

if TYPE_CHECKING:
    from hcloud.model.workload import Demand, Floats

WORTH_A_WARNING = 1.5  # ours: how many times what it needs at last a demand needed at first


@dataclass(frozen=True, slots=True)
class DemandFall:
    """How many ``weeks`` at the end of a trace have a last week that is not far below them, and what part of the mean
    of the ``before`` weeks before them their own mean is."""

    weeks: int
    before: int
    share: float


def fall_of(demand: Demand, below: float, warm_up_seconds: int = 0) -> DemandFall | None:
    """The fall of a demand by whole weeks, counted from its end; None where the last week is at least the part
    ``below`` of the mean of all of them, or where there are fewer than two. The first ``warm_up_seconds`` are
    left out.

    What is committed to is paid for after the trace. A mean over weeks that had more demand would commit to what is no
    longer there, and a trace that rises is only committed to less than it may come to need: so only falls count.
    """
    per_week = WEEK // demand.step_seconds
    kept = len(demand) - warm_up_seconds // demand.step_seconds
    count = kept // per_week if per_week else 0
    if count < 2 or WEEK % demand.step_seconds:
        return None
    means = demand.cores[len(demand) - count * per_week :].reshape(count, per_week).mean(axis=1)
    weeks = 1
    while weeks < count and means[-1] >= below * means[-weeks - 1 :].mean():
        weeks += 1
    earlier = means[: count - weeks]
    if weeks == count or not means[-1] < below * float(means.mean()):
        return None
    return DemandFall(weeks, count - weeks, float(means[-weeks:].mean() / earlier.mean()))


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

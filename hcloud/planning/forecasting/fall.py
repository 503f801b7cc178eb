"""Demand that fell: of which weeks or days at the end of a trace a commitment may be planned."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.forecasting.forecast import DAY, WEEK, YEAR
from hcloud.units import counted

if TYPE_CHECKING:
    from hcloud.model.workload import Demand, Floats

DAYS_OF_WEEK, LEAST_DAYS = WEEK // DAY, 3  # ours: fewer days are chance
WEEKS_OF_YEAR = YEAR // WEEK
MOST_DAYS = 1 / 3  # ours: two of three that fell, by how much more they are than the others, in shares of all
SURE = 3.5  # ours: standard errors from none that make a change one
LEAST_LEVEL = 1e-3  # ours: of the mean of all days; days of less are compared as if they had so much
STEPS, MOST_STEPS = 6.0, 0.75  # ours: the same in what most weeks differ from the next; a monthly job is in half
YEAR_BEFORE = "the same week a year before"
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
    whole = cores[len(cores) % per_day :]
    days = whole.reshape(-1, per_day).mean(axis=1)
    return _within_a_week(days, below, missing) or _of_weeks(whole, per_day, below)


def _within_a_week(days: Floats, below: float, missing: float) -> DemandFall | None:
    """Three to six days at the end, each with less than the part ``below`` of the same day a week before, to which so
    many days of demand are ``missing`` in all. A weekend is no fall, nor is a quiet day or two, nor what was there
    before: of few large jobs some days need little now and then."""
    if len(days) < DAYS_OF_WEEK + LEAST_DAYS:
        return None
    last, before = days[DAYS_OF_WEEK:][::-1], days[:-DAYS_OF_WEEK][::-1]
    kept = last >= below * before
    fell = int(np.argmax(kept)) if kept.any() else len(kept)
    if not LEAST_DAYS <= fell < DAYS_OF_WEEK or fell - float((last[:fell] / before[:fell]).sum()) < missing:
        return None
    runs = np.convolve(days[:-fell], np.ones(fell), "valid") > last[:fell].sum()  # those that need more, oldest first
    if not runs[int(runs.argmax()) :].all():  # what was low at first had not begun
        return None
    return DemandFall(fell * DAY, float(last[:fell].sum() / before[:fell].sum()), "the same days a week before")


def _of_weeks(cores: Floats, per_day: int, below: float) -> DemandFall | None:
    """The longest run of weeks at the end whose last one is not below that part of their mean, without those of them
    from before a fall that all weeks since are below that part of; where the last week is below it of the mean of all
    weeks and of the same week a year before, if there is one, and most days are below it of the same weekdays before:
    a mean falls after a few large jobs, too."""
    count = len(cores) // (DAYS_OF_WEEK * per_day)
    if count < 2:
        return None
    days = cores[-count * DAYS_OF_WEEK * per_day :].reshape(count, DAYS_OF_WEEK, per_day).mean(axis=2)
    means = days.mean(axis=1)
    if not means[-1] < below * min([means.mean(), *means[-1 - WEEKS_OF_YEAR : -WEEKS_OF_YEAR]]):
        return None
    weeks = _since(means, below)
    fell = np.sign(below * days[:-weeks, None] - days[-weeks:])  # 0 where nothing ran on either day
    if weeks == count or fell.sum() < MOST_DAYS * np.count_nonzero(fell):
        return None
    share = float(means[-weeks:].mean() / means[:-weeks].mean())
    return DemandFall(weeks * WEEK, share, f"the mean of the {counted(count - weeks, 'week')} before")


def _since(means: Floats, below: float) -> int:
    """How many weeks at the end have the level of the last one."""
    weeks = 1
    while weeks < len(means) and means[-1] >= below * means[-weeks - 1 :].mean():
        weeks += 1
    kept = means[len(means) - weeks :]
    fell = (at for at in range(1, weeks) if kept[at:].max() < below * kept[:at].min())
    return weeks if weeks == len(means) else weeks - next(fell, 0)


@dataclass(frozen=True, slots=True)
class DemandEnd:
    """That the last ``part`` of a demand has a ``share`` (below or above 1) of what it is compared with (``than``)."""

    part: str
    share: float
    than: str


def end_of(cores: Floats, per_day: int) -> DemandEnd | None:
    """The last whole week of a demand, in so many steps a day, beside the same one a year before, else its first one,
    or, where there is one alone, its last day beside the same one a week before, and of less its last day beside its
    first: neither a season nor a weekend is a change. None, too, where the days that are compared, or three or more
    since the eighth, do not differ by much more than by chance, and the weeks of a few large days neither: then jobs
    came or went as they always do. Days are compared by their logarithms: what has a season or heavy tails varies by a
    part of what it is."""
    days = cores[len(cores) % per_day :].reshape(-1, per_day).mean(axis=1)
    if len(days) < 2 or not days.any():
        return None
    weeks, part, than, pairs, apart = len(days) // DAYS_OF_WEEK, "day", "the first", 1, len(days) - 1
    if weeks > 1:
        part, pairs, apart = "week", DAYS_OF_WEEK, DAYS_OF_WEEK * min(weeks - 1, WEEKS_OF_YEAR)
        than = than if weeks <= WEEKS_OF_YEAR else YEAR_BEFORE
    elif len(days) > DAYS_OF_WEEK:
        than, apart = "the same day a week before", DAYS_OF_WEEK
        pairs = len(days) - apart if len(days) - apart >= LEAST_DAYS else 1
    before, since = days[-apart - pairs :][:pairs], days[-pairs:]
    first, last = (float(part_of[-DAYS_OF_WEEK if weeks > 1 else -1 :].mean()) for part_of in (before, since))
    levels = np.log(np.maximum(days, LEAST_LEVEL * days.mean()))
    change = (levels[-pairs:] - levels[-apart - pairs :][:pairs])[since + before > 0]
    is_chance = len(change) > 0 and change.mean() * np.sign(last - first) < SURE * _chance(change, levels)
    if is_chance and not (weeks > 1 and _is_steady(days[-apart - pairs :])):
        return None
    return DemandEnd(part, last / first if first else inf if last else 1.0, than)


def _is_steady(days: Floats) -> bool:
    """That the last week of these is much further from the first than most are from the next."""
    weeks = days.reshape(-1, DAYS_OF_WEEK).mean(axis=1)
    return abs(float(weeks[-1] - weeks[0])) >= STEPS * float(np.quantile(np.abs(np.diff(weeks)), MOST_STEPS))


def _chance(change: Floats, days: Floats) -> float:
    """The standard error of the mean of changes; of one alone how far one day usually is from the next."""
    if len(change) > 1:
        return float(change.std(ddof=1) / np.sqrt(len(change)))
    return float(np.median(np.abs(np.diff(days))))


def ends_lower(cores: Floats, per_day: int) -> DemandEnd | None:
    """That a demand of over a week needs much less at its end than before."""
    end = end_of(cores, per_day) if len(cores) >= WEEK // DAY * per_day + per_day else None
    return end if end is not None and end.share * WORTH_A_WARNING < 1 else None


def filling_days(cores: Floats, per_day: int) -> int:
    """How many days at the begin of a demand need much less than the same days a week later; 0 where the whole first
    week does: that is growth."""
    days = cores[: len(cores) // per_day * per_day].reshape(-1, per_day).mean(axis=1)
    low = days[:-7][:7] * WORTH_A_WARNING < days[7:14]
    return 0 if low.all() else int(low.argmin())

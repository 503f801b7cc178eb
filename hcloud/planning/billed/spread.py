"""What a bill does not say: in which hours of a day machines ran, and what ran on days that it has no lines of."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.bill import Bill, BilledUsage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


HOURS_PER_DAY = 24


def most_uneven(cores: Floats, certain: Floats, committed: float) -> float:
    """vCPU-hours beyond a commitment of ``committed`` vCPUs, more than the even spread says, if all of a day's use that
    is not ``certain`` to be spread fell into one hour. ``cores`` and ``certain`` are vCPUs by hour, whole days."""
    days = len(cores) // HOURS_PER_DAY
    if not days:
        return 0.0
    even, sure = (x[: days * HOURS_PER_DAY].reshape(days, HOURS_PER_DAY) for x in (cores, np.minimum(certain, cores)))
    rest = (even - sure).sum(axis=1)
    room = np.maximum(committed - sure, 0.0)
    covered = np.minimum(sure, committed).sum(axis=1) + np.minimum(rest, room[:, 0])
    return float((np.minimum(even, committed).sum(axis=1) - covered).clip(0.0).sum())


def as_monthly(vcpu_hours: float, hours: int, hourly: Decimal, month: int) -> Decimal:
    """Dollars a month of vCPU-hours that ran over within ``hours``, at ``hourly`` dollars a vCPU."""
    return Decimal(vcpu_hours) / hours * hourly * month


def missing_hours(in_use: Floats, gap_days: int) -> NDArray[np.bool_]:
    """Whether each hour is of so many days or more without any machine, which do not count: a month that was not
    delivered is no month without machines. Fewer days are not missing, as machines may rest on weekends and holidays,
    and neither are days at the end: there they may have been given back."""
    days = np.arange(len(in_use)) // HOURS_PER_DAY
    empty = np.bincount(days, in_use) == 0
    last = int(np.flatnonzero(~empty).max(initial=-1))
    empty[last + 1 :] = False
    empty &= _run_lengths(empty) >= gap_days
    missing: NDArray[np.bool_] = empty[days]
    return missing


def in_use(bill: Bill) -> Floats:
    """What ran in each hour of a bill, spot included."""
    return sum((u.hours + (0.0 if u.spot is None else u.spot) for u in bill.usage), np.zeros(bill.hours))


def missing_days(bill: Bill) -> int:
    """How many days between its first and its last hour a bill has nothing of."""
    return int(missing_hours(in_use(bill), bill.gap_days).sum()) // HOURS_PER_DAY


def without_missing_days(bill: Bill) -> tuple[Bill, int]:
    """(the bill without its missing days, how many these are)."""
    missing = missing_hours(in_use(bill), bill.gap_days)
    if not missing.any():
        return bill, 0
    kept = ~missing
    cut = replace(bill, hours=int(kept.sum()), usage=tuple(_only(used, kept) for used in bill.usage))
    return cut, int(missing.sum()) // HOURS_PER_DAY


def _run_lengths(empty: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many neighbouring days are alike, for each day."""
    begins = np.flatnonzero(np.diff(empty, prepend=~empty[:1]))
    lengths = np.diff(begins, append=len(empty))
    return np.repeat(lengths, lengths)


def _only(used: BilledUsage, kept: NDArray[np.bool_]) -> BilledUsage:
    def cut(hours: Floats | None) -> Floats | None:
        return None if hours is None else hours[kept]

    return replace(
        used,
        hours=used.hours[kept],
        memory=cut(used.memory),
        covered={option: hours[kept] for option, hours in used.covered.items()},
        spot=cut(used.spot),
        whole_days=cut(used.whole_days),
    )

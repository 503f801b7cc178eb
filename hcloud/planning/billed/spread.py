"""What a bill of daily rows does not say: in which hours of a day its machines ran."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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

"""Times that name no zone, as those of the zone that an option says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

_QUARTER = 900.0
"""Seconds between two local times of which clocks may be changed at one and not at the other."""


def unix_of_local(local: Floats, zone: str) -> Floats:
    """Unix seconds of times of a zone that were read as if they were UTC, NaN where there is none. Of an hour that
    comes twice the first is meant, as in Slurm's files."""
    quarters, at = np.unique(np.floor(local / _QUARTER), return_inverse=True)
    offsets = np.array([_offset(one * _QUARTER, zone) for one in quarters.tolist()])
    shifted: Floats = local - offsets[at.reshape(local.shape)]
    return shifted


def put_back(times: Floats, zone: str) -> Floats:
    """Unix seconds of one series in its file's order: where clocks were put back, a time that stands there for the
    second time is an hour later."""
    order = np.argsort(times, kind="stable")
    shifted = times.copy()
    for at in order[1:][np.diff(times[order]) == 0].tolist():
        time = float(times[at])
        if _comes_twice(time, zone):
            shifted[at] += SECONDS_PER_HOUR
    return shifted


def later_ends(begins: Floats, ends: Floats, zone: str) -> Floats:
    """Unix seconds of ends, an hour later where one is before its begin and of an hour that comes twice."""
    shifted = ends.copy()
    for at in np.flatnonzero((ends < begins) & (begins <= ends + SECONDS_PER_HOUR)).tolist():
        if _comes_twice(float(ends[at]), zone):
            shifted[at] += SECONDS_PER_HOUR
    return shifted


def _comes_twice(time: float, zone: str) -> bool:
    return _local(time, zone) == _local(time + SECONDS_PER_HOUR, zone)


def _local(time: float, zone: str) -> datetime:
    return datetime.fromtimestamp(time, ZoneInfo(zone)).replace(tzinfo=None, fold=0)


def _offset(local: float, zone: str) -> float:
    if np.isnan(local):
        return 0.0
    moment = datetime.fromtimestamp(local, UTC).replace(tzinfo=ZoneInfo(zone))
    offset = moment.utcoffset()
    return offset.total_seconds() if offset is not None else 0.0

"""Times that name no zone, as those of the zone that an option says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

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


def _offset(local: float, zone: str) -> float:
    if np.isnan(local):
        return 0.0
    moment = datetime.fromtimestamp(local, UTC).replace(tzinfo=ZoneInfo(zone))
    offset = moment.utcoffset()
    return offset.total_seconds() if offset is not None else 0.0

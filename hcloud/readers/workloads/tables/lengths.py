"""The unit of a number that says how long a job ran, by the times beside it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from math import isclose, isnan, nan

from hcloud.readers.workloads.tables.columns import ticks_of

_MS = 1e3
_LONG = 1e6  # ours: a number from which on it is asked whether it is ms
_OF_SECOND = {"s": 1, "ms": 1000, "min": 1 / 60, "h": 1 / 3600}
"""How many of each unit a second is."""


def unit_of(row: Mapping[str, str], found: Mapping[str, str], named: Mapping[str, str]) -> str:
    """The unit of the duration of a job by its start and its end, else by that of its times; nothing where it is s."""
    took = float(row[found["duration"]])
    length = _moment(row.get(named.get("end", ""), "")) - _moment(row.get(named.get("start", ""), ""))
    if took and (unit := next((u for u, n in _OF_SECOND.items() if isclose(took, length * n, rel_tol=0.05)), None)):
        return "" if unit == "s" else unit
    if ticks_of(row[found["submit"]]) == _MS and took.is_integer():
        return "ms"
    return "s" if took >= _LONG and isnan(length) else ""


def _moment(cell: str) -> float:
    """Seconds of a time; NaN of what is none."""
    if ticks := ticks_of(cell):
        return float(cell) / ticks
    with suppress(ValueError):
        return datetime.fromisoformat(cell).timestamp()
    return nan

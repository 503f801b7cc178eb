"""Pairs of a time and a value as monitoring writes them, as a series: times of any usual notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.usage.measured import MeasuredSeries, in_order
from hcloud.readers.workloads.tables.columns import ticks_of
from hcloud.readers.workloads.tables.dates import ALLOWED, BARE, ZONED, unix_of_date, written

TIMES = "a time as 2026-11-01T10:00:00Z, or Unix time in s, ms, us or ns like the first"
_UNIX = re.compile(r"\d{1,19}(\.\d+)?(e\+\d\d)?", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d\S*)?", re.ASCII)


class TimeColumn:
    """Reads the times of one column; the first settles their notation, and whether they have a zone. Those without are
    of this one; ``dates`` is the order of those that do not begin with a year."""

    def __init__(self, zone: str = "", dates: str = "") -> None:
        self.notation: tuple[float, bool] | None = None
        self._zone, self._dates = ZoneInfo(zone) if zone else UTC, dates if dates in ALLOWED else ""

    def seconds(self, text: str) -> float:
        """Unix seconds; ValueError for a time that is none, or of another notation."""
        text = text.strip()
        if _UNIX.fullmatch(text):
            ticks = ticks_of(text)
            self._settle(ticks, zoned=False)
            return float(text) / (ticks or 1.0)
        if _ISO.fullmatch(text):
            moment = datetime.fromisoformat(text)
        else:
            at, how = written(text) or (unix_of_date(text, self._dates) if self._dates else None, BARE)
            if at is None:
                raise ValueError(text)
            moment = datetime.fromtimestamp(at, UTC).replace(tzinfo=UTC if how == ZONED else None)
        zoned = moment.tzinfo is not None
        self._settle(-1.0, zoned=zoned)
        return (moment if zoned else moment.replace(tzinfo=self._zone)).timestamp()

    @property
    def local(self) -> bool:
        """Whether the times are dates without a zone."""
        return self.notation == (-1.0, False)

    def _settle(self, ticks: float, *, zoned: bool) -> None:
        """The first time settles it; ValueError for another notation thereafter."""
        if self.notation is None:
            self.notation = ticks, zoned
        if self.notation != (ticks, zoned):
            raise ValueError


def sampled(
    where: str, name: str, pairs: Sequence[Sequence[Any]], findings: Findings, *, unit: str = ""
) -> MeasuredSeries:
    """A series with its samples in order; those that cannot be are noted."""
    times, values, clock = list[float](), list[float](), TimeColumn()
    for at, (time, value) in enumerate(pairs):
        try:
            sample = clock.seconds("" if isinstance(time, bool) else str(time)), _number(value)
        except (TypeError, ValueError, OverflowError):
            findings.add(f"{where}, sample {at + 1}", shown(f"{time} {value}"), "a time and a number")
            continue
        times.append(sample[0])
        values.append(sample[1])
    return MeasuredSeries(where, name, *in_order(times, values), unit)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    return float(value)

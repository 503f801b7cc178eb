"""The hours that a bill is of: what was used in each of them, and for how many a commitment was paid."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hcloud.planning.billed.spread import missing_hours
from hcloud.readers.bills.adding import NEVER, BillSums, HourTable, LineTotal

Floats = NDArray[np.float64]
_DAY = 24
_NEARLY = 1e-9
_LATE = 0.5  # ours: the part of a usual day
INVOICE = "invoice"
"""The text of a line that tells that its month is over."""


class BillHours:
    """The hours of every target, those of longer lines spread evenly over them."""

    def __init__(self, sums: BillSums, gap_days: int, *, finished: bool = False) -> None:
        there = {length: table for length, table in sums.tables.items() if table.values.size}
        lows = [table.low for table in there.values()]
        highs = [table.high + length for length, table in there.items()]
        self.first = min(lows, default=0 if sums.low == NEVER else sums.low)
        self.count = max(highs, default=self.first + 1) - self.first
        self.values: Floats = np.zeros((len(sums.targets), self.count))
        self.whole: Floats = np.zeros((len(sums.targets), self.count if any(length >= _DAY for length in there) else 0))
        for length, table in there.items():
            self._spread(table, length, self.values)
        if sums.whole_days.values.size:
            self._spread(sums.whole_days, _DAY, self.whole)
        below = self.values < 0
        self.corrected = int(np.count_nonzero(self.values < -_NEARLY))
        self.values[below] = 0.0
        self.early = self._begin_with_use(sums.since)
        long = sum(float(table.values.sum()) for length, table in there.items() if length >= _DAY)
        self.daily = long > 0 and long * 2 > float(self.values.sum())
        self.longest_days = max(there, default=0) // _DAY or 1
        self.end = max(sums.high, self.first + self.count)
        self.missing = missing_hours(self.values.sum(axis=0), gap_days)
        self.finished = finished

    def _begin_with_use(self, since: int) -> int:
        """Without corrections of earlier bills, which are none of what ran: what is before the hour ``since`` which the
        months of this one are billed (of -1, where it seems so), and what takes use off alone. The hours of more use
        that are left out."""
        used = np.asarray((self.values > 0).any(axis=0))
        early, self.billed = 0, -1
        begins = since - self.first if since >= 0 else self._late()
        if 0 < begins < self.count and used[begins:].any():
            early, used[:begins] = int(used[:begins].sum()), False
            self.billed = self.first + begins if since >= 0 else -1
        before = int(np.argmax(used)) if self.corrected or early else 0
        self.values, self.whole = self.values[:, before:], self.whole[:, before:]
        self.first, self.count = self.first + before, self.count - before
        return early

    def _late(self) -> int:
        """How many hours at the begin have late use of earlier months alone, as it seems: less than a part of a usual
        day, before a day without any, fewer days than the others, and none of the month in which these begin."""
        days = np.bincount((np.arange(self.count) + self.first) // _DAY - self.first // _DAY, self.values.sum(axis=0))
        in_use = np.flatnonzero(days)
        for place in np.flatnonzero(days == 0)[::-1].tolist():
            rest = days[place + 1 :]
            last, begin = (set(map(self._month, d)) for d in (in_use[in_use < place][-1:], in_use[in_use > place][:1]))
            if place < len(rest) and last != begin and days[:place].sum() < _LATE * np.median(rest):
                return int((place + 1) * _DAY - self.first % _DAY)
        return 0

    def _month(self, day: int) -> int:
        """The month of one of its days."""
        return datetime.fromtimestamp((self.first // _DAY + day) * _DAY * 3600, UTC).month

    def has(self, used: LineTotal) -> bool:
        """Whether lines of use are of its hours: not of those before the months that are billed."""
        return used.day >= self.billed

    def share(self, fee: LineTotal) -> Fraction:
        """The part of a fee that is of hours until the last one of the bill. The fees of a month stand whole in a
        report of AWS from its first day on; one with an invoice is of a month that is over, and so is one of which
        there are lines until its last day, in an export that leaves out invoices."""
        if self._has_its_hours(fee) or self.finished or fee.texts.get(INVOICE) or self._is_over_by_days(fee):
            return Fraction(1)
        first, last = self._held(fee)
        whole = min(fee.hours, last - first)
        return Fraction(max(whole - (last - self.end), 0), whole)

    def said_of(self, fee: LineTotal) -> str:
        """How it was decided whether the month of a fee is over; empty where the bill says it, or has all its hours."""
        if self._has_its_hours(fee) or self.finished or fee.texts.get(INVOICE):
            return ""
        counts = "their part until the last hour of the bill counts"
        if INVOICE not in fee.absent:
            return f"fees of commitments of a month that is not over: {counts}"
        of = "fees of commitments of a month, from an export without InvoiceId, whose lines"
        if self._is_over_by_days(fee):
            return f"{of} reach its last day: taken as over"
        return f"{of} end days before it: taken as not over, {counts} (--set finished=yes if it is over)"

    def _has_its_hours(self, fee: LineTotal) -> bool:
        return self._held(fee)[1] <= self.end

    def _held(self, fee: LineTotal) -> tuple[int, int]:
        """The hours that a fee is of: of its month those in which the commitment holds."""
        held = fee.line.holding
        start, end = (held.start, held.end) if held else (None, None)
        return _within(fee.first, fee.last, start, end)

    def _is_over_by_days(self, fee: LineTotal) -> bool:
        return INVOICE in fee.absent and fee.last - self.end < _DAY

    def paid_for(self, fees: list[LineTotal], start: datetime | None, end: datetime | None) -> int:
        """How many hours a commitment that holds from when to when was paid for: as its fees say where they follow each
        other, else from the first to the last of them, without missing days."""
        first, last = _within(min(t.first for t in fees), max(self._last(t) for t in fees), start, end)
        told, span = sum(int(t.hours * self.share(t)) for t in fees), last - first
        return max(told if told <= span else span - self._missing(first, last), 1)

    def _last(self, fee: LineTotal) -> int:
        return fee.last if self.share(fee) == 1 else min(fee.last, self.end)

    def between(self, start: datetime | None, end: datetime | None) -> int:
        """How many hours of the bill there are from when to when a commitment holds, without missing days."""
        first, last = self.first, self.first + self.count
        begin, stop = _within(first, last, start, end)
        return max(stop - begin - self._missing(begin, stop), 1)

    def _missing(self, first: int, last: int) -> int:
        return int(self.missing[max(first - self.first, 0) : max(last - self.first, 0)].sum())

    def _spread(self, table: HourTable, length: int, into: Floats) -> None:
        rows = min(len(table.values), len(into))
        for place in np.flatnonzero(table.values.any(axis=0)).tolist():
            at = table.first + place - self.first
            into[:rows, at : at + length] += table.values[:rows, place, None] / length


def _within(first: int, last: int, start: datetime | None, end: datetime | None) -> tuple[int, int]:
    """The hours of these that are from when to when something holds: all where these times are of none, as those of a
    line that is there are wrong."""
    begin = first if start is None else max(int(start.timestamp() // 3600), first)
    stop = last if end is None else min(int(end.timestamp() // 3600), last)
    return (begin, stop) if begin < stop else (first, last)

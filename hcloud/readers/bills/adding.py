"""Adds up the lines of a bill as they are read: sums by sort of line, hours by kind of machine and hour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hcloud.model.bill import UsageKind
from hcloud.model.catalog import PurchaseOption
from hcloud.readers.bills.cells import Cells
from hcloud.readers.bills.formats.spelling import spelled
from hcloud.readers.bills.lines import BillFormat, BillLine, PlaceError, Stream, Texts

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Target = tuple[UsageKind, Stream, PurchaseOption | None]
_LONGEST = 24 * 366 * 12
"""Hours from a bill's first to its last line: twelve years."""
_DAY, _LENGTH = 24, 20
"""Hours, and the bits of how many hours a line is of."""
NEVER = 1 << 40
"""No hour: later than all."""
_NEARLY = 1e-6


@dataclass(slots=True)
class LineTotal:
    """All lines of one sort."""

    texts: Texts
    line: BillLine
    target: int
    rows: int = 0
    hours: int = 0
    """Of the spans of its rows."""
    first: int = NEVER
    last: int = -1
    """The hours its rows are of; ``last`` is exclusive."""
    listed: int = 0
    """Of its rows, those with a list cost."""
    covered: float = 0.0
    """What its rows used under a commitment, in hours."""
    units: float = 0.0
    """What its rows are of a part of machines, for an hour each."""
    money: dict[str, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """The columns of texts and of money that a file of it has none of, by role."""
    day: int = NEVER
    """Of use of more than a day the hour at which it begins; of use before its billed month that of its day."""


class HourTable:
    """A row for each target, a column for each hour from the first that was met."""

    def __init__(self) -> None:
        self.first = 0
        self.low, self.high = NEVER, -1
        """The first and the last hour that something was added to."""
        self.values: Floats = np.zeros((0, 0))

    def add(self, targets: Whole, hours: Whole, amounts: Floats) -> None:
        """Add amounts; OverflowError where the hours span more years than a bill can."""
        low, high = int(hours.min()), int(hours.max())
        self._reach(int(targets.max()), low, high)
        self.low, self.high = min(self.low, low), max(self.high, high)
        width = self.values.shape[1]
        np.add.at(self.values.reshape(-1), targets * width + (hours - self.first), amounts)

    def _reach(self, target: int, low: int, high: int) -> None:
        rows, width = self.values.shape
        first = low if not width else min(self.first, low)
        last = high + 1 if not width else max(self.first + width, high + 1)
        if last - first > _LONGEST:
            raise OverflowError
        if target < rows and first == self.first and last == self.first + width:
            return
        # in weeks, so that it is seldom copied
        first, last = first - first % (7 * _DAY), last + -last % (7 * _DAY)
        wider = np.zeros((max(rows, target + 1 + target // 4), last - first))
        if width:
            wider[:rows, self.first - first : self.first - first + width] = self.values
        self.first, self.values = first, wider


class BillSums:
    """What was read so far."""

    def __init__(self) -> None:
        self.sorts: dict[tuple[str, ...], int] = {}
        self.totals: list[LineTotal] = []
        self.targets: dict[Target, int] = {}
        self.tables: dict[int, HourTable] = {}
        self.whole_days = HourTable()
        self.low, self.high = NEVER, -1
        """The first hour of any line, and the end of the last one that is no longer than a day."""
        self.since = NEVER
        """The hour at which the first month begins that is billed; -1 where a file does not say it."""
        self.spread_rows = self.long_rows = 0
        """Of more than an hour, and of more than a day."""

    def take(self, form: BillFormat, cells: Cells, check: Callable[[Texts], None]) -> None:
        """Add a batch; ``check`` refuses lines that cannot be added, by their texts. PlaceError for a bad cell."""
        cells = _apart_by_day(cells)
        ids = [self._id(form, sort, row, check) for sort, row in zip(cells.sorts, cells.first.tolist(), strict=True)]
        count = len(ids)
        counted = cells.codes if cells.counted is None else cells.codes[cells.counted]
        rows = np.bincount(counted, minlength=count).tolist()
        hours = np.bincount(cells.codes, weights=cells.span, minlength=count).tolist()
        listed = (
            np.bincount(cells.codes, weights=cells.listed, minlength=count).tolist()
            if cells.listed is not None
            else [0] * count
        )
        for place, one in enumerate(ids):
            self.totals[one].rows += rows[place]
            self.totals[one].hours += int(hours[place])
            self.totals[one].listed += int(listed[place])
            self.totals[one].absent.update(cells.absent)
        for role, amounts in cells.money.items():
            for one, total in zip(ids, amounts.sums(cells.codes, count), strict=True):
                if total:
                    money = self.totals[one].money
                    money[role] = money.get(role, 0) + total
        self.since = min(self.since, cells.since)
        timed = cells.start[cells.start >= 0]
        self.low = min(self.low, int(timed.min(initial=NEVER)))
        ends = (cells.start + cells.span)[(cells.start >= 0) & (cells.span <= _DAY)]
        self.high = max(self.high, int(ends.max(initial=-1)))
        self._spans(cells, ids)
        self._units(cells, ids)
        self._hours(cells, ids)

    def _id(self, form: BillFormat, sort: tuple[str, ...], row: int, check: Callable[[Texts], None]) -> int:
        known = self.sorts.get(sort)
        if known is not None:
            return known
        texts, day = dict(zip(form.texts, sort, strict=False)), sort[len(form.texts) :]
        try:
            check(texts)
            line = form.meaning(texts)
        except PlaceError as error:
            raise PlaceError(row, error.column, error.value, error.allowed) from None
        target = -1
        if day and line.usage is None and not line.fee:
            return self._id(form, sort[:-1], row, check)
        if line.usage is not None:
            target = self.targets.setdefault((line.usage, line.stream, line.option), len(self.targets))
        self.totals.append(LineTotal(texts, line, target, day=int(day[0]) >> _LENGTH if day and line.usage else NEVER))
        self.sorts[sort] = len(self.totals) - 1
        return self.sorts[sort]

    def _spans(self, cells: Cells, ids: list[int]) -> None:
        """From when to when the lines of commitments are: what an hour of one costs follows from it."""
        held = [place for place, one in enumerate(ids) if self.totals[one].line.holding is not None]
        if not held:
            return
        low, high = np.full(len(ids), NEVER), np.full(len(ids), -1)
        np.minimum.at(low, cells.codes, cells.start)
        np.maximum.at(high, cells.codes, cells.start + cells.span)
        used = _by_sort(cells)
        for place in held:
            total = self.totals[ids[place]]
            total.covered += used[place] * total.line.per if total.target >= 0 else 0.0
            total.first, total.last = min(total.first, int(low[place])), max(total.last, int(high[place]))

    def _units(self, cells: Cells, ids: list[int]) -> None:
        """How much of parts of machines the lines are of."""
        if any(self.totals[one].line.units for one in ids):
            for one, quantity in zip(ids, _by_sort(cells), strict=True):
                self.totals[one].units += quantity * self.totals[one].line.units

    def _hours(self, cells: Cells, ids: list[int]) -> None:
        targets = np.array([self.totals[one].target for one in ids], np.int64)[cells.codes]
        rows = np.flatnonzero(targets >= 0)
        if not len(rows):
            return
        whole = len(rows) == len(targets)
        start, span, quantity = (x if whole else x[rows] for x in (cells.start, cells.span, cells.quantity))
        targets = targets if whole else targets[rows]
        self._refuse(rows, start < 0, "start", "a time")
        self._refuse(rows, np.isnan(quantity), "quantity", "a number")
        per = np.array([self.totals[one].line.per for one in ids])[cells.codes]
        hours = quantity * (per if whole else per[rows])
        for length in np.unique(span).tolist():
            of = span == length
            some = (targets, start, hours) if of.all() else (targets[of], start[of], hours[of])
            try:
                self.tables.setdefault(length, HourTable()).add(*some)
            except OverflowError:
                raise PlaceError(
                    int(rows[0]), "start", "lies years from other lines", "a bill of twelve years"
                ) from None
        self.spread_rows += int(np.count_nonzero(span > 1))
        self.long_rows += int(np.count_nonzero(span > _DAY))
        if cells.single is None:
            return
        sure = (span == _DAY) & (np.abs(hours - _DAY) < _NEARLY) & (cells.single if whole else cells.single[rows])
        if sure.any():
            self.whole_days.add(targets[sure], start[sure], hours[sure])

    @staticmethod
    def _refuse(rows: Whole, odd: NDArray[np.bool_], column: str, allowed: str) -> None:
        if odd.any():
            raise PlaceError(int(rows[np.argmax(odd)]), column, "is empty", allowed)


def _apart_by_day(cells: Cells) -> Cells:
    """The same with lines of more than a day (each fee of a month), and those before the month that is billed, as sorts
    of their own: the hour at which each begins and its length, or its day, is one more text."""
    long, sorts = cells.span > _DAY, len(cells.sorts)
    apart = (cells.start >= 0) & (cells.start < cells.since) | long
    if not apart.any():
        return cells
    begin = cells.start - cells.start % _DAY * ~long
    keys = cells.codes + apart * sorts * ((begin << _LENGTH) + cells.span * long + 1)
    kept, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    named = [(*cells.sorts[key % sorts], *([str(key // sorts - 1)] * (key >= sorts))) for key in kept.tolist()]
    return replace(cells, codes=codes, sorts=named, first=first)


def _by_sort(cells: Cells) -> list[float]:
    """The quantities of a batch, added up by sort of line."""
    quantity = np.nan_to_num(cells.quantity)
    return list(np.bincount(cells.codes, weights=quantity, minlength=len(cells.sorts)).tolist())


def has(total: LineTotal, roles: tuple[str, ...]) -> bool:
    """Whether a line says an amount by columns that its files have."""
    return bool(roles) and not any(role in total.absent for role in roles)


def lacking(totals: list[LineTotal], *, slashes: bool) -> tuple[str, ...]:
    """The columns without which the bill does not say what commitments and their use cost."""
    names: dict[str, None] = {}
    for total in totals:
        names.update(dict.fromkeys(total.absent[role] for role in _needed(total) if role in total.absent))
    return tuple(spelled(name, slashes=slashes) for name in names)


def _needed(total: LineTotal) -> tuple[str, ...]:
    return (*total.line.fee, total.line.paid_by) if total.line.holding is not None else ()


def said_lacking(totals: list[LineTotal], without: tuple[str, ...]) -> dict[str, int]:
    """What a bill without these columns leaves out, and of how many lines."""
    if not without:
        return {}
    rows = sum(t.rows for t in totals if any(role in t.absent for role in _needed(t)))
    what = f"column{'s' if len(without) > 1 else ''} {', '.join(without)}"
    return {f"lines of commitments without their cost (utilisation and savings are left out): export {what} too": rows}

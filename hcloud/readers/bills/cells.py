"""One batch of a bill's lines in typed columns: what they have in common as codes, times in hours, exact amounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hcloud.readers.bills.formats.words import only
from hcloud.readers.bills.lines import BillFormat, PlaceError, moment
from hcloud.readers.bills.money import AmountError, Amounts, numbers_of
from hcloud.readers.workloads.findings import shown

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
HOUR = 3600
_DAY = 24
_MICROS = HOUR * 1_000_000
_YEARS = (1995, 2100)
_TIMES = f"a time of {_YEARS[0]} to {_YEARS[1]}"
_FORMS = "2026-10-01, 2026-10-01T00:00:00Z or 10/01/2026 (month, day, year, with their zeros)"
_DENSE = 1 << 40
NO_HOUR = np.int64(-1)


@dataclass(frozen=True, slots=True)
class Cells:
    """A batch: ``codes`` says for each row which of ``sorts`` it is, the texts that rows have in common; ``start`` is
    the hour since 1970, -1 for none, ``span`` how many hours the row is of. ``counted`` is false for rows that only
    complete another, ``listed`` true for those with a list cost, be it nothing. ``absent`` names the
    columns of texts and of money that the file has none of, by role. ``since`` is the hour at which the first month
    begins that is billed, -1 where some row does not say it."""

    codes: Whole
    sorts: list[tuple[str, ...]]
    first: Whole
    start: Whole
    span: Whole
    quantity: Floats
    money: Mapping[str, Amounts]
    counted: NDArray[np.bool_] | None = None
    single: NDArray[np.bool_] | None = None
    listed: NDArray[np.bool_] | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    since: int = -1


def cells_of(form: BillFormat, batch: pa.RecordBatch) -> Cells:
    """The typed columns of a batch whose columns are named by their roles; PlaceError where a cell cannot be used."""
    rows = batch.num_rows
    there = set(batch.schema.names)
    texts = {role: _encoded(batch.column(role)) for role in form.texts if role in there}
    texts |= {role: _reduced(texts[role], keys) for role, keys in form.maps.items() if role in texts}
    codes, first = _combined(texts, rows)
    start = hours_of(batch, "start")
    end = hours_of(batch, "end", up=True)
    span = np.where((end > start) & (start >= 0), end - start, form.span)
    counted = batch.column("counted").to_numpy(zero_copy_only=False) if "counted" in there else None
    quantity, money = _quantity(batch, rows), _money(form, batch)
    single = _single(batch) if (span >= _DAY).any() else None
    listed = _said(batch.column("list")) if "list" in money else None
    wanted = {**form.texts, **form.money}
    absent = {role: (*called, role)[0] for role, called in wanted.items() if role not in there}
    sorts, since = _sorts(form, texts, first), _since(batch, rows)
    return Cells(codes, sorts, first, start, span, quantity, money, counted, single, listed, absent, since)


def _since(batch: pa.RecordBatch, rows: int) -> int:
    try:
        return int(hours_of(batch, "period").min()) if rows else -1
    except PlaceError:  # no time, or none that is known: nothing is left out for it
        return -1


def _said(column: pa.Array) -> NDArray[np.bool_]:
    """Which cells of a column are not empty."""
    said = column.is_valid()
    if pa.types.is_string(column.type):
        said = pc.fill_null(pc.not_equal(column, ""), fill_value=False)
    there: NDArray[np.bool_] = said.to_numpy(zero_copy_only=False)
    return there


def _single(batch: pa.RecordBatch) -> NDArray[np.bool_] | None:
    """Which rows are of one machine: those of a resource that is no set of machines."""
    if "resource" not in batch.schema.names:
        return None
    names = pc.fill_null(batch.column("resource").cast(pa.string()), "")
    sets = pc.match_substring(names, "scalesets", ignore_case=True)
    single: NDArray[np.bool_] = pc.and_not(pc.not_equal(names, ""), sets).to_numpy(zero_copy_only=False)
    return single


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    if isinstance(column, pa.DictionaryArray):
        return column if pa.types.is_string(column.type.value_type) else column.cast(_CODED)
    return (column if pa.types.is_string(column.type) else column.cast(pa.string())).dictionary_encode()


def _reduced(column: pa.DictionaryArray, keys: tuple[str, ...]) -> pa.DictionaryArray:
    """A column of details as JSON with those details alone that are read."""
    short = pa.array(
        [only(text or "", keys) for text in column.dictionary.to_pylist()], pa.string()
    ).dictionary_encode()
    return pa.DictionaryArray.from_arrays(short.indices.take(column.indices), short.dictionary)


_CODED = pa.dictionary(pa.int32(), pa.string())


def _combined(texts: Mapping[str, pa.DictionaryArray], rows: int) -> tuple[Whole, Whole]:
    """A code for each combination of texts, and the first row of each."""
    joined, most = np.zeros(rows, np.int64), 1
    for column in texts.values():
        values = len(column.dictionary)
        if values <= 1 and not column.indices.null_count:
            continue
        if most * (values + 1) > _DENSE:
            joined, most = _dense(joined)
        joined = joined * (values + 1) + column.indices.fill_null(values).to_numpy(zero_copy_only=False)
        most *= values + 1
    codes, count = _dense(joined)
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(rows - 1, -1, -1)
    return codes, first


def _dense(joined: Whole) -> tuple[Whole, int]:
    coded = pa.array(joined).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), len(coded.dictionary)


def _sorts(form: BillFormat, texts: Mapping[str, pa.DictionaryArray], first: Whole) -> list[tuple[str, ...]]:
    """The texts of each combination, in the order of the format's roles."""
    columns = []
    for role in form.texts:
        if role in texts:
            places = texts[role].indices.take(pa.array(first))
            values = texts[role].dictionary.to_pylist()
            columns.append(["" if p is None else (values[p] or "") for p in places.to_pylist()])
        else:
            columns.append([""] * len(first))
    return list(zip(*columns, strict=True))


def hours_of(batch: pa.RecordBatch, role: str, *, up: bool = False) -> Whole:
    """The hour since 1970 of each row's time, a begun one counted whole with ``up``; -1 where there is none."""
    if role not in batch.schema.names:
        return np.full(batch.num_rows, NO_HOUR)
    column = batch.column(role)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        seconds = column.cast(pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None), safe=False)
        whole = seconds.cast(pa.int64()).fill_null(-_MICROS).to_numpy(zero_copy_only=False)
        hours: Whole = (-(-whole // _MICROS) if up else whole // _MICROS).astype(np.int64)
        odd = (hours != NO_HOUR) & ((hours < _hour_of(_YEARS[0])) | (hours >= _hour_of(_YEARS[1])))
        if odd.any():
            row = int(np.argmax(odd))
            raise PlaceError(row, role, _told(column, row), _TIMES)
        return hours
    coded = _encoded(column)
    known = np.array([_hour(text, up=up) for text in coded.dictionary.to_pylist()] + [NO_HOUR], np.int64)
    of_rows: Whole = known[coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)]
    bad = of_rows < NO_HOUR
    if bad.any():
        row = int(np.argmax(bad))
        raise PlaceError(row, role, _told(coded, row), f"{_TIMES}, as {_FORMS}")
    return of_rows


def _hour_of(year: int) -> int:
    return (year - 1970) * 8766 - 48


@lru_cache(4096)
def _hour(text: str | None, *, up: bool) -> int:
    """The hour of a text, -1 for an empty one, -2 for one that is no time."""
    try:
        at: datetime | None = moment(text or "")
    except (ValueError, OverflowError):
        return -2
    if at is None:
        return -1
    if not _YEARS[0] <= at.year < _YEARS[1]:
        return -2
    seconds = at.timestamp()
    return int(-(-seconds // HOUR) if up else seconds // HOUR)


def _quantity(batch: pa.RecordBatch, rows: int) -> Floats:
    if "quantity" not in batch.schema.names:
        return np.full(rows, np.nan)
    try:
        return numbers_of(batch.column("quantity"))
    except AmountError as error:
        raise _bad_number(batch, "quantity", error.row) from None


def _money(form: BillFormat, batch: pa.RecordBatch) -> dict[str, Amounts]:
    found = {}
    for role in form.money:
        if role not in batch.schema.names or (column := batch.column(role)).null_count == len(column):
            continue
        try:
            found[role] = Amounts.of(column)
        except AmountError as error:
            raise _bad_number(batch, role, error.row) from None
        except pa.ArrowException:
            raise PlaceError(0, role, f"holds {column.type}", "an amount of money") from None
    if len(column := batch.column("cost")):
        _refuse_empty(column)
    return found


def _refuse_empty(column: pa.Array) -> None:
    if pa.types.is_string(column.type) and pc.any(pc.equal(column, "")).as_py():
        column = pc.if_else(pc.equal(column, ""), None, column)
    if column.null_count:
        row = int(np.argmin(column.is_valid().to_numpy(zero_copy_only=False)))
        raise PlaceError(row, "cost", "is empty", "an amount of money")


def _bad_number(batch: pa.RecordBatch, role: str, row: int) -> PlaceError:
    return PlaceError(row, role, _told(batch.column(role), row), "a number below 1e15")


def _told(column: pa.Array, row: int) -> str:
    """A cell as an error shows it."""
    try:
        return shown(str(column[row].as_py()))
    except (ValueError, OverflowError):
        return f"a value out of range of {column.type}"

"""Sums of money to the last digit: amounts are added as whole numbers of their smallest unit, never as floats."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Whole = NDArray[np.int64]
SCALE = 24
"""Decimals in which sums are kept: no bill has as many."""
_FLOAT_SCALE = 12
"""Decimals to which an amount stored as a float is read: the most that a float of some thousand dollars holds."""
_EXACT = 4096.0
MOST = 1e15
"""The largest amount, in any currency, that a line may have."""
_EXACTLY = Context(prec=120)
_FINE = pa.decimal128(38, 18)
_FINEST = pa.decimal128(38, SCALE - 2)
_SMALLEST = Decimal(1).scaleb(2 - SCALE)
_LONG = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,3}$|^[+-]?[0-9]*\.[0-9]{23,}$"
_LOW = np.int64(0xFFFFFFFF)


class AmountError(ValueError):
    """An amount that is none; ``row`` is the first of them."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def decimal_of(units: int) -> Decimal:
    """A sum kept in whole units as money."""
    value = Decimal(units).scaleb(-SCALE, _EXACTLY)
    return value.normalize(_EXACTLY) if units else Decimal(0)


class Amounts:
    """The amounts of a column in parts of 32 bits, whose sums are exact in floats."""

    def __init__(self, parts: list[tuple[int, Whole]], scale: int) -> None:
        self.parts = parts
        self.scale = scale

    def sums(self, codes: Whole, count: int) -> list[int]:
        """The sum for each code, in whole units."""
        totals = [0] * count
        for shift, part in self.parts:
            weights = np.bincount(codes, weights=part, minlength=count)
            for code in np.flatnonzero(weights).tolist():
                totals[code] += int(weights[code]) << shift
        factor = 10 ** (SCALE - self.scale)
        return [total * factor for total in totals]

    @classmethod
    def of(cls, column: pa.Array) -> Amounts:
        """The amounts of a column of texts, decimals or numbers; an empty cell is no money. AmountError for others."""
        column = _plain(column)
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return cls._of_decimals(_decimals(column))
        if pa.types.is_decimal(kind):
            if kind.scale > SCALE:
                column = column.cast(pa.decimal128(38, SCALE), safe=False)
            return cls._of_decimals(column.cast(pa.decimal128(38, column.type.scale)))
        if pa.types.is_integer(kind):
            return cls._of_whole(column.fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False), 0)
        return cls._of_floats(column.cast(pa.float64()))

    @classmethod
    def _of_decimals(cls, column: pa.Array) -> Amounts:
        data = column.buffers()[1]
        if data is None or not len(column):
            return cls([], 0)
        pairs = np.frombuffer(data, np.int64)[2 * column.offset : 2 * (column.offset + len(column))].reshape(-1, 2)
        low, high = pairs[:, 0], pairs[:, 1]
        if column.null_count:
            there = column.is_valid().to_numpy(zero_copy_only=False)
            low, high = np.where(there, low, 0), np.where(there, high, 0)
        scale = column.type.scale
        if np.array_equal(low >> np.int64(63), high):
            return cls._of_whole(low, scale)
        middle = (low >> np.int64(32)) & _LOW
        return cls([(96, high >> np.int64(32)), (64, high & _LOW), (32, middle), (0, low & _LOW)], scale)

    @classmethod
    def _of_whole(cls, whole: Whole, scale: int) -> Amounts:
        return cls([(32, whole >> np.int64(32)), (0, whole & _LOW)], scale)

    @classmethod
    def _of_floats(cls, column: pa.Array) -> Amounts:
        values = np.nan_to_num(column.fill_null(0.0).to_numpy(zero_copy_only=False), nan=np.inf)
        size = np.abs(values)
        if len(values) and float(size.max()) >= MOST:
            raise AmountError(int(np.argmax(size >= MOST)))
        large = np.flatnonzero(size > _EXACT)
        small = np.where(size > _EXACT, 0.0, values) if len(large) else values
        whole = np.rint(small * 10.0**_FLOAT_SCALE).astype(np.int64)
        high, low = whole >> np.int64(32), whole & _LOW
        for row in large.tolist():
            exact = int(Decimal(repr(float(values[row]))).scaleb(_FLOAT_SCALE, _EXACTLY).to_integral_value())
            high[row], low[row] = exact >> 32, exact & 0xFFFFFFFF
        return cls([(32, high), (0, low)], _FLOAT_SCALE)


def with_points(amounts: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Columns of amounts with decimal points, where all have commas, as a spreadsheet saves them beside semicolons;
    beside points a comma sets thousands apart, and is left."""
    has_points = any(pc.any(pc.match_substring(column, ".")).as_py() for column in amounts.values())
    return {role: column if has_points else pc.replace_substring(column, ",", ".") for role, column in amounts.items()}


def product(price: pa.Array, quantity: pa.Array) -> pa.Array:
    """What so much costs at a price, in decimals; none where one of them is empty or no number."""
    parts = []
    for column in (price, quantity):
        try:
            numbers_of(column)
            exact = _decimals(column) if pa.types.is_string(column.type) else column.cast(_FINE, safe=False)
            parts.append(pc.round(exact, 9).cast(pa.decimal128(18, 9), safe=False))  # a cast cuts 2.4 of a float
        except (AmountError, pa.ArrowException):
            return pa.nulls(len(column), _FINE)
    return pc.multiply_checked(*parts)


def numbers_of(column: pa.Array) -> NDArray[np.float64]:
    """The numbers of a column of texts or numbers, NaN for an empty cell; AmountError for others."""
    column = _plain(column)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _empty_as_null(column)
    try:
        numbers = column.cast(pa.float64(), safe=False)
    except pa.ArrowException:
        raise AmountError(_first_bad(column, pa.float64())) from None
    values: NDArray[np.float64] = numbers.fill_null(np.nan).to_numpy(zero_copy_only=False)
    odd = ~(np.abs(values) < MOST)
    if numbers.null_count:
        odd &= numbers.is_valid().to_numpy(zero_copy_only=False)
    if odd.any():
        raise AmountError(int(np.argmax(odd)))
    return values


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _empty_as_null(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(column, ""), None, column) if pc.any(pc.equal(column, "")).as_py() else column


def _decimals(column: pa.Array) -> pa.Array:
    column = _empty_as_null(column)
    numbers_of(column)
    try:
        return column.cast(_FINE)
    except pa.ArrowException:
        column = _shortened(column)
        try:
            return column.cast(_FINEST)
        except pa.ArrowException:
            raise AmountError(_first_bad(column, _FINEST)) from None


def _shortened(column: pa.Array) -> pa.Array:
    """The same with amounts of more decimals than are kept (``3.7565164825898424e-07``) rounded to these."""
    long = pc.fill_null(pc.match_substring_regex(column, _LONG), fill_value=False)
    cells = [f"{Decimal(text).quantize(_SMALLEST, context=_EXACTLY):f}" for text in column.filter(long).to_pylist()]
    return pc.replace_with_mask(column, long, pa.array(cells, column.type)) if cells else column


def _first_bad(column: pa.Array, kind: pa.DataType) -> int:
    """The first row that cannot be of a type, by halves."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column[low:middle].cast(kind)
            low = middle
        except pa.ArrowException:
            high = middle
    return low

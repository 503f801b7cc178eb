"""Tables of records that both plain Python and compiled kernels read and write: ``servers[3].used += 500``.

A record is described by a class with annotated fields; from it comes the NumPy type. A table passes to a compiled
function as one pointer, however many fields its records have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Annotated, Any, Protocol, TypeVar, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Bytes = NDArray[np.int8]
Small = Annotated[int, "i4"]
"""Of a record: a whole number of 32 bits, such as another row or how often something happened."""
Tiny = Annotated[int, "i1"]
"""Of a record: a whole number of -128 to 127, such as a switch or a code."""
_WIDE = 8
"""Bytes of a number of 64 bits."""
_LINE = 64
"""Bytes that a processor fetches of memory at once."""
_LONG = 192
"""Bytes of a row from which on it fills whole lines, so that each row has the same fields in a line."""
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Table(Protocol[R_co]):
    """Records of one kind; an index gives the record itself, not a copy."""

    def __getitem__(self, index: int) -> R_co: ...

    def __len__(self) -> int: ...


def table(kind: type[R], length: int, new: Callable[..., NDArray[Any]] = np.zeros) -> Table[R]:
    """A table of zeros (or ``new`` otherwise: np.empty); a field ``Annotated[Ints, 10]`` holds ten numbers."""
    return cast("Table[R]", zeros(length, numpy_type(cast("Any", kind)), new))


def zeros(length: int, kind: np.dtype[Any], new: Callable[..., NDArray[Any]] = np.zeros) -> NDArray[Any]:
    """Rows of zeros, of which the first begins a line of the processor's cache."""
    made = new(length * kind.itemsize + _LINE, np.uint8)
    first = -made.ctypes.data % _LINE
    return made[first : first + length * kind.itemsize].view(kind)


def record(values: R) -> R:
    """A single record with the values of a named tuple."""
    made = table(type(values), 1)[0]
    for name in numpy_type(cast("Any", type(values))).names or ():
        setattr(made, name, getattr(values, name))
    return made


def column(rows: object, field: str) -> NDArray[Any]:
    """One field of all records of a table, as an array that shares its memory."""
    return cast("NDArray[Any]", rows)[field]


def kind_of(array: Any) -> str:
    """The code of the numbers in an array type."""
    return "i8" if array == Ints else "i1" if array == Bytes else "f8"


@cache
def numpy_type(kind: type[Any]) -> np.dtype[Any]:
    """The NumPy type of a record class, in the order of the fields: whole numbers and reals of 64 bits, where a class
    does not say that fewer do. Plain Python must widen what it reads of those before it reckons with it (``int``), as
    NumPy's numbers of few bits overflow; compiled kernels reckon in 64 bits. A record of it has its fields as
    attributes: NumPy's own such records and arrays of them take four times as long to find one.

    Raises TypeError for a field named as an attribute of NumPy's records (``size``, ``mean``): it would hide that.
    """
    taken = kind.__annotations__.keys() & set(dir(np.void))
    if taken:
        raise TypeError(f"{kind.__name__}: NumPy's own attributes hide the fields {sorted(taken)}")
    fields: dict[str, np.dtype[Any]] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if hint is int or hint is float:
            fields[name] = np.dtype("i8" if hint is int else "f8")
            continue
        what, detail = get_args(hint)
        fields[name] = np.dtype(detail if what is int else (kind_of(what), (detail,)))
    return np.dtype((_row_class(kind.__name__, (*fields,)), _packed(fields)))


def _row_class(name: str, fields: tuple[str, ...]) -> type[np.void]:
    members: dict[str, Any] = {field: property(itemgetter(field), _writer(field)) for field in fields}
    return type(name, (np.void,), {"__slots__": (), **members})


def _writer(field: str) -> Callable[[Any, object], None]:
    def write(row: Any, value: object) -> None:
        row[field] = value

    return write


def _packed(fields: dict[str, np.dtype[Any]]) -> np.dtype[Any]:
    """A record whose numbers of 64 bits lie first, in the reverse of their order, then the narrowest, then the others:
    those of each width that are stated first lie side by side. A walk over rows in any order waits for each stretch of
    memory that it reads of a row; long rows fill whole lines. Without narrow numbers all lie in their order: what
    stands alone has to."""
    places, end = {}, 0
    names = sorted(fields, key=lambda name: fields[name].alignment)
    wide = [name for name in names if fields[name].alignment == _WIDE]
    narrow = names[: len(names) - len(wide)]
    for name in [*reversed(wide), *narrow] if narrow else wide:
        end += -end % fields[name].alignment
        places[name] = end
        end += fields[name].itemsize
    offsets = [places[name] for name in fields]
    unit = _LINE if narrow and end > _LONG else _WIDE
    size = -(-end // unit) * unit
    layout: Any = {"names": [*fields], "formats": [*fields.values()], "offsets": offsets, "itemsize": size}
    made: np.dtype[Any] = np.dtype(layout, align=True)
    return made

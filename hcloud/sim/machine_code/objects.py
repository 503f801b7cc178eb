"""The tables of a run as lists of Python's own objects: plain Python reads them many times faster than NumPy's records.

The kernels read and write them as they do tables: ``w.tasks[3].left -= passed``. Tables of plain numbers stay shared.
"""

from __future__ import annotations

from dataclasses import make_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T", bound=tuple[Any, ...])


def as_objects(tables: T) -> T:
    """A copy in which each table is a list of objects and each record an object; a field of ten numbers is a list."""
    return type(tables)(*map(_copied, tables))


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return as_objects(value)
    if isinstance(value, np.void):
        return _rows(np.array([value], value.dtype))[0]
    return _rows(value) if _is_table(value) else value


def _is_table(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.names is not None


def _rows(records: Any) -> list[Any]:
    names = records.dtype.names
    return list(map(_kind(names), *(records[name].tolist() for name in names)))


@cache
def _kind(names: tuple[str, ...]) -> type[Any]:
    return make_dataclass("Row", names, slots=True, eq=False)


def write_back(objects: T, tables: T) -> None:
    """Write what the objects hold into the tables that they were copied from."""
    for mine, theirs in zip(objects, tables, strict=True):
        if isinstance(mine, tuple):
            write_back(mine, theirs)
        elif isinstance(theirs, np.void):
            for name in theirs.dtype.names or ():
                setattr(theirs, name, getattr(mine, name))
        elif _is_table(theirs) and mine:
            for name in theirs.dtype.names:
                theirs[name] = list(map(attrgetter(name), mine))

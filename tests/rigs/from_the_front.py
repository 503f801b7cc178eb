"""Tables for plain kernels that refuse an index below zero: a compiled kernel would read or write what lies before the
table (:func:`hcloud.kernel_compiler.from_the_front`)."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import numpy as np

T = TypeVar("T", bound=tuple[Any, ...])
_of_list, _into_list = list.__getitem__, list.__setitem__
_of_array, _into_array = np.ndarray.__getitem__, np.ndarray.__setitem__


class RefusingList(list[Any]):
    """Rows as objects, or the numbers of a field. Half of a plain run goes through here: nothing is asked twice."""

    def __getitem__(self, index: Any) -> Any:
        return _of_list(self, index) if index >= 0 else _refuse(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _into_list(self, index, value) if index >= 0 else _refuse(index)


class RefusingArray(np.ndarray[Any, Any]):
    """Rows as NumPy has them, or numbers; it shares their memory."""

    def __getitem__(self, index: Any) -> Any:
        _check(index)
        return _of_array(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _check(index)
        _into_array(self, index, value)


def refusing(tables: T) -> T:
    """The same tables of a world, a controller or a batch, of which none takes an index below zero."""
    return type(tables)(*map(_refusing, tables))


def _refusing(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return refusing(value)
    if isinstance(value, np.ndarray):
        return value.view(RefusingArray)
    if isinstance(value, list):
        lists = [name for row in value[:1] for name in _slots(row) if isinstance(getattr(row, name), list)]
        for row in value if lists else ():
            for name in lists:
                setattr(row, name, RefusingList(getattr(row, name)))
        return RefusingList(value)
    return value


def _slots(row: Any) -> tuple[str, ...]:
    return getattr(row, "__slots__", ())


def _check(index: Any) -> None:
    for at in index if isinstance(index, tuple) else (index,):
        if isinstance(at, int | np.integer) and at < 0:
            _refuse(at)


def _refuse(index: Any) -> NoReturn:
    raise IndexError(f"a kernel asks for row {index}: there is none before the first")

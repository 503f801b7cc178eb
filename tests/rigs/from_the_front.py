"""Tables for plain kernels that refuse an index below zero: a compiled kernel would read or write what lies before the
table (:func:`hcloud.kernel_compiler.from_the_front`)."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

T = TypeVar("T", bound=tuple[Any, ...])


class _Refusing:
    def __getitem__(self, index: Any) -> Any:
        _check(index)
        found: Any = super()
        return found.__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _check(index)
        found: Any = super()
        found.__setitem__(index, value)


class RefusingList(_Refusing, list[Any]):
    """Rows as objects, or the numbers of a field."""


class RefusingArray(_Refusing, np.ndarray[Any, Any]):
    """Rows as NumPy has them, or numbers; it shares their memory."""


def refusing(tables: T) -> T:
    """The same tables of a world, a controller or a batch, of which none takes an index below zero."""
    return type(tables)(*map(_refusing, tables))


def _refusing(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return refusing(value)
    if isinstance(value, np.ndarray):
        return value.view(RefusingArray)
    if isinstance(value, list):
        for row in value:
            for name in getattr(row, "__slots__", ()):
                if isinstance(getattr(row, name), list):
                    setattr(row, name, RefusingList(getattr(row, name)))
        return RefusingList(value)
    return value


def _check(index: Any) -> None:
    for at in index if isinstance(index, tuple) else (index,):
        if isinstance(at, int | np.integer) and at < 0:
            raise IndexError(f"a kernel asks for row {at}: there is none before the first")

"""Keywords of the functions for notebooks: of which kinds their values may be, by what the functions say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import NamedTuple

from hcloud.errors import UsageError


class _ValueKind(NamedTuple):
    """What it is called, and whether a value is of it."""

    called: str
    holds: Callable[[object], bool]


_LITERAL = "Literal["


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _all_of(value: object, holds: Callable[[object], bool]) -> bool:
    """Whether a value is several, each of which is of a kind; what can be asked once only is left as it is."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return False
    return isinstance(value, Iterator) or all(map(holds, value))


def _is_name(value: object) -> bool:
    return isinstance(value, str | Path)


_KINDS: Mapping[str, _ValueKind] = {
    "str": _ValueKind("a text", lambda value: isinstance(value, str)),
    "Path": _ValueKind("a Path", lambda value: isinstance(value, Path)),
    "datetime": _ValueKind("a datetime", lambda value: isinstance(value, datetime)),
    "float": _ValueKind("a number", _is_number),
    "Sequence[float]": _ValueKind("several numbers", lambda value: _all_of(value, _is_number)),
    "bool": _ValueKind("True or False", lambda value: isinstance(value, bool)),
    "Names": _ValueKind(
        "a name or several", lambda value: value is None or isinstance(value, str) or _all_of(value, _is_name)
    ),
    "Columns": _ValueKind("a text or a mapping", lambda value: value is None or isinstance(value, str | Mapping)),
    "Options": _ValueKind("a mapping of keys", lambda value: value is None or isinstance(value, Mapping)),
    "None": _ValueKind("None", lambda value: value is None),
}
"""By how they are written; what is not here, as a whole number, is checked where it is used."""


def check_value(name: str, value: object, annotation: str) -> None:
    """UsageError for a value of a keyword that is of none of the kinds in its annotation."""
    parts = ["str" if part.startswith(_LITERAL) else part for part in annotation.split(" | ")]
    kinds = [_KINDS[part] for part in parts if part in _KINDS]
    if len(kinds) < len(parts) or any(kind.holds(value) for kind in kinds):
        return
    *first, last = (kind.called for kind in kinds if kind.called != "None")
    told = f"{', '.join(first)} or {last}" if first else last
    raise UsageError(f"{name}={repr(value)[:60]}: must be {told}")

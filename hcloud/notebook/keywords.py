"""Keywords of the functions for notebooks: of which kinds their values may be, by what the functions say of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _are_numbers(value: object) -> bool:
    try:
        return not isinstance(value, str) and all(map(_is_number, value))  # type: ignore[call-overload]
    except TypeError:
        return False


_KINDS: Mapping[str, _ValueKind] = {
    "str": _ValueKind("a text", lambda value: isinstance(value, str)),
    "Path": _ValueKind("a Path", lambda value: isinstance(value, Path)),
    "datetime": _ValueKind("a datetime", lambda value: isinstance(value, datetime)),
    "float": _ValueKind("a number", _is_number),
    "Sequence[float]": _ValueKind("several numbers", _are_numbers),
    "bool": _ValueKind("True or False", lambda value: isinstance(value, bool)),
    "None": _ValueKind("None", lambda value: value is None),
}
"""By how they are written; what is not here, as a whole number, is checked where it is used."""


def check_value(name: str, value: object, annotation: str) -> None:
    """UsageError for a value of a keyword that is of none of the kinds in its annotation."""
    parts = annotation.split(" | ")
    kinds = [_KINDS[part] for part in parts if part in _KINDS]
    if len(kinds) < len(parts) or any(kind.holds(value) for kind in kinds):
        return
    *first, last = (kind.called for kind in kinds if kind.called != "None")
    told = f"{', '.join(first)} or {last}" if first else last
    raise UsageError(f"{name}={repr(value)[:60]}: must be {told}")

"""JSON read exactly (decimals, no binary floats) and, for large files, member by member."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from hcloud.errors import InputError
from hcloud.model.json_text import said
from hcloud.readers.workloads.formats.jobs.json_stream import JsonStream

_SKIPPED_LEVELS = 2
T = TypeVar("T")
_EMPTY: Mapping[str, object] = {}


def _constant_as_text(name: str) -> str:
    # NaN and Infinity stay text: the row that holds one is quarantined, the rows around it are still read
    return name


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member {next(n for n in names if names.count(n) > 1)!r} appears twice")
    return members


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_constant_as_text, object_pairs_hook=_unique)


def load_json(text: str, name: str) -> object:
    """The document in ``text``; raises InputError for broken or truncated JSON and repeated members."""
    return _guarded(name, lambda: _DECODER.decode(text))


def members(value: object) -> Mapping[str, object]:
    """The members of a JSON object or YAML mapping, none for anything else. YAML's names may be numbers or null: they
    become text."""
    if not isinstance(value, dict):
        return _EMPTY
    return value if all(type(name) is str for name in value) else {str(name): held for name, held in value.items()}


def elements(value: object) -> list[object]:
    """The elements of a JSON array, none for anything else."""
    return value if isinstance(value, list) else []


def word(value: object) -> str:
    """A JSON string, empty for anything else."""
    return value if isinstance(value, str) else ""


def paged(text: str, name: str, key: str) -> list[tuple[str, Mapping[str, object]]]:
    """The objects under a key of one page (``{key: [...]}``) or an array of pages, each with its address; raises
    InputError where no page has the key."""
    document = load_json(text, name)
    pages = list(map(members, elements(document) or [document]))
    if not any(key in page for page in pages):
        raise InputError(f"{name} has no {key}")
    found = (
        (number, at, item) for number, page in enumerate(pages, 1) for at, item in enumerate(elements(page.get(key)))
    )
    return [(f"page {number}, {key}[{at}]", members(item)) for number, at, item in found]


class JsonCursor(JsonStream):
    """Walks the members of nested objects without building the whole document.

    ``names`` enters the object at the cursor and yields each member's name; the caller then takes the member with
    ``value`` or enters it with ``names``. What the caller leaves untouched is skipped, a few levels deep at a time, so
    that memory holds one member and never a whole section.
    """

    def __init__(self, text: str, name: str, at: int = 0) -> None:
        super().__init__(lambda size: b"", _DECODER.raw_decode)
        self._text, self._name, self._at = text, name, at

    @property
    def at(self) -> int:
        """The character the cursor stands at: a second cursor may start there."""
        return self._at

    def names(self) -> Iterator[str]:
        """Names of the members of the object that starts here; raises InputError where none starts."""
        named = self.members()
        while (name := _guarded(self._name, lambda: next(named, None))) is not None:
            start = self._at
            yield name
            if self._at == start:
                self._skip(_SKIPPED_LEVELS)

    def value(self) -> Any:
        """The whole value at the cursor."""
        return _guarded(self._name, super().value)

    def _skip(self, levels: int) -> None:
        if levels and self.peek() == "{":
            for _ in self.names():
                self._skip(levels - 1)
        else:
            self.value()

    def _more(self) -> bool:
        return False


def _guarded(name: str, decode: Callable[[], T]) -> T:
    try:
        return decode()
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise InputError(f"{name} is not valid JSON: {said(error)}") from error

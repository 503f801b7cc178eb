"""The table in a document: its list of objects as rows and columns, for CSV files and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hcloud.model.json_text import written
from hcloud.views.document import DECIMAL, MOMENT, Content, Schema
from hcloud.views.escaped import Written, csv_document

Place = tuple[str, ...]
HEAD = ("format_version", "tool_version", "generated_at")
"""What all documents begin with."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Named columns with what the schema promises of each, and rows of their values as the document has them; what a
    row lacks is None."""

    columns: Mapping[str, Schema]
    values: Sequence[Sequence[object]]

    @property
    def exact(self) -> tuple[str, ...]:
        """The columns of decimal numbers, which the document has as text."""
        return tuple(name for name, schema in self.columns.items() if schema.get("pattern") == DECIMAL["pattern"])

    @property
    def moments(self) -> tuple[str, ...]:
        """The columns of times and days."""
        return tuple(n for n, s in self.columns.items() if "format" in s or s.get("pattern") == MOMENT["pattern"])


def rows_of(document: Content) -> Rows:
    """The rows that a document is about. Of an object in a row each value is a column ``outer_inner``; of a list in a
    list each entry is a row, beside what the outer entry says of all of them. Objects by name are rows with a
    ``name``."""
    schema = document.schema()
    table = _first_list(schema) if document.table is None else document.table
    levels, found = _levels(schema, [(document,)], table)
    named = {"_".join(place): (level, place, leaf) for level, leaves in levels for place, leaf in leaves.items()}
    values = [[_value(entries[level], place) for level, place, _ in named.values()] for entries in found]
    return Rows({name: leaf for name, (_, _, leaf) in named.items()}, values)


def _first_list(schema: Schema) -> Place:
    lists = ((name, _plain(part)) for name, part in schema.get("properties", {}).items())
    return next(((name,) for name, part in lists if part.get("type") == "array" and _objects(part["items"])), ())


def csv_of(document: Content) -> Written:
    """The same as CSV: numbers as the document has them, nothing where there is none, lists as JSON."""
    rows = rows_of(document)
    return csv_document(tuple(rows.columns), ([_cell(value) for value in row] for row in rows.values))


Entries = tuple[Mapping[str, Any], ...]
Levels = list[tuple[int, dict[Place, Schema]]]


def _levels(schema: Schema, found: list[Entries], table: Place) -> tuple[Levels, list[Entries]]:
    """The columns of what stands on the way to a table by how deep it is, and an entry of each for every row."""
    levels: Levels = []
    for depth, name in enumerate(table, 1):
        part = _plain(schema["properties"][name])
        found = [(*above, entry) for above in found for entry in _entries(part, above[-1].get(name))]
        schema = _entry_schema(part)
        inner = table[depth] if depth < len(table) else None
        entries = [above[-1] for above in found]
        levels.append((depth, {p: s for p, s in _leaves(schema, entries) if p[0] != inner}))
    whole = {
        place: leaf for place, leaf in _leaves(schema, [document for document, *_ in found]) if place[0] not in HEAD
    }
    return levels or [(0, whole)], found


def _entries(part: Schema, value: Any) -> Iterator[Mapping[str, Any]]:
    """What is in a list, in objects by name, or the one object that it is."""
    if part.get("type") == "array":
        yield from value or ()
    elif part.get("additionalProperties"):
        yield from ({"name": name, **one} for name, one in (value or {}).items())
    elif value is not None:
        yield value


def _entry_schema(part: Schema) -> Schema:
    if part.get("type") == "array":
        items: Schema = part["items"]
        return items
    named = part.get("additionalProperties")
    return {**named, "properties": {"name": {"type": "string"}, **named["properties"]}} if named else part


def _leaves(schema: Schema, values: Iterable[Any]) -> Iterator[tuple[Place, Schema]]:
    """The columns of objects: the values in them and in what they hold."""
    there = [value for value in values if isinstance(value, Mapping)]
    seen = set[Place]()
    for one in _objects(schema):
        free = one.get("additionalProperties")
        must = one.get("required", ())
        parts = {n: p for n, p in one.get("properties", {}).items() if n in must or any(n in v for v in there)}
        if isinstance(free, dict):
            parts |= {name: free for value in there for name in value if name not in parts}
        for name, part in parts.items():
            held = [value.get(name) for value in there]
            for place, leaf in _leaves(part, held) if _is_spread(part, held) else [((), _plain(part))]:
                if (name, *place) not in seen:
                    seen.add((name, *place))
                    yield (name, *place), leaf


def _is_spread(schema: Schema, values: Sequence[Any]) -> bool:
    """Whether the values in an object are columns; objects by name are where every row has the same names."""
    free = _plain(schema).get("additionalProperties")
    if isinstance(free, dict) and _objects(free):
        return len({tuple(value) for value in values if isinstance(value, Mapping)}) <= 1
    return bool(_objects(schema))


def _objects(schema: Schema) -> list[Schema]:
    """The kinds of objects that a schema allows; none where it is of anything else, too."""
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices is None:
        return [schema] if schema.get("type") == "object" else []
    found = [_objects(one) for one in choices if one.get("type") != "null"]
    return [one for kinds in found for one in kinds] if all(found) else []


def _plain(schema: Schema) -> Schema:
    """What a value is if it is there."""
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _plain(choices[0]) if len(choices) == 1 else schema


def _value(entry: Mapping[str, Any], place: Place) -> object:
    value: Any = entry
    for name in place:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else written(value)

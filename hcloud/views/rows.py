"""The table in a document: its list of objects as rows and columns, for CSV files and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hcloud.model.json_text import written
from hcloud.views.document import DECIMAL, MOMENT, Content, Schema, schema_of
from hcloud.views.escaped import Written, csv_document

Place = tuple[str, ...]


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


def table_of(schema: Schema) -> Place:
    """Where the table of a document is if it does not say so itself: its first list of objects."""
    lists = ((name, _plain(part)) for name, part in schema.get("properties", {}).items())
    return next(((name,) for name, part in lists if part.get("type") == "array" and _objects(part["items"])), ())


def rows_of(document: Content) -> Rows:
    """The list of objects that a document is about. Of an object in a row each value is a column ``outer_inner``; of a
    list in a list each entry is a row, beside what the outer entry says of all of them."""
    schema = schema_of(document.kind)
    levels, found = _levels(schema, [(document,)], document.kind.table or table_of(schema))
    named = {"_".join(place): (level, place, leaf) for level, leaves in levels for place, leaf in leaves.items()}
    values = [[_value(entries[level], place) for level, place, _ in named.values()] for entries in found]
    return Rows({name: leaf for name, (_, _, leaf) in named.items()}, values)


def csv_of(document: Content) -> Written:
    """The same as CSV: numbers as the document has them, nothing where there is none, lists as JSON."""
    rows = rows_of(document)
    return csv_document(tuple(rows.columns), ([_cell(value) for value in row] for row in rows.values))


Entries = tuple[Mapping[str, Any], ...]
Levels = list[tuple[int, dict[Place, Schema]]]


def _levels(schema: Schema, found: list[Entries], table: Place) -> tuple[Levels, list[Entries]]:
    """The columns of each list on the way to a table by how deep it is, and an entry of each list for every row."""
    levels: Levels = []
    for depth, name in enumerate(table, 1):
        schema = _plain(schema["properties"][name])["items"]
        found = [(*above, entry) for above in found for entry in above[-1][name]]
        inner = table[depth] if depth < len(table) else None
        entries = [above[-1] for above in found]
        levels.append((depth, {p: s for p, s in _leaves(schema, entries) if p[0] != inner}))
    return levels, found


def _leaves(schema: Schema, values: Iterable[Any]) -> Iterator[tuple[Place, Schema]]:
    """The columns of objects: the values in them and in what they hold."""
    there = [value for value in values if isinstance(value, Mapping)]
    seen = set[Place]()
    for one in _objects(schema):
        free = one.get("additionalProperties")
        parts = {
            n: p for n, p in one.get("properties", {}).items() if n in one["required"] or any(n in v for v in there)
        }
        if isinstance(free, dict):
            parts |= {name: free for value in there for name in value if name not in parts}
        for name, part in parts.items():
            inner = _leaves(part, (v.get(name) for v in there)) if _objects(part) else iter([((), _plain(part))])
            for place, leaf in inner:
                if (name, *place) not in seen:
                    seen.add((name, *place))
                    yield (name, *place), leaf


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

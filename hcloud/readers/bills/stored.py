"""Columns of stored tables, Parquet and JSON, as the columns of text and numbers that a bill has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hcloud.errors import InputError

LABELS = frozenset({"labels", "tags"})
"""Columns that tell lines of Google apart: lists of keys and values."""


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def column_at(batch: pa.RecordBatch, path: str, keys: tuple[str, ...], *, text: bool, whole: bool = False) -> pa.Array:
    """The column at a path of names; ``keys`` are read of one that holds several values, ``text`` asks for texts, and
    ``whole`` takes it as it is. InputError for a type that cannot be one of a bill."""
    top, *inner = path.split(".") if path not in batch.schema.names else [path]
    column = batch.column(top)
    for name in inner:
        column = pc.struct_field(column, name)
    kind = column.type
    if whole:
        return column
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.string())
    if pa.types.is_list(kind) and keys:
        return _of_pairs(column, keys)
    if pa.types.is_map(kind):
        return _of_map(column, keys)
    if isinstance(column, pa.DictionaryArray):
        kind = kind.value_type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_boolean(kind):
        raise InputError(f"column {path} holds {column.type}; a bill has text, numbers or times there")
    if text and not is_text(kind):
        return column.cast(pa.string())
    return column


def _of_map(column: pa.MapArray, keys: tuple[str, ...]) -> pa.Array:
    """The values of the keys as JSON, as CSV files have them."""
    cells = [pc.map_lookup(column, pa.scalar(key), "first").cast(pa.string()) for key in keys]
    return _as_json(cells, keys) if cells else pa.nulls(len(column), pa.string())


def _of_pairs(column: pa.ListArray, keys: tuple[str, ...]) -> pa.Array:
    """The same of a list of keys and values."""
    pairs = column.type.value_type
    called = {field.name.lower(): field.name for field in pairs} if pa.types.is_struct(pairs) else {}
    if not {"key", "value"} <= called.keys():
        raise InputError(f"holds {column.type}, not keys and values")
    flat, parent = pc.list_flatten(column), pc.list_parent_indices(column)
    names, values = (pc.struct_field(flat, called[name]).cast(pa.string()) for name in ("key", "value"))
    cells = []
    for key in keys:
        of = pc.equal(names, key)
        places = pc.index_in(pa.array(range(len(column)), pa.int64()), pc.filter(parent, of).cast(pa.int64()))
        cells.append(pc.filter(values, of).take(places))
    return _as_json(cells, keys)


def _as_json(cells: list[pa.Array], keys: tuple[str, ...]) -> pa.Array:
    cells = [pc.fill_null(cell, "") for cell in cells]
    quoted = [
        pc.binary_join_element_wise(f'"{key}":"', pc.replace_substring_regex(cell, r'["\\]', ""), '"', "")
        for key, cell in zip(keys, cells, strict=True)
    ]
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*quoted, ","), "}", "")


def is_usual(objects: Iterable[Any], path: str) -> bool:
    """Whether what only tells lines apart is of the type that Google's export has, in the first objects of a file."""
    values = list(objects)
    for name in path.split("."):
        values = [value[name] for value in values if isinstance(value, dict) and name in value]
    if path not in LABELS:
        return _are_texts(*values)
    pairs = [pair for value in values if value is not None for pair in (value if isinstance(value, list) else [value])]
    return all(isinstance(pair, dict) and _are_texts(pair.get("key"), pair.get("value")) for pair in pairs)


def _are_texts(*values: object) -> bool:
    return all(value is None or isinstance(value, str) for value in values)

"""A plain table read at once: every column as its distinct texts, of which each is looked at only once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from hcloud.errors import InputError
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.header import Header

MOST_TEXTS = 2_000_000
"""Distinct texts of a column at most (ours): more are not held at once."""


class DistinctTexts(NamedTuple):
    """The texts of a column in the order in which they first stand there, and which one each row has."""

    texts: list[str]
    codes: NDArray[np.int64]


def distinct_texts(source: TraceFile, header: Header) -> list[DistinctTexts] | None:
    """Every column of a table with a row on each line; None where a line is not plain: of other fields than the header,
    blank, with quotes, no UTF-8, or too long, and where texts are too many."""
    names = [str(at) for at in range(len(header.names))]
    try:
        with source.open() as reader:
            table = csv.read_csv(
                reader,
                csv.ReadOptions(
                    use_threads=False,
                    block_size=limits.LINE_BYTES,
                    column_names=names,
                    skip_rows=header.skip + 1,
                ),
                csv.ParseOptions(delimiter=header.delimiter, quote_char=False, ignore_empty_lines=False),
                csv.ConvertOptions(column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string()))),
            )
    except (pa.ArrowException, InputError, UnicodeDecodeError):
        return None
    whole = table.unify_dictionaries().columns
    if reader.odd or any(len(chunk.dictionary) > MOST_TEXTS for column in whole for chunk in column.chunks[:1]):
        return None
    columns = [_distinct(column) for column in whole]
    return None if any('"' in text for column in columns for text in column.texts) else columns


def _distinct(column: pa.ChunkedArray) -> DistinctTexts:
    chunks = column.chunks
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks]) if chunks else np.empty(0)
    return DistinctTexts(chunks[0].dictionary.to_pylist() if chunks else [], codes.astype(np.int64))

"""A Parquet table as text, for the readers of tables: there is one way from rows to a workload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from hcloud.errors import InputError, writing
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import told_of
from hcloud.readers.workloads.source import TraceFile, open_source, parquet_errors
from hcloud.readers.workloads.tables.delimited import ELSEWHERE, Progress
from hcloud.temporary import FULL, temporary_folder

_WIDEST_GROUP = 1 << 30
"""Bytes a row group may expand to: readers hold one at a time."""
Needed = Callable[[Sequence[str]], Collection[str] | None]
"""Which of the columns that a table has are read (None: all)."""
_NONE = pa.string()
_UTC = ("UTC", "Z", "+00:00", "Etc/UTC")


@contextmanager
def opened(source: TraceFile) -> Iterator[parquet.ParquetFile]:
    """The Parquet file; damage met anywhere while it is read is an InputError."""
    with parquet_errors(source.name), parquet.ParquetFile(source.path) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        widest = max((group.total_byte_size for group in groups), default=0)
        if widest > _WIDEST_GROUP:
            raise InputError(f"{source.name}: a row group expands to more than {_WIDEST_GROUP:,} bytes")
        yield file


@contextmanager
def parquet_as_text(
    source: TraceFile, rows: int | None = None, needed: Needed | None = None, progress: Progress | None = None
) -> Iterator[TraceFile]:
    """The table, or its first rows, as CSV for as long as it is needed, named as the file; columns that are not
    ``needed`` have no cells there: they may be as large as all others together. Writing it is half of the work."""
    with temporary_folder() as folder:
        path = folder / "table.csv"
        with opened(source) as file:
            stored, most = file.schema_arrow, rows or 65_536
            used = needed and needed(stored.names)
            kinds = pa.schema([(f.name, _kind(f.type) if used is None or f.name in used else _NONE) for f in stored])
            with (
                writing(folder.parent, FULL),
                csv.CSVWriter(path, kinds, write_options=csv.WriteOptions(batch_size=most)) as out,
            ):
                for at, batch in enumerate(islice(_batches(source, file, most, used), 1 if rows else None)):
                    none = pa.nulls(len(batch), _NONE)
                    read = batch if used is None else [batch[n] if n in used else none for n in stored.names]
                    out.write_batch(pa.record_batch([_cells(column) for column in read], stored.names))
                    if progress is not None:
                        progress(at * most / file.metadata.num_rows / 2)
        timed = frozenset(field.name for field in stored if pa.types.is_duration(field.type))
        text = open_source(path, source.name)
        with told_of("row", "its columns"):
            yield replace(text, command=source.command, of_machine=source.of_machine, in_seconds=timed, before=0.5)


def _batches(
    source: TraceFile, file: parquet.ParquetFile, most: int, names: Collection[str] | None
) -> Iterator[pa.RecordBatch]:
    """The rows of the file, in those columns (``a.b`` is a part of ``a``, too); damage is told before it is taken for
    an error of the disk they go to."""
    with parquet_errors(source.name):
        yield from file.iter_batches(most, columns=names, use_threads=False)


def _kind(stored: pa.DataType) -> pa.DataType:
    """The type that is written: seconds of durations, numbers and times as they are, all else as texts."""
    if pa.types.is_duration(stored):
        return pa.float64()
    is_time = pa.types.is_timestamp(stored) and stored.tz is None
    return stored if is_time or pa.types.is_integer(stored) or pa.types.is_floating(stored) else pa.string()


def _cells(values: pa.Array) -> pa.Array:
    """The cells of a column: of lists and structures what they are, where one is."""
    kind = _kind(values.type)
    if pa.types.is_duration(values.type):
        return pc.divide(values.cast(pa.duration("ns")).cast(pa.int64()).cast(kind, safe=False), 1e9)
    if pa.types.is_timestamp(values.type) and kind == pa.string():  # a zone makes Arrow twenty times slower
        times, end = values.cast(pa.timestamp(values.type.unit)).cast(kind), limits.TEXT_BYTES
        return pc.binary_replace_slice(times, end, end, "Z" if values.type.tz in _UTC else ELSEWHERE)
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        return pc.if_else(values.is_valid(), f"{values.type}", pa.scalar(None, kind))
    cells = values if values.type == kind else values.cast(kind)
    is_long = kind == pa.string() and any(pc.any(pc.match_substring(cells, end)).as_py() for end in "\r\n")
    return pc.replace_substring_regex(cells, r"[\r\n]+", " ") if is_long else cells

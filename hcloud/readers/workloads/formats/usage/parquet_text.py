"""A Parquet table as text, for the readers of such tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from hcloud.readers.workloads.findings import told_of
from hcloud.readers.workloads.formats.jobs.own_parquet import opened
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.temporary import temporary_folder


@contextmanager
def as_text(source: TraceFile) -> Iterator[TraceFile]:
    """The table as CSV for as long as it is needed, named as the file; of lists and structures there are the names."""
    with temporary_folder() as folder:
        path = folder / "table.csv"
        with opened(source) as file:
            names = file.schema_arrow.names
            kinds = pa.schema([pa.field(field.name, _kind(field.type)) for field in file.schema_arrow])
            with csv.CSVWriter(path, kinds) as out:
                for batch in file.iter_batches(use_threads=False):
                    out.write_batch(pa.record_batch([_cells(column) for column in batch.columns], names))
        with told_of("row", "its columns"):
            yield replace(open_source(path, source.name), command=source.command, of_machine=source.of_machine)


def _kind(stored: pa.DataType) -> pa.DataType:
    """The type that is written: seconds of durations, else numbers and times as they are, and texts."""
    if pa.types.is_duration(stored):
        return pa.float64()
    plain = pa.types.is_timestamp(stored) or pa.types.is_integer(stored) or pa.types.is_floating(stored)
    return stored if plain else pa.string()


def _cells(values: pa.Array) -> pa.Array:
    kind = _kind(values.type)
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        return pa.nulls(len(values), kind)
    if pa.types.is_duration(values.type):
        return pc.divide(values.cast(pa.duration("ns")).cast(pa.int64()).cast(kind, safe=False), 1e9)
    cells = values if values.type == kind else values.cast(kind)
    return pc.replace_substring_regex(cells, r"[\r\n]+", " ") if kind == pa.string() else cells

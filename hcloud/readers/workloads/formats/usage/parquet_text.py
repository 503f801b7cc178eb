"""A Parquet table of series as text, for the readers of such tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import csv

from hcloud.readers.workloads.formats.jobs.own_parquet import opened
from hcloud.readers.workloads.source import TraceFile, open_source


@contextmanager
def as_text(source: TraceFile) -> Iterator[TraceFile]:
    """The table as CSV for as long as it is needed, named as the file; of lists and structures there are the names."""
    with TemporaryDirectory(prefix="hcloud-") as folder:
        path = Path(folder) / "table.csv"
        with opened(source) as file:
            lists = [field.name for field in file.schema_arrow if pa.types.is_nested(field.type)]
            kinds = [pa.field(f.name, pa.string() if f.name in lists else f.type) for f in file.schema_arrow]
            with csv.CSVWriter(path, pa.schema(kinds)) as out:
                for batch in file.iter_batches(use_threads=False):
                    out.write_batch(_flat(batch, lists))
        yield replace(open_source(path, source.name), command=source.command)


def _flat(batch: pa.RecordBatch, lists: list[str]) -> pa.RecordBatch:
    for name in lists:
        batch = batch.set_column(batch.schema.get_field_index(name), name, pa.nulls(len(batch), pa.string()))
    return batch

"""Our own schema of jobs as Parquet: the same columns, checks and rules as the CSV, in typed columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from hcloud.errors import InputError
from hcloud.model.workload import Jobs
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.jobs.ended import durations, open_ends
from hcloud.readers.workloads.formats.jobs.job_schema import job_schema
from hcloud.readers.workloads.formats.jobs.jobs_table import LENGTH, STILL_RUNS, Draft, from_sink
from hcloud.readers.workloads.formats.jobs.stated_units import in_units_said, note_unit_of_name, told_in_cells
from hcloud.readers.workloads.identity import Hashes, identity_hashes, suspicious
from hcloud.readers.workloads.meanings import called_columns
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile, parquet_errors
from hcloud.readers.workloads.tables.clock import PAIRS
from hcloud.readers.workloads.tables.columns import Column, Sink, SuspectError, ticks_of
from hcloud.readers.workloads.tables.delimited import Progress, check_header, renamed
from hcloud.readers.workloads.tables.locate import with_command
from hcloud.readers.workloads.tables.zones import mixed_zones

FORMAT = "jobs-parquet"
_ROWS = 65_536
_WIDEST_GROUP = 1 << 30
"""Bytes a row group may expand to: readers hold one at a time."""


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs of a Parquet file."""
    called = called_columns(options.columns)
    asked, options = options, in_units_said(options, called)
    with opened(source) as file:
        names = file.schema_arrow.names
        if _is_timed(file, called.get("duration", "duration")):
            options = told_in_cells(options)
        known = job_schema(names, called, options)
        ours = renamed(source.name, names, called, known) if called else names
        check_header(source, ours, known, ignore_extra=options.extra_columns == "ignore" or bool(called))
        columns = tuple(replace(c, stored=called.get(c.name, "")) for c in known if c.name in ours)
        sink = read_columns(source, file, columns, options, progress)
    note_unit_of_name(sink, asked, called)
    duration, wrong = durations(sink, options)
    if len(wrong):
        findings = Findings(source.name)
        for row in wrong.tolist():
            findings.add(
                f"row {row + 1}, column {called.get('end', 'end')}", "not within a job's length of its begin", LENGTH
            )
        raise findings.error()
    _refuse_duplicates(source, sink, called.get("id", "id"))
    draft = Draft(source.name, FORMAT, source.digest(), sink.numbers("submit"), duration, rows=sink.rows)
    draft.repair(STILL_RUNS, open_ends(sink, options))
    return from_sink(sink, draft, options, lambda rows: [f"row {row + 1}" for row in rows])


def has_texts(source: TraceFile, options: WorkloadOptions) -> bool:
    """Whether a column of numbers or times holds something else: texts, days, or decimals."""
    called = called_columns(options.columns)
    with opened(source) as file:
        kinds = {field.name: field.type for field in file.schema_arrow}
        return any(
            c.sort in ("number", "time") and _is_written(kind)
            for c in job_schema(list(kinds), called, options)
            if (kind := kinds.get(called.get(c.name, c.name))) is not None
        )


def _is_written(stored: pa.DataType) -> bool:
    """Whether a column holds what is read as a text has it."""
    stored = stored.value_type if isinstance(stored, pa.DictionaryType) else stored
    return _is_text(stored) or bool(pa.types.is_date(stored) or pa.types.is_decimal(stored))


def _is_text(stored: pa.DataType) -> bool:
    return bool(pa.types.is_string(stored) or pa.types.is_large_string(stored))


def _is_timed(file: parquet.ParquetFile, name: str) -> bool:
    """Whether a column holds durations, which say their unit."""
    return name in file.schema_arrow.names and pa.types.is_duration(file.schema_arrow.field(name).type)


def _is_number(stored: pa.DataType) -> bool:
    return bool(pa.types.is_floating(stored) or pa.types.is_integer(stored))


@contextmanager
def opened(source: TraceFile) -> Iterator[parquet.ParquetFile]:
    """The Parquet file; damage met anywhere while it is read is an InputError."""
    with parquet_errors(source.name), parquet.ParquetFile(source.path) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        widest = max((group.total_byte_size for group in groups), default=0)
        if widest > _WIDEST_GROUP:
            raise InputError(f"{source.name}: a row group expands to more than {_WIDEST_GROUP:,} bytes")
        yield file


def read_columns(
    source: TraceFile,
    file: parquet.ParquetFile,
    columns: tuple[Column, ...],
    options: WorkloadOptions,
    progress: Progress | None = None,
) -> Sink:
    """The checked columns of the file; InputError with row and column for all that is wrong."""
    total = file.metadata.num_rows
    if total == 0:
        raise InputError(f"{source.name}: no rows")
    stored = [c.in_file for c in columns]
    kinds = [_target(source, c, file.schema_arrow.field(c.in_file).type) for c in columns]
    _check_zones(source.name, columns, kinds)
    settled = _settled(file, columns, kinds)
    sink = Sink(settled, options.max_rows, source.name)
    sink.reserve(total)
    for batch in file.iter_batches(_ROWS, columns=stored, use_threads=False):
        first = sink.rows
        typed = pa.record_batch(
            [_cast(batch.column(name), kind) for name, kind in zip(stored, kinds, strict=True)],
            [c.name for c in columns],
        )
        try:
            sink.take(typed)
        except SuspectError as error:
            raise _located(source, settled, typed, first) from error
        if progress is not None:
            progress(sink.rows / total)
    return sink


def _settled(file: parquet.ParquetFile, columns: tuple[Column, ...], kinds: list[pa.DataType]) -> tuple[Column, ...]:
    """The columns with times in numbers as such, of which the first row tells whether they are Unix times in ms."""
    numbers = [kind == pa.float64() for kind in kinds]
    times = [c.in_file for c, number in zip(columns, numbers, strict=True) if c.sort == "time" and number]
    first = next(file.iter_batches(1, columns=times, use_threads=False)).to_pylist()[0] if times else {}
    ticks = max((ticks_of(f"{value:.0f}") for value in first.values() if _is_finite(value)), default=0.0)
    return tuple(
        c if not number else c.in_numbers(ticks) if c.sort == "time" else replace(c, sort="number")
        for c, number in zip(columns, numbers, strict=True)
    )


def _check_zones(file: str, columns: tuple[Column, ...], kinds: list[pa.DataType]) -> None:
    times = [
        (c.in_file, kind.tz or c.zone) for c, kind in zip(columns, kinds, strict=True) if pa.types.is_timestamp(kind)
    ]
    elsewhere = [(name, zone) for name, zone in times if zone and zone.upper() not in ("UTC", "Z", "+00:00", "ETC/UTC")]
    naive = [name for name, zone in times if not zone]
    if elsewhere and naive:
        raise mixed_zones(file, elsewhere[0], naive[0])


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _target(source: TraceFile, column: Column, stored: pa.DataType) -> pa.DataType:
    """The type a stored column is read as; InputError when it cannot hold what the column means."""
    if isinstance(stored, pa.DictionaryType):
        stored = stored.value_type
    text = _is_text(stored)
    if column.name == "duration" and column.said in PAIRS:
        column = column.on_a_clock()
    if column.sort == "time" and pa.types.is_timestamp(stored):
        return pa.timestamp("ns", stored.tz)
    if column.name == "duration" and pa.types.is_duration(stored):
        return pa.float64()
    if column.sort in ("number", "time") and _is_number(stored):
        return pa.float64()
    if column.sort == "label" and text:
        return pa.dictionary(pa.int32(), pa.string())
    if column.sort in ("identity", "words") and (text or pa.types.is_integer(stored)):
        return pa.string()
    raise InputError(f"{source.name}: column {column.in_file} holds {stored}; it must hold {column.allowed}")


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(kind, pa.DictionaryType):
        plain = values.cast(pa.string()) if not isinstance(values, pa.DictionaryArray) else values.cast(kind)
        return plain if isinstance(plain, pa.DictionaryArray) else plain.dictionary_encode()
    if pa.types.is_duration(values.type):
        return pc.divide(values.cast(pa.duration("ns")).cast(pa.int64()).cast(kind, safe=False), 1e9)
    return values.cast(kind, safe=not pa.types.is_floating(kind))


def _located(source: TraceFile, columns: tuple[Column, ...], batch: pa.RecordBatch, first: int) -> InputError:
    findings = Findings(source.name)
    for column, values in zip(columns, batch.columns, strict=True):
        for row, value in enumerate(values.to_pylist()):
            if findings.full:
                break
            if not _fits(column, value):
                allowed = column.allowed if value is not None else column.not_empty
                findings.add(f"row {first + row + 1}, column {column.in_file}", shown(str(value)), allowed)
    return with_command(source, findings)


def _fits(column: Column, value: object) -> bool:
    if value is None:
        return not column.filled
    if isinstance(value, float):
        return column.fits(value)
    if column.sort == "label":
        return column.takes(str(value))
    return column.sort != "time" or 1970 <= getattr(value, "year", 0) <= 2261


def _refuse_duplicates(source: TraceFile, sink: Sink, stored: str) -> None:
    if not sink.has("id"):
        return
    twice = suspicious(sink.take_hashes("id"))
    if len(twice):
        _report_duplicates(source, twice, stored)


def _report_duplicates(source: TraceFile, twice: Hashes, stored: str) -> None:
    findings, first, seen = Findings(source.name), 0, dict[str, int]()
    with opened(source) as file:
        for batch in file.iter_batches(_ROWS, columns=[stored], use_threads=False):
            names = batch.column(stored).cast(pa.string())
            for row in np.flatnonzero(np.isin(identity_hashes(names), twice)).tolist():
                name = names[row].as_py() or ""
                if name in seen:
                    where = f"row {first + row + 1}, column {stored}"
                    findings.add(where, shown(name), f"is also in row {seen[name]}; each must be unique")
                seen.setdefault(name, first + row + 1)
            first += batch.num_rows
    if findings.problems:
        raise findings.error()

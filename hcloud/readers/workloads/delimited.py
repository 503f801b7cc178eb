"""Reads delimited text at full speed with pyarrow; what it must refuse is located by a second, slower pass."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa
from pyarrow import csv as arrow_csv

from hcloud.errors import InputError, did_you_mean
from hcloud.readers.workloads.columns import Column, Sink, SuspectError
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.identity import suspicious
from hcloud.readers.workloads.locate import TableLayout, duplicates, locate
from hcloud.readers.workloads.source import HEAD_BYTES, CheckedReader, TraceFile

_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d", re.ASCII)
_LONGEST_BLOCK = 1 << 19
_OTHER_NAMES = {
    other: name
    for name, others in {
        "id": "job_id jobid task_id name",
        "submit": "submit_time submitted submit_at arrival start start_time",
        "duration": "run_time runtime elapsed seconds duration_s",
        "cores": "cpus cpu vcpus vcpu ncpus num_cpus",
        "memory": "mem ram memory_gib mem_gib",
    }.items()
    for other in others.split()
}
"""What columns are called elsewhere: by its letters alone 'cpus' looks like 'gpus'."""


@dataclass(frozen=True, slots=True)
class DelimitedTable:
    """A checked table: its columns, the number of rows and the digest of the file."""

    sink: Sink
    digest: str

    @property
    def rows(self) -> int:
        """Rows read."""
        return self.sink.rows


Progress = Callable[[float], None]


def read_table(
    source: TraceFile, layout: TableLayout, max_rows: int, progress: Progress | None = None
) -> DelimitedTable:
    """Every row of the file in checked columns; InputError with line and column for all that is wrong."""
    sink = Sink(layout.columns, max_rows, source.name)
    reader = source.open()
    try:
        with reader:
            _fill(sink, reader, layout, progress)
            digest = reader.digest()
            if reader.odd:
                raise SuspectError
    except (SuspectError, pa.ArrowInvalid, pa.ArrowKeyError, UnicodeDecodeError) as error:
        if reader.failure is not None:
            raise reader.failure from error
        raise locate(source, layout, str(error), sink.good) from error
    if sink.rows == 0:
        raise InputError(f"{source.name}: no rows; the file has only a header")
    _refuse_duplicates(source, layout, sink)
    return DelimitedTable(sink, digest)


def header_layout(source: TraceFile, known: tuple[Column, ...], *, ignore_extra: bool = False) -> TableLayout:
    """The layout of a file with a header line: which known column stands where; InputError when it does not fit."""
    first, newline, _ = source.head.partition(b"\n")
    if not newline and len(first) >= HEAD_BYTES:
        raise InputError(f"{source.name}: the header line is longer than {HEAD_BYTES:,} bytes")
    try:
        text = first.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{source.name}: line 1: the header is not UTF-8", hint="save it as UTF-8") from error
    if "\r" in text:
        raise InputError(f"{source.name}: line 1: a carriage return without a line feed; end lines with LF or CRLF")
    delimiter = max(",;\t", key=text.count)
    names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
    check_header(source.name, names, known, ignore_extra=ignore_extra)
    if not newline:
        raise InputError(f"{source.name}: no rows; the file has only a header")
    by_name = {c.name: c for c in known}
    columns = tuple(by_name.get(name, Column(f"{name} #{i}", "skip")) for i, name in enumerate(names))
    return TableLayout(_with_time_type(source, columns, delimiter), delimiter, header=True)


def _with_time_type(source: TraceFile, columns: tuple[Column, ...], delimiter: str) -> tuple[Column, ...]:
    """Time columns settled as plain seconds unless the first row holds a date."""
    lines = (line for line in source.head.decode("utf-8", "replace").split("\n")[1:] if line.strip())
    try:
        first = next(csv.reader(islice(lines, 1), delimiter=delimiter), [])
    except csv.Error:  # the full pass says where and what
        return columns
    if len(first) != len(columns):
        return columns
    return tuple(_settled(column, cell) for column, cell in zip(columns, first, strict=True))


def _settled(column: Column, cell: str) -> Column:
    if column.sort != "time":
        return column
    if _DATE.match(cell) is None:
        return replace(column, sort="number")
    return replace(column, zoned=_has_zone(cell))


def _has_zone(cell: str) -> bool:
    clock = cell.strip()[10:]
    return clock.endswith(("Z", "z")) or "+" in clock or "-" in clock


def _meant(name: str, free: list[str]) -> str:
    usual = _OTHER_NAMES.get(name.strip().lower())
    return f"; did you mean {usual}?" if usual in free else did_you_mean(name, free)


def check_header(file: str, names: list[str], known: tuple[Column, ...], *, ignore_extra: bool) -> None:
    """Refuse column names that are unknown (unless ignored), missing or there twice, with a suggestion each."""
    findings = Findings(file)
    allowed = [c.name for c in known]
    for name in sorted({n for n in names if names.count(n) > 1}):
        findings.add("line 1", f"column {shown(name)} stands there {names.count(name)} times", "once")
    for index, name in enumerate(names, 1):
        if name not in allowed and not ignore_extra:
            hint = _meant(name, [a for a in allowed if a not in names])
            findings.add(f"line 1, column {index}", f"unknown column {shown(name)}", f"{', '.join(allowed)}{hint}")
    missing = [column.name for column in known if column.required and column.name not in names]
    for name in missing:
        others = [n for n in names if n not in allowed]
        same = [n for n in others if _OTHER_NAMES.get(n.strip().lower()) == name]
        hint = f"; did you mean {same[0]}?" if same else did_you_mean(name, others)
        findings.add("line 1", f"column {name} is missing", f"it is required{hint}")
    if findings.problems:
        error = findings.error(f"{file}: the header does not fit")
        error.hint = "columns that are not needed are skipped with --set extra_columns=ignore"
        if missing:
            error.hint = f"rename the columns that hold {' and '.join(missing)}" + (
                "; a duration is the seconds from start to end" if "duration" in missing else ""
            )
        raise error


def _fill(sink: Sink, reader: CheckedReader, layout: TableLayout, progress: Progress | None) -> None:
    stream = layout.wrap(reader) if layout.wrap else reader
    size = reader.source.size * (4 if reader.source.gzipped else 1)
    batches = arrow_csv.open_csv(
        stream,
        read_options=arrow_csv.ReadOptions(
            use_threads=False,
            block_size=_LONGEST_BLOCK,
            column_names=[c.name for c in layout.columns],
            skip_rows=1 if layout.header else 0,
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=False),
        convert_options=arrow_csv.ConvertOptions(
            column_types={c.name: arrow_type(c) for c in layout.columns},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    for number, batch in enumerate(batches):
        if number == 0:
            sink.reserve(batch.num_rows + size * batch.num_rows * 9 // (8 * max(batch.nbytes // 2, 1)))
        sink.take(batch)
        if progress is not None:
            progress(min(reader.raw.taken / max(reader.source.size, 1), 1.0))


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type a column is converted to; ``skip`` columns stay text and are checked for nothing."""
    if column.sort == "time":
        return pa.timestamp("ns", "UTC" if column.zoned else None)
    if column.sort == "label" and not column.short_choices:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.float64() if column.sort == "number" else pa.string()


def _refuse_duplicates(source: TraceFile, layout: TableLayout, sink: Sink) -> None:
    for column in layout.columns:
        if column.sort == "identity":
            twice = suspicious(sink.take_hashes(column.name))
            if len(twice):
                duplicates(source, layout, column, twice)

"""Reads delimited text at full speed with pyarrow; what it must refuse is located by a second, slower pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyarrow import csv as arrow_csv

from hcloud.errors import InputError, did_you_mean
from hcloud.readers.workloads.commands import bare_memory, jobs_advice, skipping, vcpu_hours
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.identity import suspicious
from hcloud.readers.workloads.meanings import (
    SERIES,
    check_called,
    is_jobs,
    meant,
)
from hcloud.readers.workloads.options import Decimal, WorkloadOptions
from hcloud.readers.workloads.source import CheckedReader, TraceFile
from hcloud.readers.workloads.tables.clock import PAIRS, is_clock
from hcloud.readers.workloads.tables.columns import Column, Sink, SuspectError, ticks_of
from hcloud.readers.workloads.tables.dates import ALLOWED, ZONED, has_zone, is_date, written_as
from hcloud.readers.workloads.tables.guessing import columns_of_jobs, likely_units
from hcloud.readers.workloads.tables.header import first_rows, header_names
from hcloud.readers.workloads.tables.locate import ISO, TableLayout, duplicates, locate
from hcloud.readers.workloads.tables.marks import mark_of

_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d", re.ASCII)
_UTC = re.compile(r"(Z|z|UTC|GMT|[+]00(:?00)?)$")
ELSEWHERE = "-00:00"
"""Behind a time in UTC of which the zone was another, as RFC 3339 has it."""
_LONGEST_BLOCK = 1 << 19


Progress = Callable[[float], None]


def read_table(source: TraceFile, layout: TableLayout, max_rows: int, progress: Progress | None = None) -> Sink:
    """Every row of the file in checked columns; InputError with line and column for all that is wrong."""
    sink = Sink(layout.columns, max_rows, source.name)
    reader = source.open()
    try:
        with reader:
            _fill(sink, reader, layout, progress)
            if reader.odd:
                raise SuspectError
    except (SuspectError, pa.ArrowInvalid, pa.ArrowKeyError, UnicodeDecodeError) as error:
        if reader.failure is not None:
            raise reader.failure from error
        sizes = tuple(column.in_sizes(layout.decimal) for column in layout.columns)
        if sizes != layout.columns:
            return read_table(source, replace(layout, columns=sizes), max_rows, progress)
        raise locate(source, layout, str(error), sink.good) from error
    if sink.rows == 0:
        raise InputError(f"{source.name}: no rows; the file has only a header")
    _refuse_duplicates(source, layout, sink)
    return sink


def header_layout(
    source: TraceFile,
    known: tuple[Column, ...],
    *,
    ignore_extra: bool = False,
    called: Mapping[str, str] | None = None,
    decimal: Decimal = "auto",
) -> TableLayout:
    """The layout of a file with a header line: which known column stands where, ``called`` by which name in the file
    where that differs; InputError when it does not fit."""
    stored, delimiter, skip = header_names(source)
    names = renamed(source.name, stored, called, known) if called else stored
    check_header(source, names, known, ignore_extra=ignore_extra)
    by_name = {c.name: c for c in known}
    columns = tuple(
        replace(by_name[name], stored=there) if name in by_name else Column(f"{name} #{i}", "skip")
        for i, (name, there) in enumerate(zip(names, stored, strict=True))
    )
    columns = _with_time_type(source, columns)
    numbers = {at for at, column in enumerate(columns) if column.sort in ("number", "size", "clock", "time")}
    return TableLayout(columns, delimiter, skip=skip, decimal=mark_of(source, delimiter, decimal, numbers))


def renamed(file: str, names: list[str], called: Mapping[str, str], known: tuple[Column, ...]) -> list[str]:
    """The names of a header with those of the file replaced by ours; another column of that name is not used."""
    check_called(file, called, names, [column.name for column in known])
    back = {theirs: mine for mine, theirs in called.items()}
    return [back.get(name, f"{name} (not used)" if name in called else name) for name in names]


def _with_time_type(source: TraceFile, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Time columns settled as plain seconds unless their first cells hold a date."""
    first = _first_cells(source, columns)
    if len(first) != len(columns):
        return columns
    times = [(c, cell.strip()) for c, cell in zip(columns, first, strict=True) if c.sort == "time"]
    _check_times(source.name, times)
    ticks = max((ticks_of(cell) for _, cell in times), default=0.0)
    return tuple(_settled(column, cell, ticks) for column, cell in zip(columns, first, strict=True))


def _first_cells(source: TraceFile, columns: tuple[Column, ...]) -> list[str]:
    """The first row, in which an empty time is that of the first row near it that has one, else that of the other
    times; nothing where the rows do not fit."""
    rows = [row for row in first_rows(source) if row]
    first = rows[0] if rows else []
    for at, column in enumerate(columns[: len(first)]):
        if column.sort == "time" and not first[at]:
            first[at] = next((row[at] for row in rows if len(row) == len(first) and row[at]), "")
    other = next((cell for c, cell in zip(columns, first, strict=False) if c.sort == "time" and cell), "")
    return [cell or (other if c.sort == "time" else "") for c, cell in zip(columns, first, strict=False)]


def _check_times(file: str, cells: Sequence[tuple[Column, str]]) -> None:
    """InputError where one column of times is in a zone other than UTC and another says none, as hours may lie between;
    and where one has dates or Unix times, and another small numbers, which may be a wait."""
    dated = [c.in_file for c, cell in cells if _DATE.match(cell) or ticks_of(cell) or written_as(cell)]
    small = [(c, cell) for c, cell in cells if cell.isdecimal() and int(cell) and not ticks_of(cell)]
    if dated and small:
        column, cell = small[0]
        raise InputError(
            f"{file}: column {column.in_file} has no times as column {dated[0]} has: {shown(cell)}",
            hint=f"name another in place of {column.in_file}, or write all times in one way",
        )
    times = [(c, cell) for c, cell in cells if _DATE.match(cell) or written_as(cell) or is_date(cell)]
    elsewhere = [(c, cell) for c, cell in times if has_zone(cell) and not _UTC.search(cell)]
    naive = [c.in_file for c, cell in times if not has_zone(cell) and not c.zone]
    if elsewhere and naive:
        column, cell = elsewhere[0]
        raise InputError(
            f"{file}: the times of column {column.in_file} have a time zone ({shown(cell)}) and those of {naive[0]}"
            " have none",
            hint=f"write both in one zone, or say that of {naive[0]}: --set zone=Europe/Berlin",
        )


def dated(column: Column, options: WorkloadOptions) -> Column:
    """A column of times with what is said of its zone and its dates."""
    return replace(column, zone=options.zone, dates=options.dates if options.dates in ALLOWED else "")


def _settled(column: Column, cell: str, ticks: float) -> Column:
    if column.sort != "time":
        clock = column.name == "duration" and (column.said in PAIRS or is_clock(cell))
        return column.on_a_clock() if clock else column
    if column.dates and is_date(cell):
        return replace(column, told=ALLOWED[column.dates])
    if not ISO.fullmatch(cell.strip()) and (written := written_as(cell)):
        zone = "" if written == ZONED else column.zone
        return replace(column, zone=zone, dates=written, told=f"a time as the first of the column, {shown(cell)}")
    if _DATE.match(cell) is None:
        return replace(column.in_numbers(ticks), dates="")
    zoned = has_zone(cell)
    bare = f"without a zone ({column.zone or 'UTC'}), as 2026-11-01T10:00:00"
    example = "with a zone, as 2026-11-01T10:00:00Z" if zoned else bare
    return replace(column, zoned=zoned, dates="", told=f"an ISO-8601 time {example}: like the first of the column")


def check_header(source: TraceFile, names: list[str], known: tuple[Column, ...], *, ignore_extra: bool) -> None:
    """Refuse column names that are unknown (unless ignored), missing or there twice, with the command that would do."""
    findings, allowed = Findings(source.name), [c.name for c in known]
    twice = {n for n in names if names.count(n) > 1 and (n in allowed or not ignore_extra)}
    for name in sorted(twice):
        findings.add("line 1", f"column {shown(name)} appears {names.count(name)} times", "once")
    jobs = "submit" in allowed
    missing = [column.name for column in known if column.required and column.name not in names]
    unknown = [(index, name) for index, name in enumerate(names, 1) if name not in allowed and not ignore_extra]
    if not (findings.problems or missing or unknown):
        return
    usual = columns_of_jobs(source, names) if jobs else meant(names, SERIES)
    back = {theirs: mine for mine, theirs in usual.items()}
    if is_jobs(usual) and missing:  # the hint says all; what is not used is no mistake then
        unknown = [(index, name) for index, name in unknown if name in back]
    bare = "memory" not in usual and bare_memory(names)
    for index, name in unknown:
        free = [a for a in allowed if a not in names]
        hint = f"; did you mean {back[name]}?" if back.get(name) in free else did_you_mean(name, free)
        findings.add(f"line 1, column {index}", f"unknown column {shown(name)}", f"{', '.join(allowed)}{hint}")
    for name in missing:
        others = [n for n in names if n not in allowed]
        hint = f"; did you mean {usual[name]}?" if usual.get(name) in others else did_you_mean(name, others)
        findings.add("line 1", f"column {name} is missing", f"it is required{hint}")
    error = findings.error(f"{source.name}: the header does not fit")
    if missing:
        error.hint = _which_columns(source, usual if jobs else {}, missing, names)
    elif jobs and (any(usual.get(name) not in (None, name) for name in allowed) or bare or vcpu_hours(usual, names)):
        error.hint = jobs_advice(source, usual, names, likely_units(source, usual, names))
    elif twice & {*allowed}:
        error.hint = "give all of them but one another name in the header"
    else:
        error.hint = skipping(source, usual, names, likely_units(source, usual, names) if jobs else None)
    raise error


def _which_columns(source: TraceFile, usual: Mapping[str, str], missing: list[str], names: list[str]) -> str:
    """What to say so that columns of other names are read."""
    if is_jobs(usual):
        return jobs_advice(source, usual, names, likely_units(source, usual, names))
    told = f"say which columns hold {' and '.join(missing)}: --columns {missing[0]}=NAME,..."
    return told + ("; in place of a duration an end may be given" if "duration" in missing else "")


def _fill(sink: Sink, reader: CheckedReader, layout: TableLayout, progress: Progress | None) -> None:
    stream = layout.wrap(reader) if layout.wrap else reader
    batches = arrow_csv.open_csv(
        stream,
        read_options=arrow_csv.ReadOptions(
            use_threads=False,
            block_size=_LONGEST_BLOCK,
            column_names=[c.name for c in layout.columns],
            skip_rows=layout.skip + 1 if layout.header else 0,
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=False),
        convert_options=arrow_csv.ConvertOptions(
            column_types={c.name: arrow_type(c) for c in layout.columns},
            null_values=[""],
            decimal_point=layout.decimal,
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    for batch in batches:
        sink.take(batch)
        if progress is not None:
            progress(reader.share)


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type a column is converted to; ``skip`` columns stay text and are checked for nothing."""
    if column.sort == "time" and column.dates:
        return pa.string()
    if column.sort == "time":
        return pa.timestamp("ns", "UTC" if column.zoned else None)
    if column.sort == "label":
        return pa.dictionary(pa.int32(), pa.string())
    return pa.float64() if column.sort == "number" else pa.string()


def _refuse_duplicates(source: TraceFile, layout: TableLayout, sink: Sink) -> None:
    for column in layout.columns:
        if column.sort == "identity":
            twice = suspicious(sink.take_hashes(column.name))
            if len(twice):
                duplicates(source, layout, column, twice)

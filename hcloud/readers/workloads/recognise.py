"""Tells a workload's format from what stands in it, never from its name."""

from __future__ import annotations

import re

from hcloud.errors import InputError
from hcloud.model.files import check_sort
from hcloud.readers.workloads.formats import FORMATS
from hcloud.readers.workloads.formats.jobs.slurm import is_sacct
from hcloud.readers.workloads.formats.usage.machine_columns import is_machines
from hcloud.readers.workloads.meanings import (
    OF_SERIES_ONLY,
    SERIES,
    VALUES,
    called_columns,
    is_jobs,
    job_columns,
    meant,
)
from hcloud.readers.workloads.nearest import unknown_json, unknown_table, unknown_text
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Header, header_names

PARQUET = b"PAR1"
_COMPANIONS = (
    (re.compile(r"[\d.]+,[\d.]+ \S"), "a map of flavours; give the file of requests beside it"),
    (re.compile(r"\d+ \d+$"), "a map of lifetime bins; give the file of requests beside it"),
    (re.compile(r"sn,cpu_milli,"), "a list of machines; give the list of pods beside it"),
)
_A_NAME = re.compile(r"[^\d\s\"][^,;\t]*|\"[^\"]*\"|", re.ASCII)


def format_of(source: TraceFile, options: WorkloadOptions) -> str:
    """The format's name, by what ``--columns`` names where it is given, else by content."""
    if not options.columns:
        return recognise(source)
    if set(OF_SERIES_ONLY) & set(called_columns(options.columns)):
        return "machines"
    return "jobs-parquet" if source.head.startswith(PARQUET) else "jobs-csv"


def recognise(source: TraceFile) -> str:
    """The format's name; InputError when the content is none that is known."""
    if source.head.startswith(PARQUET):
        return _parquet(source)
    first = source.head.split(b"\n", 1)[0].decode("utf-8", "replace").removesuffix("\r")
    header = _header(source)
    if (found := _object(source.head) or _table(first, header)) is not None:
        return "machines" if found == "series" and _in_percent(source, header) else found
    for pattern, what in _COMPANIONS:
        if pattern.match(first):
            raise InputError(f"{source.name}: not a workload but {what}")
    check_sort(source.name, source.head, "a workload", "a job trace")
    if source.head.lstrip()[:1] in (b"{", b"["):
        raise unknown_json(source)
    if header is not None and len([*filter(None, header.names)]) > 1 and all(map(_A_NAME.fullmatch, header.names)):
        if {"submit", "duration"} & set(header.names):
            return "jobs-csv"  # which says what is wrong with each column
        raise unknown_table(source, header.names)
    if header is None and re.search(r"[,;\t]", first):
        header_names(source)
    raise unknown_text(source, first)


def _header(source: TraceFile) -> Header | None:
    """The header of a table; None where the first line is none."""
    try:
        return header_names(source)
    except InputError:
        return None


def _object(head: bytes) -> str | None:
    """The format of a JSON object that begins like this."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    fits = (n for n, known in FORMATS.items() if any(all(word in head for word in words) for words in known.holds))
    return next(fits, None)


def _table(first: str, header: Header | None) -> str | None:
    """The format whose header, or else first line, this is."""
    names = set(header.names) if header is not None else {first.strip().strip('"')}
    if is_sacct(names):
        return "slurm"
    for name, known in reversed(FORMATS.items()):
        if any(needed <= names for needed in known.headers) and (name != "series" or _is_series(names)):
            return name
    if header is not None and is_machines(header.names) and not is_jobs(job_columns(header.names)):
        return "machines"
    return next((n for n, known in reversed(FORMATS.items()) if any(p.match(first) for p in known.lines)), None)


def _in_percent(source: TraceFile, header: Header | None) -> bool:
    """Whether the first row has a cell as 45.3%, which readers of numbers alone refuse."""
    return header is not None and b"%" in b"".join(source.head.split(b"\n")[1 + header.skip : 2 + header.skip])


def _is_series(names: set[str]) -> bool:
    """Whether a table with timestamps is one series: with a column of values, and none that names machines."""
    return any(value in names for value in VALUES) and "name" not in meant(names, SERIES)


def _parquet(source: TraceFile) -> str:
    from pyarrow import parquet

    if source.packing:
        raise InputError(f"{source.name}: is a Parquet file in {source.packing}", hint="unpack it first")
    try:
        names = list(parquet.read_schema(source.path).names)
    except Exception as error:
        raise InputError(f"{source.name}: damaged Parquet file: {error}") from error
    if "cpu_usage" in names or "cpu_capacity" in names:
        return "bitbrains"
    if "submit" in names or "duration" in names:
        return "jobs-parquet"
    if "timestamp" in names and _is_series(set(names)):
        return "series"
    if is_machines(names) and not is_jobs(job_columns(names)):
        return "machines"
    raise unknown_table(source, names)

"""The one way in: a path becomes jobs or demand, whatever its format."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.model.workload import Workload
from hcloud.readers.workloads.commands import with_options, with_the_rest
from hcloud.readers.workloads.folder import read_folder
from hcloud.readers.workloads.formats import FORMATS, IN_A_ZONE
from hcloud.readers.workloads.formats.jobs.json_text import json_as_text
from hcloud.readers.workloads.meanings import called_columns
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.recognise import OF_TABLES, PARQUET, format_of
from hcloud.readers.workloads.source import TraceFile, only_member, open_source, spooled
from hcloud.readers.workloads.tables.delimited import Progress
from hcloud.readers.workloads.tables.parquet_text import Needed, parquet_as_text

DEFAULTS = WorkloadOptions()
OPEN_END = "the last line has no end: read as it is, and cut short perhaps"


def read_workload(
    path: Path, fmt: str = "auto", options: WorkloadOptions = DEFAULTS, progress: Progress | None = None
) -> Workload:
    """Read a workload file, a folder of series, or standard input (``-``); InputError carries everything that is wrong
    with it, and no success is empty."""
    check_format(fmt)
    with spooled(path) as (file, name):
        if file.is_dir():
            return read_folder(file, fmt, options, read_source, progress)
        return read_source(only_member(open_source(file, name)), fmt, options, progress)


def check_format(fmt: str) -> None:
    """UsageError for the name of no format."""
    if fmt != "auto" and fmt not in FORMATS:
        raise UsageError(
            f"{fmt!r} is not a workload format{did_you_mean(fmt, FORMATS)}", hint=f"formats: {', '.join(FORMATS)}"
        )


def read_source(
    source: TraceFile, fmt: str = "auto", options: WorkloadOptions = DEFAULTS, progress: Progress | None = None
) -> Workload:
    """Read a file that is open; a refusal has the one command that reads it, where there is one."""
    source = with_options(source, options)
    try:
        return _read(source, fmt, options, progress)
    except InputError as error:
        error.hint = with_the_rest(error, source, options, lambda more: _read(source, fmt, more))
        raise


def check_zone(name: str, options: WorkloadOptions) -> None:
    """UsageError for a zone of times that are not read in one."""
    if options.zone and name not in IN_A_ZONE:
        hint = "write them with their own, as 2026-11-01T10:00:00+01:00"
        raise UsageError(f"zone: times of {name} are not read in a zone", hint=hint)


def _read(source: TraceFile, fmt: str, options: WorkloadOptions, progress: Progress | None = None) -> Workload:
    name = format_of(source, options) if fmt == "auto" else fmt
    check_zone(name, options)
    with as_table(source, name, progress, _needed(options) if name.startswith("jobs-") else None) as text:
        workload: Workload = module_of(name).read(text, options, progress)
    provenance = workload.provenance
    if text is not source:
        provenance = replace(provenance, digest=source.digest(), format=name)
    if source.open_end:
        provenance = replace(provenance, repaired={**provenance.repaired, OPEN_END: 1})
    return replace(workload, provenance=provenance)


def module_of(name: str) -> ModuleType:
    """The module that reads a format."""
    return importlib.import_module(f"hcloud.readers.workloads.formats.{FORMATS[name].module}")


def _needed(options: WorkloadOptions) -> Needed | None:
    """Which columns of a table of jobs are read: all of one that lacks some, whose cells a hint is made of."""
    from hcloud.readers.workloads.formats.jobs.job_schema import job_schema

    called = called_columns(options.columns)
    if not called and options.extra_columns == "refuse":
        return None

    def among(names: Sequence[str]) -> Collection[str] | None:
        known = {called.get(column.name, column.name): column for column in job_schema(names, called, options)}
        is_whole = len({*names}) == len(names) and all(name in names for name in known if known[name].required)
        return known if is_whole else None

    return among


def as_table(
    source: TraceFile, name: str, progress: Progress | None, needed: Needed | None = None
) -> AbstractContextManager[TraceFile]:
    """A file of a format as text, for as long as it is needed, where its table is JSON or Parquet; any other itself. Of
    Parquet only the cells of columns that are ``needed``."""
    if name in OF_TABLES and source.head.lstrip().startswith((b"{", b"[")):
        return json_as_text(source, progress)
    is_table = source.head.startswith(PARQUET) and name != "bitbrains"
    return parquet_as_text(source, needed=needed, progress=progress) if is_table else nullcontext(source)

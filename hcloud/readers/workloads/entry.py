"""The one way in: a path becomes jobs or demand, whatever its format."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.workload import Workload
from hcloud.readers.workloads.delimited import Progress
from hcloud.readers.workloads.formats import FORMATS
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.recognise import recognise
from hcloud.readers.workloads.source import TraceFile, open_source

DEFAULTS = WorkloadOptions()


class Reader(Protocol):
    """What every format module has."""

    def read(self, source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Workload:
        """The workload in the file."""
        ...


def read_workload(
    path: Path, fmt: str = "auto", options: WorkloadOptions = DEFAULTS, progress: Progress | None = None
) -> Workload:
    """Read a workload file; InputError carries everything that is wrong with it, and no success is empty."""
    if fmt != "auto" and fmt not in FORMATS:
        raise UsageError(
            f"{fmt!r} is not a workload format{did_you_mean(fmt, FORMATS)}", hint=f"formats: {', '.join(FORMATS)}"
        )
    source = open_source(path)
    name = "jobs-csv" if fmt == "auto" and options.columns else recognise(source) if fmt == "auto" else fmt
    module = importlib.import_module(f"hcloud.readers.workloads.formats.{FORMATS[name].module}")
    return cast("Reader", module).read(source, options, progress)

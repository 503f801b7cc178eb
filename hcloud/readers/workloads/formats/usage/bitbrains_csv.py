"""Bitbrains' own CSV (GWA-T-12), one file a machine: what it was given and what it used, in MHz and KB."""

from __future__ import annotations

import numpy as np

from hcloud.model.workload import Demand, Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.jobs.jobs_table import times_read
from hcloud.readers.workloads.formats.usage.measured import MeasuredSeries, MeasuredUse
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import Progress, header_layout, read_table

FORMAT = "bitbrains-csv"
_TIME, _CORES = "Timestamp [ms]", "CPU cores"
_GIVEN, _USED = "CPU capacity provisioned [MHZ]", "CPU usage [MHZ]"
_MEMORY = "Memory capacity provisioned [KB]"
_KB_IN_GIB = 1 << 20
_COLUMNS = (
    Column(_TIME, "time", high=limits.SUBMIT_SECONDS),
    Column(_CORES),
    Column(_GIVEN, high=1e9),
    Column(_USED, high=1e9),
    Column(_MEMORY, high=limits.MEMORY_GIB * _KB_IN_GIB),
)
_TWICE = "a time that is there before: the first row of it counts"


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """vCPUs in use: the speed used as a part of the machine's, and the memory it was given."""
    return measured(source, options, progress).demand(options)


def measured(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> MeasuredUse:
    """The machine by itself."""
    layout = header_layout(source, _COLUMNS, ignore_extra=True, decimal=options.decimal)
    sink = read_table(source, layout, options.max_rows, progress)
    times, first = np.unique(sink.numbers(_TIME), return_index=True)
    repaired = {_TWICE: sink.rows - len(times)} if len(times) < sink.rows else {}
    cores, given, used = (sink.numbers(name)[first] for name in (_CORES, _GIVEN, _USED))
    speed = np.divide(given, cores, out=np.ones(len(times)), where=(given > 0) & (cores > 0))
    values = np.where((given > 0) & (cores > 0), used / speed, 0.0)
    memory = sink.numbers(_MEMORY)[first] / _KB_IN_GIB
    series = MeasuredSeries("rows", "", times, values, "cores", memory=memory, machine_cores=float(cores.max()))
    found = MeasuredUse(source, FORMAT, [series], sink.rows, repaired, rules=list(times_read(sink)))
    found.rules.append(Modelled("memory", "what the machine was given", "fixed"))
    return found

"""Whole clusters of Alibaba and Google: mean CPU and memory use at a fixed step, without timestamps."""

from __future__ import annotations

from hcloud.model.workload import Demand, Modelled, Provenance
from hcloud.planning.forecasting.demand import TimeGrid
from hcloud.readers.workloads.formats.usage.series import SeriesExtras, demand
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import Progress, header_layout, read_table

FORMAT = "cluster"
_LAYOUTS = (
    (Column("avg_cpu", high=1.0), Column("avg_mem", high=1.0)),
    (Column("cpu_util_percent", high=100.0), Column("mem_util_percent", high=100.0)),
)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """Demand of a cluster whose size is a key: the files hold only parts of the whole."""
    known = _LAYOUTS[1] if b"cpu_util_percent" in source.head.split(b"\n", 1)[0] else _LAYOUTS[0]
    layout = header_layout(source, known, ignore_extra=True, decimal=options.decimal)
    sink = read_table(source, layout, options.max_rows, progress)
    part, memory_part = (sink.numbers(column.name) / column.high for column in known)
    cores = part * options.cluster_cores
    memory = memory_part * options.cluster_cores * options.memory_per_core
    rules = (
        Modelled("time", f"one row every {options.step_seconds} s from 0", "step_seconds"),
        Modelled("cores", f"the whole cluster has {options.cluster_cores:g} vCPUs", "cluster_cores"),
        Modelled("memory", f"the whole cluster has {options.memory_per_core:g} GiB per vCPU", "memory_per_core"),
    )
    provenance = Provenance(source.name, FORMAT, source.digest(), sink.rows, modelled=rules)
    return demand(TimeGrid(0.0, options.step_seconds, sink.rows), cores, provenance, options, SeriesExtras(memory))

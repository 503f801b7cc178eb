"""Single requests with a timestamp each (Azure's LLM traces): counted in bins and turned into vCPUs."""

from __future__ import annotations

import numpy as np

from hcloud.model.workload import Demand, Modelled, Provenance
from hcloud.planning.forecasting.demand import TimeGrid
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.usage.series import demand, in_cores, in_vcpus_by
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import Progress, header_layout, read_table

FORMAT = "requests"
_COLUMNS = (
    Column("TIMESTAMP", "time", high=limits.SUBMIT_SECONDS),
    Column("ContextTokens", high=limits.REQUESTS),
    Column("GeneratedTokens", high=limits.REQUESTS),
)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """Demand of the requests that begin in each bin; tokens are checked and not used."""
    layout = header_layout(source, _COLUMNS, ignore_extra=options.extra_columns == "ignore", decimal=options.decimal)
    sink = read_table(source, layout, options.max_rows, progress)
    times = sink.numbers("TIMESTAMP")
    step = options.request_step_seconds
    grid = TimeGrid.over(float(times.min()), float(times.max()) + 1e-6, step)
    bins = ((times - grid.start) // step).astype(np.intp)
    counts = np.bincount(bins, minlength=grid.count).astype(np.float64)
    rules = (
        *in_vcpus_by(source, "requests", "", options),
        Modelled("time", f"requests counted in bins of {step} s", "request_step_seconds"),
    )
    provenance = Provenance(source.name, FORMAT, source.digest(), sink.rows, modelled=rules)
    return demand(grid, in_cores(counts, "requests", step, options), provenance, options)

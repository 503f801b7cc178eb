"""What ``hcloud workload fetch`` writes: a row a machine and hour, with the vCPUs that ran and those in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Modelled, Provenance
from hcloud.planning.forecasting.demand import MOST_STEPS, TimeGrid
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.jobs.jobs_table import times_read
from hcloud.readers.workloads.formats.usage.series import demand
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import Progress, header_layout, read_table

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

FORMAT = "fetched"
_KNOWN = (
    Column("timestamp", "time", high=limits.SUBMIT_SECONDS),
    Column("cores", high=limits.CORES),
    Column("cores_used", high=limits.CORES, sparse=True),
)
_RULES = {
    "provisioned": "vCPUs of the machines that ran; --set fetched_demand=used takes those in use, which assumes that "
    "machines are made smaller or fewer",
    "used": "vCPUs in use: machines have to be made smaller or fewer before a commitment of this size covers them",
}


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """The sum of all machines, step by step; where there is no row, nothing ran."""
    layout = header_layout(source, _KNOWN, ignore_extra=True, decimal=options.decimal)
    sink = read_table(source, layout, options.max_rows, progress)
    times, cores, used = (sink.numbers(name) for name in ("timestamp", "cores", "cores_used"))
    repaired = {"byte order mark skipped": 1} if source.marked else {}
    if options.fetched_demand == "used":
        unmeasured = np.isnan(used)
        if unmeasured.any():
            repaired["not measured: all vCPUs that ran count as in use"] = int(np.count_nonzero(unmeasured))
        cores = np.where(unmeasured, cores, used)
    moments = np.unique(times)
    if len(moments) < 2:
        raise InputError(f"{source.name}: a series needs at least two times")
    step = int(np.diff(moments).min())
    places = (times - moments[0]) / max(step, 1)
    count = round(float(places.max())) + 1
    if step < 1 or count > MOST_STEPS or (np.abs(places - np.round(places)) > 1e-9).any():
        raise InputError(f"{source.name}: the timestamps are not at equal steps", hint="fetch it again")
    total: Floats = np.bincount(np.round(places).astype(np.int64), weights=cores, minlength=count).astype(np.float64)
    rules = (*times_read(sink), Modelled("cores", _RULES[options.fetched_demand], "fetched_demand"))
    provenance = Provenance(source.name, FORMAT, source.digest(), sink.rows, repaired, {}, rules)
    return demand(TimeGrid(float(moments[0]), step, count), total, provenance, options)

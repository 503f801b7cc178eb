"""How long the jobs of a table ran: as it says, else from their begin to their end, or to the newest time in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.readers.workloads import limits
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import SECONDS
from hcloud.readers.workloads.tables.columns import Sink

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


def durations(sink: Sink, options: WorkloadOptions) -> tuple[Floats, NDArray[np.intp]]:
    """Seconds that jobs ran, and the rows of those that cannot have."""
    if sink.has("duration"):
        return sink.numbers("duration") * SECONDS[options.duration_unit], np.empty(0, np.intp)
    begins = sink.numbers("submit")
    if sink.has("start"):
        begins = np.where(np.isnan(sink.numbers("start")), begins, sink.numbers("start"))
    ends = sink.numbers("end")
    if open_ends(sink, options):
        times = [sink.numbers(name) for name in ("submit", "start", "end") if sink.has(name)]
        ends = np.where(np.isnan(ends), max(float(np.nanmax(t, initial=0.0)) for t in times), ends)
    duration = ends - begins
    return duration, np.flatnonzero((duration < 0) | (duration > limits.DURATION_SECONDS))


def open_ends(sink: Sink, options: WorkloadOptions) -> int:
    """How many jobs have no end, which still run if that is said."""
    if options.open_ends != "run" or not sink.has("end") or sink.has("duration"):
        return 0
    began = ~np.isnan(sink.numbers("start" if sink.has("start") else "submit"))
    return int(np.count_nonzero(began & np.isnan(sink.numbers("end"))))

"""SWIM job lists of Hadoop clusters: bytes read, shuffled and written; cores and durations are modelled from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import Jobs, Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.jobs.jobs_table import Draft, finish
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import Progress, read_table
from hcloud.readers.workloads.tables.locate import TableLayout

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

FORMAT = "swim"
_LAYOUT = TableLayout(
    columns=(
        Column("job", "identity"),
        Column("submit", high=limits.SUBMIT_SECONDS),
        Column("gap", high=limits.SUBMIT_SECONDS),
        Column("map input bytes", high=limits.BYTES),
        Column("shuffle bytes", high=limits.BYTES),
        Column("reduce output bytes", high=limits.BYTES),
    ),
    delimiter="\t",
    header=False,
)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Batch jobs whose cores and durations follow from their bytes."""
    sink = read_table(source, _LAYOUT, options.max_rows, progress)
    stages = [sink.numbers(column.name) for column in _LAYOUT.columns[3:]]
    cores, duration = size_from_bytes(np.maximum.reduce(stages), np.add.reduce(stages), options)
    draft = Draft(source.name, FORMAT, source.digest(), sink.numbers("submit"), duration, cores, rows=sink.rows)
    draft.ids = sink.ids()
    draft.modelled += _rules(options)
    return finish(draft, options)


def size_from_bytes(largest_stage: Floats, all_bytes: Floats, options: WorkloadOptions) -> tuple[Floats, Floats]:
    """Cores (one a split, bounded) and seconds (a fixed start plus the time the cores take for the bytes)."""
    cores: Floats = np.clip(np.ceil(largest_stage / options.swim_split_bytes), 1, options.swim_max_cores)
    duration: Floats = options.swim_overhead_seconds + all_bytes / (options.swim_rate_bytes * cores)
    return cores, duration


def _rules(options: WorkloadOptions) -> list[Modelled]:
    split, rate = f"{options.swim_split_bytes / 1e6:g} MB", f"{options.swim_rate_bytes / 1e6:g} MB/s"
    return [
        Modelled(
            "cores", f"one per {split} of the largest of input, shuffle and output, at least 1", "swim_split_bytes"
        ),
        Modelled("cores", f"at most {options.swim_max_cores}", "swim_max_cores"),
        Modelled("duration", f"all bytes at {rate} per core", "swim_rate_bytes"),
        Modelled("duration", f"plus {options.swim_overhead_seconds:g} s", "swim_overhead_seconds"),
    ]

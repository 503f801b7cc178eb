"""Our own CSV of jobs: ``submit`` and ``duration`` required, the other columns of the schema optional."""

from __future__ import annotations

from hcloud.model.workload import Jobs
from hcloud.readers.workloads.delimited import Progress, header_layout, read_table
from hcloud.readers.workloads.formats.jobs_table import SCHEMA, Draft, from_sink
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile

FORMAT = "jobs-csv"


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs of a comma, semicolon or tab separated file with a header."""
    layout = header_layout(source, SCHEMA, ignore_extra=options.extra_columns == "ignore")
    table = read_table(source, layout, options.max_rows, progress)
    sink = table.sink
    draft = Draft(source.name, FORMAT, table.digest, sink.numbers("submit"), sink.numbers("duration"), rows=table.rows)
    draft.repair("byte order mark skipped", int(source.marked))
    return from_sink(sink, draft, options)

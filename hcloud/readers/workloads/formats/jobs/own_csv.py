"""Our own CSV of jobs: ``submit`` and ``duration`` (or ``end``) required, the other columns of the schema optional."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import DATES_FROM, Jobs
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.formats.jobs.job_schema import job_schema
from hcloud.readers.workloads.formats.jobs.jobs_table import LENGTH, STILL_RUNS, Draft, from_sink
from hcloud.readers.workloads.formats.jobs.stated_units import in_units_said, note_unit_of_name, told_in_cells
from hcloud.readers.workloads.meanings import called_columns
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import SECONDS
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Sink
from hcloud.readers.workloads.tables.delimited import Progress, header_layout, read_table
from hcloud.readers.workloads.tables.header import header_names
from hcloud.readers.workloads.tables.locate import lines_of
from hcloud.readers.workloads.tables.mending import mending_command
from hcloud.readers.workloads.tables.zones import later_ends
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

FORMAT = "jobs-csv"


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs of a comma, semicolon, tab or bar separated file with a header."""
    called = called_columns(options.columns)
    timed = called.get("duration", "duration") in source.in_seconds
    asked, options = options, in_units_said(options, called)
    options = replace(options, duration_unit="s") if timed else options
    known = job_schema(header_names(source).names, called, options)
    extra = options.extra_columns == "ignore" or bool(called)
    layout = header_layout(source, known, ignore_extra=extra, called=called, decimal=options.decimal)
    if any(column.sort == "clock" for column in layout.columns):
        options = told_in_cells(options)
    sink = read_table(source, layout, options.max_rows, progress)
    note_unit_of_name(sink, asked, called)
    duration, wrong = _durations(sink, options)
    if len(wrong):
        findings = Findings(source.name)
        for line in lines_of(source, layout, wrong.tolist()):
            findings.add(
                f"line {line}, column {called.get('end', 'end')}", "not within a job's length of its begin", LENGTH
            )
        error = findings.error()
        error.hint = mending_command(source, findings.problems, rest=len(wrong) < sink.rows)
        has_dates = sink.numbers("submit")[wrong].min() >= DATES_FROM
        within_an_hour = duration[wrong].min() >= -SECONDS_PER_HOUR and duration[wrong].max() < 0
        if has_dates and not sink.local_zone and within_an_hour:
            error.hint = f"where clocks were put back, say the zone (--set zone=Europe/Berlin); else {error.hint}"
        raise error
    draft = Draft(source.name, FORMAT, source.digest(), sink.numbers("submit"), duration, rows=sink.rows)
    draft.repair(STILL_RUNS, _open_ends(sink, options))
    draft.repair("byte order mark skipped", int(source.marked))
    draft.repaired.update(source.repaired)

    def named(rows: list[int]) -> list[str]:
        lines = dict(zip(sorted(set(rows)), lines_of(source, layout, rows), strict=True))
        return [f"line {lines[row]}" for row in rows]

    return from_sink(sink, draft, options, named)


def _durations(sink: Sink, options: WorkloadOptions) -> tuple[Floats, NDArray[np.intp]]:
    """Seconds that jobs ran, and the rows of those that cannot have."""
    if sink.has("duration"):
        return sink.numbers("duration") * SECONDS[options.duration_unit], np.empty(0, np.intp)
    begins = sink.numbers("submit")
    if sink.has("start"):
        begins = np.where(np.isnan(sink.numbers("start")), begins, sink.numbers("start"))
    ends = sink.numbers("end")
    if _open_ends(sink, options):
        times = [sink.numbers(name) for name in ("submit", "start", "end") if sink.has(name)]
        ends = np.where(np.isnan(ends), max(float(np.nanmax(t, initial=0.0)) for t in times), ends)
    if sink.local_zone:
        ends = later_ends(begins, ends, sink.local_zone)
    duration = ends - begins
    return duration, np.flatnonzero((duration < 0) | (duration > limits.DURATION_SECONDS))


def _open_ends(sink: Sink, options: WorkloadOptions) -> int:
    """How many jobs have no end, which still run if that is said."""
    if options.open_ends != "run" or not sink.has("end") or sink.has("duration"):
        return 0
    began = ~np.isnan(sink.numbers("start" if sink.has("start") else "submit"))
    return int(np.count_nonzero(began & np.isnan(sink.numbers("end"))))

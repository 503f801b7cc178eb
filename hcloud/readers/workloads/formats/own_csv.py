"""Our own CSV of jobs: ``submit`` and ``duration`` (or ``end``) required, the other columns of the schema optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.workload import Jobs
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.columns import Column, Sink
from hcloud.readers.workloads.delimited import Progress, header_layout, header_names, read_table
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.formats.jobs_table import SCHEMA, Draft, from_sink
from hcloud.readers.workloads.locate import TableLayout, lines_of
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

FORMAT = "jobs-csv"
_UNTIL = (
    Column("start", "time", high=limits.SUBMIT_SECONDS, required=False),
    Column("end", "time", high=limits.SUBMIT_SECONDS),
)
"""In place of a duration: a job runs from its start (else its submission) to its end."""


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs of a comma, semicolon or tab separated file with a header."""
    called = _called(options.columns)
    ends = "end" in called or ("duration" not in called and _has_only_ends(source))
    known = tuple(c for c in SCHEMA if c.name != "duration") + _UNTIL if ends else SCHEMA
    extra = options.extra_columns == "ignore" or bool(called)
    layout = header_layout(source, known, ignore_extra=extra, called=called)
    table = read_table(source, layout, options.max_rows, progress)
    sink = table.sink
    duration = _until_end(source, layout, sink) if ends else sink.numbers("duration")
    draft = Draft(source.name, FORMAT, table.digest, sink.numbers("submit"), duration, rows=table.rows)
    draft.repair("byte order mark skipped", int(source.marked))
    return from_sink(sink, draft, options)


def _called(text: str) -> dict[str, str]:
    """``submit=start_time,end=end_time`` as what each of our columns is called in the file."""
    found = dict[str, str]()
    for part in text.split(",") if text else ():
        mine, equals, theirs = (word.strip() for word in part.partition("="))
        if not equals or not mine or not theirs:
            raise UsageError(f"columns: {part!r}: write submit=NAME,duration=NAME,cores=NAME")
        if mine in found or theirs in found.values():
            raise UsageError(f"columns: {part!r}: a column is named once, and for one thing")
        found[mine] = theirs
    return found


def _has_only_ends(source: TraceFile) -> bool:
    names, _ = header_names(source)
    return "end" in names and "duration" not in names


def _until_end(source: TraceFile, layout: TableLayout, sink: Sink) -> Floats:
    """Seconds that jobs ran; InputError with the lines of those that end before they begin."""
    begins = sink.numbers("submit")
    if sink.has("start"):
        begins = np.where(np.isnan(sink.numbers("start")), begins, sink.numbers("start"))
    duration = sink.numbers("end") - begins
    wrong = np.flatnonzero(~((duration >= 0) & (duration <= limits.DURATION_SECONDS)))
    if len(wrong):
        findings = Findings(source.name)
        for line in lines_of(source, layout, wrong.tolist()):
            allowed = f"an end after the begin, by at most {limits.DURATION_SECONDS:g} s"
            findings.add(f"line {line}, column end", "not within a job's length of its begin", allowed)
        raise findings.error()
    return duration

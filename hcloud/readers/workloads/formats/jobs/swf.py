"""The Standard Workload Format of parallel machines: 18 numbers a job, -1 for unknown, ``;`` comments."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import Jobs
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.jobs.jobs_table import Draft, finish, follow
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import CheckedReader, TraceFile
from hcloud.readers.workloads.tables.columns import MOST_NAMED, Column, Sink, SuspectError
from hcloud.readers.workloads.tables.delimited import Progress, read_table
from hcloud.readers.workloads.tables.locate import TableLayout

if TYPE_CHECKING:
    from hcloud.model.workload import Codes, Floats

FORMAT = "swf"
_KIB_PER_GIB = 1 << 20
_KIB = limits.MEMORY_GIB * _KIB_PER_GIB
_ROUNDED = 1.0  # seconds: logs round times to whole ones
_NOT_BEFORE = "preceding job (field 17) is no earlier job of the file: not waited for"
_TOO_MANY = f"preceding job (field 17) of files with more than {MOST_NAMED:,} jobs: not waited for"
_CONTRADICTED = "began before the end of its preceding job and its think time (fields 17, 18): not waited for"


class SingleBlanks(io.RawIOBase):
    """The bytes of a reader with comments blanked and every run of blanks in a line made one space."""

    def __init__(self, reader: CheckedReader) -> None:
        super().__init__()
        self.reader = reader
        self.rest = b""
        self.ready = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, as the C++ caller asks; empty at the end."""
        while not self.ready:
            block = self.reader.read(1 << 20)
            if not block and not self.rest:
                return b""
            *lines, self.rest = (self.rest + (block or b"\n")).split(b"\n")
            self.ready = b"".join(_single(line) for line in lines)
            if len(self.rest) > limits.LINE_BYTES:
                raise SuspectError
        given, self.ready = (self.ready[:size], self.ready[size:]) if size >= 0 else (self.ready, b"")
        return given


def _single(line: bytes) -> bytes:
    return b"\n" if line.lstrip().startswith(b";") else b" ".join(line.split()) + b"\n"


_LAYOUT = TableLayout(
    columns=(
        Column("job number", "identity"),
        Column("submit time", high=limits.SUBMIT_SECONDS),
        Column("wait time", low=-1.0, high=limits.SUBMIT_SECONDS),
        Column("run time", low=-1.0, high=limits.DURATION_SECONDS),
        Column("allocated processors", low=-1.0),
        Column("average CPU time", low=-1.0, high=limits.BYTES),
        Column("used memory", low=-1.0, high=_KIB),
        Column("requested processors", low=-1.0),
        Column("requested time", low=-1.0, high=limits.BYTES),
        Column("requested memory", low=-1.0, high=_KIB),
        Column("status", low=-1.0, high=5.0),
        *(Column(name, low=-1.0, high=limits.BYTES) for name in ("user", "group", "application", "queue")),
        *(Column(name, low=-1.0, high=limits.BYTES) for name in ("partition", "preceding job", "think time")),
    ),
    delimiter=" ",
    header=False,
    comment=";",
    wrap=SingleBlanks,
)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs that ran: submit time, run time, processors (used, else requested) and memory per processor."""
    sink = read_table(source, _LAYOUT, options.max_rows, progress)
    run = sink.numbers("run time")
    draft = Draft(source.name, FORMAT, source.digest(), sink.numbers("submit time"), run, rows=sink.rows)
    draft.ids = sink.ids()
    draft.cores = _known(sink, "allocated processors", "requested processors")
    draft.memory = _known(sink, "used memory", "requested memory") / _KIB_PER_GIB * draft.cores
    draft.app, draft.apps = _applications(sink.numbers("application"))
    wait = sink.numbers("wait time")
    draft.start = np.where(wait >= 0, draft.submit + wait, np.nan)
    _follow(draft, sink.numbers("preceding job"), np.maximum(sink.numbers("think time"), 0.0))
    draft.keep(draft.duration >= 0, "run time unknown (-1)")
    draft.keep(~np.isnan(draft.cores), "processors unknown (-1 or 0)")
    return finish(draft, options)


def _known(sink: Sink, used: str, requested: str) -> Floats:
    """What was used, else what was requested; NaN when both are unknown or nothing."""
    first, second = sink.numbers(used), sink.numbers(requested)
    best = np.where(first > 0, first, second)
    return np.where(best > 0, best, np.nan)


def _follow(draft: Draft, preceding: Floats, think: Floats) -> None:
    """Jobs that name a preceding job come when that has ended and their think time is over. Not followed, and counted:
    what is no earlier job of the file, and what the record contradicts."""
    waiting = np.flatnonzero(preceding > 0)
    if not len(waiting):
        return
    rows = {} if draft.ids is None else {name: row for row, name in enumerate(draft.ids.tolist())}
    before = np.array([rows.get(b"%d" % number, -1) for number in preceding[waiting].tolist()], np.int64)
    known = (before >= 0) & (before < waiting)
    draft.repair(_NOT_BEFORE if rows else _TOO_MANY, int((~known).sum()))
    waiting, before = waiting[known], before[known]
    assert draft.start is not None
    early = draft.start[waiting] + _ROUNDED < draft.start[before] + draft.duration[before] + think[waiting]
    draft.repair(_CONTRADICTED, int(early.sum()))
    if not early.all():
        follow(draft, np.column_stack([waiting[~early], before[~early]]), think)


def _applications(numbers: Floats) -> tuple[Codes, tuple[str, ...]]:
    known, codes = np.unique(numbers, return_inverse=True)
    unknown = int(np.count_nonzero(known < 0))
    return (codes - unknown).astype(np.int32), tuple(f"application {number:g}" for number in known[unknown:])

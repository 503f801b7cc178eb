"""A journal as a workload: the jobs that came, to be run again under other strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hcloud.model.files import sort_of
from hcloud.model.running.decision import Entry
from hcloud.model.running.event import UNKNOWN, Arrival
from hcloud.model.running.note import Note
from hcloud.model.workload import JobKind, Jobs, Modelled, Workload
from hcloud.planning.reports.journeys import BATCH, SERVICE, Journey, JourneyBuilder, in_time
from hcloud.readers.workloads.entry import read_source, read_workload
from hcloud.readers.workloads.formats.jobs.jobs_table import Draft, finish
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.requiring import asking, part_of
from hcloud.readers.workloads.source import TraceFile, open_source, spooled
from hcloud.store.journals.entries import entries_of
from hcloud.store.journals.journal import refusing_impossible
from hcloud.units import counted

Vectors = dict[str, tuple[int, ...]]
_KINDS = {BATCH: JobKind.BATCH, SERVICE: JobKind.SERVICE}
_MANY = 50_000
"""Ours: jobs that are over and still kept as they are; as many names are a part of their column."""
_COLUMNS: Mapping[str, type] = {
    "arrived": np.float64, "work": np.float64, "ask": np.int64, "memory": np.int64, "kind": np.int8, "app": np.int32,
    "began": np.bool_, "ended": np.bool_, "first": np.int64,
}  # fmt: skip


class JournalJobs:
    """A row a job in the order of arrival, or for each piece of a job of several servers, with the row of the ``first``
    of them. An application has the vector of its first job; ``apps`` are numbered as they came. So many jobs that came
    to an end were ``resized`` while they ran."""

    def __init__(self) -> None:
        self.apps: dict[str, int] = {"": -1}
        self.causes: Vectors = {}
        self.tolerates: Vectors = {}
        self.resized = 0
        self._builder = JourneyBuilder()
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(_MANY, kind) for name, kind in _COLUMNS.items()}
        self._names: list[bytes] = []
        self._ids: list[NDArray[np.bytes_]] = []
        self._most = _MANY
        self._firsts: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """How many jobs came."""
        return self._builder.came

    def follow(self, entries: Iterable[Entry | Note], so_far: float | None = None) -> JournalJobs:
        """Read a journal to its end. With ``so_far`` a job that still runs counts as if it ended then."""
        take = self._builder.take
        for entry in entries:
            take(entry)
            if isinstance(entry, Arrival):
                self._came(entry)
        self._keep(self._builder.forget())
        for journey in self._builder.journeys.values():
            if so_far is not None and journey.began is not None and journey.ended is None:
                journey.ended = journey.stays[-1].end = max(so_far, journey.began)
        self._keep(self._builder.journeys)
        self._cut_names()
        return self

    def column(self, name: str) -> NDArray[Any]:
        """A value for each job."""
        return self._columns[name][: self.rows]

    def ids(self) -> NDArray[np.bytes_]:
        """The names of the jobs."""
        return np.concatenate(self._ids) if self._ids else np.empty(0, "S1")

    def sorted_apps(self) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """The names of the applications in their order, and for each job the number of its own (-1: none)."""
        names = sorted(set(self.apps) - {""})
        places = np.full(len(self.apps), -1, np.int32)
        places[[self.apps[name] for name in names]] = np.arange(len(names))
        return tuple(names), places[self.column("app")]

    def _came(self, arrival: Arrival) -> None:
        row = self.rows - 1
        if row >= len(self._columns["ask"]):
            for name, values in self._columns.items():
                self._columns[name] = np.concatenate([values, np.zeros_like(values)])
        app = self._builder.journeys[row].app
        self._columns["ask"][row], self._columns["memory"][row] = arrival.ask, arrival.memory
        self._columns["first"][row] = row if arrival.after is None else self._firsts.pop(arrival.after, row)
        if arrival.pieces > 1:
            self._firsts[arrival.job] = int(self._columns["first"][row])
        self._columns["app"][row] = self.apps.setdefault(app, len(self.apps) - 1)
        self._names.append(arrival.job.encode())
        if app and app not in self.causes:
            self._knows(app, arrival)
        if len(self._builder.journeys) > self._most:
            self._keep(self._builder.forget())
            self._most = _MANY + 2 * len(self._builder.journeys)
        if len(self._names) >= _MANY:
            self._cut_names()

    def _knows(self, app: str, arrival: Arrival) -> None:
        vector, borne = arrival.true_vector or arrival.vector, arrival.true_tolerates or arrival.tolerates
        if vector != UNKNOWN:
            self.causes[app] = vector
            self.tolerates |= {} if borne is None else {app: borne}

    def _cut_names(self) -> None:
        if self._names:
            self._ids.append(np.array(self._names))
            self._names = []

    def _keep(self, over: Mapping[int, Journey]) -> None:
        rows, journeys = list(over), over.values()
        self.resized += sum(1 for j in journeys if j.ended is not None and (j.enlarged or j.shrunk))
        told: dict[str, list[Any]] = {
            "arrived": [j.arrived for j in journeys],
            "work": [_work(j) for j in journeys],
            "kind": [_KINDS[j.kind] for j in journeys],
            "began": [j.began is not None for j in journeys],
            "ended": [j.ended is not None for j in journeys],
        }
        for name, values in told.items():
            self._columns[name][rows] = values


def _work(journey: Journey) -> float:
    if journey.kind == SERVICE:
        return sum(stay.ran for stay in journey.stays)  # it serves on every machine that it is on
    return journey.ran * (1.0 if journey.performance is None else journey.performance)


FORMAT = "journal"


def read_trace(
    path: Path, fmt: str, options: WorkloadOptions, progress: Callable[[float], None] | None = None
) -> Workload:
    """The workload in a file, a folder or standard input: a trace in any format, or the jobs of a journal; of these
    what is asked for by what they require, by their memory or with GPUs. Raises InputError where it is none."""
    read = asking(_read_trace(path, fmt, options, progress), options.gpu)
    return part_of(read, options.requires, options.gib_per_vcpu)


def _read_trace(path: Path, fmt: str, options: WorkloadOptions, progress: Callable[[float], None] | None) -> Workload:
    if fmt != "auto" or path.is_dir():
        return read_workload(path, fmt, options, progress)
    with spooled(path) as (file, name):
        source = open_source(file, name)
        found = sort_of(source.head)
        if found is not None and found.name == "a journal":
            return jobs_of_journal(entries_of(file), source, options)
        return read_source(source, fmt, options, progress)


def jobs_of_journal(
    entries: Iterable[Entry | Note], source: TraceFile, options: WorkloadOptions, so_far: float | None = None
) -> Jobs:
    """Every job that ran to an end: its work is the time that it ran times the share of its performance in isolation.

    In a simulation that share is of all that the job ran. In life a job begins anew on its next machine, and the share
    is of the last time; kind and application are those of its order. An application has the vector of its first job.
    With ``so_far`` a job that still runs counts as if it ended then.
    """
    with refusing_impossible(source.name):
        found = JournalJobs().follow(in_time(entries), so_far)
    apps, app = found.sorted_apps()
    draft = Draft(
        source.name,
        FORMAT,
        source.digest(),
        found.column("arrived"),
        found.column("work"),
        cores=found.column("ask") / 1000,
        memory=found.column("memory") / 1024,
        kind=found.column("kind"),
        app=app,
        apps=apps,
        ids=found.ids(),
        rows=found.rows,
    )
    if found.resized:
        told = f"what each asked for when it came; {counted(found.resized, 'job')} got more or fewer while running"
        draft.modelled.append(Modelled("cores", told, "fixed"))
    began = found.column("began")
    draft.keep(began, "never began: refused, cancelled, or still waiting")
    draft.keep(found.column("ended")[began], "had not ended when the journal did")
    first = found.column("first")[began & found.column("ended")]
    if len(np.unique(first)) < len(first):
        _join_pieces(draft, first)
    return replace(finish(draft, options), vectors=found.causes, tolerates=found.tolerates)


def _join_pieces(draft: Draft, first: NDArray[np.int64]) -> None:
    """Make one job of its pieces, by the row of the first: on as many servers as ran to an end, as long as the
    slowest."""
    order = np.argsort(first, kind="stable")
    draft.select(order)
    begins = np.flatnonzero(np.diff(first[order], prepend=-1))
    servers = np.diff(np.append(begins, len(order))).astype(np.int32)
    duration = np.maximum.reduceat(draft.duration, begins)
    asked = [np.add.reduceat(values, begins) for values in (draft.cores, draft.memory) if values is not None]
    draft.select(begins)
    draft.duration, (draft.cores, draft.memory) = duration, asked
    draft.servers, draft.divisible = servers, np.where(servers > 1, 1, -1).astype(np.int8)
    if draft.ids is not None:
        named = zip(draft.ids.tolist(), servers.tolist(), strict=True)
        draft.ids = np.array([name.rpartition(b".")[0] if count > 1 else name for name, count in named])

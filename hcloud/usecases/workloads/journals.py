"""A journal as a workload: the jobs that came, to be run again under other strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from hcloud.model.files import sort_of
from hcloud.model.running.event import UNKNOWN, Arrival
from hcloud.model.workload import JobKind, Jobs, Workload
from hcloud.planning.reports.journeys import BATCH, SERVICE, Journey, journeys_of
from hcloud.readers.workloads.entry import read_source, read_workload
from hcloud.readers.workloads.formats.jobs_table import Draft, finish
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile, open_source, spooled
from hcloud.store.journal import JournalContents
from hcloud.store.live_journal import read_whole

FORMAT = "journal"
Vectors = dict[str, tuple[int, ...]]
_KINDS = {BATCH: JobKind.BATCH, SERVICE: JobKind.SERVICE}


def read_trace(
    path: Path, fmt: str, options: WorkloadOptions, progress: Callable[[float], None] | None = None
) -> Workload:
    """The workload in a file, a folder or standard input: a trace in any format, or the jobs of a journal. Raises
    InputError where it is none."""
    if fmt != "auto" or path.is_dir():
        return read_workload(path, fmt, options, progress)
    with spooled(path) as (file, name):
        source = open_source(file, name)
        found = sort_of(source.head)
        if found is not None and found.name == "a journal":
            return jobs_of_journal(read_whole(file), source, options)
        return read_source(source, fmt, options, progress)


def jobs_of_journal(
    journal: JournalContents, source: TraceFile, options: WorkloadOptions, so_far: float | None = None
) -> Jobs:
    """Every job that ran to an end: its work is the time that it ran times the share of its performance in isolation.

    In a simulation that share is of all that the job ran. In life a job begins anew on its next machine, and the share
    is of the last time; kind and application are those of its order. An application has the vector of its first job.
    With ``so_far`` a job that still runs counts as if it ended then.
    """
    arrivals = [entry for entry in journal.events if isinstance(entry, Arrival)]
    journeys = list(journeys_of(journal.lines))
    if so_far is not None:
        _cut_short(journeys, so_far)
    named = [j.app for j in journeys]
    apps = sorted(set(named) - {""})
    draft = Draft(
        source.name,
        FORMAT,
        source.digest(),
        np.array([j.arrived for j in journeys]),
        np.array([_work(j) for j in journeys]),
        cores=np.array([a.ask / 1000 for a in arrivals]),
        memory=np.array([a.memory / 1024 for a in arrivals]),
        kind=np.array([_KINDS[j.kind] for j in journeys], np.int8),
        app=np.array([apps.index(app) if app else -1 for app in named], np.int32),
        apps=tuple(apps),
        ids=np.array([j.job.encode() for j in journeys]),
        rows=len(journeys),
    )
    _leave_out(draft, journeys)
    causes, tolerates = _vectors(arrivals, named)
    return replace(finish(draft, options), vectors=causes, tolerates=tolerates)


def _cut_short(journeys: list[Journey], at: float) -> None:
    for journey in journeys:
        if journey.began is not None and journey.ended is None:
            journey.ended = journey.stays[-1].end = max(at, journey.began)


def _leave_out(draft: Draft, journeys: list[Journey]) -> None:
    """Jobs of which it is not known how long they take."""
    ended = np.array([j.ended is not None for j in journeys], np.bool_)
    began = np.array([j.began is not None for j in journeys], np.bool_)
    draft.keep(began, "never began: refused, cancelled, or still waiting")
    draft.keep(ended[began], "had not ended when the journal did")


def _work(journey: Journey) -> float:
    if journey.kind == SERVICE:
        return sum(stay.ran for stay in journey.stays)  # it serves on every machine that it is on
    return journey.ran * (1.0 if journey.performance is None else journey.performance)


def _vectors(arrivals: Iterable[Arrival], apps: Iterable[str]) -> tuple[Vectors, Vectors]:
    """What applications cause, and what they tolerate where that was told apart."""
    causes: Vectors = {}
    tolerates: Vectors = {}
    for arrival, app in zip(arrivals, apps, strict=True):
        vector, borne = arrival.true_vector or arrival.vector, arrival.true_tolerates or arrival.tolerates
        if app and app not in causes and vector != UNKNOWN:
            causes[app] = vector
            tolerates |= {} if borne is None else {app: borne}
    return causes, tolerates

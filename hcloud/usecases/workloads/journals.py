"""A journal as a workload: the jobs that came, to be run again under other strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hcloud.model.files import sort_of
from hcloud.model.running.decision import Entry
from hcloud.model.running.note import Note
from hcloud.model.workload import Jobs, Modelled, Workload
from hcloud.planning.reports.journeys import in_time
from hcloud.readers.workloads.entry import read_source, read_workload
from hcloud.readers.workloads.formats.jobs.jobs_table import Draft, finish
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.requiring import requiring
from hcloud.readers.workloads.source import TraceFile, open_source, spooled
from hcloud.store.journals.entries import entries_of
from hcloud.store.journals.journal import refusing_impossible
from hcloud.units import counted
from hcloud.usecases.workloads.journal_jobs import JournalJobs

FORMAT = "journal"


def read_trace(
    path: Path, fmt: str, options: WorkloadOptions, progress: Callable[[float], None] | None = None
) -> Workload:
    """The workload in a file, a folder or standard input: a trace in any format, or the jobs of a journal; of these
    what is asked for by what they require. Raises InputError where it is none."""
    return requiring(_read_trace(path, fmt, options, progress), options.requires)


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

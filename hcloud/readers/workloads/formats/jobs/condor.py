"""HTCondor's jobs as ``condor_history -json`` (or ``condor_q -json``) lists them, an object a job."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from hcloud.model.workload import Jobs
from hcloud.readers.workloads.formats.jobs.json_text import json_objects
from hcloud.readers.workloads.formats.jobs.recorded import NOT_BEGUN, CellError, RecordedJob, Recorder
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress

FORMAT = "condor"
ON_SUBMIT = "runs on the machine that submits (scheduler or local universe)"
_STILL = "still running: counted up to the newest time in the list"
_NO_CPUS, _NO_QDATE = "no RequestCpus: 1 CPU, as HTCondor gives", "no QDate: submitted when it began"
_NO_TOTAL = "no RemoteWallClockTime: counted from the last start to the end"
_NO_UNIVERSE = "no JobUniverse: taken for jobs that run in the pool"
_RUNNING = 2
_ON_SUBMIT, _PARALLEL = (7, 12), 11
"""Universes of jobs."""
_ROUNDED = 2.0  # seconds by which the time of a run and its begin and end differ
_MIB = 1024.0
_MOST = 1e18  # ours
_EXPRESSION = "/Expr("


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs that began, with the CPUs and the memory that they asked for; runs before the last one count too."""
    recorder = Recorder(source, FORMAT, options)
    for number, job in enumerate(json_objects(source, progress=progress), 1):
        recorder.take(f"job {number}", _runs({key.lower(): value for key, value in job.items()}, recorder))
    return recorder.jobs()


def _runs(job: Mapping[str, object], recorder: Recorder) -> Iterator[RecordedJob | str]:
    start = _first(job, "JobCurrentStartDate", "JobStartDate")
    if not start or _number(job, "JobUniverse") in _ON_SUBMIT:
        yield ON_SUBMIT if start else NOT_BEGUN
        return
    last, before = _last_run(job, start, recorder)
    whole = _run(job, start, last, recorder)
    if before > _ROUNDED:
        yield replace(whole, start=_first(job, "JobStartDate", "QDate"), duration=before)
    yield whole


def _last_run(job: Mapping[str, object], start: float, recorder: Recorder) -> tuple[float, float]:
    """How long the last run took (NaN: it still runs) and those before it together, by the time of all that ended."""
    total, is_over = _first(job, "RemoteWallClockTime"), _needed(job, "JobStatus") != _RUNNING
    end = _first(job, "CompletionDate", "EnteredCurrentStatus") if is_over else start
    recorder.newest = max(recorder.newest, end, _first(job, "ServerTime"))
    if end < start:
        raise CellError("CompletionDate", f"{end:.0f}", f"a time from the start on, {start:.0f}")
    if not is_over:
        recorder.repair(_STILL)
        return math.nan, total
    recorder.repair(_NO_TOTAL, int(not total))
    last = min(end - start, total or math.inf)  # a job that was held or removed had ended before
    return last, total - last


def _run(job: Mapping[str, object], start: float, duration: float, recorder: Recorder) -> RecordedJob:
    hosts = _needed(job, "MaxHosts") if _number(job, "JobUniverse") == _PARALLEL else 1.0
    cpus, memory = _first(job, "RequestCpus", "CpusProvisioned"), _first(job, "RequestMemory", "MemoryProvisioned")
    queued = _first(job, "QDate")
    for why, value in ((_NO_CPUS, cpus), (_NO_QDATE, queued), (_NO_UNIVERSE, _number(job, "JobUniverse"))):
        recorder.repair(why, int(not value))
    return RecordedJob(
        f"{_needed(job, 'ClusterId'):.0f}.{_needed(job, 'ProcId'):.0f}",
        min(queued, start) if queued else start,
        start,
        duration,
        hosts * (cpus or 1.0),
        hosts * memory / _MIB if memory else math.nan,
        hosts * _first(job, "RequestGPUs", "GPUsProvisioned"),
        str(job.get("jobbatchname") or PurePath(str(job.get("cmd") or "")).name),
        divisible=hosts > 1,
    )


def _first(job: Mapping[str, object], *names: str) -> float:
    """The first of these that is a number above zero, and no expression; 0 where none is."""
    return next((number for name in names if (number := _number(job, name)) > 0), 0.0)


def _needed(job: Mapping[str, object], name: str) -> float:
    if job.get(name.lower()) is None:
        raise CellError(name, "", f"a number; ask condor_history for {name} too")
    return _number(job, name)


def _number(job: Mapping[str, object], name: str) -> float:
    """A number; 0 of what is not there, or an expression."""
    value = job.get(name.lower())
    if value is None or (isinstance(value, str) and value.startswith(_EXPRESSION)):
        return 0.0
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise CellError(name, str(value), "a number from 0 on")
    return float(value)

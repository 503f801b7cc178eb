"""Accounting logs of PBS and Torque: records of which those of jobs that began, ended or ran again are read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from hcloud.model.workload import Jobs
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats.jobs.recorded import (
    NOT_BEGUN,
    CellError,
    RecordedJob,
    Recorder,
    number_of,
    seconds_of,
    told_lines,
)
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import memory_of
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress

FORMAT = "pbs"
ARRAY = "an array as a whole, whose jobs are listed"
_RECORD = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);(\w);([^;]*);(.*)", re.ASCII)
STOPPED = "no record of their end: counted up to when they were stopped"
_STILL = "no record of their end: counted up to the newest time in the file"
_BEGAN, _QUEUED, _OVER, _STOPPED = "S", "Q", ("E", "R"), ("A", "D")
"""The records of a job that began, was queued, ended or ran to be run again, or was aborted or deleted;
others are of no run."""
_PAIR = re.compile(r"(?:^| )([\w.]+)=(\S*)", re.ASCII)
_LOCAL = "%m/%d/%Y %H:%M:%S"
_SLOTS = re.compile(r"/(\d{1,9})(?:-(\d{1,9}))?(?:\*(\d{1,9}))?", re.ASCII)


class _Record(NamedTuple):
    """A line: where it stands, what sort of record it is, the job and what is said of it."""

    where: str
    at: str
    kind: str
    job: str
    said: str


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs that began, from their start to their end, with the CPUs and the memory that they asked for."""
    recorder = Recorder(source, FORMAT, options)
    open_ones, stopped, ended = dict[str, _Record](), dict[str, _Record](), set[str]()
    for record in _records(source, recorder, progress):
        if record.kind in _OVER:
            begun = open_ones.pop(record.job, record)
            ended.add(record.job)
            recorder.take(record.where, _job(record, recorder, begun))
        elif record.kind in _STOPPED:
            stopped[record.job] = record._replace(said="")
        elif record.kind == _BEGAN or (record.kind == _QUEUED and record.job not in ended):
            open_ones[record.job] = record
            stopped.pop(record.job, None)
    for record in open_ones.values():
        recorder.take(record.where, _job(stopped.get(record.job, record), recorder, record))
    return recorder.jobs()


def _records(source: TraceFile, recorder: Recorder, progress: Progress | None) -> Iterator[_Record]:
    for number, line in told_lines(source, progress):
        text = line.strip()
        if found := _RECORD.fullmatch(text):
            yield _Record(f"line {number}", *found.groups())
        else:
            recorder.findings.add(f"line {number}", shown(text), "a record: 11/28/2026 10:00:00;E;123.server;user=...")


def _job(record: _Record, recorder: Recorder, begun: _Record) -> Iterator[RecordedJob | str]:
    """The job that ended, or that began and has no record of its end."""
    words, is_over = dict(_PAIR.findall(record.said)), record.kind in (*_OVER, *_STOPPED)
    if "[]" in record.job:
        yield ARRAY
        return
    if "start" not in words and "start" in (begin := dict(_PAIR.findall(begun.said))):
        words = {**begin, "end": _stopped(begin["start"], begun.at, record.at)}
        recorder.repair(STOPPED)
    start, end = (seconds_of(key, words.get(key, "")) for key in ("start", "end"))
    if not start > 0:
        yield NOT_BEGUN
        return
    if is_over and not end >= start:
        raise CellError("end", words.get("end", ""), "a time from the start on")
    recorder.repair(_STILL, int(not is_over))
    recorder.newest = max(recorder.newest, end if is_over else start)
    cores = _cores(words)
    queued = seconds_of("qtime", words.get("qtime") or words.get("ctime") or "")
    yield RecordedJob(
        record.job.partition(".")[0],
        start if math.isnan(queued) else min(queued, start),
        start,
        end - start if is_over else math.nan,
        cores,
        _memory(words, cores),
        _number(words, "Resource_List.ngpus"),
        words.get("jobname", ""),
        words.get("queue", ""),
        divisible=_number(words, "Resource_List.nodect", "unique_node_count") > 1,
    )


def _stopped(start: str, began: str, stopped: str) -> str:
    """The end of a run, by the local times at which records of its begin and of what stopped it were written."""
    try:
        took = datetime.strptime(stopped, _LOCAL) - datetime.strptime(began, _LOCAL)
    except ValueError:
        raise CellError("time", stopped, "a time as 11/28/2026 10:00:00") from None
    return f"{seconds_of('start', start) + max(took.total_seconds(), 0.0):.0f}"


def _cores(words: Mapping[str, str]) -> float:
    """The CPUs that a job asked for, or (Torque, which may ask for nodes) the slots that it was given."""
    asked = _number(words, "total_execution_slots", "Resource_List.ncpus")
    slots = _SLOTS.findall(words.get("exec_host", ""))
    given = sum(int(times or 1) * (int(last) - int(first) + 1 if last else 1) for first, last, times in slots)
    if not asked and not given:
        raise CellError("Resource_List.ncpus", "", "the CPUs of a job that began")
    return max(asked, float(given))


def _memory(words: Mapping[str, str], cores: float) -> float:
    """GiB of the whole job, else of each process; NaN where it asked for none."""
    if "Resource_List.mem" in words:
        return _gib("Resource_List.mem", words["Resource_List.mem"])
    return (
        _gib("Resource_List.pmem", words["Resource_List.pmem"]) * cores if "Resource_List.pmem" in words else math.nan
    )


def _gib(column: str, text: str) -> float:
    amount = text.rstrip("wW")  # words of 8 bytes
    found = memory_of(amount, 2**30)
    if found is None:
        raise CellError(column, text, "a size as 16gb, 4000mb or 1048576kb")
    return found * (1 if amount == text else 8) / 2**30


def _number(words: Mapping[str, str], *names: str) -> float:
    """The first of these that is there; 0 where none is."""
    return next((number_of(name, words[name]) for name in names if words.get(name)), 0.0)

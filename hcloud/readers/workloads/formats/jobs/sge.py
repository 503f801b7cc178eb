"""Accounting of Grid Engine (SGE and its heirs): its file, separated by colons, and the blocks of ``qacct -j``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from hcloud.model.workload import Jobs
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats.jobs.recorded import (
    NOT_BEGUN,
    CellError,
    RecordedJob,
    Recorder,
    number_of,
    told_lines,
)
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress

FORMAT = "sge"
TASK = "a task of a parallel job that is listed"
_PLACES = {
    "qname": 0, "jobname": 4, "jobnumber": 5, "qsub_time": 8, "start_time": 9, "end_time": 10, "granted_pe": 33,
    "slots": 34, "taskid": 35, "category": 39, "pe_taskid": 41,
}  # fmt: skip
"""Where each field, by its name in ``qacct -j``, stands in a line of the file."""
_LEAST = 40
_NONE = ("", "none", "undefined", "0")
_MS = 1e11  # later versions write milliseconds
_DATES = ("%a %b %d %H:%M:%S %Y", "%m/%d/%Y %H:%M:%S.%f", "%m/%d/%Y %H:%M:%S")
_ASKED = re.compile(r"\b(?:h_vmem|mem_free|m_mem_free|h_rss)=([\d.]+)([KMGTkmgt]?)\b")
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
"""Of each letter: https://manpath.be/f7/5/sge_queue_conf, read 2026-11-29."""
_TASK_ID = re.compile(r"\d+\.[\w.-]+")
_ON_ONE = re.compile(r"(?i)smp|shm|thread|openmp(?!i)|\bomp|serial|single|make")
"""Names of environments whose slots are on one server."""


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs that began, from their start to their end, with their slots and the memory that they asked for."""
    recorder = Recorder(source, FORMAT, options)
    records = _blocks if source.head.lstrip().startswith(b"=") else _lines
    lines = ((number, line.strip()) for number, line in told_lines(source, progress) if not line.startswith("#"))
    for number, words in records(lines, recorder):
        recorder.take(f"line {number}", _job(words, recorder))
    return recorder.jobs()


def _lines(lines: Iterator[tuple[int, str]], recorder: Recorder) -> Iterator[tuple[int, dict[str, str]]]:
    for number, line in lines:
        cells = line.split(":")
        if len(cells) >= _LEAST:
            words = {name: cells[at] for name, at in _PLACES.items() if at < len(cells)}
            yield number, words | {"category": ":".join(cells[_PLACES["category"] :])}  # h_rt=24:00:00 in it too
        else:
            recorder.findings.add(f"line {number}", shown(line), f"a job: {_LEAST} fields or more, separated by colons")


def _blocks(lines: Iterator[tuple[int, str]], _: Recorder) -> Iterator[tuple[int, dict[str, str]]]:
    """The fields of each job; below the last stands a sum of all, which is none."""
    begin, words = 0, dict[str, str]()
    for number, line in lines:
        if line.startswith("==="):
            yield from [(begin, words)] if "qname" in words else []
            begin, words = number, {}
        name, _space, value = line.partition(" ")
        words.setdefault(name, value.strip())
    yield from [(begin, words)] if "qname" in words else []


def _job(words: Mapping[str, str], recorder: Recorder) -> Iterator[RecordedJob | str]:
    if _TASK_ID.fullmatch(words.get("pe_taskid", "")):
        yield TASK
        return
    submit, start, end = (_moment(name, words, recorder) for name in ("qsub_time", "start_time", "end_time"))
    if math.isnan(start):
        yield NOT_BEGUN
        return
    if not end >= start:
        raise CellError("end_time", words.get("end_time", ""), "a time from the start on")
    slots, task = number_of("slots", words.get("slots", "")), words.get("taskid", "")
    if not slots > 0:
        raise CellError("slots", words.get("slots", ""), "a number above 0")
    environment = words.get("granted_pe", "")
    yield RecordedJob(
        words.get("jobnumber", "") + ("" if task.lower() in _NONE else f".{task}"),
        start if math.isnan(submit) else min(submit, start),
        start,
        end - start,
        slots,
        _memory(words.get("category", ""), slots),
        app=words.get("jobname", ""),
        qos=words.get("qname", ""),
        divisible=slots > 1 and environment.lower() not in _NONE and not _ON_ONE.search(environment),
    )


def _moment(name: str, words: Mapping[str, str], recorder: Recorder) -> float:
    """Unix seconds; NaN of what did not happen, which is 0 or -/-."""
    text = words.get(name, "")
    if text in ("", "0", "-/-"):
        return math.nan
    for form in () if text.isdecimal() else _DATES:
        with suppress(ValueError):
            text = datetime.strptime(text, form).isoformat()
    moment = recorder.seconds(name, text)
    return moment / 1000 if moment > _MS else moment


def _memory(category: str, slots: float) -> float:
    """GiB: what was asked for each slot."""
    asked = _ASKED.search(category)
    return number_of("category", asked[1]) * _BYTES[asked[2]] / 2**30 * slots if asked else math.nan

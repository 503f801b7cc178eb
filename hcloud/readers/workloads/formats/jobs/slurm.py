"""Slurm's accounting: ``sacct -P`` and ``sacct --json``, and the file of jobcomp/filetxt."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from hcloud.errors import InputError
from hcloud.model.workload import Jobs, Modelled
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats.jobs.json_text import json_objects
from hcloud.readers.workloads.formats.jobs.recorded import (
    MANY,
    NOT_BEGUN,
    CellError,
    RecordedJob,
    Recorder,
    elapsed_of,
    gib_of,
    number_of,
    told_lines,
)
from hcloud.readers.workloads.formats.json_parts import object_in, objects_in
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress

FORMAT = "slurm"
COMMAND = (
    "sacct -P -X -D -a -S now-60days"
    " -o JobID,JobName,Submit,Start,End,Elapsed,AllocCPUS,ReqMem,NNodes,AllocTRES,QOS,State"
)
"""What to ask Slurm for."""
STEP = "a step of a job that is listed"
SEPARATORS = "|;\t,"
"""What separates columns: sacct's own first, then what ``--delimiter`` and spreadsheets make of it."""
_IDS, _CPUS = {"jobid", "jobidraw"}, {"alloccpus", "ncpus", "reqcpus", "alloctres", "reqtres"}
_STILL_UNTOLD = "still running, without Elapsed: counted up to the newest time in the file"
_STILL = "still running: counted up to the moment of the listing"
_CHANGE = 3600.0  # seconds: by so much local time is changed twice a year, and sacct tells no zone
_CHANGED = "ran while the local time of the file was changed by an hour: counted by Elapsed"
_PUT_BACK = "began before their submission, as local time was put back: submitted when they began"
_PAIR = re.compile(r"(\w+)=(.*?)(?= \w+=|$)")
_SUFFIX = re.compile(r"(.*?)([nc]?)")
_GPUS = re.compile(r"gres/gpu(?::[^=,]*)?=(\d+)")


def is_sacct(names: Collection[str]) -> bool:
    """Whether a header is of sacct's table, whatever separates its columns: by the names that only sacct has."""
    known = {name.strip().lower() for name in names}
    return bool(known & _IDS and known & _CPUS and {"start", "state", "elapsed", "elapsedraw", "end"} & known)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Jobs that began, from their start to their end, with the CPUs and the memory that they were given."""
    recorder = Recorder(source, FORMAT, options)
    lines = told_lines(source, progress)
    if source.head.lstrip().startswith(b"{"):
        for number, job in enumerate(json_objects(source, "jobs", progress), 1):
            recorder.take(f"job {number}", _row(_cells(job), recorder))
    elif source.head.lstrip().startswith(b"JobId="):
        _read_filetxt(lines, recorder)
    else:
        _read_table(source.name, lines, recorder)
    return recorder.jobs()


def _read_table(file: str, lines: Iterator[tuple[int, str]], recorder: Recorder) -> None:
    names: list[str] = []
    separator = SEPARATORS[0]
    for number, text in lines:
        if not names:
            separator = max(SEPARATORS, key=text.count)
            told = [name.strip() for name in _cells_of(text.rstrip(separator), separator)]
            names = [name.lower() for name in told]
            recorder.named = dict(zip(names, told, strict=True))
            _check_header(file, names)
            if not {"submit", "eligible"} & set(names):
                recorder.assume(Modelled("submit", "the start: the table has no column Submit", "fixed"))
            continue
        cells = _cells_of(text, separator)
        cells = cells[: len(names)] if len(cells) == len(names) + 1 and not cells[-1] else cells
        if len(cells) != len(names):
            said = f"{len(cells)} cells for {len(names)} columns"
            recorder.findings.add(f"line {number}", said, _A_CELL.get(separator, _A_CELL["|"]))
            recorder.rows += 1
            continue
        recorder.take(f"line {number}", _row(dict(zip(names, cells, strict=True)), recorder))


_A_CELL = {
    "|": "a cell a column; leave JobName out where it holds a '|'",
    ",": "a cell a column; AllocTRES holds commas: ask with sacct -P, which separates by '|'",
}


def _cells_of(text: str, separator: str) -> list[str]:
    """The cells of a line; of another separator than sacct's own they may be quoted."""
    if separator == SEPARATORS[0] or '"' not in text:
        return text.split(separator)
    return next(csv.reader([text], delimiter=separator))


def _check_header(file: str, names: list[str]) -> None:
    times = {"submit": ("submit", "start", "eligible"), "duration": ("end", "elapsed", "elapsedraw")}
    cpus = ("alloccpus", "ncpus", "reqcpus", "alloctres")
    wanted = {"start": ("start",), **times, "cores": cpus}
    missing = [names_of[0] for names_of in wanted.values() if not set(names_of) & set(names)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{file}: sacct's list has the column {twice[0]} {names.count(twice[0])} times")
    if missing:
        raise InputError(f"{file}: sacct's list has no column {' and '.join(missing)}", hint=f"ask for them: {COMMAND}")


def _row(cells: Mapping[str, str], recorder: Recorder) -> Iterator[RecordedJob | str]:
    """A line of the table, or of the other file with names as there."""
    name = cells.get("jobid") or cells.get("jobidraw") or ""
    if not name.strip():
        raise CellError("JobID", name, "the id of a job")
    if "." in name:  # 101.batch, 102_1.0, of a heterogeneous job 103+0.batch
        yield STEP
        return
    start = recorder.seconds("Start", cells.get("start", ""))
    if math.isnan(start):
        yield NOT_BEGUN
        return
    submit = recorder.seconds("Submit", cells.get("submit") or cells.get("eligible") or "")
    if submit > start:
        recorder.repair(_PUT_BACK)
        submit = start
    end = recorder.seconds("End", cells.get("end", ""))
    recorder.newest = max(recorder.newest, start, end)
    tres = cells.get("alloctres") or cells.get("reqtres") or ""
    cores = _first(cells, "alloccpus", "ncpus", "reqcpus")
    cores = cores if cores > 0 else _tres(tres, "cpu")
    if cores <= 0:
        raise CellError("AllocCPUS", cells.get("alloccpus", ""), "the CPUs of a job that began")
    nodes = _first(cells, "nnodes")
    gpus = _GPUS.search(tres)
    recorder.ask("" if gpus else cells.get("constraints", ""))
    yield RecordedJob(
        name.strip(),
        start if math.isnan(submit) else submit,
        start,
        _duration(cells, start, end, recorder),
        cores,
        _memory(cells.get("reqmem", ""), tres, cores, nodes),
        float(gpus[1]) if gpus else 0.0,
        cells.get("jobname", ""),
        cells.get("qos", ""),
        divisible=nodes > 1,
    )


def _duration(cells: Mapping[str, str], start: float, end: float, recorder: Recorder) -> float:
    """How long a job ran: to its end, or by Elapsed where the local time of the file was changed in between."""
    elapsed = elapsed_of("Elapsed", cells.get("elapsedraw") or cells.get("elapsed") or "")
    if abs(end - start - elapsed) == _CHANGE:
        recorder.repair(_CHANGED)
        return elapsed
    if not math.isnan(end):
        if end < start:
            raise CellError("End", cells["end"], f"not before the start, {cells.get('start')}")
        return end - start
    recorder.repair(_STILL_UNTOLD if math.isnan(elapsed) else _STILL)
    return elapsed


def _first(cells: Mapping[str, str], *names: str) -> float:
    """The first of these columns that holds a number above zero; 0 where none does."""
    for name in names:
        value = number_of(name, cells.get(name, ""))
        if value > 0:
            return value
    return 0.0


def _tres(tres: str, what: str) -> float:
    found = re.search(rf"(?:^|,){what}=(\d+)", tres)
    return float(found[1]) if found else 0.0


@lru_cache(MANY)
def _memory(requested: str, tres: str, cores: float, nodes: float) -> float:
    """GiB of all of a job: what was allocated, else what was asked for, a CPU (``c``) or a node (``n``) or in all."""
    given = re.search(r"(?:^|,)mem=([^,]+)", tres)
    if given:
        return gib_of("AllocTRES", given[1])
    amount, per = (_SUFFIX.fullmatch(requested.strip()) or _SUFFIX.fullmatch("")).groups()  # type: ignore[union-attr]
    if per == "n" and nodes <= 0:
        raise CellError("ReqMem", requested, "memory a node: ask sacct for NNodes too")
    return gib_of("ReqMem", amount) * {"c": max(cores, 1.0), "n": max(nodes, 1.0)}.get(per, 1.0)


def _read_filetxt(lines: Iterator[tuple[int, str]], recorder: Recorder) -> None:
    """Lines of ``Name=value`` words; what is written there is what jobs asked for and got when they ended."""
    names = {"jobid": "jobid", "name": "jobname", "submittime": "submit", "starttime": "start", "endtime": "end"}
    more = {"proccnt": "alloccpus", "nodecnt": "nnodes", "tres": "alloctres", "qos": "qos"}
    for number, text in lines:
        words = {key.lower(): value for key, value in _PAIR.findall(text)}
        if "jobid" not in words or "endtime" not in words:
            recorder.findings.add(f"line {number}", shown(text), "a job of jobcomp/filetxt: JobId=... EndTime=...")
            recorder.rows += 1
            continue
        cells = {mine: words[theirs] for theirs, mine in (names | more).items() if theirs in words}
        if "submittime" not in words:
            recorder.repair("without SubmitTime: submitted when it began")
        if words.get("arrayjobid") and words.get("arraytaskid"):
            cells["jobid"] = f"{words['arrayjobid']}_{words['arraytaskid']}"
        recorder.take(f"line {number}", _row(cells, recorder))


def _cells(job: Mapping[str, object]) -> Mapping[str, str]:
    """The columns of the table for a job of the JSON, whichever version of the data parser wrote it."""
    time, wanted = object_in(job, "time"), object_in(job, "required")
    words = [_tres_word(one) for one in objects_in(object_in(job, "tres"), "allocated")]
    a_cpu, a_node = _number(wanted.get("memory_per_cpu")), _number(wanted.get("memory_per_node"))
    nodes = _number(job.get("allocation_nodes"))
    array = object_in(job, "array")
    task = _number(array.get("task_id"))
    name = str(_number(job.get("job_id")) or job.get("job_id") or "")
    if _number(array.get("job_id")) and task is not None:
        name = f"{_number(array.get('job_id'))}_{task}"
    return {
        "jobid": name,
        "jobname": str(job.get("name") or ""),
        "qos": str(job.get("qos") or ""),
        "constraints": str(job.get("constraints") or ""),
        "submit": _moment(time.get("submission")),
        "start": _moment(time.get("start")),
        "end": _moment(time.get("end")),
        "elapsedraw": str(_number(time.get("elapsed")) or ""),
        "reqcpus": str(_number(wanted.get("CPUs")) or ""),
        "reqmem": f"{a_cpu}Mc" if a_cpu else f"{a_node}Mn" if a_node else "",
        "nnodes": str(nodes or ""),
        "alloctres": ",".join(words),
    }


def _tres_word(one: Mapping[str, object]) -> str:
    """``{"type": "mem", "count": 1024}`` as sacct's table writes it; memory is in MiB there."""
    kind, name, count = str(one.get("type")), one.get("name"), _number(one.get("count"))
    named = f"{kind}/{name}" if name else kind
    return f"{named}={count}M" if kind == "mem" else f"{named}={count}"


def _number(value: object) -> int | None:
    """A number as it stands, or as later versions wrap it: ``{"set": true, "infinite": false, "number": 4}``."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) and not value.get("infinite") else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _moment(value: object) -> str:
    """Unix seconds; nothing for a time that has not come (0)."""
    return str(_number(value) or "")

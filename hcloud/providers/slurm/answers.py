"""What Slurm's commands answer in JSON, as values: the fields differ between versions of its data parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hcloud.model.json_text import parsed
from hcloud.providers.slurm.site import PARKED_SECONDS

PLUGIN = "data_parser"
"""Up to 22.05 the OpenAPI plugin wrote the fields (v0.0.38), later a data parser of its own version (from 23.11 on
v0.0.40): numbers became objects that can say "not set" and "infinite", and states became lists."""
INFINITE_32, NO_VALUE_32 = 0xFFFFFFFF, 0xFFFFFFFE
_UNITS: Mapping[str, float] = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0 * 1024, "": 1.0}
_AMOUNT = re.compile(r"([0-9.]+)([KMGT]?)")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


class AnswerError(ValueError):
    """An answer that says it failed, or that nobody can read."""


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job as Slurm tells it; ``id`` is NUMBER, or NUMBER_TASK for a task of an array. ``held`` says that its
    priority is 0, or that it is ``parked``: it may not begin before a time far ahead that job_submit.lua set.
    ``memory`` is in MiB and ``minutes`` its time limit. Times are in seconds since 1970, 0 for never."""

    id: str
    partition: str
    state: str
    reason: str = ""
    held: bool = False
    parked: bool = False
    priority: int = 0
    cpus: int = 1
    memory: int = 0
    node_count: int = 1
    minutes: int | None = None
    nice: int = 0
    restarts: int = 0
    requeue: bool = False
    code: int = 0
    signal: int = 0
    submit: float = 0.0
    eligible: float = 0.0
    start: float = 0.0
    end: float = 0.0
    nodes: str = ""
    required: str = ""
    name: str = ""
    user: str = ""
    directory: str = ""
    command: str = ""
    comment: str = ""
    admin_comment: str = ""
    dependency: str = ""
    heterogeneous: bool = False


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A node as Slurm tells it: its base state and flags in capitals."""

    name: str
    state: str
    flags: frozenset[str]
    reason: str = ""
    comment: str = ""


def answer(text: str) -> dict[str, Any]:
    """The document; AnswerError where it says that it failed. squeue of 22.05 ends with 0 and an empty list of jobs
    where slurmctld does not answer, and only ``errors`` says so."""
    try:
        found = parsed(text)
    except ValueError as error:
        raise AnswerError(f"no JSON: {error}") from None
    if not isinstance(found, dict):
        raise AnswerError("no JSON object")
    if errors := found.get("errors"):
        said = "; ".join(str(e.get("description") or e.get("error")) for e in errors if isinstance(e, dict))
        raise AnswerError(said or "an error without words")
    return found


def parser_of(document: Mapping[str, Any]) -> str:
    """The version of the parser that wrote a document, as v0.0.38."""
    plugin = document.get("meta", {}).get("plugin", {})
    word = str(plugin.get(PLUGIN) or plugin.get("type") or "")
    return word.rpartition("/")[2]


def jobs_of(text: str) -> tuple[SlurmJob, ...]:
    """The jobs of an answer of squeue; each task of an array by itself."""
    document = answer(text)
    rows = document.get("jobs")
    if not isinstance(rows, list):
        raise AnswerError("no list of jobs")
    try:
        return tuple(job for row in rows for job in _tasks(row))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AnswerError(f"a job of parser {parser_of(document) or '?'} cannot be read: {error!r}") from None


def nodes_of(text: str) -> tuple[SlurmNode, ...]:
    """The nodes of an answer of sinfo (22.05) or of scontrol show nodes (from 23.02 on)."""
    document = answer(text)
    rows = document.get("nodes")
    rows = rows.get("nodes") if isinstance(rows, dict) else rows
    if not isinstance(rows, list):
        raise AnswerError("no list of nodes")
    try:
        return tuple(_node(row) for row in rows)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AnswerError(f"a node of parser {parser_of(document) or '?'} cannot be read: {error!r}") from None


def number(value: Any) -> int | None:
    """A number of either form; None where it is not set or has no end."""
    if isinstance(value, dict):
        return int(value["number"]) if value.get("set") and not value.get("infinite") else None
    if value is None or value in (INFINITE_32, NO_VALUE_32):
        return None
    return int(value)


def _words(value: Any) -> tuple[str, ...]:
    """A state or flags of either form: a word, words joined by +, or a list."""
    listed = value if isinstance(value, list) else str(value or "").replace("+", " ").split()
    return tuple(str(word).upper() for word in listed)


def _exit(value: Any) -> tuple[int, int]:
    """Exit code and signal: one number as wait() tells them, or two fields."""
    if isinstance(value, dict):
        signal = value.get("signal") or {}
        return number(value.get("return_code")) or 0, number(signal.get("id", signal.get("signal_id"))) or 0
    status = number(value) or 0
    return status >> 8, status & 0x7F


def mebibytes(text: str) -> int:
    """An amount of memory as Slurm writes it (1000M, 1.50G), in MiB."""
    found = _AMOUNT.fullmatch(text)
    return round(float(found[1]) * _UNITS[found[2]]) if found else 0


def _resources(row: Mapping[str, Any]) -> dict[str, str]:
    asked = row.get("tres_req_str") or row.get("tres_alloc_str") or ""
    return dict(pair.split("=", 1) for pair in asked.split(",") if "=" in pair)


def _tasks(row: Mapping[str, Any]) -> Iterator[SlurmJob]:
    """The job of a row; of an array of which no task was split off yet, its tasks."""
    one = _job(row)
    array, task = number(row.get("array_job_id")) or 0, number(row.get("array_task_id"))
    if not array:
        yield one
    elif task is not None:
        yield _of_task(one, array, task)
    else:
        for each in task_numbers(row.get("array_task_string") or ""):
            yield _of_task(one, array, each)


def _of_task(job: SlurmJob, array: int, task: int) -> SlurmJob:
    return replace(job, id=f"{array}_{task}")


def task_numbers(text: str) -> tuple[int, ...]:
    """The tasks of an array as Slurm writes them: 0,2,5-9:2%3 (how many at once is Slurm's business)."""
    found: list[int] = []
    for part in text.partition("%")[0].split(","):
        if match := _RANGE.fullmatch(part.strip()):
            last = int(match[2] or match[1])
            found += range(int(match[1]), last + 1, int(match[3] or 1))
    return tuple(found)


def _job(row: Mapping[str, Any]) -> SlurmJob:
    states, asked = _words(row["job_state"]), _resources(row)
    priority, times = number(row.get("priority")) or 0, _times(row)
    parked = priority > 0 and times["eligible"] - times["submit"] > PARKED_SECONDS / 2
    code, signal = _exit(row.get("exit_code"))
    return SlurmJob(
        id=str(number(row["job_id"])),
        partition=str(row.get("partition") or ""),
        state=states[0] if states else "UNKNOWN",
        reason=str(row.get("state_reason") or ""),
        held=parked or number(row.get("priority")) == 0,
        parked=parked,
        priority=priority,
        cpus=int(asked.get("cpu") or number(row.get("cpus")) or 1),
        memory=mebibytes(asked.get("mem", "")),
        node_count=int(asked.get("node") or number(row.get("node_count")) or 1),
        minutes=number(row.get("time_limit")),
        nice=number(row.get("nice")) or 0,
        restarts=number(row.get("restart_cnt")) or 0,
        requeue=bool(row.get("requeue")),
        code=code,
        signal=signal,
        **times,
        **_texts(row),
        heterogeneous=bool(number(row.get("het_job_id"))),
    )


def _times(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {"submit": "submit_time", "eligible": "eligible_time", "start": "start_time", "end": "end_time"}
    return {name: float(number(row.get(field)) or 0) for name, field in fields.items()}


def _texts(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "nodes": "nodes", "required": "required_nodes", "name": "name", "user": "user_name", "command": "command",
        "directory": "current_working_directory", "comment": "comment", "admin_comment": "admin_comment",
        "dependency": "dependency",
    }  # fmt: skip
    return {name: str(row.get(field) or "") for name, field in fields.items()}


def _node(row: Mapping[str, Any]) -> SlurmNode:
    states = (*_words(row["state"]), *_words(row.get("state_flags")))
    return SlurmNode(
        name=str(row["name"]),
        state=states[0],
        flags=frozenset(states[1:]),
        reason=str(row.get("reason") or ""),
        comment=str(row.get("comment") or ""),
    )

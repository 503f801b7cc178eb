"""dags.json: batch jobs as graphs of tasks; and runs.json: what each took last. All problems of a file at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from json import JSONDecodeError
from pathlib import Path

from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.harvest.tasks.dags import Dag, Vertex, in_order
from hcloud.model.json_text import DIALECT, closed, parsed
from hcloud.model.running.job_graph import GraphVertex, JobGraph, task_name
from hcloud.readers.job_fields import DEFAULT_MEMORY_MIB, FieldError, command_words, identity
from hcloud.readers.stated import NumberWanted, Stated

LARGEST = 64 * 1024 * 1024
MOST_TASKS, MOST_SECONDS, MOST_CORES, MOST_GIB, MOST_JOBS = 1_000_000, 30 * 86_400, 4096, 65_536, 100_000
MOST_LIVE_TASKS = 10_000
"""Ours: each is a process of this machine, and looked at every second or so."""
_JOB, _VERTEX = ("id", "vertices"), ("name", "tasks", "seconds", "cores", "memory_gib", "after", "command")
_JOB_LIVE = ("app", "submit")
_NUMBERS = {
    "tasks": NumberWanted(1, MOST_TASKS, is_whole=True),
    "seconds": NumberWanted(0, MOST_SECONDS, is_above=True),
    "cores": NumberWanted(0, MOST_CORES, 1, is_above=True),
    "memory_gib": NumberWanted(0, MOST_GIB, 0),
}
_SUBMIT = NumberWanted(0, MOST_SECONDS, 0)
_NO_VERTEX = Vertex("-", 1, 1.0, 1.0, 0.0)
"""Stands for those of a job that cannot be read."""
_HINT = '{"format_version": "1.0", "jobs": [{"id": "a", "vertices": [{"name": "map", "tasks": 8, "seconds": 60}]}]}'
_RUNS_HINT = '{"format_version": "1.0", "runs": {"a": 240}}'


def dags_schema() -> Mapping[str, object]:
    """The published schema of dags.json."""
    text = {"type": "string", "minLength": 1}

    def number(most: float) -> dict[str, object]:
        return {"type": "number", "minimum": 0, "maximum": most}

    above = {"exclusiveMinimum": 0}
    vertex = {
        "name": text,
        "tasks": {"type": "integer", "minimum": 1, "maximum": MOST_TASKS, "description": "tasks that are alike"},
        "seconds": {"type": "number", "maximum": MOST_SECONDS, **above, "description": "of each task"},
        "cores": {"type": "number", "maximum": MOST_CORES, **above, "description": "vCPUs of each task; 1 if absent"},
        "memory_gib": {**number(MOST_GIB), "description": "GiB of each task; 0 (not counted) if absent"},
        "after": {"type": "array", "items": text, "description": "vertices that have to be done before"},
        "command": {
            "anyOf": [text, {"type": "array", "minItems": 1, "items": text}],
            "description": "what each task runs, where hcloud operate runs it: HCLOUD_TASK is its number, from 1, and"
            " HCLOUD_TASKS how many there are",
        },
    }
    job = {
        "id": text,
        "vertices": {"type": "array", "minItems": 1, "items": closed(vertex, ("name", "tasks", "seconds"))},
        "app": {**text, "description": "for hcloud operate: the jobs with the same one are runs of one application"},
        "submit": {**number(MOST_SECONDS), "description": "for hcloud operate: seconds after its start; 0 if absent"},
    }
    jobs = {"type": "array", "minItems": 1, "maxItems": MOST_JOBS, "items": closed(job, _JOB)}
    head = {"format_version": {"type": "string", "pattern": "^1[.]"}, "jobs": jobs}
    return {"$schema": DIALECT, "title": "Batch jobs as graphs of tasks", **closed(head, ("jobs",))}


def read_dags(path: Path, *, is_live: bool = False) -> tuple[Dag, ...]:
    """The jobs of a file. InputError with everything that is wrong with it: a cycle, a name that is not there, a number
    out of its range; where they are to be run live also a vertex without a command."""
    reading = _DagReading(str(path), is_live=is_live)
    head = reading.head(_content(path, "file of jobs", _HINT), ("format_version", "jobs"), ("format_version",))
    jobs = head.get("jobs", [])
    if not isinstance(jobs, list) or not 0 < len(jobs) <= MOST_JOBS:
        reading.note("jobs", repr(jobs)[:60], f"a list of 1 to {MOST_JOBS:,} jobs")
        jobs = []
    found = [reading.job(one, f"jobs[{at}]") for at, one in enumerate(jobs)]
    reading.refuse_twice([dag.name for dag in found], "jobs", "id")
    tasks = sum(vertex.tasks for dag in found for vertex in dag.vertices)
    if is_live and tasks > MOST_LIVE_TASKS:
        reading.note("jobs", f"{tasks:,} tasks", f"at most {MOST_LIVE_TASKS:,} in all, where they are run")
    reading.refuse("file of jobs")
    return tuple(found)


def holds_dags(path: Path) -> bool:
    """Whether a file of jobs is one of graphs, by what stands in it."""
    if path.suffix.lower() != ".json" or not path.is_file() or path.stat().st_size > LARGEST:
        return False
    try:
        content = parsed(path.read_bytes().decode("utf-8-sig"))
    except ValueError:
        return False
    jobs = content.get("jobs") if isinstance(content, dict) else None
    stated = isinstance(jobs, list) and any(isinstance(one, dict) and "vertices" in one for one in jobs)
    return stated or (isinstance(content, dict) and "format_version" in content)


def read_runs(path: Path, dags: Sequence[Dag]) -> tuple[Dag, ...]:
    """The same jobs with the seconds that their last runs took, of those that the file names."""
    reading = Stated(str(path))
    head = reading.head(
        _content(path, "file of last runs", _RUNS_HINT), ("format_version", "runs"), ("format_version",)
    )
    runs = head.get("runs", {})
    if not isinstance(runs, dict):
        reading.note("runs", repr(runs)[:60], "seconds by the id of a job")
        runs = {}
    known = {dag.name for dag in dags}
    for name, seconds in runs.items():
        if name not in known:
            reading.note(f"runs.{name}", "no such job", f"an id of the jobs{did_you_mean(str(name), known)}")
        if not _is_number(seconds) or not 0 < seconds <= MOST_SECONDS:
            reading.note(f"runs.{name}", repr(seconds)[:60], f"seconds above 0, to {MOST_SECONDS:,}")
    reading.refuse("file of last runs")
    return tuple(replace(dag, last=float(runs[dag.name])) if dag.name in runs else dag for dag in dags)


def check_sizes(dags: Sequence[Dag], file: str, cores: float, memory: float | None) -> None:
    """InputError for tasks that no server has room for: what the largest has beside its reserve is given, of memory
    where it is known."""
    reading = Stated(file)
    for at, dag in enumerate(dags):
        for place, vertex in enumerate(dag.vertices):
            where = f"jobs[{at}].vertices[{place}]"
            if vertex.cores > cores:
                allowed = f"at most {cores:g}, what the largest server has besides its reserve"
                reading.note(f"{where}.cores", f"{vertex.cores:g}", allowed)
            if memory is not None and vertex.memory_gib > memory:
                allowed = f"at most {memory:g}, what the largest server has besides its reserve"
                reading.note(f"{where}.memory_gib", f"{vertex.memory_gib:g}", allowed)
    reading.refuse("file of jobs")


def _content(path: Path, what: str, example: str) -> object:
    hint = f"write for example {example}"
    if not path.is_file():
        raise UsageError(f"{path}: no such {what}", hint=hint)
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than any {what} ({LARGEST:,} bytes)")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if not text.strip():
            raise InputError(f"{path}: is empty, and no {what}", hint=hint)
        return parsed(text)
    except JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{path}: {where}: not JSON: {error.msg}", hint=hint) from None
    except ValueError as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}", hint=hint) from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(slots=True)
class _DagReading(Stated):
    is_live: bool = False

    def job(self, content: object, where: str) -> Dag:
        stated = self.mapping(content, where, (*_JOB, *_JOB_LIVE), _JOB_LIVE)
        vertices = stated.get("vertices", [])
        if not isinstance(vertices, list) or not vertices:
            self.note(f"{where}.vertices", repr(vertices)[:60], "a list of vertices, one at least")
            vertices = []
        read = [self.vertex(one, f"{where}.vertices[{at}]") for at, one in enumerate(vertices)]
        names = [vertex.name for vertex, _ in read]
        self.refuse_twice(names, f"{where}.vertices", "name")
        after = [self.places(before, names, f"{where}.vertices[{at}].after") for at, (_, before) in enumerate(read)]
        circle = in_order(after)[1]
        if circle:
            told = ", ".join(names[at] for at in circle[:5])
            self.note(f"{where}.vertices", f"a cycle: {told}", "vertices that never wait for themselves")
            after = [() for _ in after]
        made = tuple(replace(vertex, after=before) for (vertex, _), before in zip(read, after, strict=True))
        name, app = self.text(stated, "id", where), self.text({"app": "-", **stated}, "app", where)
        if self.is_live:
            self.check_names(name, made, where)
        submit = self.number(stated, "submit", where, _SUBMIT)
        return Dag(name, made or (_NO_VERTEX,), None, app if "app" in stated else "", submit)

    def check_names(self, job: str, vertices: Sequence[Vertex], where: str) -> None:
        """Tasks are jobs where they are run: each needs a name that one may have."""
        for at, vertex in enumerate(vertices):
            try:
                identity(task_name(job, vertex.name, vertex.tasks))
            except FieldError as error:
                self.note(f"{where}.vertices[{at}]", repr(task_name(job, vertex.name, 1))[:60], f"as a name {error}")

    def command(self, stated: Mapping[str, object], where: str) -> tuple[str, ...]:
        """What the tasks of a vertex run; empty where nothing is stated or it cannot be."""
        if "command" not in stated:
            if self.is_live and stated:
                self.note(f"{where}.command", "missing", "what each task runs: hcloud operate runs them")
            return ()
        try:
            words = command_words(stated["command"])
        except FieldError as error:
            self.note(f"{where}.command", repr(stated["command"])[:60], str(error))
            return ()
        if not words:
            self.note(f"{where}.command", repr(stated["command"])[:60], "what each task runs")
        return words

    def vertex(self, content: object, where: str) -> tuple[Vertex, list[str]]:
        stated = self.mapping(content, where, _VERTEX, ("cores", "memory_gib", "after", "command"))
        tasks, seconds, cores, memory = (self.number(stated, key, where, wanted) for key, wanted in _NUMBERS.items())
        before = stated.get("after", [])
        if not isinstance(before, list) or not all(isinstance(one, str) for one in before):
            self.note(f"{where}.after", repr(before)[:60], "a list of names of vertices")
            before = []
        name, command = self.text(stated, "name", where), self.command(stated, where)
        return Vertex(name, int(tasks), seconds, cores, memory, command=command), [*before]

    def places(self, before: Sequence[str], names: Sequence[str], where: str) -> tuple[int, ...]:
        found = []
        for at, name in enumerate(before):
            if name in names:
                found.append(names.index(name))
            else:
                self.note(f"{where}[{at}]", repr(name)[:60], f"a vertex of this job{did_you_mean(name, names)}")
        return tuple(found)

    def refuse_twice(self, names: Sequence[str], where: str, key: str) -> None:
        first = dict[str, int]()
        for at, name in enumerate(names):
            if first.setdefault(name, at) != at:
                self.note(f"{where}[{at}].{key}", repr(name)[:60], f"each once; [{first[name]}] has it")


_ROUNDING = 3


def read_graphs(path: Path, began: float) -> tuple[JobGraph, ...]:
    """The graphs of a file, which come so many seconds after ``began`` as they say. InputError with everything that is
    wrong with it."""
    return tuple(_graph(dag, began) for dag in read_dags(path, is_live=True))


def _graph(dag: Dag, began: float) -> JobGraph:
    names = [vertex.name for vertex in dag.vertices]
    return JobGraph(
        dag.name,
        began + dag.submit,
        tuple(
            GraphVertex(
                v.name,
                v.tasks,
                v.seconds,
                math.ceil(round(v.cores * 1000, _ROUNDING)),
                math.ceil(round(v.memory_gib * 1024, _ROUNDING)) or DEFAULT_MEMORY_MIB,
                v.command,
                tuple(dict.fromkeys(names[at] for at in v.after)),
            )
            for v in dag.vertices
        ),
        dag.app,
    )

"""Jobs that a file tells one by one, in texts that no table reader knows: durations as 1-02:03:04, memory as 4Gc."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import JobKind, Jobs, Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.jobs.jobs_table import Draft, finish
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import memory_of
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.clock import clock_seconds
from hcloud.readers.workloads.tables.delimited import Progress

_WHOLE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", re.ASCII)
_LOCAL = re.compile(rf"{_WHOLE.pattern}(?:\.\d+)?", re.ASCII)
_SECONDS = re.compile(r"\d+(\.\d*)?", re.ASCII)
NO_ZONE = "UTC, as they name no zone; if they are local, name theirs: --set zone=Europe/Berlin"
NOT_BEGUN = "never began"
FEATURES = "features of nodes"
"""What is said to be unread where jobs ask for it: what a site calls its nodes names no instance type."""
_EPOCH = datetime(1970, 1, 1)  # of times without a zone that are UTC
_SHOWN = 4
_LOOK = 20_000
"""Lines after each of which it is told how far a file is read."""
MANY = 65_536  # ours: cells whose reading is remembered, as most stand there in many rows
_NONE = ("", "unknown", "none", "n/a", "(null)")


def told_lines(source: TraceFile, progress: Progress | None) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    read = 0
    for number, line in source.lines():
        read += len(line) + 1
        if progress is not None and number % _LOOK == 0:
            progress(min(read / max(source.size, 1), 1.0))
        if line.strip():
            yield number, line.decode("utf-8", "replace")


class CellError(ValueError):
    """A cell that cannot be what it should be: its column, what stands there, and what may."""

    def __init__(self, column: str, value: str, allowed: str) -> None:
        super().__init__(f"{column}: {value}")
        self.column, self.value, self.allowed = column, value, allowed


@dataclass(slots=True)
class RecordedJob:
    """A job as a file tells it: times in Unix seconds, memory in GiB; NaN is what the file leaves out. A job without a
    duration still runs at the newest time in the file."""

    id: str
    submit: float
    start: float
    duration: float
    cores: float
    memory: float
    gpus: float = 0.0
    app: str = ""
    qos: str = ""
    kind: JobKind = JobKind.BATCH
    divisible: bool = False


class Recorder:
    """Collects jobs, what is wrong with some, and what was left out or changed by a rule, counted; columns by their
    names in small letters are ``named`` as in the file, and ``newest`` is the newest time in it."""

    def __init__(self, source: TraceFile, fmt: str, options: WorkloadOptions) -> None:
        self._source, self._options = source, options
        self.findings = Findings(source.name)
        self.named: dict[str, str] = {}
        self.rows = 0
        self.newest = 0.0
        self._jobs: list[RecordedJob] = []
        self._times: dict[str, int] = {}
        self._draft = Draft(source.name, fmt, "", np.empty(0), np.empty(0))
        self.repair = self._draft.repair
        self._features: dict[str, int] = {}
        self._zone: tzinfo = ZoneInfo(options.zone) if options.zone else UTC
        self._has_local = False

    def take(self, where: str, make: Iterable[RecordedJob | str]) -> None:
        """A row: a job, or why it is left out; a CellError of its making is noted with its place."""
        self.rows += 1
        if self.rows > self._options.max_rows:
            raise InputError(f"{self._source.name}: more than {self._options.max_rows:,} rows (max_rows)")
        try:
            for found in make:
                if isinstance(found, str):
                    self._draft.left_out[found] = self._draft.left_out.get(found, 0) + 1
                else:
                    self._add(found)
        except CellError as error:
            column = self.named.get(error.column.lower(), error.column)
            self.findings.add(f"{where}, column {column}", shown(error.value), error.allowed)

    def seconds(self, column: str, text: str) -> float:
        """A time as Unix seconds, as :func:`seconds_of`; one that names no zone is in that of the options."""
        self._has_local = self._has_local or _LOCAL.fullmatch(text.strip()) is not None
        return seconds_of(column, text, self._zone)

    def assume(self, rule: Modelled) -> None:
        """Note what stands for a column that the file has not."""
        self._draft.modelled.append(rule)

    def ask(self, features: str) -> None:
        """Count a job that asks for nodes with these features, if any."""
        if features.strip().lower() not in _NONE:
            self._features[features.strip()] = self._features.get(features.strip(), 0) + 1

    def _add(self, job: RecordedJob) -> None:
        _bounded("submit", job.submit, limits.SUBMIT_SECONDS)
        _bounded("start", job.start, limits.SUBMIT_SECONDS)
        _bounded("cores", job.cores, limits.CORES)
        _bounded("memory", job.memory, limits.MEMORY_GIB)
        _bounded("duration", job.duration, limits.DURATION_SECONDS)
        before = self._times.get(job.id, 0)
        self._times[job.id] = before + 1
        if before:  # a job that was requeued ran more than once
            self.repair("more than one run of a job: each counts")
            job.id = f"{job.id}#{before + 1}"
        self._jobs.append(job)

    def jobs(self) -> Jobs:
        """All of them; InputError with everything that is wrong."""
        if self.findings.problems:
            raise self.findings.error()
        if not self.rows:
            why = "its list is empty" if self._source.head.lstrip().startswith(b"{") else "nothing follows its header"
            raise InputError(f"{self._source.name}: holds no job: {why}")
        made = self._jobs

        def column(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
            return np.array([getattr(job, name) for job in made], np.float64)

        start, duration = column("start"), column("duration")
        duration = np.where(np.isnan(duration), np.maximum(self.newest - start, 0.0), duration)
        draft = self._draft
        draft.digest, draft.rows = self._source.digest(), self.rows
        draft.submit, draft.duration = column("submit"), duration
        draft.start = start
        draft.cores, draft.memory, draft.gpus = column("cores"), column("memory"), column("gpus")
        draft.kind = np.array([job.kind for job in made], np.int8)
        draft.divisible = np.array([1 if job.divisible else -1 for job in made], np.int8)
        draft.ids = np.array([job.id.encode() for job in made]) if made else None
        draft.app, draft.apps = _coded([job.app for job in made])
        draft.qos, draft.qos_classes = _coded([job.qos for job in made])
        if self._has_local:
            draft.modelled.append(Modelled("times", self._options.zone or NO_ZONE, "zone"))
        if self._features:
            draft.modelled.append(Modelled(FEATURES, _unread(self._features), "fixed"))
        draft.repair("byte order mark skipped", int(self._source.marked))
        return finish(draft, self._options)


def _unread(features: dict[str, int]) -> str:
    named = sorted(features, key=lambda name: (-features[name], name))
    told = ", ".join(map(shown, named[:_SHOWN])) + (" and others" if len(named) > _SHOWN else "")
    count = sum(features.values())
    asking = "1 job asks for" if count == 1 else f"{count:,} jobs ask for"
    return (
        f"not read: {asking} {told}, and may be planned on any type; 'hcloud workload"
        " convert' writes a table of jobs, where a column requires (type=c2-*) names theirs"
    )


def _bounded(name: str, value: float, most: float) -> None:
    if not (0 <= value <= most or np.isnan(value)):
        raise CellError(name, f"{value:g}", f"a number from 0 to {most:g}")


def _coded(labels: list[str]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], tuple[str, ...]]:
    known: dict[str, int] = {}
    codes = [known.setdefault(label, len(known)) if label else -1 for label in labels]
    return np.array(codes, np.int32), tuple(known)


@lru_cache(MANY)
def seconds_of(column: str, text: str, zone: tzinfo = UTC) -> float:
    """A time as Unix seconds: ISO-8601 (without a zone in this one) or a number of seconds; NaN where there is none."""
    text = text.strip()
    if text.lower() in _NONE:
        return float("nan")
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        moment = datetime.fromisoformat(text if _WHOLE.match(text) else "")
    except ValueError:
        raise CellError(column, text, "a time as 2026-11-01T10:00:00, or seconds since 1970") from None
    if moment.tzinfo is None and zone is UTC:  # four times as fast as with the zone
        return (moment - _EPOCH).total_seconds()
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)).timestamp()


@lru_cache(MANY)
def elapsed_of(column: str, text: str) -> float:
    """A duration as [DAYS-[HOURS:]]MINUTES:SECONDS, or as seconds; NaN where there is none."""
    text = text.strip()
    if text.lower() in _NONE:
        return float("nan")
    found = float(text) if _SECONDS.fullmatch(text) else clock_seconds(text, "mm:ss")
    if found is None:
        raise CellError(column, text, "a duration as 1-02:03:04, or seconds")
    return found


@lru_cache(MANY)
def gib_of(column: str, text: str) -> float:
    """An amount of memory as 4G, 512M or 2048 (MiB), in GiB; NaN where there is none."""
    text = text.strip()
    if text.lower() in (*_NONE, "0", "?"):
        return float("nan")
    found = memory_of(text, 1024)
    if found is None:
        raise CellError(column, text, "an amount of memory as 4G, 512M or 2048 (MiB)")
    return found / 1024


@lru_cache(MANY)
def number_of(column: str, text: str) -> float:
    """A number that is not below zero; NaN where there is none."""
    text = text.strip()
    if text.lower() in _NONE:
        return float("nan")
    try:
        value = float(text) if text.isascii() else float("nan")
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise CellError(column, text, "a number from 0 on")
    return value

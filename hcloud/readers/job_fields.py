"""The cells of a job file: what each may say, and what to write instead where it says something else."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from hcloud.model.running.job import JobOrder, ServiceTarget, TargetKind, in_pieces
from hcloud.model.workload import JobKind
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.meanings import KINDS, kind_of
from hcloud.readers.workloads.quantities import cpus_of, memory_of
from hcloud.readers.workloads.tables.clock import allowed_clock, clock_seconds
from hcloud.units import counted_vcpus, parse_duration

DEFAULT_CORES, DEFAULT_MEMORY_MIB = 1000, 512  # ours: what a job asks for that does not say
_MOST_CORES, _MOST_MEMORY_MIB, _MOST_SERVERS = 100_000, 1 << 30, 10_000
_LONGEST_ID = 200
_DATE = re.compile(r"\d{4}-", re.ASCII)
_PAIR = re.compile(r"\d+:\d+", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_TARGET = re.compile(r"p99\s*<=?\s*(\d+(?:\.\d+)?)\s*(us|ms|s)\s+(\S.*)", re.ASCII | re.DOTALL)
_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_SHELL = re.compile(r"(?:^|\s)(\|\|?|&&?|;|\d*(?:>>?|<<?)\S*)(?=\s|$)|;(?=\s|$)")
_YES, _NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off", "")


class FieldError(ValueError):
    """A cell that cannot be used; its text says what is allowed."""


@dataclass(frozen=True, slots=True)
class Times:
    """When a file began, which its times are counted from, and when it was read: both in seconds since 1970."""

    began: float
    now: float


Fits = Callable[[JobOrder, int], str]
"""What is allowed in place of so many servers for a job; empty where there is nothing to say."""


def job_orders(
    cells: Mapping[str, object], times: Times, note: Callable[[str, str, str], None], fits: Fits
) -> tuple[JobOrder, ...]:
    """The job of a row, in a piece for each of its servers. What is wrong with it is noted, with its column, what
    stands there and what is allowed; then there is none."""
    row = _JobRow(cells, note)
    servers = row.read("servers", _servers, 1)
    order = _job_order(row, times, servers)
    if servers > 1 and len(order.id) > (most := _LONGEST_ID - len(f".{servers}")):
        row.wrong("id", f"at most {most} characters where servers is {servers}: its pieces are called ID.1, ID.2, ...")
    if servers > 1 and order.cores < servers:
        row.wrong("servers", f"at most {order.cores:,}: each of them has a thousandth of a vCPU at least")
    elif servers > 1 and not row.is_wrong and (allowed := fits(order, servers)):
        row.wrong("servers", allowed)
    return () if row.is_wrong else in_pieces(order, servers)


def _job_order(row: _JobRow, times: Times, servers: int) -> JobOrder:
    """The job of a row as a whole; one that does not say what it needs gets the usual on each of its servers."""
    kind = row.read("kind", _kind, JobKind.BATCH)
    order = JobOrder(
        id=row.read("id", identity, ""),
        submit=row.read("submit", lambda v: _submit(v, times), times.now),
        command=row.read("command", command_words, ()),
        cores=row.read("cores", _cores, DEFAULT_CORES * servers),
        memory=row.read("memory", _memory, DEFAULT_MEMORY_MIB * servers),
        kind=kind,
        app=row.read("app", _word, ""),
        expect=row.read("expect", _expect, None),
        target=row.read("target", _target, None),
        restartable=row.read("restartable", _truth, False),
        directory=row.read("directory", _word, ""),
    )
    vcpus = max(order.cores / 1000, 1.0)
    if order.memory > vcpus * limits.MEMORY_GIB_A_VCPU * 1024 and row.is_number("memory"):
        gib = f"{order.memory / 1024:g}"
        row.wrong("memory", f"its unit, {gib}Mi or {gib}Gi: no machine has {gib} GiB for {counted_vcpus(vcpus)}")
    if not order.id:
        row.missing("id", "each job needs an id of its own")
    if not order.command:
        row.missing("command", "write what the job runs")
    if order.target is not None and kind is JobKind.BATCH:
        row.wrong("target", "only a service has a target: write service as its kind, or remove the target")
    if order.expect is not None and kind is JobKind.SERVICE:
        row.wrong("expect", "a service does not end: remove it, or write batch as its kind")
    return order


T = TypeVar("T")


class _JobRow:
    """The cells of a row; an empty cell says nothing."""

    def __init__(self, cells: Mapping[str, object], note: Callable[[str, str, str], None]) -> None:
        self._cells, self._note = cells, note
        self._refused: set[str] = set()

    @property
    def is_wrong(self) -> bool:
        return bool(self._refused)

    def read(self, column: str, parse: Callable[[object], T], default: T) -> T:
        value = self._cells.get(column)
        if value is None or (isinstance(value, str) and not value.strip()):
            return default
        try:
            return parse(value.strip() if isinstance(value, str) else value)
        except FieldError as error:
            self.wrong(column, str(error))
            return default

    def is_number(self, column: str) -> bool:
        """Whether a cell holds a number that names no unit."""
        return _NUMBER.fullmatch(str(self._cells.get(column)).strip()) is not None

    def missing(self, column: str, allowed: str) -> None:
        if column not in self._refused:
            self._refused.add(column)
            self._note(column, "missing", allowed)

    def wrong(self, column: str, allowed: str) -> None:
        self._refused.add(column)
        self._note(column, repr(self._cells.get(column))[:60], allowed)


def _word(value: object) -> str:
    text = _text(value)
    if not text.isprintable():
        raise FieldError("a text without line breaks and control characters")
    return text


def identity(value: object) -> str:
    """The id of a job."""
    text = _word(value)
    if len(text) > _LONGEST_ID:
        raise FieldError(f"at most {_LONGEST_ID} characters")
    return text


def command_words(value: object) -> tuple[str, ...]:
    """A command as its words, which a text is split into as a shell does."""
    if isinstance(value, list):
        words = tuple(str(word) for word in value)
        if not all(isinstance(word, str | int | float) and not isinstance(word, bool) for word in value):
            raise FieldError("a list of texts")
    else:
        words = _split(_text(value))
    if any("\0" in word for word in words):
        raise FieldError("a command has no NUL characters")
    if words and not words[0]:
        raise FieldError("the first word is the program to run")
    return words


def _text(value: object) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise FieldError("a text")
    return str(value)


def _split(text: str) -> tuple[str, ...]:
    if (found := _SHELL.search(_QUOTED.sub("x", text))) is not None:
        raise FieldError(f"{found[0].strip()} needs a shell and jobs run without one: sh -c '...', or quote it")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise FieldError(f"words as a shell would split them; here: {str(error).lower()}") from None


def _number(value: object, allowed: str) -> float:
    text = str(value).strip()
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        raise FieldError(allowed)
    return float(text)


def _cores(value: object) -> int:
    allowed = f"a number of vCPUs above 0, for example 2, 0.5 or 500m, at most {_MOST_CORES:,}"
    cores = None if isinstance(value, bool) else cpus_of(str(value))
    if cores is None or not 0.001 <= cores <= _MOST_CORES:
        raise FieldError(allowed)
    return math.ceil(round(cores * 1000, 3))


def _servers(value: object) -> int:
    allowed = f"a whole number from 1 to {_MOST_SERVERS:,}"
    count = _number(value, allowed)
    if count != int(count) or not 1 <= count <= _MOST_SERVERS:
        raise FieldError(allowed)
    return int(count)


def _memory(value: object) -> int:
    allowed = "GiB as a number, or with a unit: 512Mi, 2G (powers of 1024)"
    gib = None if isinstance(value, bool) else memory_of(str(value), 1)
    if gib is None or not 0 < gib * 1024 <= _MOST_MEMORY_MIB:
        raise FieldError(allowed)
    return math.ceil(round(gib * 1024, 6))


def _kind(value: object) -> JobKind:
    kind = kind_of(str(value))
    if kind not in KINDS:
        raise FieldError("batch, which ends by itself, or service")
    return JobKind.SERVICE if kind == "service" else JobKind.BATCH


def _seconds(value: object, allowed: str) -> float:
    text = str(value).strip()
    if _PAIR.fullmatch(text):
        raise FieldError(f"of two numbers say which they are: 00:{text} (mm:ss) or {text}:00 (hh:mm)")
    if isinstance(value, bool):
        raise FieldError(allowed)
    seconds = float(text) if _NUMBER.fullmatch(text) else _with_units(text, allowed)
    if seconds > limits.DURATION_SECONDS:
        raise FieldError(allowed)
    return seconds


def _with_units(text: str, allowed: str) -> float:
    """Seconds of a duration as those of traces, or of years."""
    if (found := clock_seconds(text)) is not None:
        return found
    try:
        return float(parse_duration(text))
    except ValueError:
        raise FieldError(allowed_clock(text, allowed)) from None


def _expect(value: object) -> float:
    allowed = "seconds above 0, or as 90s, 5m, 1h30m, 2d, 01:34:00 or PT1H30M"
    seconds = _seconds(value, allowed)
    if seconds <= 0:
        raise FieldError(allowed)
    return seconds


def _submit(value: object, times: Times) -> float:
    allowed = "seconds after the start, 5m, 01:34:00, or a time such as 2026-01-31T08:00:00Z; empty is at once"
    text = str(value).strip()
    if _DATE.match(text):
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise FieldError(allowed) from None
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    return times.began + _seconds(value, allowed)


def _truth(value: object) -> bool:
    if str(value).lower() in _YES:
        return True
    if str(value).lower() not in _NO:
        raise FieldError("yes or no")
    return False


def _target(value: object) -> ServiceTarget:
    """``p99<250ms http://...``, ``p99<250ms cmd: PROGRAM ...`` or ``p99<250ms prometheus: http://SERVER QUERY``."""
    allowed = "p99<250ms and then http://..., or cmd: PROGRAM, or prometheus: http://SERVER QUERY"
    found = _TARGET.fullmatch(str(value).strip())
    if found is None or not (limit := float(found[1]) * _MILLISECONDS[found[2]]):
        raise FieldError(allowed)
    how = found[3].strip()
    if how.startswith(("http://", "https://")) and len(how.split()) == 1:
        return ServiceTarget(TargetKind.HTTP, how, limit)
    word, _, rest = how.partition(":")
    rest = rest.strip()
    if word == "cmd" and _split(rest):
        return ServiceTarget(TargetKind.COMMAND, rest, limit)
    server, _, query = rest.partition(" ")
    if word == "prometheus" and server.startswith(("http://", "https://")) and query.strip():
        return ServiceTarget(TargetKind.PROMETHEUS, query.strip(), limit, server.rstrip("/"))
    raise FieldError(allowed)

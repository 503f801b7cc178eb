"""Two files between hcloud and whatever else runs the jobs: one tells what happens, the other says what to do."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from hcloud.control.operating.job_ids import JobIds
from hcloud.control.ports import Clock
from hcloud.errors import FileError, InputError, Problem, UsageError
from hcloud.model.holdings.live import Machine, MachineState
from hcloud.model.running.event import (
    Arrival,
    BelowQos,
    Cancelled,
    ClockTick,
    Completion,
    Event,
    EventError,
    Failed,
    Latency,
    Progress,
    Quality,
    Sample,
)
from hcloud.model.running.job import (
    EngineView,
    JobOrder,
    JobPhase,
    JobPlace,
    JobSighting,
    MachineRole,
    NewJobs,
    NodePhase,
    Told,
)
from hcloud.store.journals.events import FORMS, Document, event_document, from_line, parse_event, to_line
from hcloud.store.past_ends import PastEnds, append, past_of
from hcloud.units import counted

HEAR = "hear"
"""Not for others: where events are told."""
STOPPED = "stopped"
"""The event of an attempt of which nothing runs any more because it was to stop."""
EARLIEST = 1e9
"""Ours: no time of an event is before 2001; a smaller number was not meant as seconds since 1970."""
STOPPED_CODE = 143
"""What a shell says of a process that was asked to end."""
LOOK_SECONDS = 0.05
"""Ours: how often is looked whether the file of events has grown."""
TAIL_BYTES = 4096
"""Ours: so much of what was read is compared each time."""
MOST_PROBLEMS = 20
USUAL = "an object as 'hcloud decide --help' shows"
_EDGES = (BelowQos, Latency, Quality, Sample)
_ENDS = ("completion", "failed", "cancelled", STOPPED)
TOLD = ("arrival", *_ENDS, "progress", "latency", "below-qos", "quality", "sample")
"""What whoever runs the jobs tells; hcloud asks the cloud how machines are."""


@dataclass(slots=True)
class _Attempt:
    """An attempt that was ordered: when, whether it is to stop, and how it ended."""

    number: int
    began: float
    stopping: bool = False
    end: JobSighting | None = None


def _check_name(name: object) -> None:
    """EventError for what is no event at all, with those that are told by whoever runs the jobs."""
    if isinstance(name, str) and name not in (*FORMS, STOPPED):
        near = get_close_matches(name, TOLD, 1)
        guess = f" (did you mean {near[0]}?)" if near else ""
        raise EventError(f"event: {name[:60]!r}{guess}; one of {', '.join(TOLD)}")


def _check_whole(event: Arrival) -> None:
    """EventError for a job in parts: parts would begin one by one, and each before what it comes after has ended."""
    if event.pieces > 1:
        raise EventError(f"pieces: {event.pieces}; each piece arrives as a job of its own")
    if event.after is not None:
        raise EventError(f"after: {event.after}; a job arrives when what it waits for has ended")


@dataclass(slots=True)
class _Followed:
    """A file of lines that is read as it grows."""

    path: Path
    size: int = 0
    lines: int = 0
    was: tuple[int, ...] = ()
    length: int = 0
    tail: bytes = b""

    def grew(self) -> bool:
        """Whether it is longer than when it was read last."""
        try:
            return self.path.stat().st_size > self.length
        except OSError:
            return False

    def new(self) -> list[tuple[int, str]]:
        """The whole lines that were added, with their numbers. InputError where lines that were read are gone."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                file.seek(self.size - len(self.tail))
                is_same = file.read(len(self.tail)) == self.tail
                if not is_same or (self.was and (found.st_dev, found.st_ino) != self.was):
                    raise InputError(
                        f"{self.path}: was shortened or replaced", hint="events are only added at its end; restore it"
                    )
                self.was = found.st_dev, found.st_ino
                added = file.read()
                self.length = self.size + len(added)
        except OSError as error:
            raise FileError.of(error, self.path, "read") from error
        whole = added[: added.rfind(b"\n") + 1]
        self.size, self.tail = self.size + len(whole), (self.tail + whole)[-TAIL_BYTES:]
        first, pieces = self.lines + 1, whole.decode(errors="replace").split("\n")[:-1]
        self.lines += len(pieces)
        return [(first + at, piece) for at, piece in enumerate(pieces) if piece.strip()]


@dataclass
class JobExchange:
    """Implements hcloud.control.ports.Engine and JobSource for jobs that somebody else runs.

    ``events`` is the file that tells of them, in the lines of ``hcloud decide`` (``at`` is in seconds since 1970, and
    may be left out); None: that which was heard before. ``orders`` is the file that says what to do: to begin an
    attempt, to stop or resize it, to leave a machine; each order stands in it once, whoever is killed. With ``goes_on``
    what was measured before is not told again, and an end that was told before the order of an attempt is none of it.
    ``arrivals`` are those of jobs that have not begun; of jobs that are over only the ids are kept.
    """

    events: Path | None
    orders: Path
    clock: Clock
    goes_on: bool = False
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    _known: JobIds = field(default_factory=JobIds)
    _over: JobIds = field(default_factory=JobIds)
    _attempts: dict[str, _Attempt] | None = None
    _watched: dict[str, _Attempt] = field(default_factory=dict)
    _left: set[tuple[int, str]] = field(default_factory=set)
    _machines: dict[int, Machine] = field(default_factory=dict)
    _progress: dict[str, float] = field(default_factory=dict)
    _told: list[Told] = field(default_factory=list)
    _line: int = 0
    _new: list[JobOrder] = field(default_factory=list)
    _cancelled: list[str] = field(default_factory=list)
    _problems: list[Problem] = field(default_factory=list)
    _asked: bool = False
    _heard: str = ""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        if self.events is None and self.goes_on:
            self._ordered()
            self.events = Path(self._heard) if self._heard else None
        if self.events is not None and not self.events.is_file():
            raise UsageError(f"{self.events}: there is no such file of events", hint="an empty one is enough to begin")
        self._file = None if self.events is None else _Followed(self.events)
        past = PastEnds(past_of(self.orders), "" if self.events is None else str(self.events.absolute()))
        self._past = past.read() if self.goes_on else past

    # ---- what is told

    def new(self) -> NewJobs:
        """Jobs that came and were cancelled. InputError names the lines that cannot be used; the others count, and come
        with the next call."""
        with self._lock:
            for line, text in self._file.new() if self._file is not None else ():
                self._read(line, text)
            first, self._asked = not self._asked, True
            if self._problems and not (first and self.goes_on):
                problems, self._problems = self._problems, []
                raise InputError(
                    f"{self.events}: {counted(len(problems), 'line')} cannot be used", problems[:MOST_PROBLEMS]
                )
            made = NewJobs(tuple(self._new), tuple(self._cancelled), closed=True)
            self._new, self._cancelled = [], []
            return made

    def _read(self, line: int, text: str) -> None:
        self._line = line
        try:
            document = from_line(text)
            document.setdefault("at", self.clock.now())
            _check_name(document.get("event"))
            if document.get("event") == STOPPED:
                self._stopped(document)
            else:
                self._take(parse_event(document))
        except EventError as error:
            what, _, allowed = str(error).partition("; ")
            self._problems.append(Problem(str(self.events), f"line {line}", what, allowed or USUAL))

    def _take(self, event: Event) -> None:
        if event.at < EARLIEST:
            raise EventError(f"at: {event.at:g}; seconds since 1970, or leave it out")
        if isinstance(event, Arrival):
            _check_whole(event)
            self._arrived(event)
        elif isinstance(event, Completion | Failed | Cancelled):
            self._ended(event)
        elif isinstance(event, Progress):
            self._progress[event.job] = event.share
        elif isinstance(event, _EDGES):
            if self._asked or not self.goes_on:
                self._told.append(event)
        elif not isinstance(event, ClockTick):
            name = event_document(event)["event"]
            raise EventError(f"event: {name}; hcloud asks the cloud itself how its machines are")

    def _arrived(self, event: Arrival) -> None:
        if event.job in self._known:
            return  # told twice
        self._known.add(event.job)
        if event.job not in self._ordered():
            self.arrivals[event.job] = event
        submit = event.at if event.submitted is None else event.submitted
        order = JobOrder(event.job, submit, (), event.ask, event.memory, restartable=event.restartable)
        self._new.append(replace(order, priority=event.priority, expect=event.expected or None))

    def _ended(self, event: Completion | Failed | Cancelled) -> None:
        name, attempt = event.job, self._ordered().get(event.job)
        if name not in self._known:
            raise EventError(f"job: {name} never arrived; an arrival comes first")
        if isinstance(event, Cancelled):
            self._cancelled.append(name)
        if name in self._over or self._past.is_past(name, self._line):
            return
        if attempt is None and not isinstance(event, Cancelled):
            asked = "where it is not wanted any more it is cancelled; new work has a file of events of its own"
            raise EventError(f"job: {name} was not begun by an order; {asked}")
        if attempt is None or attempt.end is not None:
            return
        code = event.code if isinstance(event, Failed) else 0 if isinstance(event, Completion) else STOPPED_CODE
        share = event.performance if isinstance(event, Completion) else None
        at = max(min(event.at, self.clock.now()), attempt.began)
        seen = JobSighting(name, attempt.number, JobPhase.ENDED, attempt.began, at, code)
        attempt.end = replace(seen, performance=share)

    def _stopped(self, document: Document) -> None:
        name, number = str(document.get("job")), document.get("attempt")
        if name in self._over:
            return
        attempt = self._ordered().get(name)
        if attempt is None or type(number) is not int or number > attempt.number:
            raise EventError(f"stopped: job {name}, attempt {number}; name a job and an attempt of an order")
        if number == attempt.number and attempt.end is None:
            attempt.end = JobSighting(name, number, JobPhase.LOST, attempt.began, self.clock.now(), STOPPED_CODE)

    def shown(self, machines: Mapping[int, Machine]) -> None:
        """What the cloud has now, by the numbers of machines."""
        with self._lock:
            self._machines = dict(machines)

    # ---- what is seen

    def look(self) -> EngineView:
        """The newest attempt of each job that was ordered and not forgotten, and what was measured since the last
        look."""
        with self._lock:
            self._note_source()
            told, self._told = tuple(self._told), []
            jobs = tuple(a.end or self._running(name, a) for name, a in self._watched.items())
            nodes = tuple((number, _phase(machine)) for number, machine in self._machines.items())
            return EngineView(jobs, nodes, told=told)

    def _running(self, name: str, attempt: _Attempt) -> JobSighting:
        share = self._progress.get(name)
        return JobSighting(name, attempt.number, JobPhase.RUNNING, attempt.began, progress=share)

    # ---- what is ordered

    def joining(self, role: MachineRole) -> str:
        """Nothing: a machine is what its image makes of it."""
        return ""

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        """Order an attempt, once."""
        with self._lock:
            known = self._ordered().get(order.id)
            if known is not None and known.number >= place.attempt:
                return
            now = self.clock.now()
            size = {"cores": place.cores / 1000, "memory_gib": place.memory / 1024}
            where = self._where(place.instance)
            self._past.note(order.id)
            self._order({"at": now, "order": "begin", "job": order.id, "attempt": place.attempt, **where, **size})
            self._ordered()[order.id] = self._watched[order.id] = _Attempt(place.attempt, now)
            self._progress.pop(order.id, None)
            self.arrivals.pop(order.id, None)

    def stop(self, job: str, attempt: int) -> None:
        """Order its end, once; it has ended when that is told."""
        with self._lock:
            known = self._ordered().get(job)
            if known is None or known.number != attempt or known.stopping or known.end is not None:
                return
            self._order({"at": self.clock.now(), "order": "stop", "job": job, "attempt": attempt})
            known.stopping = True

    def resize(self, job: str, attempt: int, cores: int) -> None:
        """Order another share of its machine."""
        with self._lock:
            now = self.clock.now()
            self._order({"at": now, "order": "resize", "job": job, "attempt": attempt, "cores": cores / 1000})

    def warn(self, instance: int, why: str) -> None:
        """Nothing: no begin is ordered there any more, and what runs is ordered to stop when it has to."""

    def let_go(self, instance: int) -> None:
        """Say that a machine is about to be ended, once."""
        with self._lock:
            machine = self._machines.get(instance)
            what = instance, "" if machine is None else machine.id
            if machine is not None and what not in self._left:
                self._order({"at": self.clock.now(), "order": "leave", **self._where(instance)})
                self._left.add(what)

    def forget(self, job: str) -> None:
        """It is looked at no more. Its orders stay in their file; a second arrival of this id is not another job."""
        with self._lock:
            self._over.add(job)
            for known in (self._watched, self._ordered(), self._progress, self.arrivals):
                known.pop(job, None)
            self._past.forget(job)

    def wait(self, seconds: float) -> None:
        """Until something is told."""
        until = self.clock.passed() + seconds
        while (left := until - self.clock.passed()) > 0 and not (self._file is not None and self._file.grew()):
            self.clock.sleep(min(left, LOOK_SECONDS))

    # ---- the file of orders

    def _where(self, instance: int) -> Document:
        machine = self._machines.get(instance)
        return {"instance": instance} | ({} if machine is None else {"machine": machine.id, "zone": machine.zone})

    def _order(self, document: Document) -> None:
        append(self.orders, to_line(document))

    def _ordered(self) -> dict[str, _Attempt]:
        """The newest attempt of each job that was ordered, also by a controller of this work before this one."""
        if self._attempts is None:
            self._attempts = {}
            for document in self._orders_before() if self.goes_on else ():
                name, number = str(document.get("job")), document.get("attempt")
                if document.get("order") == HEAR:
                    self._heard = str(document["events"])
                elif document.get("order") == "begin" and isinstance(number, int):
                    self._attempts[name] = _Attempt(number, float(document["at"]))
                elif document.get("order") == "stop" and name in self._attempts:
                    self._attempts[name].stopping |= self._attempts[name].number == number
            self._watched = dict(self._attempts)
        return self._attempts

    def _note_source(self) -> None:
        """Whoever goes on with these orders hears of them where this one did, unless told otherwise."""
        path = "" if self.events is None else str(self.events.absolute())
        self._ordered()
        if path and path != self._heard:
            self._order({"at": self.clock.now(), "order": HEAR, "events": path})
            self._heard = path

    def _orders_before(self) -> list[Document]:
        """The orders that stand in the file; a torn last line, of an order that was never given, is taken away."""
        try:
            text = self.orders.read_bytes()
        except FileNotFoundError:
            return []
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.truncate(self.orders, whole)
        try:
            return [from_line(line) for line in text[:whole].decode().splitlines()]
        except (EventError, UnicodeDecodeError) as error:
            raise InputError(f"{self.orders}: is damaged: {error}", hint="restore it from a copy") from None


def _phase(machine: Machine) -> NodePhase:
    """A machine that was stopped runs nothing any more, whoever stopped it: clouds do it for maintenance, too."""
    if machine.state is MachineState.RUNNING:
        return NodePhase.READY
    is_coming = machine.state in (MachineState.PENDING, MachineState.UNKNOWN)
    return NodePhase.JOINING if is_coming else NodePhase.GONE

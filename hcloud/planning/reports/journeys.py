"""The way of each job through a run, put together from its events and decisions; of live work also from its notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from statistics import fmean

from hcloud.model.running.decision import Decision, DecisionAction, Entry
from hcloud.model.running.event import (
    Arrival,
    BelowQos,
    Cancelled,
    Completion,
    EventError,
    Failed,
    Interruption,
    Latency,
    LaunchFailed,
    Lost,
    Ready,
)
from hcloud.model.running.job import JobOrder, with_wait
from hcloud.model.running.note import AttemptOver, Beginning, JobTaken, Note
from hcloud.model.workload import JobKind

BATCH, SERVICE = "batch", "service"
OWN = "reserved server"


@dataclass(slots=True)
class Stay:
    """A job on a machine: thousandths of a vCPU from a time to another (None: it was not over), and since when it ran
    there (None: the machine was not ready, or nothing was begun)."""

    ask: int
    own: bool
    start: float
    end: float | None = None
    ran_from: float | None = None

    @property
    def ran(self) -> float:
        """Seconds that it ran there, once it is over."""
        return 0.0 if self.ran_from is None or self.end is None else self.end - self.ran_from


@dataclass(slots=True)
class Journey:
    """A job from its submission to its end, in seconds. ``performance`` is the share of that in isolation while it ran.

    Live work tells the ``order`` of each job; other journals do not say what is a service: there a job that may not be
    interrupted counts as one. ``kept_target`` are the shares of its target that a service kept, look by look.
    """

    job: str
    kind: str
    ask: int
    arrived: float
    order: JobOrder | None = None
    began: float | None = None
    ended: float | None = None
    performance: float | None = None
    tail: float | None = None
    queued: bool = False
    refused: bool = False
    below: int = 0
    moves: int = 0
    enlarged: int = 0
    shrunk: int = 0
    interrupted: int = 0
    failed: bool = False
    cancelled: bool = False
    lost: bool = False
    stays: list[Stay] = field(default_factory=list)
    kept_target: list[float] = field(default_factory=list)

    @property
    def app(self) -> str:
        """The application of its order, or the one that its name says: what stands before the last slash."""
        return self.job.rpartition("/")[0] if self.order is None else self.order.app

    @property
    def waited(self) -> float | None:
        """Seconds until it began; None where it never did."""
        return None if self.began is None else max(self.began - self.arrived, 0.0)

    @property
    def ran(self) -> float:
        """Seconds that its work took once it is over: all that it ran, or in life, where a job begins anew on its next
        machine, the last time."""
        counted = self.stays if self.order is None else [s for s in self.stays if s.ran_from is not None][-1:]
        return sum(stay.ran for stay in counted)

    @property
    def needed(self) -> float:
        """Seconds that its work takes alone, once it is over: what a neighbour or a wait adds is no demand."""
        slowed = self.kind != SERVICE and self.performance is not None
        return self.ran * (self.performance or 0.0) if slowed else self.ran

    @property
    def reached(self) -> float | None:
        """The share of its performance in isolation that it reached: of a service the inverse of its tail latency where
        that was told, of batch with the wait counted in; None before its end. Of live work a service has what it kept
        of its target in the mean of all looks, and nothing is known of a job that promised nothing."""
        if self.order is not None and self.kind == SERVICE:
            return fmean(self.kept_target) if self.kept_target else None
        if self.tail is not None:
            return 1 / self.tail if self.tail else None
        unknown = self.order is not None and self.order.expect is None
        if unknown or self.performance is None or self.ended is None or self.began is None:
            return None
        if self.kind == SERVICE:
            return self.performance
        expect = None if self.order is None else self.order.expect
        return with_wait(self.performance, self.ran, self.ended - self.arrived, expect)

    @property
    def is_judged(self) -> bool:
        """Whether it counts for or against the quality kept: not where it failed by itself or was cancelled (as each
        service of live work is in the end: that counts until then), and not while it runs and it is not known what it
        reached; one that never began is a miss, unless its work is live."""
        if self.failed or (self.cancelled and not self.kept_target):
            return False
        never_began = self.order is None and self.began is None
        return never_began or self.lost or self.refused or self.reached is not None


class JourneyBuilder:
    """Puts the journeys together, entry by entry."""

    def __init__(self) -> None:
        self.journeys: dict[int, Journey] = {}
        self.came, self.last = 0, 0.0
        self._now: dict[str, Journey] = {}
        self._on: dict[int, set[str]] = {}
        self._where: dict[str, int] = {}
        self._starting: set[int] = set()
        self._orders: dict[str, JobOrder] = {}
        self._attempts: dict[tuple[str, int], tuple[Journey, Stay]] = {}
        self._handlers: dict[type, Callable[[object], None]] = {
            Arrival: self._arrival,  # type: ignore[dict-item]
            Completion: self._completion,  # type: ignore[dict-item]
            BelowQos: self._below,  # type: ignore[dict-item]
            Ready: self._ready,  # type: ignore[dict-item]
            Failed: self._failed,  # type: ignore[dict-item]
            Cancelled: self._cancelled,  # type: ignore[dict-item]
            LaunchFailed: self._launch_failed,  # type: ignore[dict-item]
            Interruption: self._interruption,  # type: ignore[dict-item]
            Lost: self._interruption,  # type: ignore[dict-item]
            Decision: self._decision,  # type: ignore[dict-item]
            Latency: self._latency,  # type: ignore[dict-item]
            JobTaken: self._taken,  # type: ignore[dict-item]
            Beginning: self._beginning,  # type: ignore[dict-item]
            AttemptOver: self._attempt_over,  # type: ignore[dict-item]
        }

    def follow(self, entries: Iterable[Entry | Note]) -> JourneyBuilder:
        """Read on."""
        for entry in in_time(entries):
            self.take(entry)
        return self

    def take(self, entry: Entry | Note) -> None:
        """Read one more."""
        self.last = max(self.last, entry.at)
        handler = self._handlers.get(type(entry))
        try:
            if handler is not None:
                handler(entry)
        except KeyError as unknown:
            raise EventError(f"at {entry.at:g} s: {unknown.args[0]!r} is told of before it came") from None

    def forget(self) -> dict[int, Journey]:
        """The journeys to which nothing can be added any more, by the number of their arrival: they are not kept."""
        more = {id(journey) for journey in self._now.values()}
        more |= {id(journey) for journey, _ in self._attempts.values()}
        over = {number: journey for number, journey in self.journeys.items() if id(journey) not in more}
        for number in over:
            del self.journeys[number]
        return over

    def _arrival(self, event: Arrival) -> None:
        came = event.at if event.submitted is None else event.submitted
        order = self._orders.pop(event.job, None)
        serves = not event.restartable if order is None else order.kind is JobKind.SERVICE
        journey = Journey(event.job, SERVICE if serves else BATCH, event.ask, came, order)
        self.journeys[self.came] = self._now[event.job] = journey
        self.came += 1

    def _completion(self, event: Completion) -> None:
        journey = self._end(event.job, event.at)
        journey.performance, journey.tail = event.performance, event.tail

    def _latency(self, event: Latency) -> None:
        journey = self._now.get(event.job)
        target = None if journey is None or journey.order is None else journey.order.target
        if journey is not None and target is not None:
            journey.kept_target.append(target.kept_at(event.p99))

    # ---- what only live work tells: when an attempt really began and ended

    def _taken(self, note: JobTaken) -> None:
        self._orders[note.order.id] = note.order

    def _beginning(self, note: Beginning) -> None:
        journey = self._now.get(note.job)
        if journey is not None and journey.stays:
            stay = journey.stays[-1]
            self._attempts[note.job, note.attempt] = journey, stay
            stay.ran_from = note.at
            if journey.began is None:
                journey.began = note.at

    def _attempt_over(self, note: AttemptOver) -> None:
        journey, stay = self._attempts.pop((note.job, note.attempt), (None, None))
        if journey is None or stay is None:
            return
        if journey.began == stay.ran_from:
            journey.began = note.began
        stay.ran_from = note.began
        if note.began is not None and note.ended is not None:
            stay.end = note.ended
            if journey.ended is not None:
                journey.ended = note.ended

    def _below(self, event: BelowQos) -> None:
        self._now[event.job].below += 1

    def _ready(self, event: Ready) -> None:
        self._starting.discard(event.instance)
        for name in self._on.get(event.instance, ()):
            self._begin(self._now[name], event.at)

    def _failed(self, event: Failed) -> None:
        self._end(event.job, event.at).failed = True

    def _cancelled(self, event: Cancelled) -> None:
        self._end(event.job, event.at).cancelled = True

    def _end(self, job: str, at: float) -> Journey:
        """A job ended: in life when its last attempt did, which was noted before."""
        journey = self._now.pop(job)
        self._leave(journey, at)
        ended = journey.stays[-1].end if journey.order is not None and journey.stays else None
        journey.ended = at if ended is None else ended
        return journey

    def _launch_failed(self, event: LaunchFailed) -> None:
        self._starting.discard(event.instance)
        for name in self._on.pop(event.instance, set()):
            self._leave(self._now[name], event.at)

    def _interruption(self, event: Interruption | Lost) -> None:
        self._starting.discard(event.instance)
        for name in self._on.pop(event.instance, set()):
            self._now[name].interrupted += 1
            self._leave(self._now[name], event.at)

    def _decision(self, decision: Decision) -> None:
        if decision.job is None or decision.job not in self._now:
            return
        journey, instance = self._now[decision.job], decision.instance
        if decision.action is DecisionAction.QUEUE:
            journey.queued = True
        elif decision.action is DecisionAction.REFUSE:
            journey.refused = True
            del self._now[decision.job]
        elif decision.action is DecisionAction.END:
            self._end(decision.job, decision.at).lost = True
        elif decision.action is DecisionAction.ENLARGE:
            journey.enlarged += 1
        elif decision.action is DecisionAction.SHRINK:
            journey.shrunk += 1
        elif decision.action is DecisionAction.MOVE:
            journey.moves += 1
            self._leave(journey, decision.at)
        elif instance is not None and decision.action in (DecisionAction.PLACE, DecisionAction.LAUNCH):
            self._enter(journey, instance, decision)

    def _enter(self, journey: Journey, instance: int, decision: Decision) -> None:
        self._leave(journey, decision.at)
        if decision.action is DecisionAction.LAUNCH:
            self._starting.add(instance)
        self._on.setdefault(instance, set()).add(journey.job)
        self._where[journey.job] = instance
        journey.stays.append(Stay(journey.ask, decision.place.startswith(OWN), decision.at))
        if instance not in self._starting:
            self._begin(journey, decision.at)

    def _begin(self, journey: Journey, at: float) -> None:
        if journey.order is not None:
            return  # it says itself when it begins
        if journey.began is None:
            journey.began = at
        if journey.stays[-1].ran_from is None:
            journey.stays[-1].ran_from = at

    def _leave(self, journey: Journey, at: float) -> None:
        instance = self._where.pop(journey.job, None)
        if instance is not None and instance in self._on:
            self._on[instance].discard(journey.job)
            if not self._on[instance]:
                del self._on[instance]
        if journey.stays and journey.stays[-1].end is None:
            journey.stays[-1].end = at


def in_time(entries: Iterable[Entry | Note]) -> Iterator[Entry | Note]:
    """The entries of a journal in the order of their times: what is decided on the way to the time of an event (a wait
    ends, servers are offered) stands behind that event."""
    held: Entry | Note | None = None
    for entry in entries:
        if isinstance(entry, Decision) and (held is None or entry.at < held.at):
            yield entry
            continue
        if held is not None:
            yield held
        held = entry
    if held is not None:
        yield held


def journeys_of(entries: Iterable[Entry | Note]) -> tuple[Journey, ...]:
    """Every job of a run in the order of arrival."""
    return tuple(JourneyBuilder().follow(entries).journeys.values())

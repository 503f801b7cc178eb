"""What jobs got, from the events and decisions of a run: performance kept, waits, violations, moves, by application."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hcloud.model.plans.operation import Operation
from hcloud.model.running.decision import Decision, DecisionAction, Entry
from hcloud.model.running.event import (
    Arrival,
    BelowQos,
    Cancelled,
    Completion,
    Failed,
    Interruption,
    LaunchFailed,
    Lost,
    Ready,
)

KEPT = 0.95
"""The share of its performance in isolation that a job keeps, as everywhere (thesis section 3.5.1)."""
_PART = 0.5  # of a step: less is no step of its own
BATCH, SERVICE, ALL = "batch", "service", "all jobs"
OWN = "reserved server"


@dataclass(slots=True)
class Stay:
    """A job on a machine: thousandths of a vCPU from a time to another (None: it was not over), and since when it ran
    there (None: the machine was not ready)."""

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

    Journals do not say what is a service: a job that may not be interrupted counts as one.
    """

    job: str
    kind: str
    ask: int
    arrived: float
    began: float | None = None
    ended: float | None = None
    performance: float | None = None
    tail: float | None = None
    queued: bool = False
    refused: bool = False
    below: int = 0
    moves: int = 0
    enlarged: int = 0
    interrupted: int = 0
    failed: bool = False
    cancelled: bool = False
    lost: bool = False
    stays: list[Stay] = field(default_factory=list)

    @property
    def app(self) -> str:
        """The application that its name says it is of: what stands before the last slash."""
        return self.job.rpartition("/")[0]

    @property
    def waited(self) -> float | None:
        """Seconds until it began; None where it never did."""
        return None if self.began is None else self.began - self.arrived

    @property
    def reached(self) -> float | None:
        """The share of its performance in isolation that it reached: of a service the inverse of its tail latency where
        that was told, of batch with the wait counted in; None before its end."""
        if self.tail is not None:
            return 1 / self.tail if self.tail else None
        if self.performance is None or self.ended is None or self.began is None:
            return None
        if self.kind == SERVICE or self.ended <= self.arrived:
            return self.performance
        return self.performance * sum(stay.ran for stay in self.stays) / (self.ended - self.arrived)


@dataclass(frozen=True, slots=True)
class GroupQuality:
    """Jobs of a group. ``kept`` is the share of all of them, but for those that failed by themselves or were cancelled,
    that ended with 95 % of their performance or more; ``p5`` and ``median`` are of those that ended, waits (seconds) of
    those that began, None where there are none. ``below`` is violations of the quality of service that were told,
    ``unfinished`` jobs that had not ended, ``judged`` those that ``kept`` is a share of."""

    group: str
    jobs: int
    kept: float
    p5: float | None
    median: float | None
    wait_p50: float | None
    wait_p95: float | None
    wait_max: float | None
    queued: float
    below: int
    moves: int
    enlarged: int
    interrupted: int
    refused: int
    unfinished: int
    judged: int


@dataclass(frozen=True, slots=True)
class CapacityUse:
    """What was asked for and held over a run: mean and peak vCPUs of jobs from their arrival to their end, by steps,
    within a window; and the share of the reserve's vCPUs in use, None without a reserve."""

    mean_cores: float
    peak_cores: float
    utilisation: float | None


class JourneyBuilder:
    """Puts the journeys together, entry by entry."""

    def __init__(self) -> None:
        self.journeys: dict[int, Journey] = {}
        self.last = 0.0
        self._now: dict[str, Journey] = {}
        self._on: dict[int, set[str]] = {}
        self._where: dict[str, int] = {}
        self._starting: set[int] = set()
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
        }

    def follow(self, entries: Iterable[Entry]) -> JourneyBuilder:
        """Read on."""
        for entry in entries:
            self.last = max(self.last, entry.at)
            handler = self._handlers.get(type(entry))
            if handler is not None:
                handler(entry)
        return self

    def _arrival(self, event: Arrival) -> None:
        came = event.at if event.submitted is None else event.submitted
        journey = Journey(event.job, BATCH if event.restartable else SERVICE, event.ask, came)
        self.journeys[len(self.journeys)] = self._now[event.job] = journey

    def _completion(self, event: Completion) -> None:
        journey = self._now.pop(event.job)
        journey.ended, journey.performance, journey.tail = event.at, event.performance, event.tail
        self._leave(journey, event.at)

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
        """A job ended without having done its work."""
        journey = self._now.pop(job)
        journey.ended = at
        self._leave(journey, at)
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


@dataclass(frozen=True, slots=True)
class QualityReport:
    """Of a journal what each group of jobs got, of a plan its simulated ``operation``; the other one is empty."""

    name: str
    strategy: str
    groups: tuple[GroupQuality, ...] = ()
    operation: Operation | None = None
    notes: tuple[str, ...] = ()


def journeys_of(entries: Iterable[Entry]) -> tuple[Journey, ...]:
    """Every job of a run in the order of arrival."""
    return tuple(JourneyBuilder().follow(entries).journeys.values())


def qualities(journeys: Sequence[Journey]) -> tuple[GroupQuality, ...]:
    """All jobs, then each kind, then each application that is named, by name."""
    found = [quality_of(ALL, journeys)]
    for kind in (BATCH, SERVICE):
        mine = [j for j in journeys if j.kind == kind]
        if mine:
            found.append(quality_of(kind, mine))
    for app in sorted({j.app for j in journeys if j.app}):
        found.append(quality_of(f"{app}/", [j for j in journeys if j.app == app]))
    return tuple(found)


def quality_of(group: str, journeys: Sequence[Journey]) -> GroupQuality:
    """What some jobs got."""
    reached = [r for j in journeys if (r := j.reached) is not None]
    waits = [w for j in journeys if (w := j.waited) is not None]
    count = max(len(journeys), 1)
    judged = sum(not (j.failed or j.cancelled) for j in journeys)
    return GroupQuality(
        group=group,
        jobs=len(journeys),
        kept=sum(r >= KEPT for r in reached) / max(judged, 1),
        p5=_quantile(reached, 0.05),
        median=_quantile(reached, 0.5),
        wait_p50=_quantile(waits, 0.5),
        wait_p95=_quantile(waits, 0.95),
        wait_max=max(waits, default=None),
        queued=sum(j.queued for j in journeys) / count,
        below=sum(j.below for j in journeys),
        moves=sum(j.moves for j in journeys),
        enlarged=sum(j.enlarged for j in journeys),
        interrupted=sum(j.interrupted for j in journeys),
        refused=sum(j.refused for j in journeys),
        unfinished=sum(j.ended is None and not j.refused for j in journeys),
        judged=judged,
    )


def _quantile(values: Sequence[float], level: float) -> float | None:
    return float(np.quantile(values, level)) if values else None


def span_of(
    journeys: Sequence[Journey],
    pool_cores: int,
    ends: float,
    step_seconds: int,
    window: tuple[float, float] | None = None,
) -> CapacityUse:
    """Demand and use of the reserve (``pool_cores`` in thousandths of a vCPU) of a run that was told until ``ends``:
    within a window of seconds, else demand up to the last arrival and use up to the end."""
    if not journeys:
        return CapacityUse(0.0, 0.0, None)
    first, last = journeys[0].arrived, max(j.arrived for j in journeys)
    start, until = window or (first, max(last, first + 1.0))
    edges = np.linspace(start, until, max(math.ceil((until - start) / step_seconds - _PART), 1) + 1)
    held = np.zeros(len(edges) - 1)
    for j in journeys:
        end = ends if j.ended is None else j.ended
        held += j.ask / 1000 * np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], j.arrived), 0.0, None)
    since, to = window or (first, ends)
    stays = [(s.ask, max(s.start, since), min(s.end or ends, to)) for j in journeys for s in j.stays if s.own]
    used = sum(ask * max(end - begun, 0.0) for ask, begun, end in stays)
    capacity = pool_cores * (to - since)
    return CapacityUse(
        float(held.sum() / (until - start)),
        float((held / np.diff(edges)).max()),
        used / capacity if capacity else None,
    )

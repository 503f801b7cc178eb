"""The story of one job: how it came, what was considered, what happened to it, and what would have turned it round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hcloud.model.running.decision import Considered, Decision, DecisionAction, Entry
from hcloud.model.running.event import (
    Arrival,
    BelowQos,
    Cancelled,
    Completion,
    Event,
    Failed,
    Interruption,
    LaunchFailed,
    Lost,
    Ready,
    Reclassified,
)
from hcloud.policy.facts import Setup
from hcloud.policy.mapping import Situation

_RAN = Completion | BelowQos | Failed
"""What only a job that has begun can meet with."""
_OF_INSTANCE = Ready | LaunchFailed | Interruption | Lost


@dataclass(frozen=True, slots=True)
class Ahead:
    """Jobs that waited when a job came, and the thousandths of a vCPU that they ask for together."""

    jobs: int
    ask: int


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A candidate for a job: its server, the harm that would be done, the speed of its type for the job (of 10,000; 0:
    not looked at), and two halves of the number of which the least won."""

    server: int
    harm: int
    speed: int
    high: int
    low: int


class FilterStep(NamedTuple):
    """A condition of a filter: the resource, whether it is about what the job tolerates (else its neighbours), by how
    many points it was relaxed, and how many servers were left after it."""

    resource: int
    is_of_job: bool
    relaxed: int
    left: int


class FilteredSearch(NamedTuple):
    """A search by filters: servers with room, the conditions in their order, and the type predicted to be the best for
    the job of those that were left."""

    with_room: int
    steps: tuple[FilterStep, ...]
    best_type: int


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that would have had to be other than it was (``now``): from ``at`` on the job goes to ``then``."""

    what: str
    now: float
    at: float
    then: str
    unit: str = ""


@dataclass(slots=True)
class Story:
    """One job in a journal: how it came, what was considered, how many servers were looked at and which of them were
    candidates or what filters left of them, what happened to it afterwards, whether it ended, and why it had left idle
    capacity, if it did (``moved``), what it waits for, where its machine is not there yet (``waits``), and how it
    is doing at the end of the journal, where that is of live work (``now``)."""

    setup: Setup
    arrival: Arrival
    considered: Considered | None = None
    afterwards: list[Entry] = field(default_factory=list)
    instance: int | None = None
    situation: Situation | None = None
    ahead: Ahead = field(default_factory=lambda: Ahead(0, 0))
    looks: int = 0
    candidates: tuple[LookedAt, ...] = ()
    filtered: FilteredSearch | None = None
    turns: tuple[Turn, ...] = ()
    ends: float = 0.0
    is_over: bool = False
    moved: str = ""
    waits: str = ""
    now: tuple[str, ...] = ()

    @property
    def began(self) -> float | None:
        """When it began to run: when its first server took it, or was ready; None where it never did."""
        return None if self._first is None else self._first[1]

    @property
    def first_on(self) -> Decision | None:
        """The decision by which it came to where it first ran; None where it never did."""
        return None if self._first is None else self._first[0]

    @property
    def _first(self) -> tuple[Decision, float] | None:
        assert self.considered is not None
        taken: Decision | None = None
        for entry in (self.considered.decision, *self.afterwards):
            if isinstance(entry, Decision) and entry.action in (DecisionAction.PLACE, DecisionAction.LAUNCH):
                if taken is not None:
                    break
                taken = entry
            elif isinstance(entry, Ready) and taken is not None:
                return taken, entry.at
            elif isinstance(entry, LaunchFailed | Lost):
                taken = None
            elif isinstance(entry, _RAN):
                break
        if taken is None or (taken.action is DecisionAction.LAUNCH and not self._ran):
            return None
        return taken, taken.at

    @property
    def _ran(self) -> bool:
        return any(isinstance(e, _RAN) for e in self.afterwards)

    def follow(self, event: Event, decisions: list[Decision]) -> None:
        """Keep what of an event and its decisions is about the job; first what was decided on the way to its time."""
        on_the_way = [d for d in decisions if d.at < event.at]
        self._keep(on_the_way)
        mine = isinstance(event, Cancelled | Reclassified | _RAN) and event.job == self.arrival.job
        self.is_over |= mine and not isinstance(event, BelowQos | Reclassified)
        if mine or (isinstance(event, _OF_INSTANCE) and event.instance == self.instance):
            self.afterwards.append(event)
        self._keep(decisions[len(on_the_way) :])

    def _keep(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            if decision.job != self.arrival.job:
                continue
            if decision.action in (DecisionAction.PLACE, DecisionAction.LAUNCH):
                self.instance = decision.instance
            self.is_over |= decision.action is DecisionAction.END
            if decision is not (self.considered.decision if self.considered else None):
                self.afterwards.append(decision)

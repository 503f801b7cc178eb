"""``hcloud explain --job``: a journal is replayed up to a job's arrival, to see what could have been done instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hcloud.control.decode import Setup, refusals
from hcloud.control.session import ControlSession
from hcloud.errors import UsageError
from hcloud.model.running.decision import Considered, Decision, DecisionAction
from hcloud.model.running.event import Arrival, BelowQos, Completion, Event, Interruption, Ready
from hcloud.policy.mapping import Situation, choose
from hcloud.sim.kernels.compiled import kernels
from hcloud.store.journal import Entry, JournalContents, read_journal
from hcloud.usecases.deciding.explain_turns import Ahead, Turn, turns
from hcloud.usecases.live.decide import replay

NAMED = 8
"""Jobs that a hint lists."""


@dataclass(slots=True)
class Story:
    """One job in a journal: how it came, what was considered, and what happened to it afterwards."""

    setup: Setup
    arrival: Arrival
    considered: Considered | None = None
    afterwards: list[Entry] = field(default_factory=list)
    instance: int | None = None
    situation: Situation | None = None
    ahead: Ahead = field(default_factory=lambda: Ahead(0, 0))
    turns: tuple[Turn, ...] = ()
    ends: float = 0.0

    @property
    def began(self) -> float | None:
        """When it began to run: when its first server took it, or was ready; None where it never did."""
        assert self.considered is not None
        taken: Decision | None = None
        for entry in (self.considered.decision, *self.afterwards):
            if isinstance(entry, Decision) and entry.action in (DecisionAction.PLACE, DecisionAction.LAUNCH):
                if taken is not None:
                    break
                taken = entry
            elif isinstance(entry, Ready) and taken is not None:
                return entry.at
            elif isinstance(entry, Completion | BelowQos):
                break
        return None if taken is None or (taken.action is DecisionAction.LAUNCH and not self._ran) else taken.at

    @property
    def _ran(self) -> bool:
        return any(isinstance(e, Completion | BelowQos) for e in self.afterwards)

    def follow(self, event: Event, decisions: list[Decision]) -> None:
        """Keep what of an event and its decisions is about the job."""
        mine = isinstance(event, Completion | BelowQos) and event.job == self.arrival.job
        if mine or (isinstance(event, Ready | Interruption) and event.instance == self.instance):
            self.afterwards.append(event)
        for decision in decisions:
            if decision.job != self.arrival.job:
                continue
            if decision.action in (DecisionAction.PLACE, DecisionAction.LAUNCH):
                self.instance = decision.instance
            if decision is not (self.considered.decision if self.considered else None):
                self.afterwards.append(decision)


def explain_job(path: Path, job: str) -> Story:
    """The story of a job (of the last one, where a name came again); raises UsageError where it never came."""
    journal = read_journal(path)
    arrivals = [at for at, e in enumerate(journal.events) if isinstance(e, Arrival) and e.job == job]
    if not arrivals:
        known = [e.job for e in journal.events if isinstance(e, Arrival)]
        pieces = [name for name in known if name.startswith(f"{job}.")]
        names = ", ".join([*(pieces or known)[:NAMED], *(["..."] if len(pieces or known) > NAMED else [])])
        raise UsageError(f"{path}: no job {job} in it", hint=f"{'it was split' if pieces else 'jobs in it'}: {names}")
    return _story(journal, arrivals[-1])


def _story(journal: JournalContents, at: int) -> Story:
    events, before = journal.events, JournalContents(journal.setup, journal.events[:at], 0, False)
    session, _ = replay(before, kernels(len(events)))
    arrival = events[at]
    assert isinstance(arrival, Arrival)
    story = Story(journal.setup, arrival)
    decisions, situation, kind, ahead = _decide(session, arrival)
    mine = next(d for d in decisions if d.job == arrival.job and d.at == arrival.at)
    refused = refusals(journal.setup, situation, choose(journal.setup.rules, situation)[0], kind) if kind >= 0 else ()
    story.considered, story.situation, story.ahead = Considered(mine, refused), situation, ahead
    story.turns = tuple(turns(journal.setup, situation, arrival.ask, ahead)) if kind >= 0 else ()
    story.ends = journal.events[-1].at
    story.follow(arrival, decisions)
    for event in events[at + 1 :]:
        story.follow(event, session.handle(event))
        if isinstance(event, Completion) and event.job == arrival.job:
            break
    return story


def _decide(session: ControlSession, arrival: Arrival) -> tuple[list[Decision], Situation, int, Ahead]:
    seen: list[tuple[Situation, int, Ahead]] = []

    def watch(row: int, now: float) -> None:
        seen.append((session.situation(row, now), session.tables.given[row][4], _ahead(session)))

    session.watch = watch
    decisions = session.handle(arrival)
    session.watch = None
    return decisions, *seen[0]


def _ahead(session: ControlSession) -> Ahead:
    """The jobs in the queue."""
    number, jobs, ask = int(session.tables.control.desk.head), 0, 0
    while number >= 0:
        jobs, ask = jobs + 1, ask + session.tables.given[number][0]
        number = int(session.tables.control.jobs[number].behind)
    return Ahead(jobs, ask)

"""``hcloud explain --job``: a journal is replayed up to a job's arrival, to see what could have been done instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hcloud.control.decode import Setup, refusals
from hcloud.control.session import Session
from hcloud.errors import UsageError
from hcloud.model.decision import Action, Considered, Decision
from hcloud.model.event import Arrival, BelowQos, Completion, Event, Interruption, Ready
from hcloud.policy.mapping import Situation, choose
from hcloud.sim.compiled import kernels
from hcloud.store.journal import Entry, Journal, read_journal
from hcloud.usecases.decide import replay


@dataclass(slots=True)
class Story:
    """One job in a journal: how it came, what was considered, and what happened to it afterwards."""

    setup: Setup
    arrival: Arrival
    considered: Considered | None = None
    afterwards: list[Entry] = field(default_factory=list)
    instance: int | None = None

    def follow(self, event: Event, decisions: list[Decision]) -> None:
        """Keep what of an event and its decisions is about the job."""
        mine = isinstance(event, Completion | BelowQos) and event.job == self.arrival.job
        if mine or (isinstance(event, Ready | Interruption) and event.instance == self.instance):
            self.afterwards.append(event)
        for decision in decisions:
            if decision.job != self.arrival.job:
                continue
            if decision.action in (Action.PLACE, Action.LAUNCH):
                self.instance = decision.instance
            if decision is not (self.considered.decision if self.considered else None):
                self.afterwards.append(decision)


def explain_job(path: Path, job: str) -> Story:
    """The story of a job (of the last one, where a name came again); raises UsageError where it never came."""
    journal = read_journal(path)
    arrivals = [at for at, e in enumerate(journal.events) if isinstance(e, Arrival) and e.job == job]
    if not arrivals:
        known = ", ".join(e.job for e in journal.events if isinstance(e, Arrival))
        raise UsageError(f"{path}: no job {job} in it", hint=f"jobs in it: {known[:80]}")
    return _story(journal, arrivals[-1])


def _story(journal: Journal, at: int) -> Story:
    events, before = journal.events, Journal(journal.setup, journal.events[:at], 0, False)
    session, _ = replay(before, kernels(len(events)))
    arrival = events[at]
    assert isinstance(arrival, Arrival)
    story = Story(journal.setup, arrival)
    decisions, situation, kind = _decide(session, arrival)
    mine = next(d for d in decisions if d.job == arrival.job and d.at == arrival.at)
    refused = refusals(journal.setup, situation, choose(journal.setup.rules, situation)[0], kind) if kind >= 0 else ()
    story.considered = Considered(mine, refused)
    story.follow(arrival, decisions)
    for event in events[at + 1 :]:
        story.follow(event, session.handle(event))
        if isinstance(event, Completion) and event.job == arrival.job:
            break
    return story


def _decide(session: Session, arrival: Arrival) -> tuple[list[Decision], Situation, int]:
    seen: list[tuple[Situation, int]] = []

    def watch(row: int, now: float) -> None:
        seen.append((session.situation(row, now), session.tables.given[row][4]))

    session.watch = watch
    decisions = session.handle(arrival)
    session.watch = None
    return decisions, *seen[0]

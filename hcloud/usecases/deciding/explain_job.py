"""``hcloud explain --job``: a journal is replayed up to a job's arrival, to see what could have been done instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hcloud.control.decode import refusals
from hcloud.control.session import ControlSession
from hcloud.control.story import Ahead, LookedAt, Story
from hcloud.errors import UsageError
from hcloud.model.running.decision import Considered, Decision
from hcloud.model.running.event import Arrival
from hcloud.policy.mapping import Situation, choose
from hcloud.sim.kernels.compiled import kernels
from hcloud.store.journal import JournalContents, read_journal
from hcloud.store.live_journal import read_whole
from hcloud.usecases.deciding.explain_turns import turns
from hcloud.usecases.live.decide import replay

NAMED = 8
"""Jobs that a hint lists."""


def explain_job(path: Path, job: str) -> Story:
    """The story of a job (of the last one, where a name came again); raises UsageError where it never came."""
    journal = read_journal(path)
    arrivals = _arrivals(journal, job)
    if not arrivals and journal.before is not None:  # it came in a part that was put aside
        journal = read_whole(path)
        arrivals = _arrivals(journal, job)
    if not arrivals:
        known = [e.job for e in journal.events if isinstance(e, Arrival)]
        pieces = [name for name in known if name.startswith(f"{job}.")]
        names = ", ".join([*(pieces or known)[:NAMED], *(["..."] if len(pieces or known) > NAMED else [])])
        raise UsageError(f"{path}: no job {job} in it", hint=f"{'it was split' if pieces else 'jobs in it'}: {names}")
    return _story(journal, arrivals[-1])


def _arrivals(journal: JournalContents, job: str) -> list[int]:
    return [at for at, e in enumerate(journal.events) if isinstance(e, Arrival) and e.job == job]


def _story(journal: JournalContents, at: int) -> Story:
    events = journal.events
    before = JournalContents(journal.setup, events[:at], 0, False, before=journal.before)
    session, _ = replay(before, kernels(len(events)))
    arrival = events[at]
    assert isinstance(arrival, Arrival)
    story = Story(journal.setup, arrival)
    looks = int(session.tables.control.desk.looks)
    decisions, situation, kind, ahead = _decide(session, arrival)
    story.looks = int(session.tables.control.desk.looks) - looks
    if story.looks and journal.setup.rules.candidates:
        story.candidates = tuple(_candidates(session))
    mine = next(d for d in decisions if d.job == arrival.job and d.at == arrival.at)
    refused = refusals(journal.setup, situation, choose(journal.setup.rules, situation)[0], kind) if kind >= 0 else ()
    story.considered, story.situation, story.ahead = Considered(mine, refused), situation, ahead
    story.turns = tuple(turns(journal.setup, situation, arrival.ask, ahead)) if kind >= 0 else ()
    story.ends = journal.events[-1].at
    story.follow(arrival, decisions)
    for event in events[at + 1 :]:
        story.follow(event, session.handle(event))
        if story.is_over:
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


def _candidates(session: ControlSession) -> Iterator[LookedAt]:
    """The servers that the last search drew, each once."""
    control = session.tables.control
    rows = (control.candidates[at] for at in range(int(control.desk.found)))
    drawn = (LookedAt(*(int(v) for v in (r.server, r.harm, r.speed, r.high, r.low))) for r in rows)
    yield from {one.server: one for one in drawn}.values()


def _ahead(session: ControlSession) -> Ahead:
    """The jobs in the queue."""
    number, jobs, ask = int(session.tables.control.desk.head), 0, 0
    while number >= 0:
        jobs, ask = jobs + 1, ask + session.tables.given[number][0]
        number = int(session.tables.control.jobs[number].behind)
    return Ahead(jobs, ask)

"""``hcloud explain --job``: a journal is replayed up to a job's arrival, to see what could have been done instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hcloud.control.operating.harvested import HarvestLedger, HarvestStory, harvest_story
from hcloud.control.searching.brief import is_brief
from hcloud.control.searching.candidates import has_capacity
from hcloud.control.searching.filters import passes
from hcloud.control.sessions.decode import RESERVED_POOL, refusals
from hcloud.control.sessions.session import ControlSession
from hcloud.control.sessions.story import Ahead, FilteredSearch, FilterStep, LookedAt, Story
from hcloud.control.state import CLOSED, OWN
from hcloud.model.running.decision import Considered, Decision, Declined
from hcloud.model.running.event import Arrival, Event
from hcloud.model.running.harvest_note import HarvestMoved
from hcloud.policy.codes import BY_OFFER, FILTERED, FILTERED_BY_CHANCE
from hcloud.policy.mapping import Situation, choose
from hcloud.policy.placing.placement import RESOURCES
from hcloud.sim.machine_code.compiled import kernels
from hcloud.store.journals.journal import JournalContents, read_journal, refusing_impossible
from hcloud.store.journals.live import read_whole
from hcloud.units import counted
from hcloud.usecases.deciding.explaining.live import never_came, now_of, waits_for
from hcloud.usecases.deciding.explaining.turns import turns
from hcloud.usecases.live.decide import replay
from hcloud.usecases.live.operating.operate import fold_of


def explain_job(path: Path, job: str) -> Story | HarvestStory:
    """The story of a job (of the last one, where a name came again), or of one that had idle capacity alone; raises
    UsageError where it never came."""
    journal = read_journal(path)
    arrivals = _arrivals(journal, job)
    if not arrivals and journal.before is not None:  # it came in a part that was put aside
        journal = read_whole(path)
        arrivals = _arrivals(journal, job)
    if not arrivals:
        beside = HarvestLedger() if journal.live is None else fold_of(journal).harvested
        if job in beside.graphs or job in beside.jobs:
            return harvest_story(job, beside, tuple(journal.lines))
        raise never_came(path, job, journal)
    with refusing_impossible(path):
        story = _story(journal, arrivals[-1])
    if journal.live is not None:
        fold = fold_of(journal)
        story.waits, story.now = "" if story.is_over else waits_for(fold, job), now_of(fold, job)
    story.moved = next((n.why for n in journal.lines if isinstance(n, HarvestMoved) and n.job == job), "")
    return story


def _arrivals(journal: JournalContents, job: str) -> list[int]:
    return [at for at, e in enumerate(journal.events) if isinstance(e, Arrival) and e.job == job]


def _story(journal: JournalContents, at: int) -> Story:
    events, arrival = journal.events, journal.events[at]
    assert isinstance(arrival, Arrival)
    at, setup = _decided_with(events, at), journal.setup
    last = events[at]
    assert isinstance(last, Arrival)
    before = JournalContents(journal.setup, events[:at], 0, False, before=journal.before)
    session, _ = replay(before, kernels(len(events)))
    story = Story(journal.setup, arrival)
    looks = int(session.tables.control.desk.looks)
    decisions, situation, kind, ahead, filtered = _decide(session, last)
    story.looks = int(session.tables.control.desk.looks) - looks
    if story.looks and journal.setup.rules.candidates:
        story.candidates = tuple(_candidates(session))
    story.filtered = filtered if story.looks else None
    mine = next(d for d in decisions if d.job == arrival.job and d.at == last.at)
    chosen, whole = choose(setup.rules, situation)[0], setup.whole_for(arrival.ask, arrival.memory, last.platform)
    whole = whole if whole >= 0 else kind
    refused = refusals(setup, situation, chosen, kind, whole) if kind >= 0 else ()
    refused = _with_closed(session, refused)
    story.considered, story.situation, story.ahead = Considered(mine, refused), situation, ahead
    is_told = kind >= 0 and journal.setup.rules.ranking != BY_OFFER  # who waits for an offer lacks no server
    story.turns = tuple(turns(setup, situation, arrival.ask, ahead, whole)) if is_told else ()
    story.ends = journal.events[-1].at
    story.follow(arrival, decisions)
    for event in events[at + 1 :]:
        story.follow(event, session.handle(event))
        if story.is_over:
            break
    return story


def _with_closed(session: ControlSession, refused: Sequence[Declined]) -> tuple[Declined, ...]:
    """The same, with the servers of the reserve that get no job since one of theirs is below its target."""
    c = session.tables.control
    rows = (c.servers[slot] for slot in (i.slot for i in session.instances.values() if i.paid == OWN))
    closed = sum(row.status == CLOSED and row.tenants > 0 for row in rows) if c.rules.closes else 0
    its = "a job there is" if closed == 1 else "jobs there are"
    why = f"{counted(closed, 'reserved server')} closed to other jobs: {its} below target"
    return tuple(
        replace(one, reason=f"{one.reason}; {why}") if closed and one.option == RESERVED_POOL else one
        for one in refused
    )


def _decided_with(events: Sequence[Event], at: int) -> int:
    """Which arrival a job is decided on with: its own, or that of the last of its pieces."""
    first, last = events[at], at
    assert isinstance(first, Arrival)
    if first.pieces > 1:
        name = first.job
        for later in range(at + 1, len(events)):
            event = events[later]
            if isinstance(event, Arrival) and event.after == name:
                name, last = event.job, later
    return last


Seen = tuple[Situation, int, Ahead, FilteredSearch | None]


def _decide(
    session: ControlSession, arrival: Arrival
) -> tuple[list[Decision], Situation, int, Ahead, FilteredSearch | None]:
    seen: list[Seen] = []

    def watch(row: int, now: float) -> None:
        looked = session.situation(row, now)
        seen.append((looked, session.tables.given[row][4], _ahead(session), _filtered(session, row)))

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


def _filtered(session: ControlSession, row: int) -> FilteredSearch | None:
    """What the filters of the search that was just made leave of the reserved servers; None without filters."""
    c = session.tables.control
    job = c.jobs[row]
    if c.rules.ranking not in (FILTERED, FILTERED_BY_CHANCE) or not c.rules.informed or is_brief(c, job):
        return None
    listed = (int(c.rosters[at].server[OWN]) for at in range(int(c.desk.listed[OWN])))
    left = [number for number in listed if has_capacity(c, c.servers[number], job, job.ask)]
    with_room, steps = len(left), []
    for at in range(2 * RESOURCES):
        left = [number for number in left if passes(c, job, number, job.ask, at + 1)]
        resource, relaxed = int(c.desk.resource[at]), int(c.desk.relaxed[at])
        steps.append(FilterStep(resource, at >= RESOURCES, relaxed, len(left)))
    kinds = sorted({int(c.servers[number].kind) for number in left})
    best = max(kinds, key=lambda kind: int(c.speeds[job.platform, kind]), default=-1)
    return FilteredSearch(with_room, tuple(steps), best)


def _ahead(session: ControlSession) -> Ahead:
    """The jobs in the queue."""
    number, jobs, ask = int(session.tables.control.desk.head), 0, 0
    while number >= 0:
        jobs, ask = jobs + 1, ask + session.tables.given[number][0]
        number = int(session.tables.control.jobs[number].behind)
    return Ahead(jobs, ask)

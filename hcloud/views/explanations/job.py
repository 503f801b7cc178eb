"""Why a job waited and went where it went, in under ten lines: what was in the way, and what would have changed it; and
what became of a job on idle capacity."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hcloud.control.operating.harvested import GraphRecord, HarvestStory
from hcloud.control.sessions.story import FilteredSearch, FilterStep, LookedAt, Story, Turn
from hcloud.model.measured.profile import RESOURCES
from hcloud.model.running.decision import Decision, DecisionAction, Declined
from hcloud.model.running.event import (
    BelowQos,
    Cancelled,
    Completion,
    Failed,
    Interruption,
    LaunchFailed,
    Lost,
    Reclassified,
)
from hcloud.model.running.harvest_note import HarvestBeginning, HarvestOver, HarvestWaiting, HarvestYielding
from hcloud.policy.codes import BY_COLOCATION, BY_LOAD, BY_MATCH, SCALE
from hcloud.policy.facts import SECONDS, SHARE_OF_POOL, quality
from hcloud.policy.quality import HALF
from hcloud.units import counted, counted_vcpus, format_span, short_percent
from hcloud.views.explanations.explanation import Explanation, ExplanationLine, listed
from hcloud.views.live.decision import time_text

_MOST_CANDIDATES = 8
_MOST_STEPS = 12
_LAST_SHOWN = 3
_ADJUSTMENTS = {
    DecisionAction.ENLARGE: "more of server",
    DecisionAction.SHRINK: "less of server",
    DecisionAction.MOVE: "moved off server",
    DecisionAction.ADD: "another server beside",
    DecisionAction.DROP: "gave back server",
}


def explain_story(story: Story) -> Explanation:
    """The story of a job on idle capacity: what became of it first."""
    job, considered = story.arrival, story.considered
    assert considered is not None
    size = f"{counted_vcpus(job.ask / 1000)} and {job.memory / 1024:,.2f} GiB"
    asked = f"{size} at {time_text(job.at)} under {story.setup.strategy}"
    lines = (
        ExplanationLine("asked", (asked, "may be interrupted") if job.restartable else (asked,), weight=0),
        ExplanationLine("before", (f"it left idle capacity: {story.moved}",) if story.moved else (), weight=2),
        ExplanationLine("why", (considered.decision.why,), weight=3),
        ExplanationLine("state", listed(_there(story)), weight=2),
        ExplanationLine("search", tuple(_looked_at(story)), weight=2),
        ExplanationLine("rejected", tuple(map(_missed, considered.refused)), weight=1),
        ExplanationLine("unless", tuple(map(_said, story.turns)), weight=2),
        ExplanationLine("then", listed(iter((_diverted(story),))), weight=3),
        ExplanationLine("adjusted", tuple(_adjusted(story)), weight=3),
        ExplanationLine("waits", (story.waits,) if story.waits else (), weight=3),
        ExplanationLine("now", story.now, weight=3),
        ExplanationLine("later", listed(_later(story)), weight=0),
    )
    return Explanation(f"why job {job.job} went where it went", _answer(story), lines)


def _answer(story: Story) -> str:
    job, began, decided = story.arrival, story.began, story.considered
    assert decided is not None
    if decided.decision.action is DecisionAction.REFUSE:
        return f"job {job.job} was refused"
    if began is None:
        return f"job {job.job} waited {format_span(story.ends - job.at)} and {_not_begun(story)}"
    waited = f"waited {format_span(began - job.at)}" if began > job.at else "did not wait"
    return f"job {job.job} {waited}; it {_ran(story)}"


def _not_begun(story: Story) -> str:
    if any(isinstance(e, Cancelled) for e in story.afterwards):
        return "was cancelled before it began"
    return "has not begun yet" if story.now or story.waits else "had not begun when the journal ended"


def _ran(story: Story) -> str:
    """Where it ran first, and how that ended."""
    first = story.first_on
    assert first is not None
    place = f"on a new {first.place}" if first.action is DecisionAction.LAUNCH else f"on {first.place}"
    for entry in reversed(story.afterwards):
        match entry:
            case Completion(performance=share):
                return f"ran {place} at {short_percent(share)} of its performance in isolation"
            case Failed(code=code):
                return f"ran {place} and failed with exit code {code}"
            case Cancelled():
                return f"ran {place} and was cancelled"
    if story.is_over:
        return f"ran {place}"
    return f"runs {place}" if story.now else f"ran {place} and had not ended when the journal ended"


def _there(story: Story) -> Iterator[str]:
    now, rules = story.situation, story.setup.rules
    if now is None or not story.setup.pool:
        return
    if story.ahead.jobs:
        yield f"{counted(story.ahead.jobs, 'job')} waiting before it"
    servers = len(story.setup.reserve)
    yield (
        f"{counted(servers, 'reserved server')} at {short_percent(now.utilisation)}"
        f" (soft limit {short_percent(now.soft)},"
        f" hard {short_percent(rules.hard)}), {'room' if now.room > 0 else 'no room'} for it"
    )
    if now.needed or now.offered:
        yield f"on demand offers a quality of {quality(now.offered)}, it needs {quality(now.needed)}"


def _looked_at(story: Story) -> Iterator[str]:
    """How many servers were looked at, and the candidates with what they were ranked by."""
    if not story.looks:
        return
    rules, reserve = story.setup.rules, story.setup.reserve
    drawn = f", {counted(len(story.candidates), 'candidate')} with room" if story.candidates else ""
    yield f"{counted(story.looks, 'look')} at servers{drawn}"
    for one in sorted(story.candidates, key=lambda c: c.server != story.instance)[:_MOST_CANDIDATES]:
        closest = ": the closest fit" if rules.ranking == BY_MATCH and len(story.candidates) > 1 else ""
        taken = f" (taken{closest})" if one.server == story.instance else ""
        kind = story.setup.types[reserve[one.server]].name if one.server < len(reserve) else "rented"
        speed = f", {one.speed / 100:.0f}% of the best type's speed" if 0 < one.speed < 10_000 else ""
        yield f"server {one.server}, {kind}{speed}{_ranked(rules.ranking, one)}{taken}"
    if story.filtered is not None and story.filtered.with_room:
        yield from _filtered(story, story.filtered)
    if len(story.candidates) > _MOST_CANDIDATES:
        yield f"and {len(story.candidates) - _MOST_CANDIDATES} more"


def _filtered(story: Story, search: FilteredSearch) -> Iterator[str]:
    """What each filter left where it left fewer, what was relaxed, and the type that was taken beside the best."""
    reserve, types = story.setup.reserve, story.setup.types
    if search.best_type >= 0 and story.instance is not None and story.instance < len(reserve):
        taken, best = types[reserve[story.instance]].name, types[search.best_type].name
        beside = ", predicted to be the best" if taken == best else f"; predicted to be the best: {best}"
        yield f"type {taken} taken{beside} of those left"
    before, fewer = search.with_room, []
    for step in search.steps:
        if step.left < before:
            fewer.append(f"{step.left:,} after {_condition(step)}")
        before = step.left
    yield ", ".join((f"{counted(search.with_room, 'server')} with room", *(fewer or ["all pass every filter"])))
    relaxed = [f"{_condition(s)} by {counted(s.relaxed, 'point')}" for s in search.steps if s.relaxed]
    if relaxed:
        yield f"relaxed: {', '.join(relaxed)}"


def _condition(step: FilterStep) -> str:
    """Who must bear which resource."""
    who = "the job tolerates" if step.is_of_job else "its neighbours tolerate"
    return f"what {who} of {RESOURCES[step.resource]}"


def _ranked(ranking: int, one: LookedAt) -> str:
    """What a candidate was ranked by."""
    if ranking == BY_LOAD:
        return f", {one.high / 10_000:.0f}% in use"
    if ranking == BY_COLOCATION:
        return f", quality of colocation {1 - one.high / 1_000_000:.3f}"
    if ranking == BY_MATCH:
        lacks = one.high >= HALF
        apart = (one.high - HALF if lacks else one.high) / HALF
        return f", {quality(apart * SCALE)} {'below' if lacks else 'above'} the quality it needs"
    return ""


def _missed(option: Declined) -> str:
    """A refused option and by how much it missed, else why."""
    if option.margin is None or option.margin == float("inf"):
        return f"{option.option} ({option.reason.split(', or ')[0]})"
    return f"{option.option} by {_amount(option.margin, option.unit)} ({option.reason.split(':')[0]})"


def _amount(margin: float, unit: str) -> str:
    if unit == SHARE_OF_POOL:
        return f"{short_percent(margin)} of the pool"
    return f"{margin:,.1f} s" if unit == SECONDS else f"{margin:.2f} {unit}"


def _said(turn: Turn) -> str:
    if turn.unit == "servers":
        more = int(turn.at - turn.now)
        return f"{counted(more, 'reserved server')} more ({turn.at:.0f}): {turn.then}"
    if turn.unit == "share":
        side = "above" if turn.at >= turn.now else "at most"
        return f"{turn.what} {side} {short_percent(turn.at)} instead of {short_percent(turn.now)}: {turn.then}"
    if turn.unit == "s":
        side = "above" if turn.at > turn.now else "at most"
        return f"{turn.what} {side} {turn.at:,.1f} s instead of {turn.now:,.1f} s: {turn.then}"
    return f"{turn.what} below {turn.at:.4f} instead of {turn.now:.4f}: {turn.then}"


def _diverted(story: Story) -> str:
    """To which other queues a job that waited in several went, and how its wait ended."""
    down, ended = [], ""
    assert story.considered is not None
    waited = story.setup.rules.classes and story.considered.decision.action is DecisionAction.QUEUE
    for entry in story.afterwards if waited else ():
        if isinstance(entry, Decision) and entry.action is not DecisionAction.QUEUE:
            ended = f"{time_text(entry.at)}: {entry.why.split(':')[0]}"
            break
        if isinstance(entry, Decision) and entry.reason == "diverted-down":
            found = re.search(r"class (\d+) of", entry.why)
            down.append(f"{found[1] if found else '?'} at {time_text(entry.at)}")
    moved = f"down to class {', '.join(down)}, likelier to be free" if down else ""
    return ". ".join(filter(None, (moved, ended)))


def _adjusted(story: Story) -> Iterator[str]:
    """What was done about a job that is watched while it runs, when and why."""
    if not story.setup.rules.watching:
        return
    steps = [e for e in story.afterwards if isinstance(e, Decision) and e.action in _ADJUSTMENTS]
    for step in steps[:_MOST_STEPS]:
        where = "" if step.instance is None else f" {step.instance}"
        yield f"{time_text(step.at)}: {_ADJUSTMENTS[step.action]}{where}; {step.why}"
    if len(steps) > _MOST_STEPS:
        yield f"and {counted(len(steps) - _MOST_STEPS, 'step')} more, the last at {time_text(steps[-1].at)}"


def _later(story: Story) -> Iterator[str]:
    below = sum(isinstance(e, BelowQos) for e in story.afterwards)
    moves = sum(isinstance(e, Decision) and e.action is DecisionAction.MOVE for e in story.afterwards)
    enlarged = sum(isinstance(e, Decision) and e.action is DecisionAction.ENLARGE for e in story.afterwards)
    taken = sum(isinstance(e, Interruption) for e in story.afterwards)
    lost = sum(isinstance(e, Lost) for e in story.afterwards)
    unlaunched = sum(isinstance(e, LaunchFailed) for e in story.afterwards)
    if unlaunched:
        yield f"its new machine could not be launched {counted(unlaunched, 'time')}"
    if below:
        yield f"below its quality of service {counted(below, 'time')}"
    if any(isinstance(e, Reclassified) for e in story.afterwards):
        yield "its estimate corrected"
    if moves:
        yield f"moved {counted(moves, 'time')}"
    if enlarged:
        yield f"enlarged {counted(enlarged, 'time')}"
    if taken:
        yield f"its capacity was taken back {counted(taken, 'time')}"
    if lost:
        yield f"its machine was lost {counted(lost, 'time')}"


def explain_harvested(story: HarvestStory) -> Explanation:
    """The story of a job on idle capacity: what became of it first."""
    cores, memory = story.asked
    size = f"{counted_vcpus(cores / 1000)} and {memory / 1024:,.2f} GiB"
    tasks = f"{counted(len(story.tasks), 'task')}, the largest of " if isinstance(story.record, GraphRecord) else ""
    lines = (
        ExplanationLine("asked", (f"{tasks}{size}, on {story.place}",), weight=2),
        ExplanationLine("why", (story.record.why,) if story.record.why else (), weight=3),
        ExplanationLine("waited", tuple(_last_of(story, HarvestWaiting)), weight=1),
        ExplanationLine("gave way", tuple(_last_of(story, HarvestYielding)), weight=2),
    )
    begun = sum(isinstance(note, HarvestBeginning) for note in story.notes)
    over = [note for note in story.notes if isinstance(note, HarvestOver)]
    ran = sum(n.ended - n.began for n in over if n.began is not None and n.ended is not None)
    times = f"begun {counted(begun, 'time')}, gave way {counted(story.record.kills, 'time')}, ran {format_span(ran)}"
    answer = f"job {story.job} on idle capacity: {story.record.state}; {times}"
    return Explanation(f"what became of job {story.job} on idle capacity", answer, lines)


def _last_of(story: HarvestStory, kind: type[HarvestWaiting | HarvestYielding]) -> Iterator[str]:
    found = [note for note in story.notes if isinstance(note, kind)]
    yield from (note.why for note in found[-_LAST_SHOWN:])

"""Decisions on a stream, and the story of one job, for people and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from io import BufferedIOBase

from hcloud.control.operating.harvested import HarvestStory
from hcloud.control.sessions.decode import options
from hcloud.control.sessions.story import Story
from hcloud.model.running.decision import Decision, Entry, GoneOn
from hcloud.model.running.event import (
    BelowQos,
    Cancelled,
    Completion,
    Event,
    EventError,
    Failed,
    Interruption,
    LaunchFailed,
    Lost,
    Ready,
    Reclassified,
)
from hcloud.model.workload import DATES_FROM
from hcloud.store.journals.journal import LONGEST_LINE
from hcloud.units import counted, counted_vcpus
from hcloud.views.console import Terminal
from hcloud.views.escaped import json_as_stored
from hcloud.views.live.harvested import harvest_story_lines

Answer = Callable[[str], str]
"""The lines of decisions that a line with an event brings."""
_AT_ONCE = 1 << 14
"""Bytes read at a time: a hundred lines or so, which are answered in a few milliseconds."""


def show_opened(opened: GoneOn, terminal: Terminal) -> None:
    """Say where a stream goes on, and tell what a crash kept from being told."""
    if opened.torn:
        terminal.warn("the last line of the journal was incomplete and was dropped: send its event again")
    if opened.replayed:
        terminal.note(f"{counted(opened.replayed, 'event')} replayed, the last at {time_text(opened.last)}")
    if opened.untold:
        terminal.write(json_as_stored(opened.untold))
        terminal.out.file.flush()


def tell_lines(lines: BufferedIOBase, answer: Answer, terminal: Terminal) -> int:
    """Answer every line before waiting for the next; what is wrong with a line is said on stderr.

    Returns how many were wrong. Lines that are there already are answered in one go.
    """
    out, wrong, number, rest = terminal.out.file, 0, 0, b""
    while chunk := lines.read1(_AT_ONCE):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            wrong += _tell(line, number, answer, terminal)
        out.flush()
        rest = rest[: LONGEST_LINE + 1]  # what has become too long is dropped, and said when its line ends
    wrong += _tell(rest, number + 1, answer, terminal)
    out.flush()
    return wrong


def _tell(line: bytes, number: int, answer: Answer, terminal: Terminal) -> int:
    try:
        if len(line) > LONGEST_LINE:
            raise EventError(f"longer than {LONGEST_LINE:,} bytes")
        if line and not line.isspace():
            terminal.out.file.write(answer(line.decode()))
    except (EventError, UnicodeDecodeError) as error:
        terminal.say(f"error: line {number}: {error}", wrong=True)
        terminal.err.file.flush()
        return 1
    return 0


def show_story(story: Story | HarvestStory, terminal: Terminal) -> None:
    """The story of a job for people."""
    terminal.show(*(harvest_story_lines(story, time_text) if isinstance(story, HarvestStory) else _lines(story)))


def _lines(story: Story) -> list[str]:
    job, considered = story.arrival, story.considered
    assert considered is not None
    asked = f"{counted_vcpus(job.ask / 1000)}, {job.memory / 1024:,.2f} GiB"
    chosen = considered.decision
    lines = [
        f"Job {job.job} under {story.setup.strategy}: came at {time_text(job.at)} asking for {asked}"
        f"{', may be interrupted' if job.restartable else ''}",
        *([f"  it left idle capacity: {story.moved}"] if story.moved else []),
        "",
        f"Decided: {_what(chosen)}",
        f"  because {chosen.why}{_by(chosen)}",
    ]
    if considered.refused:
        lines += ["", "Refused:", *(f"  {line}" for line in options(considered.refused))]
    lines += ["", "Afterwards:"]
    lines += [f"  {time_text(e.at)}  {_happened(e)}" for e in story.afterwards] or ["  nothing until the journal ends"]
    lines += [f"  {story.waits}"] if story.waits else []
    lines += ["", "Now:", *(f"  {line}" for line in story.now)] if story.now else []
    return lines


def time_text(at: float) -> str:
    """A time of a trace in seconds, or the moment where times count from 1970."""
    if at >= DATES_FROM:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"
    return f"{at:,.2f}".removesuffix(".00") + " s"


_WORDS = {
    "place": "to",
    "launch": "to a new",
    "queue": "to the",
    "refuse": "refused,",
    "move": "moved from",
    "end": "ended with",
}


def _what(decision: Decision) -> str:
    number = "" if decision.instance is None or "server" in decision.place else f" (instance {decision.instance})"
    return f"{_WORDS.get(decision.action.value, decision.action.value)} {decision.place}{number}"


def _by(decision: Decision) -> str:
    return "" if decision.margin is None else f" (margin {decision.margin:.4g} {decision.unit})"


def _happened(entry: Entry) -> str:
    return f"{_what(entry)}: {entry.why}" if isinstance(entry, Decision) else _told(entry)


def _told(event: Event) -> str:
    match event:
        case Completion(performance=share):
            return f"ended after running at {100 * share:.1f}% of its performance in isolation"
        case BelowQos(performance=share, rate=rate) if rate is not None and rate > 1:
            return f"could do {100 * rate:.1f}% of its target, at {100 * share:.1f}% of its performance in isolation"
        case BelowQos(performance=share):
            return f"below its quality of service, at {100 * share:.1f}% of its performance in isolation"
        case Reclassified():
            return "its estimate was wrong and was corrected by what was seen"
        case Failed(code=code):
            return f"failed with exit code {code}"
        case Cancelled():
            return "cancelled"
        case _:
            return _told_of_instance(event)


def _told_of_instance(event: Event) -> str:
    match event:
        case Ready(instance=number):
            return f"instance {number} started"
        case LaunchFailed(instance=number, why=why):
            return f"instance {number} could not be launched: {why}"
        case Interruption(instance=number):
            return f"instance {number} was taken back"
        case Lost(instance=number):
            return f"instance {number} was lost"
        case _:
            raise AssertionError(event)

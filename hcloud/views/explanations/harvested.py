"""What became of a job on idle capacity, in under ten lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hcloud.control.operating.harvested import GraphRecord
from hcloud.model.running.harvest_note import HarvestBeginning, HarvestOver, HarvestWaiting, HarvestYielding
from hcloud.units import counted, counted_vcpus, format_span
from hcloud.views.explanations.explanation import Explanation, ExplanationLine

if TYPE_CHECKING:
    from hcloud.control.operating.harvested import HarvestStory

_SHOWN = 3


def explain_harvested(story: HarvestStory) -> Explanation:
    """The story of a job: what became of it first."""
    cores, memory = story.asked
    size = f"{counted_vcpus(cores / 1000)} and {memory / 1024:,.2f} GiB"
    tasks = f"{counted(len(story.tasks), 'task')}, the largest of " if isinstance(story.record, GraphRecord) else ""
    lines = (
        ExplanationLine("asked", (f"{tasks}{size}, on {story.place}",), weight=2),
        ExplanationLine("why", (story.record.why,) if story.record.why else (), weight=3),
        ExplanationLine("waited", tuple(_last(story, HarvestWaiting)), weight=1),
        ExplanationLine("gave way", tuple(_last(story, HarvestYielding)), weight=2),
    )
    return Explanation(f"what became of job {story.job} on idle capacity", _answer(story), lines)


def _answer(story: HarvestStory) -> str:
    begun = sum(isinstance(note, HarvestBeginning) for note in story.notes)
    over = [note for note in story.notes if isinstance(note, HarvestOver)]
    ran = sum(n.ended - n.began for n in over if n.began is not None and n.ended is not None)
    times = f"begun {counted(begun, 'time')}, gave way {counted(story.record.kills, 'time')}, ran {format_span(ran)}"
    return f"job {story.job} on idle capacity: {story.record.state}; {times}"


def _last(story: HarvestStory, kind: type[HarvestWaiting | HarvestYielding]) -> Iterator[str]:
    found = [note for note in story.notes if isinstance(note, kind)]
    yield from (note.why for note in found[-_SHOWN:])

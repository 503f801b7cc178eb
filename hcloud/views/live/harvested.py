"""Batch on idle capacity of live work, as people watch it and as programs read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hcloud.control.operating.harvested import HARVEST_RESULTS, GraphRecord, HarvestLedger, HarvestStory
from hcloud.model.running.harvest_note import (
    HarvestBeginning,
    HarvestCancelled,
    HarvestGraphTaken,
    HarvestMoved,
    HarvestNote,
    HarvestOver,
    HarvestWaiting,
    HarvestYielding,
    Yielded,
)
from hcloud.units import SECONDS_PER_HOUR, counted, counted_vcpus

_SHOWN, VCPU = 5, 1000
_BAD = ("failed", "moved")
_OVER = {
    Yielded.DONE: "completed",
    Yielded.KILLED: "was killed",
    Yielded.LOST: "was lost or cancelled",
}


def harvested_lines(ledger: HarvestLedger) -> Iterator[str]:
    """What runs on idle capacity, what waits for it, and what came of the rest; nothing where none is used."""
    if ledger.settings is None:
        return
    running, waiting = ledger.running, ledger.waiting
    cores = sum(job.order.cores for job in running) / 1000
    results = "".join(f", {ledger.counted[r]} {r}" for r in HARVEST_RESULTS if ledger.counted.get(r))
    blocked = f", {counted(ledger.blocked, 'task')} to begin after others" if ledger.blocked else ""
    steps = f"use and reserve in steps of {counted_vcpus(ledger.settings.unit)}"
    now = f"{len(running)} running ({cores:g} vCPUs), {len(waiting)} waiting{blocked}{results}"
    yield f"on idle capacity ({steps}): {now}"
    first = next((job for job in waiting if job.why), None)
    if first is not None:
        yield f"job {first.order.id} waits for idle capacity: {first.why}"
    if ledger.kills:
        vain = ledger.in_vain / SECONDS_PER_HOUR
        done = ledger.done / SECONDS_PER_HOUR
        yield f"gave way {counted(ledger.kills, 'time')}: {vain:,.4f} vCPU-hours in vain beside {done:,.4f} done"
    bad = [(name, job.result, job.why) for name, job in ledger.jobs.items() if job.result in _BAD and not job.graph]
    bad += [(name, graph.result, graph.why) for name, graph in ledger.graphs.items() if graph.result in _BAD]
    for name, result, why in bad[:_SHOWN]:
        yield f"job {name} {result}: {why}"
    if len(bad) > _SHOWN:
        yield f"and {counted(len(bad) - _SHOWN, 'more job')} failed or moved"


def harvest_story_lines(story: HarvestStory, clock: Callable[[float], str]) -> Iterator[str]:
    """The story of a job on idle capacity for people, with times as ``clock`` writes them."""
    cores, memory = story.asked
    tasks = f" of {counted(len(story.tasks), 'task')}" if isinstance(story.record, GraphRecord) else ""
    each = ", the largest of them" if tasks else ""
    yield f"Job {story.job}{tasks} on idle capacity: came at {clock(story.record.came)}{each} asking for " + (
        f"{counted_vcpus(cores / VCPU)}, {memory / 1024:,.2f} GiB"
    )
    yield f"  on {story.place}; the policy does not place it"
    yield ""
    yield f"State: {story.record.state}{f', {story.record.why}' if story.record.why else ''}"
    yield f"  gave way {counted(story.record.kills, 'time')}"
    told = [f"  {clock(note.at)}  {line}" for note in story.notes if (line := _story_line(note))]
    yield from ("", "Happened:", *told)


def _story_line(note: HarvestNote) -> str:
    if isinstance(note, HarvestCancelled):
        return f"job {note.job} was cancelled"
    if isinstance(note, HarvestOver) and note.result is not Yielded.FAILED:
        took = "" if note.began is None or note.ended is None else f" after {note.ended - note.began:,.1f} s"
        return f"job {note.job} {_OVER[note.result]}{took}"
    return harvest_line(note)


def harvest_line(note: HarvestNote) -> str:
    """A note of idle capacity in a line, without its time; empty for one that is nothing to people."""
    if isinstance(note, HarvestGraphTaken):
        return f"job {note.graph.id} comes: {counted(note.graph.tasks, 'task')} on idle capacity"
    if isinstance(note, HarvestWaiting):
        return f"job {note.job} waits for idle capacity: {note.why}"
    if isinstance(note, HarvestBeginning):
        return f"job {note.job} begins beside the services of machine {note.instance}: {note.free:g} vCPUs are free"
    if isinstance(note, HarvestYielding):
        return f"job {note.job} gives way on machine {note.instance}: {note.why}"
    if isinstance(note, HarvestMoved):
        return f"job {note.job} leaves idle capacity: {note.why}"
    if isinstance(note, HarvestOver) and note.result is Yielded.FAILED:
        return f"job {note.job} failed on idle capacity: exit code {note.code}"
    return ""

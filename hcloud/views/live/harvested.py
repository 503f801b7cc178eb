"""Batch on idle capacity of live work, as people watch it and as programs read it."""

from __future__ import annotations

from collections.abc import Iterator

from hcloud.control.operating.harvested import HARVEST_RESULTS, HarvestLedger
from hcloud.model.running.harvest_note import (
    HarvestBeginning,
    HarvestMoved,
    HarvestNote,
    HarvestOver,
    HarvestYielding,
    Yielded,
)
from hcloud.units import SECONDS_PER_HOUR, counted

_SHOWN = 5


def harvested_lines(ledger: HarvestLedger) -> Iterator[str]:
    """What runs on idle capacity, what waits for it, and what came of the rest; nothing where none is used."""
    if ledger.settings is None:
        return
    running, waiting = ledger.running, ledger.waiting
    cores = sum(job.order.cores for job in running) / 1000
    results = "".join(f", {ledger.counted[r]} {r}" for r in HARVEST_RESULTS if ledger.counted.get(r))
    yield f"on idle capacity: {len(running)} running ({cores:g} vCPUs), {len(waiting)} waiting{results}"
    if ledger.kills:
        vain = ledger.in_vain / SECONDS_PER_HOUR
        done = ledger.done / SECONDS_PER_HOUR
        yield f"gave way {counted(ledger.kills, 'time')}: {vain:,.4f} vCPU-hours in vain beside {done:,.4f} done"
    bad = [job for job in ledger.jobs.values() if job.result in ("failed", "moved")]
    for job in bad[:_SHOWN]:
        yield f"job {job.order.id} {job.result}: {job.why}"
    if len(bad) > _SHOWN:
        yield f"and {counted(len(bad) - _SHOWN, 'more job')} failed or moved"


def harvest_line(note: HarvestNote) -> str:
    """A note of idle capacity in a line, without its time; empty for one that is nothing to people."""
    if isinstance(note, HarvestBeginning):
        return f"job {note.job} begins beside the services of machine {note.instance}: {note.free:g} vCPUs are free"
    if isinstance(note, HarvestYielding):
        return f"job {note.job} gives way on machine {note.instance}: {note.why}"
    if isinstance(note, HarvestMoved):
        return f"job {note.job} leaves idle capacity: {note.why}"
    if isinstance(note, HarvestOver) and note.result is Yielded.FAILED:
        return f"job {note.job} failed on idle capacity: exit code {note.code}"
    return ""

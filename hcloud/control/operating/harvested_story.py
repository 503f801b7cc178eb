"""What became of one job on idle capacity."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.control.operating.harvested import HarvestLedger, HarvestRecord
from hcloud.control.operating.harvested_graphs import GraphRecord
from hcloud.model.running.harvest_note import HarvestClasses, HarvestGraphTaken, HarvestNote, HarvestSet, HarvestTaken


@dataclass(frozen=True, slots=True)
class HarvestStory:
    """A job on idle capacity, or a graph with its ``tasks``: its record and the notes about it, in order."""

    job: str
    record: HarvestRecord | GraphRecord
    tasks: tuple[HarvestRecord, ...]
    notes: tuple[HarvestNote, ...]

    @property
    def place(self) -> str:
        """The machines it may have."""
        classes = ", ".join(self.record.classes)
        return f"machines of {classes}" if classes else "any reserved machine with room"

    @property
    def asked(self) -> tuple[int, int]:
        """Thousandths of a vCPU and MiB that it asks for; of a graph those of its largest task."""
        alike = [task.order for task in self.tasks]
        return max(order.cores for order in alike), max(order.memory for order in alike)


def harvest_story(job: str, ledger: HarvestLedger, lines: tuple[object, ...]) -> HarvestStory:
    """The story of a job, or of a graph, that the ledger knows, from the lines of a whole journal."""
    graph = ledger.graphs.get(job)
    tasks = (ledger.jobs[job],) if graph is None else tuple(t for t in ledger.jobs.values() if t.graph == job)
    named = {job, *(task.order.id for task in tasks)}
    notes = tuple(line for line in lines if isinstance(line, HarvestNote) and _about(line) in named)
    return HarvestStory(job, graph or ledger.jobs[job], tasks, notes)


def _about(note: HarvestNote) -> str:
    if isinstance(note, HarvestTaken):
        return note.order.id
    if isinstance(note, HarvestGraphTaken):
        return note.graph.id
    return "" if isinstance(note, HarvestSet | HarvestClasses) else note.job

"""Batch on idle capacity as its journal tells of it: a ledger beside that of the other jobs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatchmethod

from hcloud.control.operating.job_ids import JobIds
from hcloud.model.running.harvest_note import (
    HarvestBeginning,
    HarvestCancelled,
    HarvestClasses,
    HarvestGraphTaken,
    HarvestMoved,
    HarvestNote,
    HarvestOver,
    HarvestSet,
    HarvestTaken,
    HarvestWaiting,
    HarvestYielding,
    Yielded,
)
from hcloud.model.running.job import JobOrder
from hcloud.model.running.job_graph import JobGraph


@dataclass(slots=True)
class GraphRecord:
    """A graph: how many tasks of each vertex are ``undone``, which tasks are ``away`` on machines of their own (with
    their vertex), how often tasks were killed, and whether what has not begun ``moves`` to machines of its own."""

    graph: JobGraph
    came: float
    classes: tuple[str, ...] = ()
    undone: dict[str, int] = field(default_factory=dict)
    away: dict[str, str] = field(default_factory=dict)
    kills: int = 0
    moves: bool = False
    result: str = ""
    why: str = ""

    @property
    def is_over(self) -> bool:
        """Whether its result is known."""
        return bool(self.result)

    @property
    def state(self) -> str:
        """Where it is in a word."""
        return self.result or ("moving" if self.moves else "open")

    @property
    def done(self) -> int:
        """How many of its tasks are done."""
        return self.graph.tasks - sum(self.undone.values())

    def open_vertices(self) -> set[str]:
        """The vertices that may begin: those before them are done."""
        return {v.name for v in self.graph.vertices if not any(self.undone[before] for before in v.after)}

    def image(self) -> GraphRecord:
        """The same, apart."""
        return replace(self, undone=dict(self.undone), away=dict(self.away))


HARVEST_RESULTS = ("completed", "failed", "moved", "cancelled")
"""How a job on idle capacity ended; ``moved``: to machines of its own."""


@dataclass(slots=True)
class HarvestRecord:
    """A job on idle capacity. ``on`` is the machine where its present attempt was begun (None: it waits), ``yields``
    that this attempt is to be killed, ``turn`` the place of its attempt among all that were begun; ``classes`` are
    those of the machines it may have (none: any). ``graph`` and ``vertex`` say of which graph it is a task."""

    order: JobOrder
    came: float
    attempt: int = 0
    on: int | None = None
    yields: bool = False
    turn: int = 0
    kills: int = 0
    result: str = ""
    code: int | None = None
    why: str = ""
    classes: tuple[str, ...] = ()
    graph: str = ""
    vertex: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it here."""
        return bool(self.result)

    @property
    def state(self) -> str:
        """Where it is in a word."""
        return self.result or ("waiting" if self.on is None else "yielding" if self.yields else "running")


@dataclass(slots=True)
class HarvestLedger:
    """The sum of the notes about idle capacity: every job, those that are ``open``, by which numbers (None: none was
    ever used) and classes, how jobs ended and how often one was killed; seconds times vCPUs of what was done, and of
    what was begun in vain; and the seconds that each application took last. A graph of tasks is one of the ``graphs``,
    each of its tasks one of the ``jobs``; how it ended counts once."""

    settings: HarvestSet | None = None
    classes: HarvestClasses | None = None
    jobs: dict[str, HarvestRecord] = field(default_factory=dict)
    graphs: dict[str, GraphRecord] = field(default_factory=dict)
    known: JobIds = field(default_factory=JobIds)
    counted: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    begun: int = 0
    done: float = 0.0
    in_vain: float = 0.0
    last: dict[str, float] = field(default_factory=dict)
    _open: list[HarvestRecord] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._open = list(self.jobs.values())

    @property
    def open(self) -> list[HarvestRecord]:
        """The jobs of which something is still to be done, in the order in which they came. What was over once is not
        looked at again, or each pass would take as long as all that ever came."""
        self._open = [job for job in self._open if not job.is_over or job.on is not None]
        return self._open

    @property
    def running(self) -> list[HarvestRecord]:
        """Those that run, the oldest attempt first."""
        return sorted((job for job in self.open if job.on is not None), key=lambda job: job.turn)

    @property
    def waiting(self) -> list[HarvestRecord]:
        """Those that may begin, in the order in which they came."""
        opened = {name: graph.open_vertices() for name, graph in self.graphs.items() if not graph.is_over}
        return [
            job
            for job in self.open
            if job.on is None and not job.is_over and (not job.graph or job.vertex in opened[job.graph])
        ]

    @property
    def blocked(self) -> int:
        """How many tasks wait for others before them."""
        return sum(job.on is None and not job.is_over for job in self.open) - len(self.waiting)

    def knows(self, name: str) -> bool:
        """Whether a job of that name ever came."""
        return name in self.jobs or name in self.graphs or name in self.known

    def image(self) -> HarvestLedger | None:
        """What is needed to go on; None where nothing ever came."""
        if self.settings is None:
            return None
        kept = {job.order.id: replace(job) for job in self.open}
        graphs = {name: g.image() for name, g in self.graphs.items() if g.away or not g.is_over}
        known = self.known.image()
        for name in (*self.jobs, *self.graphs):
            known.add(name)
        own = {"counted": dict(self.counted), "last": dict(self.last)}
        return replace(self, jobs=kept, graphs=graphs, known=known, **own)  # type: ignore[arg-type]

    @singledispatchmethod
    def take(self, note: HarvestNote) -> None:
        """Add a note."""

    @take.register
    def _(self, note: HarvestSet) -> None:
        self.settings = note

    @take.register
    def _(self, note: HarvestClasses) -> None:
        self.classes = note

    @take.register
    def _(self, note: HarvestTaken) -> None:
        self._come(HarvestRecord(note.order, note.at, classes=note.classes))

    @take.register
    def _(self, note: HarvestGraphTaken) -> None:
        undone = {vertex.name: vertex.tasks for vertex in note.graph.vertices}
        self.graphs[note.graph.id] = GraphRecord(note.graph, note.at, note.classes, undone)
        for vertex, order in note.graph.orders():
            self._come(HarvestRecord(order, note.at, classes=note.classes, graph=note.graph.id, vertex=vertex))

    @take.register
    def _(self, note: HarvestWaiting) -> None:
        self.jobs[note.job].why = note.why

    @take.register
    def _(self, note: HarvestBeginning) -> None:
        job = self.jobs[note.job]
        self.begun += 1
        job.attempt, job.on, job.yields, job.turn, job.why = note.attempt, note.instance, False, self.begun, ""

    @take.register
    def _(self, note: HarvestYielding) -> None:
        self.jobs[note.job].yields, self.jobs[note.job].why = True, note.why

    @take.register
    def _(self, note: HarvestOver) -> None:
        job = self.jobs[note.job]
        if note.attempt != job.attempt:
            return
        seconds = 0.0 if note.began is None or note.ended is None else max(note.ended - note.began, 0.0)
        spent = seconds * job.order.cores / 1000
        job.on, job.yields = None, False
        if note.result is Yielded.DONE:
            self.done += spent
            if not job.graph:
                self.last[job.order.app or job.order.id] = seconds
        else:
            self.in_vain += spent
        if note.result is Yielded.KILLED:
            job.kills += 1
            self.kills += 1
            if job.graph in self.graphs:
                self.graphs[job.graph].kills += 1
        if job.is_over:
            return
        ended = note.at if note.ended is None else note.ended
        if note.result is Yielded.DONE:
            self._end(job, "completed", ended)
        elif note.result is Yielded.FAILED:
            job.code = note.code
            job.why = "used up its memory" if note.out_of_memory else f"exit code {note.code}"
            self._end(job, "failed", ended)

    @take.register
    def _(self, note: HarvestMoved) -> None:
        if note.job in self.graphs:
            self.graphs[note.job].moves, self.graphs[note.job].why = True, note.why
            return
        self.jobs[note.job].why = note.why
        self._end(self.jobs[note.job], "moved", note.at)

    @take.register
    def _(self, note: HarvestCancelled) -> None:
        if note.job in self.graphs:
            self._end_graph(self.graphs[note.job], "cancelled")
        else:
            self._end(self.jobs[note.job], "cancelled", note.at)

    def _come(self, job: HarvestRecord) -> None:
        self.jobs[job.order.id] = job
        self._open.append(job)

    def left(self, task: str, result: str, at: float) -> None:
        """A task of a graph that had left idle capacity ended on a machine of its own."""
        graph = next((one for one in self.graphs.values() if task in one.away), None)
        if graph is None:
            return
        vertex = graph.away.pop(task)
        if result == "completed":
            self._task_done(graph, vertex, at)
        else:
            self._end_graph(graph, "cancelled" if result == "cancelled" else "failed", f"task {task} {result}")

    def _end(self, job: HarvestRecord, result: str, at: float) -> None:
        job.result = result
        graph = self.graphs.get(job.graph)
        if graph is None:
            self._count(result)
        elif result == "moved":
            graph.away[job.order.id] = job.vertex
        elif result == "completed":
            self._task_done(graph, job.vertex, at)
        else:
            self._end_graph(graph, result, f"task {job.order.id} {result}{f': {job.why}' if job.why else ''}")

    def _task_done(self, graph: GraphRecord, vertex: str, at: float) -> None:
        graph.undone[vertex] -= 1
        if not graph.is_over and not any(graph.undone.values()):
            graph.result = "moved" if graph.moves else "completed"
            self.last[graph.graph.app or graph.graph.id] = at - graph.came
            self._count(graph.result)

    def _end_graph(self, graph: GraphRecord, result: str, why: str = "") -> None:
        """A graph cannot be done any more: nobody wants its other tasks, those that run are killed."""
        if graph.is_over:
            return
        graph.result, graph.why = result, why
        self._count(result)
        for job in self.open:
            if job.graph == graph.graph.id and not job.is_over:
                job.result = "cancelled"

    def _count(self, result: str) -> None:
        self.counted[result] = self.counted.get(result, 0) + 1


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

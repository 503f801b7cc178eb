"""Batch on idle capacity as its journal tells of it: a ledger beside that of the other jobs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatchmethod

from hcloud.model.running.harvest_note import (
    HarvestBeginning,
    HarvestCancelled,
    HarvestClasses,
    HarvestMoved,
    HarvestNote,
    HarvestOver,
    HarvestSet,
    HarvestTaken,
    HarvestYielding,
    Yielded,
)
from hcloud.model.running.job import JobOrder

HARVEST_RESULTS = ("completed", "failed", "moved", "cancelled")
"""How a job on idle capacity ended; ``moved``: to machines of its own."""


@dataclass(slots=True)
class HarvestRecord:
    """A job on idle capacity. ``on`` is the machine where its present attempt was begun (None: it waits), ``yields``
    that this attempt is to be killed, ``turn`` the place of its attempt among all that were begun; ``classes`` are
    those of the machines it may have (none: any)."""

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
    what was begun in vain; and the seconds that each application took last."""

    settings: HarvestSet | None = None
    classes: HarvestClasses | None = None
    jobs: dict[str, HarvestRecord] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    begun: int = 0
    done: float = 0.0
    in_vain: float = 0.0
    last: dict[str, float] = field(default_factory=dict)

    @property
    def open(self) -> list[HarvestRecord]:
        """The jobs of which something is still to be done, in the order in which they came."""
        return [job for job in self.jobs.values() if not job.is_over or job.on is not None]

    @property
    def running(self) -> list[HarvestRecord]:
        """Those that run, the oldest attempt first."""
        return sorted((job for job in self.jobs.values() if job.on is not None), key=lambda job: job.turn)

    @property
    def waiting(self) -> list[HarvestRecord]:
        """Those that may begin, in the order in which they came."""
        return [job for job in self.jobs.values() if job.on is None and not job.is_over]

    def knows(self, name: str) -> bool:
        """Whether a job of that name ever came."""
        return name in self.jobs or name in self.known

    def image(self) -> HarvestLedger | None:
        """What is needed to go on; None where nothing ever came."""
        if self.settings is None:
            return None
        kept = {job.order.id: replace(job) for job in self.open}
        known = [*self.known, *(name for name in self.jobs if name not in kept)]
        return replace(self, jobs=kept, known=known, counted=dict(self.counted), last=dict(self.last))

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
        self.jobs[note.order.id] = HarvestRecord(note.order, note.at, classes=note.classes)

    @take.register
    def _(self, note: HarvestBeginning) -> None:
        job = self.jobs[note.job]
        self.begun += 1
        job.attempt, job.on, job.yields, job.turn = note.attempt, note.instance, False, self.begun

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
            self.last[job.order.app or job.order.id] = seconds
        else:
            self.in_vain += spent
        if note.result is Yielded.KILLED:
            job.kills += 1
            self.kills += 1
        if job.is_over:
            return
        if note.result is Yielded.DONE:
            self._end(job, "completed")
        elif note.result is Yielded.FAILED:
            job.code = note.code
            job.why = "used up its memory" if note.out_of_memory else f"exit code {note.code}"
            self._end(job, "failed")

    @take.register
    def _(self, note: HarvestMoved) -> None:
        self.jobs[note.job].why = note.why
        self._end(self.jobs[note.job], "moved")

    @take.register
    def _(self, note: HarvestCancelled) -> None:
        self._end(self.jobs[note.job], "cancelled")

    def _end(self, job: HarvestRecord, result: str) -> None:
        job.result = result
        self.counted[result] = self.counted.get(result, 0) + 1

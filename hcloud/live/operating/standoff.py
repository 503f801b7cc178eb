"""Jobs of several servers that hold what the other lacks: the one that came first gets it, so that none waits for
ever."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import JobRecord, MachinePhase, MachineRecord
from hcloud.model.workload import JobKind

WHY = "a job of several servers that came before has no machine yet"
_COMING = (MachinePhase.ORDERED, MachinePhase.STARTING, MachinePhase.ENDING)


def by_turn(fold: Fold, machines: list[MachineRecord]) -> list[MachineRecord]:
    """Machines to order as their jobs came, where there are jobs of several servers among them."""
    if not any(_are_pieces(_jobs(fold, machine)) for machine in machines):
        return machines
    return sorted(machines, key=lambda machine: (_turn(fold, machine), machine.instance))


def to_give_up(fold: Fold) -> MachineRecord | None:
    """The rented machine that is to end, where a job of several servers lacks one that limits do not allow, while
    pieces of a later job hold this one and wait for others themselves. None where that may end by itself."""
    standing = list(fold.standing.values())
    lacking = [m for m in standing if m.phase is MachinePhase.WANTED and _are_pieces(_jobs(fold, m))]
    if not lacking or any(m.phase in _COMING for m in standing):
        return None
    if any(job.on is not None and job.order.kind is JobKind.BATCH for job in fold.active.values()):
        return None
    waiting = [m for m in standing if m.phase is MachinePhase.READY and not m.reserved and _wait(_jobs(fold, m))]
    last = max(waiting, key=lambda machine: _turn(fold, machine), default=None)
    return last if last is not None and _turn(fold, last) > min(_turn(fold, m) for m in lacking) else None


def _turn(fold: Fold, machine: MachineRecord) -> tuple[float, str]:
    """When the first of its jobs came, and its name."""
    jobs = _jobs(fold, machine)
    return min(((j.came, j.order.piece.of if j.order.piece else j.order.id) for j in jobs), default=(-math.inf, ""))


def _jobs(fold: Fold, machine: MachineRecord) -> list[JobRecord]:
    return [fold.jobs[name] for name in machine.jobs]


def _are_pieces(jobs: Iterable[JobRecord]) -> bool:
    return any(job.order.piece is not None for job in jobs)


def _wait(jobs: list[JobRecord]) -> bool:
    """Whether nothing of them runs, or did its work: they wait for others of their jobs."""
    return _are_pieces(jobs) and all(job.on is None and not job.rests for job in jobs)

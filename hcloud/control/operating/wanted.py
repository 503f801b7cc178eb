"""What is to be done so that what stands becomes what is wanted; the same again on every look, until it is so."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from hcloud.control.operating.fold import Fold, JobRecord, MachinePhase, MachineRecord
from hcloud.model.running.job import NodePhase
from hcloud.units import format_money


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """How far a controller may go: dollars an hour, dollars in all, and machines at a time; None is no limit."""

    hourly: Decimal | None = None
    total: Decimal | None = None
    machines: int | None = None


def key_of(lineage: str, machine: MachineRecord) -> str:
    """The key of an order: 32 hex digits of whose it is, which machine, and how often it was ordered before."""
    words = f"{lineage}\noperate\n{machine.instance}\n{machine.orders}"
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def to_launch(fold: Fold, now: float) -> Iterator[MachineRecord]:
    """Machines to order, or to order again where the answer is not known."""
    for machine in fold.standing.values():
        shut = max(machine.not_before, fold.shut.get((machine.type_name, machine.option), 0.0))
        if machine.phase is MachinePhase.ORDERED or (machine.phase is MachinePhase.WANTED and now >= shut):
            yield machine


def to_end(fold: Fold, *, all_of_them: bool) -> Iterator[MachineRecord]:
    """Machines to end: those that were given back, or all that stand."""
    for machine in fold.standing.values():
        if machine.phase is MachinePhase.ENDING or (all_of_them and machine.stands):
            yield machine


def to_begin(fold: Fold, nodes: Mapping[int, NodePhase]) -> Iterator[JobRecord]:
    """Jobs whose machine is ready and of which nothing runs."""
    for machine in fold.standing.values():
        if machine.phase is MachinePhase.READY and nodes.get(machine.instance) is NodePhase.READY:
            for name in machine.jobs:
                job = fold.jobs[name]
                if job.on is None and not job.is_over:
                    yield job


def to_stop(fold: Fold) -> Iterator[JobRecord]:
    """Jobs of which an attempt runs that should not: they are over, or to begin elsewhere."""
    return (job for job in fold.active.values() if job.on is not None and (job.leaving or job.is_over))


def kept_from_launch(fold: Fold, hourly: Decimal, limits: SpendingLimits, now: float) -> str:
    """Why a machine of that price may not be launched now; empty where it may."""
    after = fold.hourly() + hourly
    if limits.machines is not None and sum(m.stands for m in fold.standing.values()) >= limits.machines:
        return f"{limits.machines} machines stand, and no more are allowed (--max-machines)"
    if limits.hourly is not None and after > limits.hourly:
        return f"it would bring the machines to {format_money(after)}/h; {format_money(limits.hourly)}/h are allowed"
    if limits.total is not None and fold.spent(now) >= limits.total:
        return f"{format_money(fold.spent(now))} are spent, and {format_money(limits.total)} are allowed (--max-total)"
    return ""

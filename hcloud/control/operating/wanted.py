"""What is to be done so that what stands becomes what is wanted; the same again on every look, until it is so."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import JobRecord, MachinePhase, MachineRecord
from hcloud.control.operating.together import ending_on, may_begin
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.job import NodePhase
from hcloud.policy.facts import Setup
from hcloud.units import counted, format_money

HOURLY_PLACES = 4
"""Of dollars an hour: a small machine costs less than a cent."""


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """How far a controller may go: dollars an hour, dollars in all, machines at a time, and thousandths of a vCPU of
    all of them; None is no limit."""

    hourly: Decimal | None = None
    total: Decimal | None = None
    machines: int | None = None
    cores: int | None = None


def key_of(lineage: str, machine: MachineRecord) -> str:
    """The key of an order: 32 hex digits of whose it is, which machine, and how often it was ordered before."""
    words = f"{lineage}\noperate\n{machine.instance}\n{machine.orders}"
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def to_launch(fold: Fold, now: float) -> Iterator[MachineRecord]:
    """Machines to order, or to order again where the answer is not known."""
    for machine in fold.standing.values():
        is_wanted = machine.phase is MachinePhase.WANTED
        if machine.phase is MachinePhase.ORDERED or (is_wanted and now >= shut_until(fold, machine)):
            yield machine


def shut_until(fold: Fold, machine: MachineRecord) -> float:
    """Until when a machine is not ordered, because launches of its type came to nothing."""
    return max(machine.not_before, fold.shut.get((machine.type_name, machine.option), 0.0))


def held_back(fold: Fold, now: float) -> list[MachineRecord]:
    """Rented machines that jobs wait for and that cannot be ordered now, the oldest first."""
    return [
        m
        for m in fold.standing.values()
        if m.phase is MachinePhase.WANTED and not m.reserved and m.jobs and (m.why or now < shut_until(fold, m))
    ]


def could_sit_elsewhere(fold: Fold, machine: MachineRecord) -> bool:
    """Whether a machine that is ready has vCPUs and memory left for one of the jobs that wait for this one."""
    wait = [fold.jobs[name].order for name in machine.jobs]
    sizes = {t.name: t for t in fold.setup.types}
    for other in fold.standing.values():
        if other.phase is not MachinePhase.READY or (other.jobs and not (other.reserved or fold.setup.rules.shared)):
            continue
        size, there = sizes[other.type_name], [fold.jobs[name].order for name in other.jobs]
        cores, memory = size.cores - sum(o.cores for o in there), size.memory - sum(o.memory for o in there)
        if any(o.cores <= cores and o.memory <= memory for o in wait):
            return True
    return False


def to_end(fold: Fold, *, all_of_them: bool) -> Iterator[MachineRecord]:
    """Machines to end: those that were given back, or all that stand."""
    for machine in fold.standing.values():
        if machine.phase is MachinePhase.ENDING or (all_of_them and machine.stands):
            yield machine


def to_begin(fold: Fold, nodes: Mapping[int, NodePhase]) -> Iterator[JobRecord]:
    """Jobs whose machine is ready and of which nothing runs; a piece of several when all may begin."""
    ending = ending_on(fold)
    for machine in fold.standing.values():
        if machine.phase is MachinePhase.READY and nodes.get(machine.instance) is NodePhase.READY:
            for name in machine.jobs:
                job = fold.jobs[name]
                if may_begin(fold, nodes, job, ending):
                    yield job


def to_stop(fold: Fold, nodes: Mapping[int, NodePhase], noticed: Collection[int]) -> Iterator[JobRecord]:
    """Jobs of which an attempt runs that should not: they are over, or to begin elsewhere. One whose next machine is
    not ready yet runs on, where its machine stays (none of the ``noticed``) and nobody else waits for its place."""
    for job in fold.active.values():
        if job.on is not None and (job.is_over or (job.leaving and not _may_run_on(fold, nodes, job, noticed))):
            yield job


def _may_run_on(fold: Fold, nodes: Mapping[int, NodePhase], job: JobRecord, noticed: Collection[int]) -> bool:
    """A machine that was given back waits for it, too, unless its end is what the next machine waits for."""
    if job.instance is None or job.instance == job.on or job.order.piece is not None or job.on in noticed:
        return False
    there, comes = fold.machines[job.on or 0], fold.machines[job.instance]
    is_ready = comes.phase is MachinePhase.READY and nodes.get(comes.instance) is NodePhase.READY  # measured, too
    if nodes.get(there.instance) is not NodePhase.READY or is_ready:
        return False
    if there.phase is MachinePhase.ENDING:
        is_held = comes.phase is MachinePhase.WANTED and bool(comes.why) and not comes.failures
        return there.released is not None and not is_held
    return there.phase is MachinePhase.READY and all(fold.jobs[name].on == job.on for name in there.jobs)


def reserve_beyond(setup: Setup, price: Callable[[str, PurchaseOption], Decimal], limits: SpendingLimits) -> str:
    """Why the reserve alone is more than is allowed, so that jobs would wait for its last machines for ever; empty
    where it is not."""
    names = [setup.types[kind].name for kind in setup.reserve]
    if limits.cores is not None and setup.reserved_cores > limits.cores:
        return f"the reserve needs {setup.reserved_cores / 1000:g} cores, and there are {limits.cores / 1000:g}"
    if limits.machines is not None and len(names) > limits.machines:
        return f"--max-machines {limits.machines}: the reserve alone is {counted(len(names), 'machine')}"
    if limits.hourly is None:
        return ""
    hourly = sum((price(name, PurchaseOption.ON_DEMAND) for name in names), Decimal(0))
    if hourly > limits.hourly:
        return f"--max-hourly {limits.hourly}: the reserve alone is {format_money(hourly, HOURLY_PLACES)}/h"
    return ""


class Allowance:
    """What limits leave for further launches, with what stands and what is launched meanwhile counted once."""

    def __init__(self, fold: Fold, limits: SpendingLimits, now: float) -> None:
        standing = [machine for machine in fold.standing.values() if machine.stands]
        self._sizes = {t.name: t.cores for t in fold.setup.types}
        self._limits, self._machines, self._hourly = limits, len(standing), fold.hourly()
        self._cores = sum(self._sizes[machine.type_name] for machine in standing)
        self._spent = Decimal(0) if limits.total is None else fold.spent(now)

    def keeps(self, type_name: str, hourly: Decimal) -> str:
        """Why a machine of that type and price may not be launched now; empty where it may."""
        limits, after = self._limits, self._hourly + hourly
        if limits.cores is not None and self._cores + self._sizes[type_name] > limits.cores:
            taken = f"{self._cores / 1000:g} of {limits.cores / 1000:g} vCPUs are taken"
            return f"{taken}; there is no room for another {type_name}"
        if limits.machines is not None and self._machines >= limits.machines:
            return f"no more than {counted(limits.machines, 'machine')} may run (--max-machines)"
        if limits.hourly is not None and after > limits.hourly:
            told, allowed = (format_money(dollars, HOURLY_PLACES) for dollars in (after, limits.hourly))
            return f"it would raise the cost of machines to {told}/h, above the limit of {allowed}/h"
        if limits.total is not None and self._spent >= limits.total:
            spent = format_money(self._spent, 2)
            return f"{spent} are spent, and {format_money(limits.total, 2)} are allowed (--max-total)"
        return ""

    def take(self, type_name: str, hourly: Decimal) -> None:
        """One more is launched."""
        self._machines += 1
        self._hourly += hourly
        self._cores += self._sizes[type_name]

"""Jobs of several servers in live work: their pieces begin when all have a machine that is ready, and a batch job ends
when the last of them did its work. One that fails, or is lost for good, ends the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import JobRecord, MachinePhase
from hcloud.control.pieces import are_linked
from hcloud.model.running.event import Cancelled, Completion, Event, Failed
from hcloud.model.running.job import JobOrder, NodePhase
from hcloud.model.workload import JobKind
from hcloud.policy.rules import Rules


def are_together(rules: Rules, order: JobOrder) -> bool:
    """Whether a job is a piece that begins together with others."""
    return order.piece is not None and rules.gang == 1 and are_linked(rules)


def with_others(fold: Fold, job: JobRecord) -> list[JobRecord]:
    """The pieces that begin together with a job and are not over, in order, itself among them; itself alone where it
    is no such piece."""
    piece = job.order.piece
    if piece is None or not are_together(fold.setup.rules, job.order):
        return [job]
    found = (fold.active.get(name) for name in piece.names)
    return [one for one in found if one is not None and not one.is_over]


def share_their_end(fold: Fold, job: JobRecord) -> list[JobRecord]:
    """Those that end with it: of a service, whose pieces are replicas, itself alone."""
    return [job] if job.order.kind is JobKind.SERVICE else with_others(fold, job)


def ending_on(fold: Fold) -> frozenset[int]:
    """The machines on which an attempt runs that is to end."""
    active = fold.active.values()
    return frozenset(job.on for job in active if job.on is not None and (job.leaving or job.is_over))


def may_begin(fold: Fold, nodes: Mapping[int, NodePhase], job: JobRecord, ending: frozenset[int]) -> bool:
    """Whether nothing of a job runs and its machine is ready and has room beside what is still ``ending`` there, and
    those of all that begin with it are."""
    return _waits_ready(fold, nodes, job, ending) and all(
        one.rests or (one.on is not None and not one.leaving) or _waits_ready(fold, nodes, one, ending)
        for one in with_others(fold, job)
    )


def _waits_ready(fold: Fold, nodes: Mapping[int, NodePhase], job: JobRecord, ending: frozenset[int]) -> bool:
    if job.on is not None or job.is_over or job.rests or job.instance is None:
        return False
    is_up = fold.machines[job.instance].phase is MachinePhase.READY and nodes.get(job.instance) is NodePhase.READY
    return is_up and (job.instance not in ending or _has_room(fold, job))


def _has_room(fold: Fold, job: JobRecord) -> bool:
    """Whether a job fits beside all that runs on its machine: what was cancelled, or leaves, keeps its place until
    nothing of it is left."""
    assert job.instance is not None
    name = fold.machines[job.instance].type_name
    size = next(t for t in fold.setup.types if t.name == name)
    there = [one for one in fold.active.values() if one.on == job.instance]
    cores = sum(one.sized or one.order.cores for one in there) + job.order.cores
    return cores <= size.cores and sum(one.order.memory for one in there) + job.order.memory <= size.memory


def ended(fold: Fold, job: JobRecord, told: Event | None, performance: Callable[[JobRecord], float]) -> Iterator[Event]:
    """What the controller is told when an attempt is over that by itself would be ``told``: of pieces that end together
    nothing until the last did its work, and the same of all where one fails."""
    together = share_their_end(fold, job)
    if isinstance(told, Completion) and len(together) > 1:
        if all(one.rests for one in together):
            for one in together:
                yield Completion(told.at, one.order.id, performance(one))
    elif told is not None:
        yield told
        if isinstance(told, Failed):
            yield from ended_with(fold, job, told)


def ended_with(fold: Fold, job: JobRecord, told: Failed) -> Iterator[Event]:
    """What the controller is told of the other pieces of a job that failed so, or that is lost: those that had begun
    failed, too."""
    for one in share_their_end(fold, job):
        if one is not job:
            begun = one.rests or (one.on is not None and not one.leaving)
            name = one.order.id
            yield Failed(told.at, name, told.code) if begun else Cancelled(told.at, name)


def ended_by_cancel(fold: Fold, name: str) -> list[JobRecord]:
    """What a user ends who names a job, or one of its pieces: all that end together."""
    job = fold.active.get(name)
    if job is not None:
        return share_their_end(fold, job)
    return [one for one in pieces_of(fold, name) if not one.is_over]


def pieces_of(fold: Fold, name: str) -> list[JobRecord]:
    """The pieces of a job of several servers, as far as they are known."""
    return [one for one in fold.jobs.values() if one.order.piece is not None and one.order.piece.of == name]

"""From what an engine shows to lines of the journal: which attempts are over, and how their jobs ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import JobRecord, MachinePhase
from hcloud.control.operating.together import are_together, ended
from hcloud.model.running.event import Arrival, Cancelled, Completion, Event, Failed, Progress
from hcloud.model.running.job import JobOrder, JobPhase, JobSighting, NodePhase
from hcloud.model.running.note import AttemptOver, JobTaken, Note
from hcloud.model.workload import JobKind

NO_CODE = -1
"""The exit code of a job that nobody saw end, as a process that was killed with its machine."""
PROGRESS_STEP = 0.01
"""The share of a job's work that is worth a line."""


def taken(
    order: JobOrder, vector: tuple[int, ...], coin: float, at: float, *, linked: bool = False
) -> tuple[JobTaken, Arrival]:
    """The lines of a job that came; one that may not begin anew cannot be moved either. Where pieces are ``linked`` the
    controller decides on them together."""
    came = Arrival(
        at,
        order.id,
        order.cores,
        order.memory,
        vector,
        order.restartable,
        coin,
        order.submit if order.submit < at else None,
        movable=order.restartable,
        priority=order.priority,
    )
    if order.piece is not None and linked:
        came = replace(came, pieces=order.piece.count, after=order.piece.after)
    return JobTaken(at, order), came


def over(job: JobRecord, seen: JobSighting, at: float) -> AttemptOver:
    """The line of an attempt of which nothing is left."""
    return AttemptOver(
        at, job.order.id, seen.attempt, seen.phase, seen.began, seen.ended, seen.code, seen.out_of_memory
    )


def outcome(
    job: JobRecord, seen: JobSighting, at: float, *, machine_is_up: bool, begins_with_others: bool = False
) -> Event | None:
    """What the controller is told of an attempt that is over; None where nothing follows: its job begins anew, or the
    loss of its machine will say it. One that leaves and ``begins_with_others`` begins anew whatever it did."""
    if job.is_over:
        return None
    name = job.order.id
    if seen.phase is JobPhase.ENDED and seen.code == 0 and not (job.leaving and begins_with_others):
        return Cancelled(at, name) if job.leaving else Completion(at, name, performance(job.order, seen))
    if job.leaving or (seen.phase is JobPhase.LOST and (job.order.restartable or not machine_is_up)):
        return None
    return Failed(at, name, NO_CODE if seen.code is None else seen.code)


def performance(order: JobOrder, seen: JobSighting) -> float:
    """The share of its performance in isolation that a job had: as its engine knows it, or for a batch job by the time
    it was expected to take; 1 where nobody knows or expected anything."""
    if seen.performance is not None:
        return seen.performance
    if order.expect is None or order.kind is JobKind.SERVICE or seen.began is None or seen.ended is None:
        return 1.0
    return min(order.expect / max(seen.ended - seen.began, order.expect, 1e-9), 1.0)


def _performance_of(seen: Iterable[JobSighting], job: JobRecord) -> float:
    """The same of the attempt of a job that was begun last."""
    found = [one for one in seen if (one.job, one.attempt) == (job.order.id, job.attempt)]
    return performance(job.order, found[-1]) if found else 1.0


def performance_until(order: JobOrder, began: float, progress: float | None, now: float) -> float | None:
    """The most that the performance of a running batch job can have been; None where nobody can say. Without a word of
    its progress it is known to be slow only once it takes longer than expected."""
    if order.expect is None or order.kind is JobKind.SERVICE:
        return None
    ran = max(now - began, 1e-9)
    done = order.expect if progress is None else order.expect * progress
    return min(done / ran, 1.0)


def never_begun(
    fold: Fold, seen: Iterable[JobSighting], under_way: Callable[[str], bool], at: float
) -> Iterator[AttemptOver]:
    """Attempts that are to end and that the engine was never told of, as when this process was killed between the note
    of a begin and the begin: nothing of them is left. ``under_way`` says whether a job is being told to it now."""
    known = {(sighting.job, sighting.attempt) for sighting in seen}
    for name, job in list(fold.active.items()):
        goes = job.on is not None and (job.leaving or job.is_over)
        if goes and (name, job.attempt) not in known and not under_way(name):
            yield AttemptOver(at, name, job.attempt, JobPhase.LOST, None, at)


def of_jobs(
    fold: Fold, seen: Iterable[JobSighting], nodes: dict[int, NodePhase], known: dict[str, float], at: float
) -> Iterator[Note | Event]:
    """What sightings bring, in their order; ``known`` is the progress of each job that was noted last, and kept so."""
    seen = list(seen)
    performances = partial(_performance_of, seen)
    for sighting in seen:
        job = fold.active.get(sighting.job)
        if job is None or job.on is None or sighting.attempt != job.attempt:
            continue
        if sighting.phase in (JobPhase.ENDED, JobPhase.LOST):
            known.pop(sighting.job, None)
            machine = fold.machines[job.on]
            is_up = machine.phase is MachinePhase.READY and nodes.get(job.on) in (NodePhase.READY, NodePhase.LEAVING)
            told = outcome(
                job, sighting, at, machine_is_up=is_up, begins_with_others=are_together(fold.setup.rules, job.order)
            )
            yield over(job, sighting, at)
            yield from ended(fold, job, told, performances)
        elif sighting.phase is JobPhase.RUNNING and not job.leaving:
            share = sighting.progress or 0.0
            if share >= known.get(sighting.job, 0.0) + PROGRESS_STEP:
                known[sighting.job] = share
                yield Progress(at, sighting.job, min(share, 1.0))

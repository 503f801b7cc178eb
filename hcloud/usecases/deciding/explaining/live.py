"""What ``hcloud explain --job`` adds of live work: how a job is doing now, and why one that nobody saw has not come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.reached import unreachable
from hcloud.control.operating.records import JobRecord, MachinePhase, MachineRecord
from hcloud.errors import HcloudError, UsageError, did_you_mean
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.event import Arrival
from hcloud.model.running.job import JobOrder
from hcloud.readers.jobs import FollowedFile
from hcloud.store.journals.journal import JournalContents
from hcloud.units import counted_vcpus, format_span, some_of
from hcloud.usecases.live.operating.jobs_file import kept
from hcloud.usecases.live.operating.operate import fold_of

NAMED = 8
"""Jobs that a hint lists."""
_WHY_NOT_THERE = (
    "a job is not in a journal that ends before its submit, that left it out (no type holds it, GPUs), or in which a"
    " job that it waits for did not end"
)


def waits_for(fold: Fold, job: str) -> str:
    """Why the machine that a job is placed on is not there yet; nothing where it is, or nobody said."""
    record = fold.jobs.get(job)
    if record is None or record.on is not None or record.instance is None:
        return ""
    machine = fold.machines[record.instance]
    waits = machine.phase in (MachinePhase.WANTED, MachinePhase.ORDERED, MachinePhase.STARTING)
    return f"machine {machine.instance} is {machine.phase}{f': {machine.why}' if machine.why else ''}" if waits else ""


def now_of(fold: Fold, job: str) -> tuple[str, ...]:
    """How a job was doing at the last line of the journal; of one that is over, whether its last attempt is, too."""
    record = fold.jobs.get(job)
    if record is None or record.is_over:
        return tuple(_stopping(record)) if record is not None and record.result == "cancelled" else ()
    if record.on is None:
        return tuple(_waiting(record, fold)) if job in fold.queue else ()
    return tuple(_running(record, fold.machines[record.on]))


def _stopping(record: JobRecord) -> Iterator[str]:
    if record.on is not None:
        yield f"has not stopped on machine {record.on} yet: it keeps its place"
    elif record.began is not None and record.code is None:
        yield "nobody reported its exit code: it ran until its machine was terminated at the latest"


def _waiting(record: JobRecord, fold: Fold) -> Iterator[str]:
    share = record.performance_left(fold.last)
    left = "" if share is None else f", {share:.0%} of its performance is left"
    yield f"queued for {format_span(max(fold.last - record.came, 0.0))}{left}"


def _running(record: JobRecord, machine: MachineRecord) -> Iterator[str]:
    paid = "reserved" if machine.reserved else "spot" if machine.option is PurchaseOption.SPOT else "on demand"
    cost = f", ${machine.hourly:,.4f}/h" if machine.hourly else ""
    yield f"running on machine {machine.instance} ({machine.type_name} {paid}{cost})"
    if machine.quality is not None:
        yield f"quality {machine.quality:.2f} measured on the machine"
    if record.sized is not None:
        yield f"has {counted_vcpus(record.cores / 1000)}, asks for {record.order.cores / 1000:g}"
    if record.order.target is not None and record.p99 is not None:
        yield f"99th percentile {record.p99:,.1f} of {record.order.target.milliseconds:,.10g} ms"
    if told := unreachable(record):
        yield told


def never_came(path: Path, job: str, journal: JournalContents) -> UsageError:
    """That a job is not in a journal: since it comes later, was split, or is not known at all."""
    fold = None if journal.live is None else fold_of(journal)
    order = None if fold is None else _ordered(path, job, fold.began)
    if fold is not None and order is not None:
        return _comes_later(path, job, order, fold)
    beside = () if fold is None else (*fold.harvested.graphs, *fold.harvested.jobs)
    known = [*dict.fromkeys(e.job for e in journal.events if isinstance(e, Arrival)), *beside]
    if pieces := [name for name in known if name.startswith(f"{job}.")]:
        return UsageError(f"{path}: job {job} was split", hint=f"its pieces: {some_of(pieces, NAMED)}")
    came = f"jobs that came: {some_of(known, NAMED)}" if known else "it has no event of kind arrival"
    meant = did_you_mean(job, known)
    return UsageError(f"{path}: no job {job} came in it{meant}", hint=f"{came}; {_WHY_NOT_THERE}")


def _comes_later(path: Path, job: str, order: JobOrder, fold: Fold) -> UsageError:
    submit = f"{datetime.fromtimestamp(order.submit, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if fold.is_finished:
        return UsageError(f"{path}: job {job} never came: the work ended before its submit, {submit}")
    after = max(order.submit - fold.last, 0.0)
    return UsageError(
        f"{path}: job {job} has not come yet: its submit is {submit}, {format_span(after)} after the last line",
        hint="it is decided on when it comes; 'hcloud operate cancel JOB --ahead' refuses it then",
    )


def _ordered(path: Path, job: str, began: float) -> JobOrder | None:
    """The job in the files of jobs that the work beside a journal was given, where these can be read."""
    for file in kept(path.parent):
        with suppress(OSError, HcloudError):
            for one in FollowedFile(file, began).new().orders:
                if one.id == job or one.id.startswith(f"{job}."):
                    return one
    return None

"""What other processes ask the controller of live work for, and whether one works."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.harvested import GraphRecord, HarvestRecord
from hcloud.control.operating.records import JobRecord
from hcloud.control.operating.together import pieces_of
from hcloud.errors import UsageError, did_you_mean
from hcloud.usecases.live.operate_requests import REQUESTS, Requests, directory_at, lock_of_work
from hcloud.usecases.live.operating.looking import look

ANSWER_SECONDS, LOOK_SECONDS = 5.0, 0.2  # ours


def works(place: str) -> bool:
    """Whether a controller works there now."""
    lock = lock_of_work(place)
    return lock is not None and lock.holder() is not None


def works_no_more(place: str, seconds: float = math.inf) -> bool:
    """Return when no controller works there any more, or, with False, after so many seconds."""
    until = time.monotonic() + seconds
    while works(place):
        if time.monotonic() >= until:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def _records(found: Fold, job: str) -> Sequence[JobRecord | HarvestRecord | GraphRecord]:
    """What is known of a job: itself, or its pieces."""
    beside = found.harvested
    record = found.jobs.get(job) or beside.jobs.get(job) or beside.graphs.get(job)
    return [record] if record is not None else pieces_of(found, job)


def ask(place: str, what: str, job: str = "", *, ahead: bool = False) -> str:
    """Ask a controller for something; what became of it in a sentence. UsageError for a job that is over, or, unless it
    is cancelled ``ahead`` of its coming, not known."""
    directory, about = directory_at(place), f" {job}" if job else ""
    if job:
        found = look(place).fold
        beside = found.harvested
        mine = _records(found, job)
        if found.is_finished or (mine and all(one.is_over for one in mine)):
            state = f"is over already ({mine[0].result})" if mine else "is not known, and the work is over"
            raise UsageError(f"job {job} {state}", hint="hcloud operate status")
        if not mine and job not in found.known and not beside.knows(job):
            if not ahead:
                meant = did_you_mean(job, [*found.active, *beside.graphs, *(j.order.id for j in beside.open)])
                hint = "hcloud operate status names the jobs; --ahead cancels one that has not come yet"
                raise UsageError(f"job {job} is not known{meant}; nothing was cancelled", hint=hint)
            about += " (not submitted yet: it will be refused when it is)"
    path = Requests(directory / REQUESTS).put(what, job)
    until = time.monotonic() + ANSWER_SECONDS
    while path.exists() and time.monotonic() < until and works(place):
        time.sleep(LOOK_SECONDS / 10)
    if path.exists() and works(place):
        return (
            f"{what}{about}: saved; the controller has not read it yet: "
            "it is starting, or waiting for the cloud or the engine"
        )
    if path.exists():
        return f"{what}{about}: saved; no controller is running: 'hcloud operate run' starts one that does it"
    return f"{what}{about}: the controller has it"

"""Jobs that nothing holds which a strategy may use: told by their ids, or dropped and counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hcloud.errors import EvidenceError
from hcloud.model.workload import Jobs
from hcloud.policy.records import Ints
from hcloud.sim.outcomes.comparison import NOTHING_DROPPED, Dropped
from hcloud.sim.setup.build import Setting, unplaceable
from hcloud.sim.setup.fitting import held_by_some
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.shop import Shop
from hcloud.units import counted, some_of

_NAMED = 8
"""Types that a hint lists."""


def held_jobs(jobs: Jobs, shop: Shop, *, drop: bool) -> tuple[Jobs, Dropped]:
    """The jobs without those that no type of the shop holds, where these are to be dropped; else EvidenceError."""
    held = held_by_some((t.shape for t in shop.types), jobs)
    lost, work = np.flatnonzero(~held), jobs.cores * jobs.duration
    if not len(lost):
        return jobs, NOTHING_DROPPED
    if not drop or not held.any():
        worst = int(lost[np.argmax(jobs.memory[lost])])
        raise _unplaceable(_told(jobs, jobs.name(worst)), (jobs.cores[worst], jobs.memory[worst]), len(lost))
    return jobs.at(np.flatnonzero(held)), Dropped(len(lost), float(work[lost].sum() / work.sum()))


def _told(jobs: Jobs, name: str) -> str:
    """A job and the trace it is of; where the trace has no names, what its number is counted from."""
    return f"{jobs.provenance.name}: job {name}{', counted from 0' if jobs.ids is None else ''}"


def _unplaceable(told: str, size: tuple[float, float], count: int, wanted: str = "", there: str = "") -> EvidenceError:
    more = f", {'nor does' if count == 2 else 'nor do'} {counted(count - 1, 'other job')}" if count > 1 else ""
    asked = f"{size[0]:g} vCPU, {size[1]:g} GiB{f', {wanted}' if wanted else ''}"
    larger = "allow larger types (--family, --vcpus), allow splitting (planning.divisible)"
    such = (
        f"there are {there}; allow what it requires (--family, --vcpus), take the others alone (--set requires=nothing)"
    )
    return EvidenceError(
        f"{told} ({asked}) fits no type that may be rented{more}",
        hint=f"{such if wanted else larger}, or use --drop-unplaceable",
    )


class NeverHeldError(EvidenceError):
    """The whole reserve never holds the pieces of some job at once."""


def _elsewhere(told: str, wanted: str, setting: Setting, count: int) -> EvidenceError:
    """What to say of jobs that require servers that the reserve does not have, or that are too small."""
    more = f", like {counted(count - 1, 'other job')}" if count > 1 else ""
    return EvidenceError(
        f"{told} requires {wanted}, and no such server is there and large enough{more}: the reserve has servers 0 to"
        f" {setting.servers - 1}",
        hint="reserve more (--pool), require others, or use --drop-unplaceable",
    )


def _too_many(jobs: Jobs, setting: Setting, tasks: Tasks, lost: Ints) -> NeverHeldError:
    """What to say of jobs whose pieces the whole reserve does not hold at once; of these of the one with the most."""
    assert tasks.pieces is not None
    worst = int(lost[np.argmax(tasks.pieces[lost] * tasks.ask[lost])])
    each = f"{tasks.ask[worst] / 1000:g} vCPU, {tasks.memory[worst] / 1024:g} GiB on each"
    count = len(np.unique(tasks.job[lost]))
    more = f", nor of {counted(count - 1, 'other job')} all they ask for" if count > 1 else ""
    return NeverHeldError(
        f"{_told(jobs, tasks.name(worst))} runs on {tasks.pieces[worst]:,} servers at once ({each}), and all "
        f"{counted(setting.servers, 'reserved server')} together never hold that{more}",
        hint="reserve more (--pool), let pieces begin one by one (placement.gang: false), share servers "
        "(placement.locality: pack), or use --drop-unplaceable",
    )


def _types_of(setting: Setting) -> str:
    """The types that a strategy may use."""
    rents = setting.strategy.follows("on_demand")
    kinds = range(len(setting.shop.types)) if rents else sorted({lot.kind for lot in setting.lots})
    shapes = [setting.shop.types[kind].shape for kind in kinds]
    named = [f"{s.name} ({float(s.vcpus):g} vCPU, {float(s.memory_gib):g} GiB)" for s in shapes]
    return some_of(named, _NAMED)


def check_placeable(jobs: Jobs, setting: Setting, tasks: Tasks) -> None:
    """Raise EvidenceError with the id of a job that fits no type the strategy may use."""
    lost = np.flatnonzero(unplaceable(setting, tasks))
    if not len(lost):
        return
    alone = replace(tasks, pieces=None)
    by_itself = np.flatnonzero(unplaceable(setting, alone))
    if not len(by_itself):
        raise _too_many(jobs, setting, tasks, lost)
    worst, lost = int(by_itself[np.argmax(tasks.memory[by_itself])]), by_itself
    size = tasks.ask[worst] / 1000, tasks.memory[worst] / 1024
    code = -1 if jobs.requires is None else int(jobs.requires[tasks.job[worst]])
    wanted = jobs.requirements[code] if code >= 0 else ""
    told, count = _told(jobs, tasks.name(worst)), len(np.unique(tasks.job[lost]))
    if "server=" in wanted:
        raise _elsewhere(told, wanted, setting, count)
    raise _unplaceable(told, size, count, wanted, _types_of(setting))

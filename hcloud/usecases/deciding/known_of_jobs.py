"""What a decision is told of the jobs behind a demand: which cannot be split, how lean they are, what they require, and
how much work a vCPU does for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.model.workload import Demand, JobKind, Jobs, Workload
from hcloud.planning.fleets.apart import Leanest
from hcloud.planning.fleets.required import RequiredMachine, required_by
from hcloud.planning.forecasting.dividing import can_split
from hcloud.planning.forecasting.packing import RunningJobs
from hcloud.planning.forecasting.speeds import family_speeds, fleet_speeds
from hcloud.planning.settings import Divisible, Speed

if TYPE_CHECKING:
    from hcloud.model.workload import Floats


def running_of(workload: Jobs | Demand, divisible: Divisible, demand: Demand) -> RunningJobs | None:
    """The jobs within the demand's window, where some of them cannot be split."""
    if not isinstance(workload, Jobs):
        return None
    seconds = _seconds_within(workload, demand)
    whole = (seconds > 0) & ~can_split(workload, divisible)
    if not whole.any():
        return None
    columns = (workload.begins, workload.ends, workload.cores, workload.memory, whole)
    return RunningJobs(*columns, workload.name, batch=(seconds > 0) & (workload.kind == JobKind.BATCH))


def leanest_of(workload: Jobs | Demand, demand: Demand) -> Leanest | None:
    """The jobs within the demand's window by their GiB per vCPU; nothing is known of it in a series."""
    if not isinstance(workload, Jobs):
        return None
    some = np.flatnonzero((_seconds_within(workload, demand) > 0) & (workload.cores > 0))
    return Leanest.of(workload.at(some), demand) if len(some) else None


def required_of(workload: Jobs | Demand, demand: Demand) -> tuple[RequiredMachine, ...]:
    """What jobs within the demand's window require of their machine."""
    return required_by(workload, _seconds_within(workload, demand)) if isinstance(workload, Jobs) else ()


def _seconds_within(jobs: Jobs, demand: Demand) -> Floats:
    """How long each job runs within the demand's window."""
    last = demand.start + demand.step_seconds * len(demand)
    seconds: Floats = np.minimum(jobs.ends, last) - np.maximum(jobs.begins, demand.start)
    return np.maximum(seconds, 0.0)


def speeds_of(workload: Workload, book: PriceBook) -> Iterator[Speed]:
    """How much work a vCPU of each family does for this workload, as far as its applications' profiles say."""
    if not isinstance(workload, Jobs) or not workload.performance:
        return
    work = np.bincount(workload.app + 1, workload.cores * workload.duration, len(workload.apps) + 1)
    for provider in sorted({p for p, _ in book.types}):
        shapes = {name: shape for (p, name), shape in book.types.items() if p == provider}
        by_app = {app: family_speeds(known, shapes) for app, known in workload.performance.items()}
        named = [(float(work[1 + code]), by_app.get(app, {})) for code, app in enumerate(workload.apps)]
        for family, factor in fleet_speeds([(float(work[0]), {}), *named]).items():
            yield Speed(provider, family, factor)

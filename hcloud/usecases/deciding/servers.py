"""On which servers strategies are simulated: their size, and the jobs that their types have to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.model.workload import Demand, Jobs
from hcloud.planning.decide import FleetDecision
from hcloud.planning.fleets.candidates import find_candidates
from hcloud.planning.fleets.required import RequiredMachine, unmet_by
from hcloud.planning.fleets.whole_jobs import misfit_of
from hcloud.planning.forecasting.dividing import SPLITTABLE, can_split
from hcloud.planning.forecasting.packing import RunningJobs
from hcloud.planning.settings import Divisible, PlanSettings, fitting_vcpus

FITTING_JOBS = 0.95  # ours: the share of jobs an instance must be able to hold


def whole_jobs(workload: Jobs | Demand, divisible: Divisible) -> RunningJobs | None:
    """All jobs of the trace, within the window or not, where some of them cannot be split."""
    if not isinstance(workload, Jobs) or (whole := ~can_split(workload, divisible)).sum() == 0:
        return None
    return RunningJobs(workload.begins, workload.ends, workload.cores, workload.memory, whole, workload.name)


ToServe = tuple[Jobs | Demand, Demand, RunningJobs | None]
"""A workload, the demand it is planned for as, and its jobs where some of them cannot be split."""


def on_servers(
    settings: PlanSettings,
    book: PriceBook,
    asked: ToServe,
    plain: FleetDecision,
    required: Sequence[RequiredMachine] = (),
) -> PlanSettings:
    """The settings with one size of server for each market that has none: large enough for 95 % of the jobs that cannot
    be split and no larger than what the plan without strategies runs on, but of that size where no shape that is sold
    in the smaller one holds every job or is what jobs require."""
    workload, demand, whole = asked
    most, wanted = server_size(plain), _fitting_size(workload, demand)
    sized = _of_size(settings, min(wanted, most) if most else wanted)
    return sized if not most or _is_held(sized, book, whole, required) else _of_size(settings, most)


def on_larger(settings: PlanSettings, sized: PlanSettings, plain: FleetDecision) -> PlanSettings | None:
    """The settings with servers as large as those that the plan without strategies runs on, None where ``sized`` has
    such or the markets name theirs."""
    larger = _of_size(settings, server_size(plain))
    return larger if any(a.vcpus > b.vcpus for a, b in zip(larger.markets, sized.markets, strict=True)) else None


def _fitting_size(workload: Jobs | Demand, demand: Demand) -> int:
    whole = isinstance(workload, Jobs) and workload.provenance.format not in SPLITTABLE
    largest = float(np.quantile(workload.cores, FITTING_JOBS)) if isinstance(workload, Jobs) and whole else 0.0
    return fitting_vcpus(float(np.mean(demand.cores)), largest)


def _of_size(settings: PlanSettings, vcpus: int) -> PlanSettings:
    """Of one type, in the size that a market names, else of so many vCPUs."""
    markets = tuple(m if m.vcpus else replace(m, vcpus=vcpus) for m in settings.markets)
    return replace(settings, mix_types=False, markets=markets)


def _is_held(
    settings: PlanSettings, book: PriceBook, jobs: RunningJobs | None, required: Sequence[RequiredMachine]
) -> bool:
    """Whether some type of these sizes has a shape that holds every job, and some has what each job requires."""
    found = [c for m in settings.markets for c in find_candidates(book, m, settings.outlook.horizon_hours)[0]]
    if unmet_by((c.shape for c in found), required):
        return False
    return jobs is None or any(misfit_of(c, book, jobs) is None for c in found)


def server_size(plain: FleetDecision) -> int:
    """The vCPUs of the machines that do most of the work of the plan without strategies, reserved ones first; 0 where
    it has none."""
    shapes = {c.shape.name: c.shape for ladder in plain.ladders.values() for c in ladder}
    hours: dict[Decimal, Decimal] = {}
    for holding in plain.machines.holdings:
        size = shapes[holding.offer.key.instance_type].vcpus
        hours[size] = hours.get(size, Decimal(0)) + size * holding.count * holding.offer.term_hours
    for rental in plain.machines.rentals if not hours else ():
        size = shapes[rental.offer.key.instance_type].vcpus
        hours[size] = hours.get(size, Decimal(0)) + size * rental.hours
    return int(max(hours, key=lambda size: (hours[size], size), default=Decimal(0)))

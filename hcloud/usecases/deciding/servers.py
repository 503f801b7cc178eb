"""On which servers strategies are simulated: their size, and the jobs that their types have to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import compress, count, takewhile

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
) -> tuple[PlanSettings, ...]:
    """The settings with one size of server for each market that has none, in the order to try them: large enough for
    95 % of the jobs that cannot be split, then twice as large, up to the size that the plan without strategies runs on;
    only that one where no shape that is sold in the first size holds every job or is what jobs require."""
    workload, demand, whole = asked
    most, wanted = server_size(plain), _fitting_size(workload, demand)
    largest = _of_size(settings, most or wanted)
    if not most or all(m.vcpus for m in settings.markets):
        return (largest,)
    sizes = takewhile(lambda vcpus: vcpus < most, (wanted * 2**times for times in count()))
    smaller = [_of_size(settings, vcpus) for vcpus in sizes]
    held = [_is_held(sized, book, whole, required) for sized in smaller]
    return (*compress(smaller, held), largest) if any(held[:1]) else (largest,)


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
    if not found or unmet_by((c.shape for c in found), required):
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

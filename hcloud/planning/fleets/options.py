"""What a plan may count in, each with the demand as its machines see it: less what is owned, with the gaps of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

import numpy as np

from hcloud.errors import EvidenceError
from hcloud.model.plans.plan import Refusal
from hcloud.model.workload import Demand
from hcloud.planning.fleets.apart import Leanest
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import evaluate
from hcloud.planning.fleets.fleet import Fleet
from hcloud.planning.fleets.owned import Owned, OwnedCapacity, use_first, without_spot
from hcloud.planning.fleets.sizes import LARGEST, Ladder, Unit, stated, units_of
from hcloud.planning.fleets.whole_jobs import named, refusal_of
from hcloud.planning.forecasting.forecast import Forecast, stretch
from hcloud.planning.forecasting.idle import IdleHours
from hcloud.planning.forecasting.packing import MachineSizes, RunningJobs, misfit, packed, with_gaps
from hcloud.planning.settings import PlanSettings


@dataclass(frozen=True, slots=True)
class DemandParts:
    """Demand that nothing owned serves (``whole``), divided into what is planned for and what spot takes."""

    whole: Forecast
    planned: Forecast
    spot: Forecast


@dataclass(frozen=True, slots=True)
class Option:
    """A type to count in with its larger sizes, and the demand for such machines, before and after it is divided."""

    unit: Unit
    demanded: Forecast
    parts: DemandParts

    @property
    def candidate(self) -> Candidate:
        """The type."""
        return self.unit.candidate

    @property
    def ladder(self) -> Ladder:
        """The type and its larger sizes."""
        return self.unit.ladder

    def stated(self, fleet: Fleet, forecast: Forecast) -> Fleet:
        """A fleet of the type in as few machines as there can be."""
        return stated(fleet, (self.candidate,), {self.candidate.address: self.ladder}, forecast)


@dataclass(frozen=True, slots=True)
class FleetProblem:
    """The demand that a plan is made for, with its jobs where some of them cannot be split, and how lean they are;
    ``idle`` is what of it may run in the idle hours of what is reserved."""

    demand: Demand
    settings: PlanSettings
    owned: Sequence[Owned]
    running: RunningJobs | None = None
    leanest: Leanest | None = None
    idle: IdleHours | None = None

    def stretched(self, demand: Demand) -> Forecast:
        """The forecast of a demand in its place."""
        return stretch(demand, self.settings.outlook, self.idle)


def divide(demanded: Forecast, settings: PlanSettings, owned: Sequence[Owned]) -> DemandParts:
    """Demand less what is owned, and that in two."""
    whole = use_first(demanded, owned)
    return DemandParts(whole, *without_spot(whole, settings.spot_share_of_batch))


def dividing(demanded: Forecast, settings: PlanSettings, owned: Sequence[Owned]) -> Callable[[float], DemandParts]:
    """The same of demand that is changed by a fraction, as often as it is asked for."""
    capacity = OwnedCapacity.of(owned, demanded)

    def divided(change: float) -> DemandParts:
        whole = capacity.beside(demanded.times(1.0 + change))
        return DemandParts(whole, *without_spot(whole, settings.spot_share_of_batch))

    return divided


def find_options(
    candidates: Sequence[Candidate], asked: FleetProblem
) -> tuple[tuple[Option, ...], DemandParts, tuple[Refusal, ...]]:
    """The types worth counting in, the demand as if every job could be split, and the types too small for one that
    cannot.

    Raises EvidenceError where a job fits no machine that is allowed.
    """
    plain = asked.stretched(asked.demand)
    plainly = divide(plain, asked.settings, asked.owned)
    options: dict[str, list[Option]] = {}
    misfits: dict[str, int] = {}
    waste, running = asked.settings.size_waste * float(np.mean(plain.cores)), asked.running
    for unit in units_of(candidates, waste, None if running is None else partial(_holds, running)):
        machines, address = _machines(unit.ladder), unit.candidate.address
        row = None if running is None else misfit(running, machines)
        if row is None:
            machines = machines if running is None else machines.for_jobs(running)
            options.setdefault(address, []).append(_option(unit, machines, asked, (plain, plainly)))
        else:
            misfits[address] = row
    if not options and running is not None:
        raise EvidenceError(
            f"{named(running, list(misfits.values())[-1])} fits no allowed machine and cannot be split",
            hint="allow larger types (markets.vcpus, families), or allow splitting: --divisible all",
        )
    refused = () if running is None else [refusal_of(a, running, row) for a, row in misfits.items()]
    found = tuple(_cheapest(some, asked) for some in options.values())
    return found, plainly, tuple(r for r in refused if r.address not in options)


def _holds(running: RunningJobs, ladder: Ladder) -> bool:
    return misfit(running, _machines(ladder)) is None


def _cheapest(options: Sequence[Option], asked: FleetProblem) -> Option:
    """Of several ways to count in one type the one whose machines cost least."""

    def cost(option: Option) -> Decimal:
        candidate, planned = option.candidate, option.parts.planned
        fleet = evaluate(candidate, planned, None, *asked.settings.least_savings).fleet
        return option.stated(fleet, planned).cost

    return options[0] if len(options) == 1 else min(options, key=cost)


def _machines(ladder: Ladder) -> MachineSizes:
    sizes = tuple(float(c.capacity[0]) for c in ladder)
    vcpus, gib = map(float, ladder[0].capacity)
    return MachineSizes(sizes, gib / vcpus, LARGEST * sizes[0] / float(ladder[0].shape.vcpus))


def _option(unit: Unit, machines: MachineSizes, asked: FleetProblem, plain: tuple[Forecast, DemandParts]) -> Option:
    (demanded, parts), largest = plain, machines.enough
    if asked.running is not None:
        gaps = packed(asked.running, asked.demand, machines)
        largest = gaps.largest
        if gaps.extra.any():
            demanded = asked.stretched(with_gaps(asked.demand, gaps, machines.gib_per_vcpu))
            parts = divide(demanded, asked.settings, asked.owned)
    ladder = (unit.ladder[0], *(c for c in unit.ladder[1:] if float(c.capacity[0]) <= largest))
    return Option(replace(unit, ladder=ladder), demanded, parts)


def together(options: Sequence[Option], asked: FleetProblem) -> Option:
    """The demand for machines of several types: as the type with the larger gaps sees it, at each step."""
    first = options[0]
    demanded = replace(
        first.demanded,
        cores=np.maximum.reduce([o.demanded.cores for o in options]),
        memory=np.maximum.reduce([o.demanded.memory for o in options]),
    )
    return Option(first.unit, demanded, divide(demanded, asked.settings, asked.owned))


def ladders_of(options: Sequence[Option]) -> Mapping[str, Ladder]:
    """The sizes of each type by its address."""
    return {o.candidate.address: o.ladder for o in options}


def region_of(candidate: Candidate) -> tuple[str, str]:
    """Provider and region of a type."""
    return candidate.on_demand.key.provider, candidate.on_demand.key.region

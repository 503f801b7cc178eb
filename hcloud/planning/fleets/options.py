"""What a plan may count in, each with the demand as its machines see it: less what is owned, with the gaps of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hcloud.errors import EvidenceError
from hcloud.model.plans.plan import Refusal
from hcloud.model.workload import Demand
from hcloud.planning.fleets.apart import Leanest
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.owned import Owned, use_first, without_spot
from hcloud.planning.fleets.sizes import LARGEST, Ladder, Unit, units_of
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


def find_options(
    candidates: Sequence[Candidate], asked: FleetProblem
) -> tuple[tuple[Option, ...], tuple[Refusal, ...]]:
    """The types worth counting in, and those too small for a job that cannot be split.

    Raises EvidenceError where a job fits no machine that is allowed.
    """
    plain = asked.stretched(asked.demand)
    plainly = divide(plain, asked.settings, asked.owned)
    options: list[Option] = []
    refused: list[Refusal] = []
    too_large = 0
    for unit in units_of(candidates, asked.settings.size_waste * float(np.mean(plain.cores))):
        machines = _machines(unit)
        row = None if asked.running is None else misfit(asked.running, machines)
        if row is None:
            machines = machines if asked.running is None else machines.for_jobs(asked.running)
            options.append(_option(unit, machines, asked, (plain, plainly)))
        else:
            too_large = row
            refused.append(Refusal(unit.candidate.address, f"no size of it holds {_named(asked, row)}"))
    if not options and asked.running is not None:
        raise EvidenceError(
            f"{_named(asked, too_large)} fits no allowed machine and cannot be split",
            hint="allow larger types (markets.vcpus, families), or allow splitting: --divisible all",
        )
    return tuple(options), tuple(refused)


def _machines(unit: Unit) -> MachineSizes:
    sizes = tuple(float(c.capacity[0]) for c in unit.ladder)
    vcpus, gib = map(float, unit.candidate.capacity)
    return MachineSizes(sizes, gib / vcpus, LARGEST * sizes[0] / float(unit.candidate.shape.vcpus))


def _option(unit: Unit, machines: MachineSizes, asked: FleetProblem, plain: tuple[Forecast, DemandParts]) -> Option:
    (demanded, parts), largest = plain, machines.enough
    if asked.running is not None:
        gaps = packed(asked.running, asked.demand, machines)
        largest = gaps.largest
        if gaps.extra.any():
            demanded = asked.stretched(with_gaps(asked.demand, gaps, machines.gib_per_vcpu))
            parts = divide(demanded, asked.settings, asked.owned)
    ladder = (unit.candidate, *(c for c in unit.ladder[1:] if float(c.capacity[0]) <= largest))
    return Option(replace(unit, ladder=ladder), demanded, parts)


def _named(asked: FleetProblem, row: int) -> str:
    running = asked.running
    assert running is not None
    return f"job {running.name(row)} ({running.cores[row]:g} vCPU, {running.memory[row]:g} GiB)"


def together(options: Sequence[Option], asked: FleetProblem) -> Option:
    """The demand for machines of several types: as the type with the larger gaps sees it, at each step."""
    first = options[0]
    demanded = replace(
        first.demanded,
        cores=np.maximum.reduce([o.demanded.cores for o in options]),
        memory=np.maximum.reduce([o.demanded.memory for o in options]),
    )
    return Option(first.unit, demanded, divide(demanded, asked.settings, asked.owned))


def plain_parts(asked: FleetProblem) -> DemandParts:
    """The demand as it would be if every job could be split."""
    return divide(asked.stretched(asked.demand), asked.settings, asked.owned)


def ladders_of(options: Sequence[Option]) -> Mapping[str, Ladder]:
    """The sizes of each type by its address."""
    return {o.candidate.address: o.ladder for o in options}

"""One run from start to end: builds the world, lets the engine work, and keeps what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from hcloud.catalog.quote import amortised_cost, rental_cost
from hcloud.control.state import INTERRUPTIBLE
from hcloud.errors import HcloudError
from hcloud.model.catalog import Offer
from hcloud.policy.records import Ints, Reals, column
from hcloud.sim.kernels.world import SimulatedWorld
from hcloud.sim.machine_code import compiled
from hcloud.sim.machine_code.objects import as_objects, write_back
from hcloud.sim.setup.build import Capacity, Setting, build, usual_capacity
from hcloud.sim.setup.prepare import Tasks
from hcloud.units import SECONDS_PER_HOUR

_AT_ONCE = 20_000
"""Ours: jobs of a run that takes too short to be interrupted, or to show how far it is."""
_STEPS = 20
_PLAIN_STEP = 1_000
"""Jobs that plain Python simulates, in a quarter of a second, between two looks for the compiled engine."""
_MOST_DOUBLINGS = 8


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run did: its setting, its jobs, and the tables the engine wrote (see :mod:`hcloud.sim.kernels.world`)."""

    setting: Setting
    tasks: Tasks
    world: SimulatedWorld

    def of_tasks(self, field: str) -> Reals | Ints:
        """One field of all jobs, in the order of their decisions; whole numbers of 64 bits, however they are kept."""
        made = column(self.world.tasks, field)[: len(self.tasks)]  # then come second runs of pieces of jobs
        return made.astype(np.int64) if made.dtype.kind == "i" else made

    @property
    def submit(self) -> Reals:
        """When each job was submitted, in the order of decisions; of one that waited for others, when the last of those
        ended."""
        return self._came("since", self.tasks.submit)

    @property
    def decide(self) -> Reals:
        """When each job was to be decided on, likewise."""
        return self._came("comes", self.tasks.decide)

    def _came(self, field: str, otherwise: Reals) -> Reals:
        stages = self.world.stages
        return column(stages, field)[: len(self.tasks)] if len(stages) else otherwise

    def of_rentals(self, field: str) -> Reals | Ints:
        """One field of all instances that were rented, in the order in which they were released."""
        return column(self.world.rentals, field)[: self.world.tally.rentals]

    def of_lines(self, field: str) -> Reals | Ints:
        """One field of all lines of the journal."""
        return column(self.world.lines, field)[: self.world.tally.lines]

    @property
    def seconds(self) -> float:
        """From the first submission to the end of the last job."""
        return float(self.world.tally.last_finish)


def run(
    setting: Setting, tasks: Tasks, *, journal: bool = False, advance: Callable[[float], None] | None = None
) -> RunOutcome:
    """Simulate the jobs under a setting; ``advance`` is told the share that is done.

    The same setting and jobs give the same bytes. Where a table turns out too short the run is repeated with more room.
    """
    capacity = usual_capacity(len(tasks), setting.servers, journal=journal)
    for _ in range(_MOST_DOUBLINGS):
        made = build(setting, tasks, capacity)
        if _finished(made, len(tasks), advance):
            return RunOutcome(setting, tasks, made)
        capacity = Capacity(*(2 * room for room in capacity))
    raise HcloudError(f"a run of {len(tasks):,} jobs needs more room than {capacity}")


def _finished(made: SimulatedWorld, jobs: int, advance: Callable[[float], None] | None) -> bool:
    """Run in steps of arrivals, so that progress can be shown; False where a table was too short.

    Plain Python may begin and the compiled engine go on: both write the same bytes into the tables.
    """
    until = _plainly(made, jobs, advance) if compiled.begins_plainly(jobs) else 0
    if until <= jobs:
        engine, step = compiled.compiled()[compiled.SIMULATE], max(-(-jobs // _STEPS), 1)
        step = jobs + 1 if advance is None and jobs <= _AT_ONCE else step  # each call looks at all tables
        while not engine(made, min(until + step, jobs + 1)):
            until += step
            _tell(advance, until, jobs)
    return not (made.tally.full or made.control.desk.overflow)


def _plainly(made: SimulatedWorld, jobs: int, advance: Callable[[float], None] | None) -> int:
    """Run in plain Python, until the engine is compiled or to the end; how many jobs have come, one more at the end."""
    engine, objects, until = compiled.plain()[compiled.SIMULATE], as_objects(made), 0
    while until <= jobs and compiled.goes_on_plainly(jobs - until):
        until = jobs + 1 if engine(objects, until + _PLAIN_STEP) else until + _PLAIN_STEP
        _tell(advance, until, jobs)
    write_back(objects, made)
    return until


def _tell(advance: Callable[[float], None] | None, until: int, jobs: int) -> None:
    if advance and until < jobs:
        advance(until / jobs)


@dataclass(frozen=True, slots=True)
class CapacityCost:
    """What one kind of capacity cost: its offer, instances obtained, seconds they ran, dollars."""

    offer: Offer
    instances: int
    seconds: int
    dollars: Decimal


def charges(outcome: RunOutcome) -> tuple[CapacityCost, ...]:
    """What the rented instances cost, by offer. Each is charged from its launch to its release, in whole seconds
    rounded outwards, by the billing rule of its provider; where a window counts, for its part in it."""
    shop, made = outcome.setting.shop, []
    since, until = outcome.setting.window or (-np.inf, np.inf)
    launched, released = outcome.of_rentals("launched"), outcome.of_rentals("released")
    inside = (launched < until) & (released > since)
    begun = np.floor(np.maximum(launched, since))
    seconds = (np.ceil(np.minimum(released, until)) - begun).astype(np.int64)
    kinds, paid = outcome.of_rentals("kind"), outcome.of_rentals("paid")
    for at, rentable in enumerate(shop.types):
        for spot in (False, True):
            chosen = seconds[(kinds == at) & ((paid == INTERRUPTIBLE) == spot) & inside]
            offer = (rentable.spot if spot else None) or rentable.on_demand
            if len(chosen):
                lengths, counts = np.unique(chosen, return_counts=True)
                lengths_counts = zip(lengths.tolist(), counts.tolist(), strict=True)
                dollars = sum((rental_cost(offer, s, shop.billing) * n for s, n in lengths_counts), Decimal(0))
                made.append(CapacityCost(offer, len(chosen), int(chosen.sum()), dollars))
    return tuple(made)


def reserved_cost(outcome: RunOutcome, seconds: float) -> Decimal:
    """The amortised cost of the reserved servers over a span (of at most their term)."""
    per_hour = sum((amortised_cost(lot.offer, 1) * lot.servers for lot in outcome.setting.lots), Decimal(0))
    return per_hour * Decimal(repr(float(seconds))) / SECONDS_PER_HOUR

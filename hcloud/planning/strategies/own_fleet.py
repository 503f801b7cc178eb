"""A plan's own fleet as the simulator takes it: so many servers of each type are reserved, the rest is rented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from itertools import groupby

from hcloud.errors import InputError
from hcloud.model.catalog import OfferKey, PurchaseOption
from hcloud.model.plans.plan import MixLine, Plan
from hcloud.units import counted

STRATEGY = "HC"
"""Ours: how a plan that names no strategy is run, with a reserve and without: at the least cost."""


Lot = tuple[OfferKey, int]
"""A commitment, and the servers reserved as it."""


@dataclass(frozen=True, slots=True)
class PlannedFleet:
    """``servers`` of the type that ``on_demand`` names are reserved as ``commitment`` (None where nothing is), those
    ``beside`` them are of no larger types; all run as ``strategy``, and what the plan rents is for rent, of the types
    ``rented`` and smaller sizes. ``dearer`` says what is rented here that the plan pays less for, ``apart`` where else
    that is not the plan to the letter."""

    on_demand: OfferKey
    commitment: OfferKey | None
    servers: int
    strategy: str
    dearer: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    beside: tuple[Lot, ...] = ()
    rented: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Where this is not the plan."""
        return (*self.dearer, *self.apart)

    @property
    def others(self) -> list[str]:
        """The types that are reserved or rented beside the one that ``on_demand`` names."""
        names = (*(key.instance_type for key, _ in self.beside), *self.rented)
        return [name for name in dict.fromkeys(names) if name != self.on_demand.instance_type]

    @property
    def clouds(self) -> list[str]:
        """The clouds in which its reserve is."""
        return sorted({key.provider for key in (self.on_demand, *(key for key, _ in self.beside))})

    @property
    def rivals(self) -> list[str]:
        """The strategies that can run this fleet, for comparison: without a reserve only those that need none."""
        return ["all", self.strategy] if self.servers else ["OdF", "OdM", self.strategy]

    @property
    def reserved(self) -> dict[str, int]:
        """Servers reserved by type, the largest type first."""
        lots = [(self.on_demand, self.servers), *self.beside] if self.servers else []
        return {
            name: sum(servers for key, servers in lots if key.instance_type == name)
            for name in dict.fromkeys(key.instance_type for key, _ in lots)
        }


def fleet_of(plan: Plan) -> PlannedFleet:
    """The fleet of a plan; InputError where it has none (what is owned does not count as none)."""
    at_first = (line for line in plan.mix if not line.begins_later and not line.covers_nothing)
    reserved = [line for line in at_first if line.option.is_commitment]
    lines = reserved or [line for line in plan.mix if line.option is PurchaseOption.ON_DEMAND]
    if not lines:
        raise InputError(
            "the plan has no machines to simulate", hint="spot machines are not simulated: plan fewer jobs on spot"
        )
    lots = _lots(reserved)
    key = lots[0][0] if lots else max(lines, key=lambda line: (line.vcpus, line.address)).key
    on_demand = OfferKey(
        key.provider, key.region, key.instance_type, PurchaseOption.ON_DEMAND, os=key.os, tenancy=key.tenancy
    )
    chosen = plan.operation.strategy if plan.operation else STRATEGY
    servers = lots[0][1] if lots else 0
    dearer, apart = (*_parts(reserved), *_spot(plan)), tuple(_notes(plan))
    return PlannedFleet(
        on_demand, key if lots else None, servers, chosen, dearer, apart, tuple(lots[1:]), _rented(plan, key)
    )


def _rented(plan: Plan, near: OfferKey) -> tuple[str, ...]:
    """The types that the plan rents on demand where the key's are."""
    here = (line for line in plan.mix if (line.provider, line.region) == (near.provider, near.region))
    return tuple(line.instance_type for line in here if line.option is PurchaseOption.ON_DEMAND)


def _lots(reserved: Sequence[MixLine]) -> list[Lot]:
    """Whole servers of every line, the largest type first; parts of servers of one type (what a savings plan pays for)
    add up."""
    found: list[Lot] = []
    for _, of_type in groupby(sorted(reserved, key=_largest_first), key=lambda line: line.instance_type):
        exact, whole = Decimal(0), 0
        for line in of_type:
            exact += line.count
            upto = int(round(exact, 3).to_integral_value(ROUND_FLOOR))
            if upto > whole:
                found.append((line.key, upto - whole))
            whole = upto
    return found


def _largest_first(line: MixLine) -> tuple[Decimal, Decimal, str, str]:
    """By vCPUs, then by GiB: the first is to hold what any of them holds."""
    each = line.count or Decimal(1)
    return -line.vcpus / each, -line.memory_gib / each, line.instance_type, line.address


def _parts(reserved: Sequence[MixLine]) -> Iterator[str]:
    counts: dict[str, Decimal] = {}
    for line in reserved:
        counts[line.instance_type] = counts.get(line.instance_type, Decimal(0)) + line.count
    for name, count in counts.items():
        if part := round(count, 3) % 1:
            yield f"of {count.normalize():f} x {name} that are paid for, the simulation rents {part.normalize():f}"


def _spot(plan: Plan) -> Iterator[str]:
    if any(line.option is PurchaseOption.SPOT for line in plan.mix):
        yield "the simulation rents on demand what the plan gives to spot"


def _notes(plan: Plan) -> Iterator[str]:
    if plan.harvest is not None:
        yield f"{counted(plan.harvest.carried_jobs, 'job')} that idle hours carry take no machine here"
    if any(line.begins_later for line in plan.mix):
        yield "what the plan reserves on later days is not simulated"

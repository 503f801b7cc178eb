"""A plan's own fleet as the simulator takes it: so many servers of one type are reserved, the rest is rented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from hcloud.errors import InputError
from hcloud.model.catalog import OfferKey, Payment, PurchaseOption
from hcloud.model.plan import OWNED, MixLine, Plan

WITH_RESERVE, WITHOUT_RESERVE = "HC", "OdF"
"""Ours: how a plan that names no strategy is run: at the least cost beside its reserve, else on whole servers."""
TENANCIES = frozenset({"shared", "dedicated", "host"})


@dataclass(frozen=True, slots=True)
class PlannedFleet:
    """``servers`` of the type that ``on_demand`` names are reserved as ``commitment`` (None where nothing is) and run
    as ``strategy``; ``notes`` say where that is not the plan to the letter."""

    on_demand: OfferKey
    commitment: OfferKey | None
    servers: int
    strategy: str
    notes: tuple[str, ...]

    @property
    def rivals(self) -> list[str]:
        """The strategies that can run this fleet, for comparison: without a reserve only those that need none."""
        return ["all", self.strategy] if self.servers else ["OdF", "OdM", self.strategy]


def fleet_of(plan: Plan) -> PlannedFleet:
    """The fleet of a plan; InputError where it has none (what is owned does not count as none)."""
    reserved = [line for line in plan.mix if line.option.is_commitment and not line.starts_hour]
    lines = reserved or [line for line in plan.mix if line.option is PurchaseOption.ON_DEMAND]
    if not lines:
        raise InputError("the plan has no machines to simulate")
    main = max(lines, key=lambda line: (line.vcpus, line.address))
    key = key_of(main)
    on_demand = OfferKey(
        key.provider, key.region, key.instance_type, PurchaseOption.ON_DEMAND, os=key.os, tenancy=key.tenancy
    )
    servers = _servers(reserved, main) if reserved else 0
    chosen = plan.operation.strategy if plan.operation else WITH_RESERVE if servers else WITHOUT_RESERVE
    return PlannedFleet(on_demand, key if reserved else None, servers, chosen, tuple(_notes(plan, main, servers)))


def _servers(reserved: Sequence[MixLine], main: MixLine) -> int:
    """All that is reserved, by its vCPUs in servers of the main type."""
    each = main.vcpus / main.count if main.count else Decimal(1)
    exact = sum((line.vcpus for line in reserved), Decimal(0)) / each
    return int(round(exact, 3).to_integral_value(ROUND_FLOOR))


def key_of(line: MixLine) -> OfferKey:
    """The key of the offer that a line is of: its fields, and what its address says of system and tenancy."""
    special = line.address.removeprefix(OWNED).split("/")[4:]
    tenancy = next((s for s in special if s in TENANCIES), "shared")
    system = next((s for s in special if s not in TENANCIES), "linux")
    payment = line.payment if line.term_years else Payment.NONE
    place = (line.provider, line.region, line.instance_type)
    return OfferKey(*place, line.option, line.term_years, payment, system, tenancy)


def _notes(plan: Plan, main: MixLine, servers: int) -> Iterator[str]:
    others = sorted({m.instance_type for m in plan.mix if not m.starts_hour} - {main.instance_type})
    if others:
        also = ", ".join(others)
        yield f"simulated as {servers} x {main.instance_type} of the same vCPUs; the plan also has {also}"
    if any(line.starts_hour for line in plan.mix):
        yield "what the plan reserves on later days is not simulated"
    if any(line.option is PurchaseOption.SPOT for line in plan.mix):
        yield "what the plan gives to spot is rented on demand here"

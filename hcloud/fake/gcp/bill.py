"""What the fake Google asks: vCPUs and memory apart, as its price list has them.

That list has one rate for each, whatever the month brings: none of the series it sells has a sustained-use discount.
"""

from __future__ import annotations

from decimal import Decimal

from hcloud.fake.bill import BY_THE_MINUTE_AT_LEAST, FakeTerms, Meter
from hcloud.fake.gcp.catalog import FAMILIES, MIB_PER_GIB, PER_GIB, PER_VCPU, region_of
from hcloud.fake.gcp.world import GcpWorld
from hcloud.fake.ledger import BoughtCommitment, Rented
from hcloud.model.catalog import PurchaseOption


class GoogleTariff:
    """The minute at least, then by the second."""

    rule = BY_THE_MINUTE_AT_LEAST

    def __init__(self, world: GcpWorld) -> None:
        self._world = world

    def meters(self, rented: Rented) -> tuple[Meter, ...]:
        """Its vCPUs and its memory; nothing covers a spot machine."""
        if rented.spot:
            return (Meter("", Decimal(1), self._world.hourly(rented.instance_type, PurchaseOption.SPOT)),)
        shape, factor = (
            self._world.place.shapes[rented.instance_type],
            Decimal(str(self._world.faults.plan.price_factor)),
        )
        pool, vcpus, gib = f"{region_of(rented.zone)}/{shape.family}", Decimal(shape.vcpus), shape.memory_gib
        return (
            Meter(f"{pool}/vcpu", vcpus, vcpus * PER_VCPU * factor),
            Meter(f"{pool}/gib", gib, gib * PER_GIB * factor),
        )

    def terms(self, purchase: BoughtCommitment) -> FakeTerms:
        """vCPUs and memory of a series in a region."""
        body = purchase.detail["body"]
        resources = body["resources"] if isinstance(body, dict) else []
        amounts = {r["type"]: Decimal(str(r["amount"])) for r in resources}
        series = next(s for s, kind in FAMILIES.items() if kind == purchase.instance_type)
        pool = f"{purchase.detail['region']}/{series}"
        units = {f"{pool}/vcpu": amounts["VCPU"], f"{pool}/gib": amounts["MEMORY"] / MIB_PER_GIB}
        return FakeTerms(purchase.upfront, purchase.hourly, units)

"""Which tariff a fake bills by, that of the cloud in memory, and a fake's bill as JSON for whoever wants to compare."""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from typing import Any, cast

from hcloud.fake.bill import FakeTariff, FakeTerms, Meter, bill, family_of, units_of
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.in_memory.purchases import SHARE_OF_PRICE
from hcloud.fake.in_memory.world import MemoryWorld
from hcloud.fake.ledger import BoughtCommitment, Rented
from hcloud.model.catalog import BillingRule, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import CommitmentOrder

ONE = Decimal(1)


class MemoryTariff:
    """A commitment is for machines of one type (as AWS of one family, in its sizes), or for dollars: of one family, or
    of all types."""

    def __init__(self, world: MemoryWorld) -> None:
        self._world = world
        self.rule: BillingRule = world.semantics.rule

    def meters(self, rented: Rented) -> tuple[Meter, ...]:
        """The machine itself; nothing covers a spot machine."""
        if rented.spot:
            return (Meter("", ONE, self._world.spot(rented.instance_type)),)
        pool, units = self._pool(rented.instance_type)
        return (Meter(pool, units, self._world.on_demand(rented.instance_type)),)

    def terms(self, purchase: BoughtCommitment) -> FakeTerms:
        """What was ordered, at the price of then."""
        order = purchase.detail["order"]
        if not isinstance(order, CommitmentOrder):
            raise TypeError(f"{purchase.id} keeps no order")
        if not order.option.is_spend_based:
            pool, units = self._pool(order.instance_type)
            return FakeTerms(purchase.upfront, purchase.hourly, {pool: units * order.count})
        share = SHARE_OF_PRICE[order.term_years]
        bound = order.option is PurchaseOption.INSTANCE_SAVINGS_PLAN
        family = family_of(order.instance_type)
        types = [t for t in self._world.semantics.types if not bound or family_of(t) == family]
        spend = order.dollars_per_hour or Decimal(0)
        return FakeTerms(purchase.upfront, purchase.hourly, {}, spend, dict.fromkeys(types, share), 0 if bound else 1)

    def _pool(self, instance_type: str) -> tuple[str, Decimal]:
        if self._world.semantics.flexes:
            return family_of(instance_type), units_of(instance_type)
        return instance_type, ONE


def tariff_of(cloud: Any) -> FakeTariff:
    """What a fake asks: that of the cloud in memory, or of one that listens."""
    if isinstance(cloud, MemoryCloud):
        return MemoryTariff(cloud.world)
    module = import_module(f"hcloud.fake.{cloud.name}.bill")
    return cast("FakeTariff", getattr(module, f"{CLOUDS[cloud.name].classes}Tariff")(cloud))


def bill_document(cloud: Any, start: int, end: int) -> dict[str, object]:
    """The bill of a span in seconds since 1970, by machine (or purchase) and day, sorted."""
    found = bill(cloud.ledger, tariff_of(cloud), start, end)
    lines = [
        {"resource": resource, "day": day, "dollars": str(dollars)}
        for (resource, day), dollars in sorted(found.lines.items())
        if dollars
    ]
    return {"cloud": cloud.name, "from": start, "to": end, "total": str(found.total), "lines": lines}

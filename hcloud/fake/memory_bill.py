"""What the cloud in memory asks for what it rents out and sells."""

from __future__ import annotations

from decimal import Decimal

from hcloud.fake.bill import BY_THE_MINUTE_AT_LEAST, BY_THE_SECOND, Meter, Terms
from hcloud.fake.ledger import Purchase, Rented
from hcloud.fake.memory_purchases import SHARE_OF_PRICE
from hcloud.fake.memory_world import World
from hcloud.model.catalog import BillingRule, PurchaseOption
from hcloud.model.live import CommitmentOrder

ONE = Decimal(1)


class MemoryTariff:
    """Every commitment is for machines of one type, or for dollars: of one family, or of all types."""

    def __init__(self, world: World) -> None:
        self._world = world
        azure = world.semantics.cloud == "azure"
        self.rule: BillingRule = BY_THE_SECOND if azure else BY_THE_MINUTE_AT_LEAST

    def meters(self, rented: Rented) -> tuple[Meter, ...]:
        """The machine itself; nothing covers a spot machine."""
        if rented.spot:
            return (Meter("", ONE, self._world.spot_price(rented.instance_type)),)
        return (Meter(rented.instance_type, ONE, self._world.price(rented.instance_type)),)

    def terms(self, purchase: Purchase) -> Terms:
        """What was ordered, at the price of then."""
        order = purchase.detail["order"]
        if not isinstance(order, CommitmentOrder):
            raise TypeError(f"{purchase.id} keeps no order")
        if not order.option.is_spend_based:
            units = {order.instance_type: Decimal(order.count)}
            return Terms(purchase.upfront, purchase.hourly, units)
        share = SHARE_OF_PRICE[order.term_years]
        bound = order.option is PurchaseOption.INSTANCE_SAVINGS_PLAN
        family = order.instance_type.partition(".")[0]
        types = [t for t in self._world.semantics.types if not bound or t.partition(".")[0] == family]
        spend = order.dollars_per_hour or Decimal(0)
        return Terms(purchase.upfront, purchase.hourly, {}, spend, dict.fromkeys(types, share), 0 if bound else 1)

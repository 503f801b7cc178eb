"""What the fake AWS asks: machines at the shop's prices, regional reserved instances that flex within their family."""

from __future__ import annotations

from decimal import Decimal

from hcloud.fake.aws.savings import PLAN_WORDS
from hcloud.fake.aws.world import AwsWorld, region_of
from hcloud.fake.bill import BY_THE_MINUTE_AT_LEAST, FakeTerms, Meter, family_of, units_of
from hcloud.fake.ledger import BoughtCommitment, Rented
from hcloud.model.catalog import PurchaseOption


class AwsTariff:
    """The minute at least, then by the second."""

    rule = BY_THE_MINUTE_AT_LEAST

    def __init__(self, world: AwsWorld) -> None:
        self._world = world

    def meters(self, rented: Rented) -> tuple[Meter, ...]:
        """The machine in normalised units of its family; nothing covers a spot machine."""
        pool = "" if rented.spot else _pool(region_of(rented), rented.instance_type)
        return (Meter(pool, units_of(rented.instance_type), self._world.hourly(rented)),)

    def terms(self, purchase: BoughtCommitment) -> FakeTerms:
        """Reserved instances are priced by the piece, savings plans as a whole."""
        option, region = PurchaseOption(purchase.option), str(purchase.detail["region"])
        if option not in PLAN_WORDS:
            units = {_pool(region, purchase.instance_type): purchase.count * units_of(purchase.instance_type)}
            return FakeTerms(purchase.upfront * purchase.count, purchase.hourly * purchase.count, units)
        years, shop = purchase.term_seconds // (365 * 86_400), self._world.shop
        share = shop.plan_share(years, str(purchase.detail["payment"]))
        types = [t for t in shop.types if purchase.instance_type in ("", family_of(t))]
        spend, rank = Decimal(str(purchase.detail["commitment"])), 0 if purchase.instance_type else 1
        return FakeTerms(purchase.upfront, purchase.hourly, {}, spend, dict.fromkeys(types, share), rank)


def _pool(region: str, instance_type: str) -> str:
    return f"{region}/{family_of(instance_type)}"

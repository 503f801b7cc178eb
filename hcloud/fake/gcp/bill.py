"""What the fake Google asks: vCPUs and memory apart, as its price list has them.

That list has one rate for each, whatever the month brings: none of the series it sells has a sustained-use discount.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.fake.bill import BY_THE_MINUTE_AT_LEAST, FakeTerms, Meter
from hcloud.fake.gcp import catalog
from hcloud.fake.gcp.catalog import FAMILIES, MIB_PER_GIB, PER_GIB, PER_VCPU, region_of
from hcloud.fake.gcp.wire.refusals import invalid
from hcloud.fake.gcp.world import LARGEST_PRICE_PAGE, GcpRequest, GcpWorld
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
            listed = self._world.place.hourly(rented.instance_type, PurchaseOption.SPOT)
            return (Meter("", Decimal(1), self._world.price(listed)),)
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


_NANOS = Decimal(10) ** 9
_USAGES = (
    ("OnDemand", "0", "{series} Instance {part} running in all regions"),
    ("Preemptible", "spot", "Spot Preemptible {series} Instance {part} running in all regions"),
    ("Commit1Yr", "1", "Commitment v1: {series} {part} in all regions for 1 Year"),
    ("Commit3Yr", "3", "Commitment v1: {series} {part} in all regions for 3 Years"),
)
_PARTS = (("Core", "CPU", "h", (1, 0)), ("Ram", "RAM", "GiBy.h", (0, 1)))


def skus(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """A page of what every series asks for a vCPU and for a GiB, the same in all regions."""
    found, size, token = list(_skus(world)), call.query.get("pageSize", "0"), call.query.get("pageToken", "0")
    if not size.isdecimal() or not token.isdecimal():
        raise invalid("pageSize", size, "It must be a number.")
    start = int(token)
    end = start + min(int(size) or LARGEST_PRICE_PAGE, world.largest_price_page)
    return {"skus": found[start:end], "nextPageToken": str(end) if end < len(found) else ""}


def _skus(world: GcpWorld) -> Iterator[dict[str, object]]:
    factor = Decimal(str(world.faults.plan.price_factor))
    for series in sorted(catalog.FAMILIES):
        for usage, share, words in _USAGES:
            for part, group, unit, (vcpus, gib) in _PARTS:
                price = catalog.hourly(Decimal(vcpus), Decimal(gib), share) * factor
                yield {
                    "skuId": f"FAKE-{series}-{usage}-{group}".upper(),
                    "description": words.format(series=series.upper(), part=part),
                    "category": {
                        "serviceDisplayName": "Compute Engine",
                        "resourceFamily": "Compute",
                        "resourceGroup": group,
                        "usageType": usage,
                    },
                    "serviceRegions": list(world.place.regions),
                    "pricingInfo": [{"pricingExpression": _expression(price, unit)}],
                }


def _expression(price: Decimal, unit: str) -> dict[str, object]:
    whole = int(price)
    money = {"currencyCode": "USD", "units": str(whole), "nanos": int((price - whole) * _NANOS)}
    return {"usageUnit": unit, "tieredRates": [{"startUsageAmount": 0, "unitPrice": money}]}

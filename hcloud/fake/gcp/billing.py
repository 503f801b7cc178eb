"""The fake Google's price list: the SKUs of Compute Engine as the Cloud Billing catalogue tells them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.fake.gcp import catalog
from hcloud.fake.gcp.wire.refusals import invalid
from hcloud.fake.gcp.world import LARGEST_PRICE_PAGE, GcpRequest, GcpWorld

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

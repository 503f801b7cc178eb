"""What the fake Azure asks: machines by the second, reservations that flex by vCPUs within their series."""

from __future__ import annotations

from decimal import Decimal

from hcloud.fake.azure.cloud import FakeAzure
from hcloud.fake.azure.shapes import shape
from hcloud.fake.azure.wire import text
from hcloud.fake.bill import BY_THE_SECOND, FakeTerms, Meter
from hcloud.fake.ledger import BoughtCommitment, Rented


class AzureTariff:
    """Every second that is used."""

    rule = BY_THE_SECOND

    def __init__(self, world: FakeAzure) -> None:
        self._world = world

    def meters(self, rented: Rented) -> tuple[Meter, ...]:
        """The machine in vCPUs of its series; nothing covers a spot machine."""
        pool, units = _pool(rented.zone.partition("-")[0], rented.instance_type)
        return (Meter("" if rented.spot else pool, units, self._world.hourly(rented)),)

    def terms(self, purchase: BoughtCommitment) -> FakeTerms:
        pool, units = _pool(text(purchase.detail, "location"), purchase.instance_type)
        return FakeTerms(purchase.upfront, purchase.hourly, {pool: units * purchase.count})


def _pool(location: str, instance_type: str) -> tuple[str, Decimal]:
    found = shape(instance_type)
    return (f"{location.lower()}/{found.family}", Decimal(found.vcpus)) if found else ("", Decimal(1))

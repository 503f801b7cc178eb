"""The servers of a cluster as a run reserves them: at the book's prices where a provider sells such types, else at what
their vCPUs and memory count."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import BillingRule, InstanceType, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.model.running.cluster import CapacityPrice, Cluster, ServerType
from hcloud.sim.setup.shop import Rentable, Shop, SmallerReserve, commitment_of, in_order

OWN = "own servers"
"""What stands for the region of servers that nobody sells."""
_BY_THE_SECOND = BillingRule(1, 1)


def cluster_shop(
    cluster: Cluster, book: PriceBook | None, price: CapacityPrice
) -> tuple[Shop, tuple[SmallerReserve, ...]]:
    """What a run on a cluster reserves: the shop around its largest type, and the servers of the other types. ``book``
    has the prices of those who sell the types; None where nobody does."""
    found = {t.name: _sold(cluster, t, book) or _own(t, price) for t in cluster.types}
    types = in_order(rentable for rentable, _ in found.values())
    large = cluster.largest.name
    place = next(at for at, t in enumerate(types) if t.shape.name == large)
    billing = _BY_THE_SECOND if book is None or cluster.sold_by is None else book.billing[cluster.sold_by[0]]
    shop = Shop(types, place, found[large][1], billing, None)
    others = (t for t in cluster.types if t.name != large)
    return shop, tuple(SmallerReserve(t.name, t.servers, found[t.name][1]) for t in others)


def _sold(cluster: Cluster, server: ServerType, book: PriceBook | None) -> tuple[Rentable, Offer] | None:
    """A type with its prices on demand and for a year, where both are known."""
    if book is None or cluster.sold_by is None:
        return None
    provider, region = cluster.sold_by
    key = OfferKey(provider, region, server.name, PurchaseOption.ON_DEMAND)
    shape, on_demand = book.types.get((provider, server.name)), book.offers.get(key)
    if shape is None or on_demand is None or (reserved := commitment_of(book, on_demand, None)) is None:
        return None
    return Rentable(shape, on_demand, book.offers.get(replace(key, option=PurchaseOption.SPOT))), reserved


def _own(server: ServerType, price: CapacityPrice) -> tuple[Rentable, Offer]:
    """A type that counts by its vCPUs and memory, for whoever has it for a year as for an hour."""
    shape = InstanceType(
        Provider.AWS, server.name, server.name, Decimal(server.vcpus), server.memory_gib, Decimal(server.vcpus)
    )
    key = OfferKey(Provider.AWS, OWN, server.name, PurchaseOption.ON_DEMAND)
    origin = Origin(price.source, price.day, "by vCPU and GiB")
    held = replace(key, option=PurchaseOption.RESERVED, term_years=1, payment=Payment.NONE)
    hourly = price.hourly(server)
    return Rentable(shape, Offer(key, hourly, Decimal(0), origin), None), Offer(held, hourly, Decimal(0), origin)

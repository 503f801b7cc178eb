"""What an hour on the instance types of a matrix costs: on demand, in the home region of whoever sells the type."""

from __future__ import annotations

from collections.abc import Iterable

from hcloud.model.catalog import OfferKey, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.prices import TypePrices
from hcloud.usecases.prices.pricing import Filter, open_book


def prices_of(columns: Iterable[str]) -> TypePrices:
    """The prices of columns named as types (``m5.large``), or as so many nodes of one (``m5.large/4``)."""
    wanted = {column: _nodes(column) for column in columns}
    if not wanted:
        return TypePrices({})
    regions = tuple(cloud.home_region for cloud in CLOUDS.values())
    book = open_book(Filter(regions=regions, options=(PurchaseOption.ON_DEMAND,), systems=("linux",)))
    found = {}
    for column, (name, nodes) in wanted.items():
        keys = (OfferKey(c.name, c.home_region, name, PurchaseOption.ON_DEMAND) for c in CLOUDS.values())
        offer = next((book.offers[k] for k in keys if k in book.offers), None)
        if offer is not None and offer.hourly > 0:
            found[column] = (offer, float(offer.hourly) * nodes)
    return TypePrices(
        {column: hourly for column, (_, hourly) in found.items()},
        tuple(sorted({offer.key.region for offer, _ in found.values()})),
        min((offer.origin.day for offer, _ in found.values()), default=None),
    )


def _nodes(column: str) -> tuple[str, int]:
    name, slash, count = column.rpartition("/")
    return (name, int(count)) if slash and count.isdecimal() and int(count) else (column, 1)

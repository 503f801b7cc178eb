"""Licences that no commitment covers: Google and Azure bill them by use, beside the machines that are committed to."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import bought_key
from hcloud.model.catalog import Offer
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.plans.plan import Plan
from hcloud.planning.billed.kinds import MachineKind
from hcloud.units import format_money


def without_licence(offer: Offer, book: PriceBook) -> Offer:
    """What commitments really cover and are bought as: of Google and Azure the machine without its licence."""
    return book.offers.get(bought_key(offer.key), offer)


def bought_shares(plan: Plan, book: PriceBook) -> dict[str, Decimal]:
    """Of purchases with a licence in their price the part that is paid for them, by address."""
    offers = [book.offers[line.key] for line in plan.purchases if line.key in book.offers]
    bare = [(offer, without_licence(offer, book)) for offer in offers]
    return {str(o.key): b.effective_hourly / o.effective_hourly for o, b in bare if b is not o}


def told_of_licences(plan: Plan, kind: MachineKind, book: PriceBook) -> Iterator[str]:
    """What is paid for commitments that have a licence in their price here."""
    shares = bought_shares(plan, book)
    if lines := [(line.hourly_held, shares[line.address]) for line in plan.purchases if line.address in shares]:
        bought, counted_as = sum((a * b for a, b in lines), Decimal(0)), sum((a for a, _ in lines), Decimal(0))
        yield (
            f"the commitments cost {format_money(bought, 2)}/h. This plan counts {format_money(counted_as, 2)}/h, with "
            f"the licence of {kind.os}, which {CLOUDS[kind.provider].maker} bills by use beside them"
        )

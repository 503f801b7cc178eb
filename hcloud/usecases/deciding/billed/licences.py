"""Licences that no commitment covers: Google and Azure bill them by use, beside the machines that are committed to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import bought_key
from hcloud.model.catalog import Offer
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.plans.plan import MixLine, Plan
from hcloud.planning.billed.kinds import MachineKind
from hcloud.planning.fleets.owned import Owned
from hcloud.readers.configuration.config import Loaded
from hcloud.units import cents, format_money, rate
from hcloud.usecases.workloads.sources import in_places, open_prices


def without_licence(offer: Offer, book: PriceBook) -> Offer:
    """What commitments really cover and are bought as: of Google and Azure the machine without its licence. What a bill
    says of a price has none in it."""
    return book.offers.get(bought_key(offer.key), offer) if book.offers.get(offer.key) == offer else offer


def bought_shares(plan: Plan, book: PriceBook) -> dict[str, Decimal]:
    """Of purchases with a licence in their price the part that is paid for them, by address."""
    offers = [book.offers[line.key] for line in plan.purchases if line.key in book.offers]
    bare = [(offer, without_licence(offer, book)) for offer in offers]
    return {str(o.key): b.effective_hourly / o.effective_hourly for o, b in bare if b is not o}


def as_bought(plan: Plan, loaded: Loaded, today: date) -> Plan:
    """The plan with its purchases at what is paid for them, as clouds quote them: the machines alone."""
    priced = [line.key for line in plan.purchases if CLOUDS[line.provider].has_licence(line.special)]
    if not priced:
        return plan
    places, systems = {(key.provider, key.region) for key in priced}, {"linux", *(key.os for key in priced)}
    shares = bought_shares(plan, open_prices(in_places(loaded, places, systems), today)[0])
    return replace(plan, mix=tuple(_at_share(m, shares[m.address]) if m.address in shares else m for m in plan.mix))


def _at_share(line: MixLine, share: Decimal) -> MixLine:
    """A purchase at a share of its price; what is paid by use does not change when it is worth its price."""
    return replace(
        line,
        hourly=rate(line.hourly * share),
        monthly=cents(line.monthly * share),
        upfront=cents(line.upfront * share),
        total=cents(line.total * share),
        break_even=line.break_even and rate(share / (1 / line.break_even - 1 + share)),
    )


def told_of_licences(plan: Plan, kind: MachineKind, book: PriceBook, held: Sequence[Owned] = ()) -> Iterator[str]:
    """What is paid for commitments that have a licence in their price here, and that what a bill says is ``held`` has
    none."""
    bills = f"the licence of {kind.os}, which {CLOUDS[kind.provider].maker} bills by use beside"
    shares = bought_shares(plan, book)
    if lines := [(line.hourly_held, shares[line.address]) for line in plan.purchases if line.address in shares]:
        bought, counted_as = sum((a * b for a, b in lines), Decimal(0)), sum((a for a, _ in lines), Decimal(0))
        yield (
            f"the commitments cost {format_money(bought, 2)}/h. This plan counts {format_money(counted_as, 2)}/h, with "
            f"{bills} them"
        )
    if any(bought_key(one.offer.key) != one.offer.key for one in held):
        yield f"what the bill says is held is counted without {bills} it: a month costs more than these lines by that"

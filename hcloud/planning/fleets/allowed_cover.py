"""What an owned commitment covers of what the markets allow: its own type, another at its dollars, or nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import bought_key
from hcloud.catalog.flexibility import covers_all_sizes
from hcloud.model.catalog import InstanceType, Offer, OfferKey
from hcloud.planning.fleets.candidates import allowed_shapes, other_gpus
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.settings import Market, PlanSettings

ONE_PRICE = 1.002  # ours: sizes whose prices by the vCPU differ by no more cost the same, but for rounding


@dataclass(frozen=True, slots=True)
class AllowedCover:
    """The offer and type that a commitment is counted in: those it was bought as, or allowed ones that its dollars
    cover; ``elsewhere`` says why it covers nothing that the markets allow, where it does not."""

    offer: Offer
    shape: InstanceType
    elsewhere: str = ""


def allowed_cover(key: OfferKey, book: PriceBook, settings: PlanSettings) -> AllowedCover:
    """What a commitment covers of what the markets allow. Raises EvidenceError where the book has no price for it."""
    bought = AllowedCover(book.offer(key), book.instance_type(key.provider, key.instance_type))
    if not key.option.is_spend_based:
        return replace(bought, elsewhere=_why_not(key, bought.shape, settings.markets))
    if _is_allowed(key, bought.shape, settings.markets):
        return bought
    if why := _no_place(key, bought.shape, settings.markets):
        return replace(bought, elsewhere=why)
    alike = _alike(key, bought.shape.family, book, settings.markets)
    others = [book.offers[k] for k in alike if k in book.offers]
    if not others:
        return replace(bought, elsewhere="no type that markets allow has a price under it")
    offer = _cheapest(others, bought.shape, book, settings)
    return AllowedCover(offer, book.instance_type(key.provider, offer.key.instance_type))


def with_licence(owned: Owned, book: PriceBook, settings: PlanSettings, *, apart: bool) -> Owned:
    """What is owned as machines of the system that it serves, where it covers no licence of that: with the licence in
    its price, as plans of traces count what they buy, unless that is counted ``apart``."""
    key, systems = owned.offer.key, {m.os for m in settings.markets if m.provider == owned.offer.key.provider}
    keys = [replace(key, os=os) for os in sorted(systems) if key.os not in systems]
    found = [book.offers[k] for k in keys if k in book.offers and bought_key(k) == key]
    if not found or not owned.is_used:
        return owned
    return replace(owned, offer=replace(owned.offer, key=found[0].key) if apart else found[0])


def _no_place(key: OfferKey, shape: InstanceType, markets: Sequence[Market]) -> str:
    """Why no market is where a commitment in dollars holds, or has none of its family."""
    if not key.option.floats:
        return _why_not(key, shape, markets)
    return "" if any(m.provider == key.provider for m in markets) else _add_market(key)


def _why_not(key: OfferKey, shape: InstanceType, markets: Sequence[Market]) -> str:
    """Why no market allows what a commitment to a family in a region covers, and what would."""
    here = [m for m in markets if m.provider == key.provider]
    if not here:
        return _add_market(key)
    here = [m for m in here if key.region in m.regions]
    if not here:
        return f"markets.regions does not name {key.region}: add it"
    of_system = [m for m in here if not key.option.is_of_one_system or (m.os, m.tenancy) == (key.os, key.tenancy)]
    if not of_system:
        return f"no market there is of {key.os} on {key.tenancy} hardware: set markets.os and markets.tenancy"
    reasons = [_why_not_used(key, shape, m) for m in of_system]
    return "" if "" in reasons else reasons[0]


def _add_market(key: OfferKey) -> str:
    return f"no market is of {key.provider}: add {{provider: {key.provider}, regions: [{key.region}]}} to markets"


def _why_not_used(key: OfferKey, shape: InstanceType, market: Market) -> str:
    """Why a market keeps machines of a commitment's family, or of the one size that it is bound to, out of a plan."""
    if not market.names(shape, any_size=covers_all_sizes(key, shape.family)):
        return f"markets.families does not name {shape.family}: add it"
    if shape.arch not in market.architectures:
        return f"markets.architectures does not name {shape.arch}: add it"
    if shape.gpus and not market.gpus:
        return f"{shape.family} has GPUs, and the plan is for jobs without: set markets.gpus"
    if not key.option.is_spend_based and (reason := other_gpus(shape, market)):
        more = f"; set markets.vcpus to {shape.vcpus:f} to plan on it" if shape.gpus else ""
        return f"{shape.name} {reason}{more}"
    if market.vcpus and shape.vcpus != market.vcpus and not covers_all_sizes(key, shape.family):
        return f"it covers {shape.name} alone, and markets.vcpus is {market.vcpus}: set that to {shape.vcpus:f} or 0"
    return ""


def _is_allowed(key: OfferKey, shape: InstanceType, markets: Sequence[Market]) -> bool:
    """Whether a plan may run the very type, where and as it was bought."""
    here = (m for m in markets if m.provider == key.provider and key.region in m.regions)
    able = (m for m in here if m.names(shape) and not (_why_not_used(key, shape, m) or other_gpus(shape, m)))
    return any(_key(key, shape, key.region, m) in (key, bought_key(key)) for m in able)


def _key(key: OfferKey, shape: InstanceType, region: str, market: Market) -> OfferKey:
    """The offer of a type in a market at a commitment's terms."""
    return bought_key(replace(key, region=region, instance_type=shape.name, os=market.os, tenancy=market.tenancy))


def _alike(key: OfferKey, family: str, book: PriceBook, markets: Sequence[Market]) -> Iterator[OfferKey]:
    """Every allowed offer that the dollars of a commitment cover: in its region and family, unless it covers all."""
    for market in (m for m in markets if m.provider == key.provider):
        shapes = [s for s in allowed_shapes(book, market) if key.option.floats or s.family == family]
        regions = [r for r in market.regions if key.option.floats or r == key.region]
        yield from (_key(key, shape, region, market) for shape in shapes for region in regions)


def _cheapest(offers: Sequence[Offer], like: InstanceType, book: PriceBook, settings: PlanSettings) -> Offer:
    """The offer of which the same dollars cover most vCPUs, in the size nearest to what was bought."""

    def shape(offer: Offer) -> InstanceType:
        return book.instance_type(offer.key.provider, offer.key.instance_type)

    def by_vcpu(offer: Offer) -> float:
        found = shape(offer)
        return float(offer.effective_hourly / (found.vcpus * settings.speed(offer.key.provider, found.family)))

    def distance(offer: Offer) -> float:
        return abs(math.log2(shape(offer).vcpus / like.vcpus))

    least = min(map(by_vcpu, offers)) * ONE_PRICE
    return min((o for o in offers if by_vcpu(o) <= least), key=lambda o: (distance(o), o.key))

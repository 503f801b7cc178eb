"""Which instance types a plan may use, with their offers, and which are refused before any cost is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import product

from hcloud.catalog.book import PriceBook, absent
from hcloud.catalog.cover.steps import bought_key, sustained_of
from hcloud.catalog.flexibility import Preference, preference
from hcloud.catalog.shapes import UNSTEADY
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import InstanceType, Offer, OfferKey, PurchaseOption, SustainedUse
from hcloud.model.clouds.facts import SHARED_CORE
from hcloud.model.plans.plan import Refusal
from hcloud.planning.settings import Market
from hcloud.units import counted_vcpus

UNPRICED = "not used: "
USUAL_VCPUS = 16
_ROUNDING = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance type in one region with every offer the plan may use for it; ``speed`` is how much work one of its
    vCPUs does, where 1 is what demand was counted in; ``licence`` is dollars an hour that are billed for its use
    beside its offers, under commitments too."""

    shape: InstanceType
    on_demand: Offer
    commitments: tuple[Offer, ...]
    spot: Offer | None
    sustained: SustainedUse | None
    speed: Decimal = Decimal(1)
    licence: Decimal = Decimal(0)

    @property
    def capacity(self) -> tuple[Decimal, Decimal]:
        """The vCPUs of demand and the GiB that one instance serves."""
        return self.shape.vcpus * self.speed, self.shape.memory_gib

    @property
    def address(self) -> str:
        """Provider, region and type: how refusals and explanations name it."""
        key = self.on_demand.key
        return f"{key.provider}/{key.region}/{key.instance_type}"


def find_candidates(
    book: PriceBook, market: Market, horizon_hours: int
) -> tuple[tuple[Candidate, ...], tuple[Refusal, ...]]:
    """The candidates of a market at its instance size, or at all of them, and the types a rule keeps out (of a family
    with many sizes the one nearest to 16 vCPUs).

    Raises UsageError where the market names something the book does not know, EvidenceError where a family that was
    named explicitly has no usable price at any size.
    """
    _check_names(book, market)
    kept: list[Candidate] = []
    refused: list[Refusal] = []
    missing: dict[tuple[str, str], EvidenceError] = {}
    for region in market.regions:
        shapes = list(_shapes(book, market))
        refused += _by_rule(shapes, market, region)
        for shape in (s for s in shapes if not _excluded(s, market)):
            try:
                kept.append(_candidate(book, market, shape, region, horizon_hours))
            except EvidenceError as error:
                missing.setdefault((region, shape.family), error)
                refused.append(Refusal(f"{market.provider}/{region}/{shape.name}", f"{UNPRICED}{error}"))
    priced = {(c.on_demand.key.region, c.shape.family) for c in kept}
    for place, first in missing.items():
        if market.families and place not in priced:
            raise first
    return tuple(kept), tuple(refused)


def of_machine_alone(candidate: Candidate, book: PriceBook) -> Candidate:
    """The candidate at prices without the licence of its system, with that beside, where no commitment covers it: it is
    billed by use, whatever is committed to."""
    listed = candidate.on_demand
    alone = book.offers.get(bought_key(listed.key), listed)
    if alone is listed:
        return candidate
    bare = {o.key: book.offers[bought_key(o.key)] for o in candidate.commitments if bought_key(o.key) in book.offers}
    return replace(
        candidate,
        on_demand=replace(alone, key=listed.key),
        commitments=tuple(replace(offer, key=key) for key, offer in bare.items()),
        sustained=book.sustained.get((listed.key.provider, candidate.shape.family)),
        licence=listed.hourly - alone.hourly,
    )


def offers_compared(book: PriceBook, market: Market) -> Iterator[Offer]:
    """The offers that candidates of a market are compared by, on demand and committed."""
    for shape, region in product(allowed_shapes(book, market), market.regions):
        place = (market.provider, region, shape.name)
        key = OfferKey(*place, PurchaseOption.ON_DEMAND, os=market.os, tenancy=market.tenancy)
        if key in book.offers:
            yield book.offers[key]
            yield from (offer for offer in book.commitments(key) if _allowed(offer, market))


def _by_rule(shapes: Sequence[InstanceType], market: Market, region: str) -> Iterator[Refusal]:
    """A refusal for each family and rule."""
    found: dict[tuple[str, str], InstanceType] = {}
    for shape in sorted(shapes, key=lambda s: (abs(s.vcpus - USUAL_VCPUS), s.name)):
        if reason := _excluded(shape, market):
            found.setdefault((shape.family, reason), shape)
    for (_, reason), shape in sorted(found.items(), key=lambda x: x[1].name):
        yield Refusal(f"{market.provider}/{region}/{shape.name}", reason)


def _check_names(book: PriceBook, market: Market) -> None:
    unpriced = absent(market.regions, (k.region for k in book.offers if k.provider == market.provider))
    for region in market.regions:
        if region in unpriced:
            raise UsageError(
                f"{market.provider}: the price book has no prices for region {region!r} and {market.os}",
                hint=f"'hcloud pricing list --provider {market.provider}' shows the regions it knows",
            )
    unsold = absent(market.options, (k.option for k in book.offers if k.provider == market.provider))
    for option in market.options:
        if option in unsold:
            sold = {k.option for k in book.offers if k.provider == market.provider}
            listed = ", ".join(sorted(o for o in sold if o.is_commitment))
            raise UsageError(f"{market.provider}: sells no {option}; markets.options may name {listed}")
    shapes = [t for (p, _), t in book.types.items() if p == market.provider]
    known, names = {t.family for t in shapes}, {t.name for t in shapes}
    for pattern in market.families:
        if not any(fnmatchcase(name, pattern) for name in known | names):
            close = get_close_matches(pattern, known | names if set(pattern) & set(".-_") else known, n=1)
            hint = f"did you mean {close[0]}?" if close else ""
            raise UsageError(
                f"{market.provider}: no family or type matches {pattern!r} in {', '.join(market.regions)}",
                hint=hint or f"the price book has {', '.join(sorted(known))} there",
            )
    sizes = {t.vcpus for t in shapes}
    if market.vcpus and market.vcpus not in sizes:
        listed = ", ".join(f"{size:f}" for size in sorted(s for s in sizes if s == int(s)))
        hint = f"sizes: {listed}" if listed else "the price book has none of its types: import a price file"
        raise UsageError(f"{market.provider}: no type has {counted_vcpus(market.vcpus)}", hint=hint)


def _shapes(book: PriceBook, market: Market) -> Iterator[InstanceType]:
    metal = [pattern for pattern in market.families if ".metal" in pattern]
    for (provider, _), shape in sorted(book.types.items()):
        if provider != market.provider:
            continue
        if ".metal" in shape.name and not any(fnmatchcase(shape.name, pattern) for pattern in metal):
            continue
        if market.vcpus and shape.vcpus != market.vcpus:
            continue
        if market.names(shape) and (market.families or shape.current):
            yield shape


def allowed_shapes(book: PriceBook, market: Market) -> Iterator[InstanceType]:
    """The instance types that a market's rules allow, by name."""
    return (shape for shape in _shapes(book, market) if not _excluded(shape, market))


def is_allowed(shape: InstanceType, market: Market) -> bool:
    """Whether a market's rules allow a type, of whatever family (where some are named) and size."""
    return (shape.current or bool(market.families)) and not _excluded(shape, market)


def why_none(book: PriceBook, market: Market) -> str:
    """Why rules keep out every type of the families that a market names; empty where they do not."""
    reasons = [_excluded(shape, market) for shape in _shapes(book, market)] if market.families else []
    return reasons[0] if all(reasons) and reasons else ""


def _excluded(shape: InstanceType, market: Market) -> str:
    """Why a rule keeps the shape out, empty where none does; a family that was named explicitly may be unsteady."""
    if reason := other_gpus(shape, market):
        return reason
    if shape.arch not in market.architectures:
        return f"architecture {shape.arch} is not allowed (markets.architectures)"
    if shape.category in UNSTEADY and not market.families:
        return f"{UNSTEADY[shape.category]} (name it in markets.families to allow it)"
    if shape.category == SHARED_CORE and not market.vcpus:
        return f"{UNSTEADY[SHARED_CORE]} (name its size in markets.vcpus to allow it: the family has steady ones)"
    return ""


def other_gpus(shape: InstanceType, market: Market) -> str:
    """Why the GPUs of a type, or that it has none, keep it out of a market."""
    if shape.gpus and not market.gpus:
        return "has GPUs, and the demand asks for none (--set gpu=only plans jobs that ask for them)"
    if isinstance(market.gpus, bool) or (shape.gpus and abs(shape.gpus * market.gpus - shape.vcpus) < _ROUNDING):
        return ""
    return f"has {'other vCPUs for each GPU' if shape.gpus else 'no GPUs'}: the plan counts {market.gpus:.4g} for each"


def _candidate(book: PriceBook, market: Market, shape: InstanceType, region: str, horizon_hours: int) -> Candidate:
    def key(option: PurchaseOption) -> OfferKey:
        return OfferKey(market.provider, region, shape.name, option, os=market.os, tenancy=market.tenancy)

    on_demand = _unlimited(book.offer(key(PurchaseOption.ON_DEMAND)))
    _refuse_quarantined(book, market, on_demand.key)
    allowed = [o for o in book.commitments(on_demand.key) if _allowed(o, market)]
    single = _one_a_pool(allowed, horizon_hours)
    commitments = tuple(sorted(single, key=preference))  # of equal prices the first is taken
    spot = book.offers.get(key(PurchaseOption.SPOT))
    return Candidate(
        shape,
        on_demand,
        commitments,
        _unlimited(spot) if spot else None,
        sustained_of(book, on_demand, shape.family),
    )


def _one_a_pool(offers: list[Offer], horizon_hours: int) -> list[Offer]:
    """Of offers that share what remains of a pool only the cheapest over the horizon: it would use the pool up."""

    def cost(offer: Offer) -> tuple[Decimal, Preference]:
        return offer.term_cost * -(-horizon_hours // offer.term_hours), preference(offer)

    best: dict[str, Offer] = {}
    for offer in offers:
        if offer.pool and (offer.pool not in best or cost(offer) < cost(best[offer.pool])):
            best[offer.pool] = offer
    return [o for o in offers if not o.pool or o is best[o.pool]]


def _unlimited(offer: Offer) -> Offer:
    """The last tier of a pay-as-you-go offer: a price for the first few instances is not counted on."""
    return offer.tiers[-1]


def _allowed(offer: Offer, market: Market) -> bool:
    key = offer.key
    return (
        key.term_years in market.terms
        and key.payment in market.payments
        and (not market.options or key.option in market.options)
        and offer.remaining != 0
    )


def _refuse_quarantined(book: PriceBook, market: Market, on_demand: OfferKey) -> None:
    """Raise EvidenceError where a commitment the plan would have to compare has a quarantined price."""
    for row in book.quarantine:
        key = row.key
        if key is None or key.term_years not in market.terms or key.payment not in market.payments:
            continue
        same = (key.provider, key.region, key.instance_type, key.os, key.tenancy)
        wanted = (on_demand.provider, on_demand.region, on_demand.instance_type, on_demand.os, on_demand.tenancy)
        if same == wanted and (not market.options or key.option in market.options):
            raise EvidenceError(
                f"{key}: its price is quarantined: {row.reason}",
                hint="import a good price for it, or leave the option out with markets.options",
            )

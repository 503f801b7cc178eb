"""What a simulated run can rent: instance types with their on-demand, spot and reserved offers, from the price book."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final, Literal

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import sustained_of
from hcloud.catalog.shapes import is_of_shape
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import (
    USUAL_PROVIDER,
    BillingRule,
    InstanceType,
    Offer,
    OfferKey,
    Origin,
    Payment,
    Provider,
    PurchaseOption,
    SustainedUse,
)
from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import Jobs
from hcloud.policy.registry import rule_of
from hcloud.policy.renting import SmallestFitting
from hcloud.sim.setup.fitting import Priced, held_by_some, largest_whole, smaller_ones, worth_reserving
from hcloud.units import HOURS_PER_YEAR, some_of

LEAST_RATIO, MOST_RATIO = 1e-6, 1e6
MOST_VCPUS = 1 << 16
MOST_NAMED = 12  # ours: families that a refusal lists
COMMITMENTS = (PurchaseOption.RESERVED, PurchaseOption.COMMITTED_USE, PurchaseOption.RESERVATION)

PricingModel = Literal["aws", "gce", "azure"]
RESERVE: Final = "aws"
"""Pricing with a reserve, on demand beside it."""
SUSTAINED: Final = "gce"
"""Pricing by use: servers that are always on get a discount."""
ALWAYS_ON: Final = "azure"
"""Pricing on demand alone."""


@dataclass(frozen=True, slots=True)
class Rentable:
    """One instance type with the offers a run may use; ``spot`` is None where none is priced."""

    shape: InstanceType
    on_demand: Offer
    spot: Offer | None


@dataclass(frozen=True, slots=True)
class SmallerReserve:
    """Servers that are reserved beside those of the large type, of a type with no more vCPUs, and as what."""

    instance_type: str
    servers: int
    reserved: Offer


@dataclass(frozen=True, slots=True)
class Shop:
    """Rentable types by rising size and price; ``large`` is the index of the type that is reserved, ``reserved`` its
    commitment; ``sustained`` is the provider's discount on the family, if it has one. Where some jobs need a larger
    type, ``whole`` is the commitment to one that holds all: it is reserved instead where nothing is rented.
    ``is_of_study`` says that no market was named, so that machines and prices are the HCloud study's."""

    types: tuple[Rentable, ...]
    large: int
    reserved: Offer
    billing: BillingRule
    sustained: SustainedUse | None
    whole: Offer | None = None
    is_of_study: bool = False

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Every offer a run may be charged for."""
        spot = tuple(t.spot for t in self.types if t.spot)
        reserved = (self.reserved,) if self.whole is None else (self.reserved, self.whole)
        return (*reserved, *(t.on_demand for t in self.types), *spot)


def cloud_words(cloud: str, shop: Shop) -> str:
    """A cloud model on a screen; where no market was named also whose prices these are, and what a plan takes."""
    if not shop.is_of_study:
        return cloud
    return f"{cloud} (prices of the HCloud study; --provider {USUAL_PROVIDER} is what 'hcloud plan' takes)"


@dataclass(frozen=True, slots=True)
class ShopChoice:
    """Where to shop: family patterns (``n1-standard*``), vCPUs of the large type (``or_less`` where
    the jobs do not fill such a server), the price of on-demand over reserved where it is stated instead of taken
    from the book, and the share of the work that the large type need not hold."""

    provider: Provider
    region: str
    patterns: tuple[str, ...]
    large_vcpus: int = 16
    price_ratio: float | None = None
    os: str = "linux"
    or_less: bool = False
    apart: float = 0.0

    @classmethod
    def paper(cls) -> ShopChoice:
        """What the study rented: Google's first series, reserved at its ratio of prices (thesis §8.2.2, §8.5.1)."""
        return cls(Provider.GCP, "us-central1", ("n1-standard*",), 16, 2.74)


def fitting_shop(book: PriceBook, wanted: ShopChoice, jobs: Jobs, *, one_shape: bool, exact: bool) -> Shop:
    """The shop whose large type is the one worth reserving for these jobs: of ``wanted.large_vcpus`` where that is
    ``exact``, else at least so large (see ``or_less``). With ``one_shape`` only its own
    family, processor and GiB per vCPU are rented, else all the families that were named, in sizes up to its own.

    Raises UsageError where no type matches, EvidenceError where none that does has a commitment.
    """
    sold = [t for t in _rentables(book, replace(wanted, large_vcpus=MOST_VCPUS)) if not t.shape.name.endswith(".metal")]
    held = np.flatnonzero(held_by_some((t.shape for t in sold), jobs))
    counted = jobs.at(held) if len(held) else jobs
    if exact:
        fitting = [t for t in sold if t.shape.vcpus == wanted.large_vcpus]
    else:
        smaller = smaller_ones([t.shape for t in sold], counted, wanted.large_vcpus) if wanted.or_less else ()
        fitting = [t for t in sold if t.shape.vcpus >= wanted.large_vcpus or t.shape in smaller] or sold[-1:]
    if not fitting:
        raise _unknown(book, wanted)
    offers = {t.shape.name: commitment_of(book, t.on_demand, wanted.price_ratio) for t in (fitting if exact else sold)}
    committed = [t for t in fitting if offers[t.shape.name]] or [t for t in sold if offers.get(t.shape.name)]
    priced = [Priced(t.shape, o.effective_hourly) for t in committed if (o := offers[t.shape.name]) is not None]
    if not priced:
        raise _no_commitment(fitting[0].on_demand)
    whole = worth_reserving(priced, counted, wanted.large_vcpus).shape
    sizes = [p for p in priced if _is_size_of(p.shape, whole)]
    large = worth_reserving(sizes, counted, wanted.large_vcpus, wanted.apart).shape
    kept = tuple(t for t in sold if t.shape.vcpus <= whole.vcpus and (not one_shape or is_of_shape(t.shape, whole)))
    place = next(at for at, t in enumerate(kept) if t.shape.name == large.name)
    reserved, of_all = offers[large.name], None if large == whole else offers[whole.name]
    assert reserved is not None
    sustained = sustained_of(book, kept[place].on_demand, large.family)
    return Shop(kept, place, reserved, book.billing[wanted.provider], sustained, of_all)


def _is_size_of(one: InstanceType, largest: InstanceType) -> bool:
    """Whether a type is the other one or a smaller size of it."""
    return one.name == largest.name or (one.vcpus < largest.vcpus and is_of_shape(one, largest))


def shop_of(book: PriceBook, on_demand: Offer, reserved: Offer | None, jobs: Jobs, others: Sequence[str] = ()) -> Shop:
    """The shop around one large type: every size up to it of its family, processor and GiB per vCPU (and larger ones
    as far as a job that cannot be split needs them), the same of the ``others``, and the commitment its reserve is
    bought at (its own on-demand price where there is none, for strategies without reserve).
    """
    key = on_demand.key
    chosen = book.types[key.provider, key.instance_type]
    beside = [book.types[key.provider, name] for name in others]
    families = tuple(dict.fromkeys(t.family for t in (chosen, *beside)))
    sold = _rentables(book, ShopChoice(key.provider, key.region, families, MOST_VCPUS, os=key.os))
    shapes = [t for t in sold if is_of_shape(t.shape, chosen)]
    alike = [t for t in shapes if _is_size_of(t.shape, chosen)]
    need = largest_whole(jobs)
    for larger in (t for t in shapes if t.shape.vcpus > chosen.vcpus and not t.shape.name.endswith(".metal")):
        if need.fits(alike[-1].shape):
            break
        alike.append(larger)
    rest = (t for t in sold if t not in alike and any(_is_size_of(t.shape, other) for other in beside))
    types = in_order((*alike, *rest))
    commitment = reserved or _by_ratio(on_demand, 1.0)
    return Shop(
        types,
        next(at for at, t in enumerate(types) if t.shape.name == chosen.name),
        commitment,
        book.billing[key.provider],
        sustained_of(book, on_demand, chosen.family),
    )


def shop_for(shop: Shop, strategy: Strategy, beside: Sequence[SmallerReserve] = ()) -> Shop:
    """What a strategy rents of what is sold: of the sizes up to its largest only those it names, all above, and always
    the types that are reserved."""
    rents, shop = rule_of(strategy, "on_demand"), _reserved_by(shop, strategy)
    if not isinstance(rents, SmallestFitting):
        return shop
    sizes, reserved = rents.sizes_vcpus, shop.types[shop.large]
    held = {reserved.shape.name, *(b.instance_type for b in beside)}
    kept = tuple(t for t in shop.types if t.shape.name in held or t.shape.vcpus in sizes or t.shape.vcpus > max(sizes))
    return replace(shop, types=kept, large=kept.index(reserved))


def _reserved_by(shop: Shop, strategy: Strategy) -> Shop:
    """The shop with the type that a strategy reserves: the one that holds all jobs where nothing is rented."""
    if shop.whole is None or strategy.follows("on_demand"):
        return replace(shop, whole=None)
    names = [t.shape.name for t in shop.types]
    return replace(shop, large=names.index(shop.whole.key.instance_type), reserved=shop.whole, whole=None)


def open_shop(book: PriceBook, wanted: ShopChoice) -> Shop:
    """The shop of a provider's families in a region.

    Raises UsageError where no type or no large type matches, EvidenceError where the large one has no commitment.
    """
    types = _rentables(book, wanted)
    large = next((i for i, t in enumerate(types) if t.shape.vcpus == wanted.large_vcpus), None)
    if large is None:
        raise _unknown(book, wanted)
    cheapest = types[large]
    reserved = commitment_of(book, cheapest.on_demand, wanted.price_ratio)
    if reserved is None:
        raise _no_commitment(cheapest.on_demand)
    sustained = sustained_of(book, cheapest.on_demand, cheapest.shape.family)
    return Shop(types, large, reserved, book.billing[wanted.provider], sustained)


def _unknown(book: PriceBook, wanted: ShopChoice) -> UsageError:
    there = (wanted.provider, wanted.region, wanted.os, PurchaseOption.ON_DEMAND)
    names = {k.instance_type for k in book.offers if (k.provider, k.region, k.os, k.option) == there}
    families = sorted({t.family for (cloud, name), t in book.types.items() if cloud == there[0] and name in names})
    sold = f"--family names others; sold there: {some_of(families, MOST_NAMED)}"
    listed = f"see 'hcloud pricing list --provider {wanted.provider} --region {wanted.region}'"
    fits = "is allowed" if "*" in wanted.patterns else f"matches {', '.join(wanted.patterns)}"
    return UsageError(
        f"{wanted.provider} {wanted.region}: no priced type of {wanted.large_vcpus} vCPUs {fits}",
        hint=sold if families else listed,
    )


def _no_commitment(on_demand: Offer) -> EvidenceError:
    return EvidenceError(
        f"{on_demand.key}: the price book has no one-year commitment for it",
        hint="import its price, or state --price-ratio",
    )


def _rentables(book: PriceBook, wanted: ShopChoice) -> tuple[Rentable, ...]:
    found = []
    for (provider, name), shape in sorted(book.types.items()):
        if provider != wanted.provider or not 1 <= shape.vcpus <= wanted.large_vcpus:
            continue
        if not any(fnmatchcase(name, p) or fnmatchcase(shape.family, p) for p in wanted.patterns):
            continue
        key = OfferKey(provider, wanted.region, name, PurchaseOption.ON_DEMAND, os=wanted.os)
        if key in book.offers:
            spot = book.offers.get(replace(key, option=PurchaseOption.SPOT))
            found.append(Rentable(shape, book.offers[key], spot))
    return in_order(found)


def in_order(found: Iterable[Rentable]) -> tuple[Rentable, ...]:
    """Types by rising size, then price."""
    return tuple(sorted(found, key=lambda r: (r.shape.vcpus, r.on_demand.hourly, r.shape.name)))


def _by_ratio(on_demand: Offer, ratio: float) -> Offer:
    """A one-year commitment paid upfront at the on-demand price divided by a ratio (thesis §8.5.1: 2.74)."""
    if not LEAST_RATIO <= ratio <= MOST_RATIO:
        raise UsageError(
            f"a price ratio of {ratio:g} is not possible; write one from {LEAST_RATIO:g} to {MOST_RATIO:g}"
        )
    upfront = on_demand.hourly * HOURS_PER_YEAR / Decimal(repr(ratio))
    key = replace(on_demand.key, option=PurchaseOption.RESERVED, term_years=1, payment=Payment.ALL)
    note = f"on-demand price over {ratio:g}"
    return Offer(key, Decimal(0), upfront, Origin(on_demand.origin.source, on_demand.origin.day, note))


def commitment_of(book: PriceBook, on_demand: Offer, ratio: float | None) -> Offer | None:
    """The commitment of a type at a stated ratio of prices, else the provider's own for a year, all upfront where that
    is sold; None where there is none."""
    if ratio is not None:
        return _by_ratio(on_demand, ratio)
    usable = [o for o in book.commitments(on_demand.key) if o.key.option in COMMITMENTS and o.key.term_years == 1]
    return min(usable, key=lambda o: (o.key.payment != Payment.ALL, o.term_cost), default=None)

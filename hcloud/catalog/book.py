"""The price book: every offer hcloud may quote, looked up by key; a price that is missing is an error, never zero."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Protocol, TypeVar, runtime_checkable

from hcloud.errors import EvidenceError, did_you_mean
from hcloud.model.catalog import (
    BillingRule,
    InstanceType,
    Offer,
    OfferKey,
    Payment,
    Provider,
    PurchaseOption,
    QuarantinedPrice,
    SustainedUse,
)
from hcloud.units import plain

T = TypeVar("T")
TypeKey = tuple[Provider, str]
LICENCE = "Linux price plus the list price of the licence"
"""What such a price is derived from."""

_TERMS = tuple(itertools.product(sorted(o for o in PurchaseOption if o.is_commitment), (1, 3), sorted(Payment)))


def absent(wanted: Iterable[T], there: Iterable[T]) -> set[T]:
    """What is wanted and not there; ``there`` is looked through no further than to the last that is found."""
    left = set(wanted)
    for found in there:
        left.discard(found)
        if not left:
            break
    return left


@runtime_checkable
class OffersByPlace(Protocol):
    """Offers that tell where they are for without being made, and that are made together for a machine."""

    def places(self) -> frozenset[tuple[Provider, str]]:
        """Every provider and region with prices."""

    def beside(self, key: OfferKey) -> Mapping[OfferKey, Offer]:
        """All offers of a key's type, region and operating system."""


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Instance types, offers, billing rules and sustained-use tiers (by provider and series), with what was refused."""

    types: Mapping[TypeKey, InstanceType]
    offers: Mapping[OfferKey, Offer]
    billing: Mapping[Provider, BillingRule] = field(default_factory=dict)
    sustained: Mapping[TypeKey, SustainedUse] = field(default_factory=dict)
    quarantine: tuple[QuarantinedPrice, ...] = ()

    def instance_type(self, provider: Provider, name: str) -> InstanceType:
        """The shape of a type; raises EvidenceError where the book does not know it."""
        try:
            return self.types[provider, name]
        except KeyError:
            raise EvidenceError(
                f"{provider}: the price book knows no instance type {name!r}{self._meant(provider, name)}",
                hint=f"see 'hcloud pricing list --provider {provider}' or import a price file that has it",
            ) from None

    def offer(self, key: OfferKey) -> Offer:
        """The offer of a key; raises EvidenceError where its price is missing or quarantined."""
        found = self.offers.get(key)
        if found is not None:
            return found
        if (key.provider, key.instance_type) not in self.types:
            self.instance_type(key.provider, key.instance_type)
        reasons = [q.reason for q in self.quarantine if q.key == key]
        why = f"its price is quarantined: {reasons[0]}" if reasons else "the price book has no such price"
        raise EvidenceError(f"{key}: {why}", hint="import or refresh the price: 'hcloud pricing import --help'")

    def _meant(self, provider: Provider, name: str) -> str:
        return did_you_mean(name, (known for by, known in self.types if by == provider))

    def commitments(self, on_demand: OfferKey) -> tuple[Offer, ...]:
        """Every commitment that can cover usage of the same type, place, operating system and tenancy, by key; where an
        offer runs out, the one that applies then follows it."""
        like = on_demand
        offers = self.offers.beside(like) if isinstance(self.offers, OffersByPlace) else self.offers
        keys = [
            OfferKey(like.provider, like.region, like.instance_type, *term, like.os, like.tenancy, like.zone)
            for term in _TERMS
        ]
        return tuple(tier for k in keys if (offer := offers.get(k)) is not None for tier in offer.tiers)

    def select(self, provider: Provider, option: PurchaseOption) -> tuple[Offer, ...]:
        """All offers of one provider and purchase option, by key."""
        keys = sorted(k for k in self.offers if k.provider == provider and k.option == option)
        return tuple(self.offers[k] for k in keys)

    def places(self) -> frozenset[tuple[Provider, str]]:
        """Every provider and region with prices."""
        if isinstance(self.offers, OffersByPlace):
            return self.offers.places()
        return frozenset((k.provider, k.region) for k in self.offers)

    def merged(self, other: PriceBook) -> PriceBook:
        """This book with the other's rows laid over it, quarantine lists joined; a good row of the other book lifts
        the quarantine of its key, a quarantined one takes the older price out of use. What is derived from a price that
        the other has anew moves with it."""
        dropped = {q.key for q in other.quarantine}
        kept = {k: _anew(o, self.offers, other.offers) for k, o in self.offers.items() if k not in dropped}
        lifted = tuple(q for q in self.quarantine if q.key is None or q.key not in other.offers)
        return PriceBook(
            {**self.types, **other.types},
            {**kept, **other.offers},
            {**self.billing, **other.billing},
            {**self.sustained, **other.sustained},
            lifted + other.quarantine,
        )

    def restricted(self, keys: Iterable[OfferKey]) -> PriceBook:
        """The same book with only the given offers: what a plan used, for its digest."""
        chosen = {k: self.offers[k] for k in sorted(keys)}
        return PriceBook(self.types, chosen, self.billing, self.sustained, ())

    def digest(self) -> str:
        """sha256 over every offer in key order: the same prices give the same digest, whatever file they came from."""
        tiers = (tier for _, o in sorted(self.offers.items()) for tier in o.tiers)
        rows = (f"{o.key}|{plain(o.hourly)}|{plain(o.upfront)}|{o.remaining}" for o in tiers)
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def rate(self, provider: Provider, region: str, instance_type: str, option: PurchaseOption) -> Decimal | None:
        """Dollars an hour of a machine, on demand where nothing else is known; None where nobody knows."""
        for paid in (option, PurchaseOption.ON_DEMAND):
            if (found := self.offers.get(OfferKey(provider, region, instance_type, paid))) is not None:
                return found.hourly
        return None

    def oldest(self) -> date | None:
        """The day of the oldest price, None for an empty book."""
        return min((o.origin.day for o in self.offers.values()), default=None)


def _anew(offer: Offer, known: Mapping[OfferKey, Offer], anew: Mapping[OfferKey, Offer]) -> Offer:
    """A known offer at new prices: its own, else that of Linux with the same licence, and of a flexible commitment the
    same part of that on demand, of the day and source of these."""
    base, own = _base(offer), anew.get(offer.key)
    old = known.get(base) if base is not None and own is None else None
    if old is None:
        return own or offer
    new = _anew(old, known, anew)
    if old is new:
        return offer
    origin = replace(new.origin, derived=offer.origin.derived or new.origin.derived)
    if old.key.option is not offer.key.option:
        return replace(offer, hourly=offer.hourly / old.hourly * new.hourly, origin=origin)
    hourly, upfront = offer.hourly + new.hourly - old.hourly, offer.upfront + new.upfront - old.upfront
    return replace(offer, hourly=hourly, upfront=upfront, origin=origin)


def _base(offer: Offer) -> OfferKey | None:
    """The price that another is derived from, or is a fixed part of."""
    if LICENCE in offer.origin.derived:
        return replace(offer.key, os="linux")
    is_part = offer.key.option is PurchaseOption.FLEXIBLE_COMMITTED_USE
    return replace(offer.key, option=PurchaseOption.ON_DEMAND, term_years=0) if is_part else None

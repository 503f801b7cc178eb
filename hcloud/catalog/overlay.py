"""Negotiated prices: rules that lower (or set) the price of the offers they match, within their dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import family_in
from hcloud.model.catalog import Offer, OfferKey, Origin, Provider, PurchaseOption
from hcloud.model.prices import PriceWarning

_HUNDRED = Decimal(100)
_PRICE_DIGITS = Decimal("1E-10")


@dataclass(frozen=True, slots=True)
class Match:
    """Which offers a rule is for; what is left out matches everything. Names may hold ``*`` and ``?``."""

    provider: Provider | None = None
    region: str = "*"
    family: str = "*"
    instance_type: str = "*"
    option: PurchaseOption | None = None
    os: str = "*"
    tenancy: str = "*"

    def covers(self, key: OfferKey, family: str) -> bool:
        """Whether an offer of this key and family is meant."""
        if self.provider not in (None, key.provider) or self.option not in (None, key.option):
            return False
        names = (
            (key.region, self.region), (family, self.family), (key.instance_type, self.instance_type),
            (key.os, self.os), (key.tenancy, self.tenancy),
        )  # fmt: skip
        return all(pattern == "*" or fnmatchcase(name, pattern) for name, pattern in names)


@dataclass(frozen=True, slots=True)
class OverlayRule:
    """One negotiated price: ``percent`` off, or ``hourly`` dollars all in; at most ``capacity`` instances at a time.

    It holds from ``valid_from`` to ``valid_to``, both included.
    """

    name: str
    match: Match
    percent: Decimal | None = None
    hourly: Decimal | None = None
    capacity: int | None = None
    valid_from: date | None = None
    valid_to: date | None = None

    def holds(self, today: date) -> bool:
        """Whether the rule is in force on a day."""
        return (self.valid_from is None or self.valid_from <= today) and (
            self.valid_to is None or today <= self.valid_to
        )


def apply_overlay(book: PriceBook, rules: Sequence[OverlayRule], today: date) -> PriceBook:
    """The book at negotiated prices. The first rule in force that covers an offer wins; the others leave it alone."""
    in_force = [r for r in rules if r.holds(today)]
    if not in_force:
        return book
    offers = {}
    for key, offer in book.offers.items():
        family = family_in(book, key)
        rule = next((r for r in in_force if r.match.covers(key, family)), None)
        offers[key] = offer if rule is None else _negotiated(offer, rule)
    return replace(book, offers=offers)


def idle_rules(book: PriceBook, rules: Sequence[OverlayRule], today: date) -> tuple[PriceWarning, ...]:
    """A warning for every rule that changes no price: out of its dates, covering nothing, or behind other rules."""
    keys = [(k, family_in(book, k)) for k in book.offers]
    warnings = []
    taken: set[OfferKey] = set()
    for rule in rules:
        if not rule.holds(today):
            warnings.append(PriceWarning(rule.name, f"is not in force on {today}: {_dates(rule)}"))
            continue
        covered = {k for k, family in keys if rule.match.covers(k, family)}
        if not covered:
            warnings.append(PriceWarning(rule.name, "matches no offer in the price book"))
        elif covered <= taken:
            warnings.append(PriceWarning(rule.name, "comes after rules that match everything it matches"))
        taken |= covered
    return tuple(warnings)


def _negotiated(offer: Offer, rule: OverlayRule) -> Offer:
    """The offer at the rule's price, then, where capacity runs out, the offer as it was.

    A price in dollars keeps the offer's split into upfront and hourly.
    """
    if rule.hourly is not None:
        factor = rule.hourly / offer.effective_hourly if offer.effective_hourly else Decimal(0)
        terms = f"${rule.hourly} an hour"
    else:
        percent = rule.percent or Decimal(0)
        factor, terms = (_HUNDRED - percent) / _HUNDRED, f"{percent}% off"
    hourly = rule.hourly if rule.hourly is not None and not offer.upfront else offer.hourly * factor
    remaining = rule.capacity if offer.remaining is None else min(offer.remaining, rule.capacity or offer.remaining)
    note = f"overlay {rule.name!r}: {terms}"
    derived = f"{offer.origin.derived}; {note}" if offer.origin.derived else note
    return Offer(
        offer.key,
        hourly.quantize(_PRICE_DIGITS).normalize() + 0,
        (offer.upfront * factor).quantize(_PRICE_DIGITS).normalize() + 0,
        Origin(offer.origin.source, offer.origin.day, derived),
        remaining,
        None if rule.capacity is None else offer,
        "" if rule.capacity is None else rule.name,
    )


def _dates(rule: OverlayRule) -> str:
    return f"from {rule.valid_from or 'ever'} to {rule.valid_to or 'ever'}"

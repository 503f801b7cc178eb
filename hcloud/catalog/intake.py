"""Collects the rows of one price source into a book; a row that cannot be used goes to quarantine with its address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from hcloud.catalog.book import PriceBook, TypeKey
from hcloud.catalog.shapes import named_type
from hcloud.model.catalog import (
    InstanceType,
    Offer,
    OfferKey,
    Origin,
    Payment,
    Provider,
    PurchaseOption,
    QuarantinedPrice,
    SustainedUse,
)
from hcloud.model.prices import PriceWarning
from hcloud.units import parse_decimal

HIGHEST_HOURLY = Decimal(100_000)
HIGHEST_UPFRONT = Decimal(1_000_000_000)
LONGEST_TERM_YEARS = 5
MOST_ACCELERATORS = 1000
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/+ -]{0,118}[A-Za-z0-9._/+-])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class PriceSource:
    """What is known of a price file before it is read; ``provider`` and ``region`` fill in where the format lacks them,
    ``shapes`` are the machine types already known (some formats only price a vCPU and a GiB)."""

    name: str
    day: date
    provider: Provider | None = None
    region: str = ""
    shapes: Mapping[TypeKey, InstanceType] = field(default_factory=dict)


class PriceRow(NamedTuple):
    """One price as it stands in a source: where it stands, what it prices, and its figures as read."""

    address: str
    key: OfferKey
    hourly: object
    upfront: object = 0
    derived: str = ""


@dataclass(frozen=True, slots=True)
class IntakeResult:
    """What one source gave: its good rows as a book, the rows refused and the odd ones; ``left_out`` are of clouds or
    regions that were not asked for."""

    name: str
    format: str
    book: PriceBook
    refused: tuple[QuarantinedPrice, ...]
    warnings: tuple[PriceWarning, ...]
    replaced_newer: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Intake:
    """What a run took in, and where it was stored (None in a dry run, and where there was nothing to store)."""

    sources: tuple[IntakeResult, ...]
    stored: Path | None

    @property
    def refused(self) -> int:
        """Rows in quarantine, of all sources."""
        return sum(len(s.refused) for s in self.sources)


def number(value: object) -> Decimal:
    """A finite decimal from what a file holds: text in ASCII digits, an int or a Decimal.

    Raises ValueError for anything else: NaN, infinities, booleans, binary floats, nothing at all.
    """
    if isinstance(value, str):
        return parse_decimal(value)
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value.adjusted()) < 30:
            return value
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        return Decimal(value)
    raise ValueError(f"{shortened(value)} is not a number" if value is not None else "is missing")


def accelerators(value: object) -> int:
    """How many accelerators a machine has, 0 where a source's figure makes no sense: no price depends on it."""
    try:
        count = number(value)
    except ValueError:
        return 0
    return int(count) if 0 <= count <= MOST_ACCELERATORS else 0


def shortened(value: object) -> str:
    """A value as it may be shown in a message: printable and not longer than a line."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def refusal(key: OfferKey, hourly: Decimal, upfront: Decimal) -> str:
    """Why a price cannot be used, empty where it can: missing, zero, negative, contradictory or beyond any price."""
    if not (hourly.is_finite() and upfront.is_finite()):
        return "the price is not a finite number"
    if hourly < 0 or upfront < 0:
        return f"the price is negative ({min(hourly, upfront)})"
    if hourly == 0 and upfront == 0:
        return "the price is zero"
    if hourly > HIGHEST_HOURLY or upfront > HIGHEST_UPFRONT:
        return f"the price is beyond any machine's (${hourly:.6g} an hour, ${upfront:.6g} upfront)"
    return _contradiction(key, hourly, upfront)


class PriceIntake:
    """Good rows become offers, the others quarantined prices; ``book`` hands out what was collected.

    Two rows for the same offer with different prices are both refused: which one is right cannot be known.
    """

    def __init__(self, source: PriceSource) -> None:
        self.source = source
        self._types: dict[TypeKey, InstanceType] = {}
        self._offers: dict[OfferKey, Offer] = {}
        self._sustained: dict[TypeKey, SustainedUse] = {}
        self._refused: list[QuarantinedPrice] = []
        self._contested: set[OfferKey] = set()
        self._names: set[str] = set()
        self._origins: dict[str, Origin] = {}

    def shape(self, machine: InstanceType) -> None:
        """Take in a machine shape."""
        self._types[machine.provider, machine.name] = machine

    def size(self, address: str, of: TypeKey, vcpus: object, memory: object, **rest: Any) -> InstanceType | None:
        """Take in the shape that a type's name and figures say, with the ``rest`` that the source tells; a row whose
        figures are no machine is quarantined."""
        try:
            machine = replace(named_type(*of, number(vcpus), number(memory)), **rest)
        except ValueError as error:
            self.refuse(address, f"its size: {error}")
            return None
        self.shape(machine)
        return machine

    def sustain(self, provider: Provider, rule: SustainedUse) -> None:
        """Take in the sustained-use tiers of a series."""
        self._sustained[provider, rule.series] = rule

    def refuse(self, address: str, reason: str, key: OfferKey | None = None) -> None:
        """Quarantine a row. With a key, an older price of that offer goes out of use as well; without one the row
        merely says nothing."""
        self._refused.append(QuarantinedPrice(address, reason, key))

    def price(self, row: PriceRow) -> None:
        """Take in a row, dated by the source."""
        self.offer(row, self._origin(row.derived))

    def offer(self, row: PriceRow, origin: Origin, remaining: int | None = None) -> None:
        """Take in a row that has its own origin."""
        if not self._named(row.key):
            self.refuse(row.address, f"{shortened(str(row.key))} is no name of a type in a region")
            return
        try:
            hourly, upfront = number(row.hourly), number(row.upfront)
        except ValueError as error:
            self.refuse(row.address, f"the price {error}", row.key)
            return
        if reason := refusal(row.key, hourly, upfront):
            self.refuse(row.address, reason, row.key)
            return
        self._accept(row, Offer(row.key, hourly, upfront, origin, remaining))

    def book(self) -> PriceBook:
        """The book of everything collected so far."""
        return PriceBook(self._types, self._offers, {}, self._sustained, tuple(self._refused))

    def _accept(self, row: PriceRow, offer: Offer) -> None:
        earlier = self._offers.get(offer.key)
        if offer.key in self._contested:
            self.refuse(row.address, "another row prices the same offer differently", offer.key)
        elif earlier is None:
            self._offers[offer.key] = offer
        elif (earlier.hourly, earlier.upfront) != (offer.hourly, offer.upfront):
            self._contested.add(offer.key)
            del self._offers[offer.key]
            self.refuse(row.address, f"prices {offer.key} differently from an earlier row; both refused", offer.key)

    def _origin(self, derived: str) -> Origin:
        origin = self._origins.get(derived)
        if origin is None:
            origin = self._origins[derived] = Origin(self.source.name, self.source.day, derived)
        return origin

    def _named(self, key: OfferKey) -> bool:
        for name in (key.instance_type, key.region, key.os, key.tenancy, key.zone or "-"):
            if name in self._names or name == "-":
                continue
            if _NAME.fullmatch(name) is None:
                return False
            self._names.add(name)
        return True


def restricted_to(book: PriceBook, provider: Provider | None, region: str) -> PriceBook:
    """The offers of one provider and region (None and empty mean any), with everything else the book holds."""

    def meant(key: OfferKey) -> bool:
        return provider in (None, key.provider) and region in ("", key.region)

    offers = {k: o for k, o in book.offers.items() if meant(k)}
    refused = tuple(q for q in book.quarantine if q.key is None or meant(q.key))
    return replace(book, offers=offers, quarantine=refused)


def _contradiction(key: OfferKey, hourly: Decimal, upfront: Decimal) -> str:
    if key.option.is_commitment and not 1 <= key.term_years <= LONGEST_TERM_YEARS:
        return f"a {key.option} needs a term of 1 to {LONGEST_TERM_YEARS} years, not {key.term_years}"
    if not key.option.is_commitment and (key.term_years or upfront):
        return f"{key.option} capacity has neither a term nor an upfront payment"
    if key.payment == Payment.NONE and upfront:
        return f"is no-upfront and yet has an upfront payment of {upfront}"
    if key.payment == Payment.ALL and hourly:
        return f"is all-upfront and yet has an hourly charge of {hourly}"
    if key.payment == Payment.ALL and key.option == PurchaseOption.ON_DEMAND:
        return "on-demand capacity is not paid upfront"
    return ""

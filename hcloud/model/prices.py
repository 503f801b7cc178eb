"""Prices as they are shown: beside each other, from one book to another, and what is odd about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from statistics import median

from hcloud.model.catalog import InstanceType, Offer, OfferKey, PurchaseOption, QuarantinedPrice


@dataclass(frozen=True, slots=True)
class PriceWarning:
    """A price that stays in use although it looks odd, and why."""

    row: str
    reason: str
    key: OfferKey | None = None

    def __str__(self) -> str:
        return f"{self.row} {self.reason}"


@dataclass(frozen=True, slots=True)
class PriceLine:
    """One offer with what a reader wants to know beside it; ``on_demand`` is None where no such price is known.

    ``break_even`` is the share of the term an instance must run for a commitment to cost no more than on-demand, with
    the sustained-use discount that on-demand has in its series (``sustained``) or not.
    """

    offer: Offer
    machine: InstanceType | None
    on_demand: Decimal | None
    age_days: int
    break_even: Decimal | None = None
    sustained: bool = False

    @property
    def key(self) -> OfferKey:
        """What identifies the offer."""
        return self.offer.key

    @property
    def discount(self) -> Decimal | None:
        """The share of the on-demand list price saved in every hour of the term, None without one to compare with."""
        if self.on_demand is None or self.offer.key.option == PurchaseOption.ON_DEMAND:
            return None
        return 1 - self.offer.effective_hourly / self.on_demand


@dataclass(frozen=True, slots=True)
class TypeScreen:
    """One type in one region, its prices there that may not be used, and the other regions it is sold in."""

    lines: tuple[PriceLine, ...]
    quarantined: tuple[QuarantinedPrice, ...]
    elsewhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriceChange:
    """One offer in two books; None where a book does not have it."""

    key: OfferKey
    old: Offer | None
    new: Offer | None

    @property
    def action(self) -> str:
        """What became of it."""
        return "added" if self.old is None else "removed" if self.new is None else "changed"

    @property
    def ratio(self) -> Decimal | None:
        """Relative change of the effective hourly price, None where it is in one book only."""
        if self.old is None or self.new is None:
            return None
        return self.new.effective_hourly / self.old.effective_hourly - 1


@dataclass(frozen=True, slots=True)
class PriceComparison:
    """What changed from one book to another, and how many offers did not.

    Where one side is a file, only offers that it covers are compared (``within`` names it, ``scope`` says what that
    is), and ``left_aside`` counts the others.
    """

    changes: tuple[PriceChange, ...]
    unchanged: int
    within: str = ""
    scope: str = ""
    left_aside: int = 0


@dataclass(frozen=True, slots=True)
class Verification:
    """The bundled files whose content does not match the manifest, and what the checks found in the prices."""

    files: int
    damaged: tuple[str, ...]
    offers: int
    quarantined: tuple[QuarantinedPrice, ...]
    warnings: tuple[PriceWarning, ...]


@dataclass(frozen=True, slots=True)
class TypePrices:
    """Dollars an hour by column, where they hold, and the day of the oldest; columns that nobody sells are missing."""

    hourly: Mapping[str, float]
    regions: tuple[str, ...] = ()
    oldest: date | None = None

    def costs(self, columns: Iterable[str]) -> dict[str, float]:
        """What measuring each column costs; one without a price the median of the others, so that it is neither free
        nor out of reach."""
        usual = median(self.hourly.values()) if self.hourly else 1.0
        return {column: self.hourly.get(column, usual) for column in columns}

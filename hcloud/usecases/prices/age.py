"""Prices that apply refuses for their age: said when the plan is made, refused when it is applied."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption, refresh_command
from hcloud.model.holdings.change import ChangeSet
from hcloud.planning.changes.slots import CloudRegion
from hcloud.units import counted, format_age

WantedPrice = tuple[str, PurchaseOption]
"""A type by its name, and how it is paid for."""
DAY = 86_400
OLDEST_PRICE_SECONDS = 30 * DAY


@dataclass(frozen=True, slots=True)
class AllowedAge:
    """How old prices of a place may be, in seconds, on the day of ``today``."""

    place: CloudRegion
    today: date
    seconds: int

    @property
    def refresh(self) -> str:
        """The command that gets newer prices."""
        return refresh_command(self.place.provider, self.place.region)

    def check(self, found: ChangeSet, book: PriceBook) -> None:
        """EvidenceError where machines would be launched at a price that is older than allowed."""
        for key, days in self._old(prices_of_launches(found), book):
            raise EvidenceError(
                f"{key}: its price is {format_age(days)}; apply accepts prices at most"
                f" {counted(self.seconds // DAY, 'day')} old",
                hint=f"{self.refresh}, or set prices.max_age",
            )

    def check_types(self, wanted: Collection[WantedPrice], book: PriceBook) -> None:
        """The same for types that may be launched at any moment from now on."""
        for key, days in self._old(wanted, book):
            raise EvidenceError(
                f"{key}: its price is {format_age(days)}; machines are launched at prices at most"
                f" {counted(self.seconds // DAY, 'day')} old",
                hint=f"{self.refresh}, or set prices.max_age",
            )

    def warnings(self, found: ChangeSet, book: PriceBook) -> tuple[str, ...]:
        """What is to be said of a plan that apply would refuse for this: all prices that are too old in one line."""
        old = dict(self._old(prices_of_launches(found), book))
        if not old:
            return ()
        types = ", ".join(dict.fromkeys(key.instance_type for key in old))
        return (
            f"apply will refuse this plan: the price of {types} is {format_age(max(old.values()))}, and apply accepts"
            f" prices at most {counted(self.seconds // DAY, 'day')} old. Run '{self.refresh}' and plan again, or set"
            " prices.max_age",
        )

    def _old(self, wanted: Collection[WantedPrice], book: PriceBook) -> Iterator[tuple[OfferKey, int]]:
        provider = Provider(self.place.provider)
        for name, option in sorted(wanted):
            key = OfferKey(provider, self.place.region, name, option)
            days = (self.today - book.offer(key).origin.day).days
            if days * DAY > self.seconds:
                yield key, days


def prices_of_launches(found: ChangeSet) -> Mapping[WantedPrice, Decimal]:
    """What a plan launches, with the dollars an hour that it was made with."""
    coming = [slot for slot in found.slots if any(c.count and c.address == slot.address for c in found.to_do)]
    return {(shape.instance_type, slot.option): shape.hourly for slot in coming for shape in slot.shapes}

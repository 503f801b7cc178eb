"""A place with its prices and billing rules: what bills are made by."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError
from hcloud.model.catalog import BillingRule, Offer, OfferKey, Provider, PurchaseOption


@dataclass(frozen=True, slots=True)
class Tariff:
    """Where things are rented, and the prices and billing rules of the place; ``listed`` are the prices before
    negotiation, where some were negotiated."""

    book: PriceBook
    provider: Provider
    region: str
    account: str = ""
    listed: PriceBook | None = None

    @property
    def rule(self) -> BillingRule:
        """Step and minimum; EvidenceError where the book has none of this provider."""
        found = self.book.billing.get(self.provider)
        if found is None:
            raise EvidenceError(f"{self.provider}: the price book does not say to which step rentals are billed")
        return found

    def offer(self, instance_type: str, option: PurchaseOption, zone: str = "") -> Offer:
        """The offer of the zone where it has one of its own, else of the region; EvidenceError without a price."""
        key = OfferKey(self.provider, self.region, instance_type, option, zone=zone)
        own = self.book.offers.get(key)
        return own or self.book.offer(OfferKey(self.provider, self.region, instance_type, option))

    def list_offer(self, instance_type: str) -> Offer:
        """What everybody is asked for on demand; EvidenceError without a price."""
        book = self.book if self.listed is None else self.listed
        return book.offer(OfferKey(self.provider, self.region, instance_type, PurchaseOption.ON_DEMAND))

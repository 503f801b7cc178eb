"""A small price list and rentals for tests of charges: two families of AWS, one series of Google, one type of Azure."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from hcloud.catalog.bills.terms import Tariff
from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import (
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
from hcloud.model.holdings.live import Commitment
from hcloud.model.report import MachineRental

D = Decimal
HOUR, DAY = 3600, 86_400
MONTH = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp())
ORIGIN = Origin("test", date(2026, 10, 1))
PLACES = {Provider.AWS: "us-east-1", Provider.GCP: "us-central1", Provider.AZURE: "eastus"}
PRICES = {
    (Provider.AWS, "m5.large", "m5", 2, 8, 4): "0.10",
    (Provider.AWS, "m5.xlarge", "m5", 4, 16, 8): "0.20",
    (Provider.AWS, "c5.large", "c5", 2, 4, 4): "0.08",
    (Provider.GCP, "n1-standard-4", "n1", 4, 15, 4): "0.18",
    (Provider.GCP, "n1-highmem-4", "n1", 4, 26, 4): "0.224",
    (Provider.AZURE, "Standard_D2s_v5", "Dsv5", 2, 8, 1): "0.096",
}
N1 = SustainedUse("n1", (D(1), D("0.8"), D("0.6"), D("0.4")))
DISCOUNTED = {
    Provider.AWS: {
        PurchaseOption.RESERVED: "0.6",
        PurchaseOption.INSTANCE_SAVINGS_PLAN: "0.65",
        PurchaseOption.COMPUTE_SAVINGS_PLAN: "0.7",
        PurchaseOption.SPOT: "0.3",
    },
    Provider.GCP: {PurchaseOption.COMMITTED_USE: "0.63"},
    Provider.AZURE: {PurchaseOption.RESERVATION: "0.62"},
}


def price_book() -> PriceBook:
    """The price list."""
    types, offers = {}, {}
    for (provider, name, family, vcpus, gib, units), price in PRICES.items():
        types[provider, name] = InstanceType(provider, name, family, D(vcpus), D(gib), D(units))
        key = OfferKey(provider, PLACES[provider], name, PurchaseOption.ON_DEMAND)
        offers[key] = Offer(key, D(price), D(0), ORIGIN)
        for option, share in DISCOUNTED[provider].items():
            term = (1, Payment.NONE) if option.is_commitment else (0, Payment.NONE)
            own = OfferKey(provider, PLACES[provider], name, option, *term)
            offers[own] = Offer(own, D(price) * D(share), D(0), ORIGIN)
    billing = {p: BillingRule(1, 1 if p is Provider.AZURE else 60) for p in Provider}
    return PriceBook(types, offers, billing, {(Provider.GCP, "n1"): N1})


BOOK = price_book()


def tariff(provider: Provider = Provider.AWS, book: PriceBook = BOOK) -> Tariff:
    """The place where everything of a provider runs."""
    return Tariff(book, provider, PLACES[provider], "111122223333")


def machine(name: str = "i-1", start: int = MONTH, end: int | None = MONTH + DAY, **more: object) -> MachineRental:
    """A rental of an m5.large of the application ``web``."""
    fields = {"address": "web", "instance_type": "m5.large", "zone": "", "option": PurchaseOption.ON_DEMAND, **more}
    return MachineRental(resource=name, start=start, end=end, **fields)  # type: ignore[arg-type]


def commitment(
    name: str = "ri-1",
    option: PurchaseOption = PurchaseOption.RESERVED,
    hourly: str = "0.06",
    upfront: str = "0",
    **more: object,
) -> Commitment:
    """One m5.large for a year from the beginning of the month."""
    starts = datetime.fromtimestamp(MONTH, UTC)
    fields: dict[str, object] = {
        "offering": "", "instance_type": "m5.large", "count": 1, "term_years": 1, "payment": Payment.NONE,
        "state": "active", "starts": starts, "ends": starts + timedelta(days=365), "currency": "USD", **more,
    }  # fmt: skip
    return Commitment(id=name, option=option, hourly=D(hourly), upfront=D(upfront), **fields)  # type: ignore[arg-type]

"""What a fake AWS sells: instance types, zones and prices, those it is given or a made-up few."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from hcloud.model.catalog import InstanceType, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.units import HOURS_PER_YEAR

ZONE_LETTERS = "abc"
SPOT_FACTOR = Decimal("0.35")  # ours
YEAR_SECONDS = HOURS_PER_YEAR * 3600
COMMITTED = (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)
_CENT = Decimal("0.0001")
_SAMPLE_DAY = date(2026, 11, 21)

# Made up (ours), near enough to real ones that plans look familiar: name, vCPUs, GiB, dollars an hour.
_SMALL = (
    ("t3.micro", 2, 1, "0.0104"),
    ("t3.small", 2, 2, "0.0208"),
    ("t3.medium", 2, 4, "0.0416"),
    ("g4dn.xlarge", 4, 16, "0.526"),
)
# Family, GiB a vCPU, dollars a vCPU and hour; and sizes by their vCPUs: the strategies reserve servers of 16.
_FAMILIES = (("m5", 4, "0.048"), ("m6i", 4, "0.048"), ("c5", 2, "0.0425"), ("c6i", 2, "0.0425"), ("r5", 8, "0.063"))
_SIZES = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16}
_SAMPLE = (
    *_SMALL,
    *(
        (f"{family}.{size}", vcpus, vcpus * gib, str(Decimal(rate) * vcpus))
        for family, gib, rate in _FAMILIES
        for size, vcpus in _SIZES.items()
    ),
)
# Share of the on-demand price by years and payment (ours).
_SHARE = {
    1: {"No Upfront": "0.63", "Partial Upfront": "0.60", "All Upfront": "0.59"},
    3: {"No Upfront": "0.43", "Partial Upfront": "0.40", "All Upfront": "0.37"},
}
PAYMENT_WORDS = {Payment.NONE: "No Upfront", Payment.PARTIAL: "Partial Upfront", Payment.ALL: "All Upfront"}


@dataclass(slots=True)
class AwsShop:
    """Types by name and offers by region and kind; ``offers`` empty: every region sells the sample."""

    types: Mapping[str, InstanceType]
    offers: tuple[Offer, ...] = ()
    _by_region: dict[str, tuple[Offer, ...]] = field(default_factory=dict)

    def zones(self, region: str) -> tuple[str, ...]:
        """The zones of a region."""
        return tuple(f"{region}{letter}" for letter in ZONE_LETTERS)

    def sold(self, region: str) -> tuple[Offer, ...]:
        """All offers of a region."""
        if region not in self._by_region:
            given = tuple(o for o in self.offers if o.key.region == region)
            self._by_region[region] = given if self.offers else tuple(_sample_offers(region, self.types))
        return self._by_region[region]

    def types_of(self, region: str) -> tuple[InstanceType, ...]:
        """The types that a region offers on demand, by name."""
        names = {o.key.instance_type for o in self.sold(region) if o.key.option is PurchaseOption.ON_DEMAND}
        return tuple(t for n, t in sorted(self.types.items()) if n in names)

    def vcpus(self, instance_type: str) -> int:
        """How many a type has; 0 for a type there is not."""
        found = self.types.get(instance_type)
        return int(found.vcpus) if found else 0

    def arch(self, instance_type: str) -> str:
        found = self.types.get(instance_type)
        return found.arch if found else "x86_64"

    def hourly(self, region: str, instance_type: str, *, spot: bool = False) -> Decimal:
        """Dollars an hour without commitment; 0 for what is not sold."""
        wanted = PurchaseOption.SPOT if spot else PurchaseOption.ON_DEMAND
        prices = {o.key.option: o.hourly for o in self.sold(region) if o.key.instance_type == instance_type}
        return prices.get(
            wanted, prices.get(PurchaseOption.ON_DEMAND, Decimal(0)) * SPOT_FACTOR if spot else Decimal(0)
        )

    def plan_share(self, years: int, payment: str) -> Decimal:
        """What usage costs under a savings plan in terms of on demand, by its years and payment ("No Upfront")."""
        return Decimal(_SHARE[years][payment])

    def reserved(self, region: str) -> tuple[Offer, ...]:
        """The reserved instances on sale, in a fixed order."""
        return tuple(sorted((o for o in self.sold(region) if o.key.option in COMMITTED), key=lambda o: o.key))


def offering_id(offer: Offer) -> str:
    """The id of an offer, always the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"hcloud-fake/{offer.key}"))


def sample_shop() -> AwsShop:
    """A shop with the made-up few."""
    types = {
        name: InstanceType(Provider.AWS, name, name.partition(".")[0], Decimal(vcpus), Decimal(gib), Decimal(vcpus) * 2)
        for name, vcpus, gib, _ in _SAMPLE
    }
    return AwsShop(types)


def _sample_offers(region: str, types: Mapping[str, InstanceType]) -> Iterator[Offer]:
    origin = Origin("made up for the fake", _SAMPLE_DAY)
    for name, _, _, hourly in _SAMPLE:
        if name not in types:
            continue
        price = Decimal(hourly)
        yield Offer(OfferKey(Provider.AWS, region, name, PurchaseOption.ON_DEMAND), price, Decimal(0), origin)
        for option in COMMITTED:
            for years in (1, 3):
                for payment in Payment:
                    key = OfferKey(Provider.AWS, region, name, option, years, payment)
                    yield _committed(key, price, origin)


def _committed(key: OfferKey, price: Decimal, origin: Origin) -> Offer:
    share = Decimal(_SHARE[key.term_years][PAYMENT_WORDS[key.payment]])
    dearer = Decimal("1.08") if key.option is PurchaseOption.CONVERTIBLE else Decimal(1)  # ours
    effective = (price * share * dearer).quantize(_CENT)
    upfront_part = {Payment.NONE: Decimal(0), Payment.PARTIAL: Decimal("0.5"), Payment.ALL: Decimal(1)}[key.payment]
    upfront = (effective * upfront_part * HOURS_PER_YEAR * key.term_years).quantize(Decimal(1))
    return Offer(key, (effective * (1 - upfront_part)).quantize(_CENT), upfront, origin)

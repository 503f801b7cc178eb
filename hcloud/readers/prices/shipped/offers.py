"""Offers made when they are first asked for: a bundle holds tens of thousands, a question needs a few dozen."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from decimal import Decimal
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from hcloud.model.catalog import InstanceType, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption, SustainedUse
from hcloud.readers.prices.shipped.tables import Surcharges, TableFilter
from hcloud.units import HOURS_PER_YEAR

_ZERO = Decimal(0)
_HALF = Decimal("0.5")


class OfferGroup(NamedTuple):
    """The offers of one instance type in one region under one operating system."""

    provider: Provider
    region: str
    instance_type: str
    os: str


def groups_of(shape: InstanceType, region: str, surcharges: Surcharges, wanted: TableFilter) -> Iterator[OfferGroup]:
    """The groups of a type in a region: one for each operating system that is asked for and runs on it."""
    for system in ("linux", *surcharges.systems()):
        if wanted.system(system) and not (system == "windows" and shape.arch == "arm64"):
            yield OfferGroup(shape.provider, region, shape.name, system)


Maker = Callable[[], Iterable[Offer]]


class ProviderOffers(NamedTuple):
    """What one provider's tables yield."""

    types: list[InstanceType]
    makers: dict[OfferGroup, Maker]
    sustained: Mapping[tuple[Provider, str], SustainedUse] = MappingProxyType({})


class LazyOffers(Mapping[OfferKey, Offer]):
    """A mapping over blocks of offers; a block is made on the first look into it and kept."""

    __slots__ = ("_made", "_makers")

    def __init__(self, makers: Mapping[OfferGroup, Maker]) -> None:
        self._makers = makers
        self._made: dict[OfferGroup, dict[OfferKey, Offer]] = {}

    def __getitem__(self, key: OfferKey) -> Offer:
        return self.beside(key)[key]

    def __iter__(self) -> Iterator[OfferKey]:
        return chain.from_iterable(self.block(b) for b in self._makers)

    def __len__(self) -> int:
        return sum(len(self.block(b)) for b in self._makers)

    def items(self) -> ItemsView[OfferKey, Offer]:
        return _Items(self)

    def values(self) -> ValuesView[Offer]:
        return _Values(self)

    def beside(self, key: OfferKey) -> Mapping[OfferKey, Offer]:
        """All offers of a key's type, region and operating system."""
        return self.block(OfferGroup(key.provider, key.region, key.instance_type, key.os))

    def places(self) -> frozenset[tuple[Provider, str]]:
        """Every provider and region with prices, told without making an offer."""
        return frozenset((b.provider, b.region) for b in self._makers)

    def blocks(self) -> Iterator[Mapping[OfferKey, Offer]]:
        """All blocks, made where they were not yet."""
        return map(self.block, self._makers)

    def block(self, wanted: OfferGroup) -> Mapping[OfferKey, Offer]:
        """All offers of one type, region and operating system; empty where none are known."""
        made = self._made.get(wanted)
        if made is None:
            maker = self._makers.get(wanted)
            made = {} if maker is None else {o.key: o for o in maker()}
            self._made[wanted] = made
        return made


class _Items(ItemsView[OfferKey, Offer]):
    """Keys with their offers, without looking every key up again as the inherited view does."""

    _mapping: LazyOffers

    def __iter__(self) -> Iterator[tuple[OfferKey, Offer]]:
        return chain.from_iterable(block.items() for block in self._mapping.blocks())


class _Values(ValuesView[Offer]):
    """The offers alone, taken straight from the blocks."""

    _mapping: LazyOffers

    def __iter__(self) -> Iterator[Offer]:
        return chain.from_iterable(block.values() for block in self._mapping.blocks())


class TermOption(NamedTuple):
    """An option, and of a commitment its length and payment."""

    option: PurchaseOption
    years: int = 0
    payment: Payment = Payment.NONE


def offer_of(block: OfferGroup, term: TermOption, amortised: Decimal, origin: Origin) -> Offer:
    """An offer whose whole cost comes to ``amortised`` dollars an hour, that of a commitment split by its payment.

    All-upfront pays the term at once, partial-upfront half of it at once and half by the hour.
    """
    cost = amortised * (term.years * HOURS_PER_YEAR)
    hourly, upfront = {
        Payment.NONE: (amortised, _ZERO),
        Payment.PARTIAL: (amortised * _HALF, cost * _HALF),
        Payment.ALL: (_ZERO, cost),
    }[term.payment]
    key = OfferKey(block.provider, block.region, block.instance_type, *term, os=block.os)
    return Offer(key, hourly, upfront, origin)

"""Offers made when they are first asked for: a bundle holds tens of thousands, a question needs a few dozen."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from decimal import Decimal
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from hcloud.model.catalog import InstanceType, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption, SustainedUse
from hcloud.units import HOURS_PER_YEAR

_ZERO = Decimal(0)
_HALF = Decimal("0.5")


class OfferGroup(NamedTuple):
    """The offers of one instance type in one region under one operating system."""

    provider: Provider
    region: str
    instance_type: str
    os: str


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
        return self.block(OfferGroup(key.provider, key.region, key.instance_type, key.os))[key]

    def __iter__(self) -> Iterator[OfferKey]:
        return chain.from_iterable(self.block(b) for b in self._makers)

    def __len__(self) -> int:
        return sum(len(self.block(b)) for b in self._makers)

    def items(self) -> ItemsView[OfferKey, Offer]:
        return _Items(self)

    def values(self) -> ValuesView[Offer]:
        return _Values(self)

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


def plain_offer(block: OfferGroup, option: PurchaseOption, hourly: Decimal, origin: Origin) -> Offer:
    """An on-demand or spot offer."""
    key = OfferKey(block.provider, block.region, block.instance_type, option, os=block.os)
    return Offer(key, hourly, _ZERO, origin)


class TermOption(NamedTuple):
    """A commitment's option, length and payment."""

    option: PurchaseOption
    years: int
    payment: Payment = Payment.NONE


def committed_offer(block: OfferGroup, term: TermOption, amortised: Decimal, origin: Origin) -> Offer:
    """A commitment whose whole cost comes to ``amortised`` dollars an hour, split by its payment option.

    All-upfront pays the term at once, partial-upfront half of it at once and half by the hour.
    """
    cost = amortised * (term.years * HOURS_PER_YEAR)
    hourly, upfront = {
        Payment.NONE: (amortised, _ZERO),
        Payment.PARTIAL: (amortised * _HALF, cost * _HALF),
        Payment.ALL: (_ZERO, cost),
    }[term.payment]
    key = OfferKey(
        block.provider, block.region, block.instance_type, term.option, term.years, term.payment, os=block.os
    )
    return Offer(key, hourly, upfront, origin)

"""The kinds of machines of a bill that commitments float between, bought for and priced together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import bought_key
from hcloud.model.catalog import Offer, OfferKey, PurchaseOption
from hcloud.planning.billed.better import better, left_out
from hcloud.planning.billed.estate import (
    BilledEstate,
    EstateKind,
    EstatePool,
    KindPurchase,
    Term,
    machines_alike,
    term_of,
)
from hcloud.planning.billed.floating import HeldPool
from hcloud.planning.billed.held import sold_at
from hcloud.planning.billed.kinds import KindUse, MachineKind
from hcloud.planning.decide import ComparedFleets
from hcloud.planning.fleets.evaluate import fill
from hcloud.planning.fleets.fleet import Holding, hours_in_use
from hcloud.planning.fleets.floor import NOTHING_LEFT_OUT, LeftOut
from hcloud.planning.fleets.owned import Owned, use_first
from hcloud.planning.forecasting.forecast import stretch
from hcloud.planning.settings import PlanSettings
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, cents
from hcloud.usecases.deciding.billed.basis import BillBasis
from hcloud.usecases.deciding.plan import hours_left, planned_demand, spent_on
from hcloud.usecases.progress import Progress, unheard

if TYPE_CHECKING:
    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True)
class KindDollars:
    """Dollars a month of a kind: as things are, and what its purchases save, of other kinds too; and how many more
    vCPUs of it what is held that covers several kinds serves as things are than its plan alone counts."""

    now: Decimal
    saved: Decimal
    more_held_vcpus: Decimal


class JointChoice(NamedTuple):
    """What to hold of each kind, and what is left out as it saves too little."""

    held: Mapping[MachineKind, tuple[Holding, ...]]
    left_out: LeftOut = NOTHING_LEFT_OUT


@dataclass(frozen=True, slots=True)
class TogetherKinds:
    """The kinds that are bought for together, in the order of the bill, ``vcpus`` of theirs in one machine that they
    are counted in, and the estate that they are: these first, then those that are too small to plan and use what floats
    too."""

    names: tuple[MachineKind, ...]
    vcpus: tuple[float, ...]
    compared: tuple[ComparedFleets, ...]
    estate: BilledEstate
    book: PriceBook

    def chosen(self, progress: Progress = unheard) -> JointChoice:
        """What to hold of each kind: of what floats as much as covers what it uses."""
        bought = [p for number in range(len(self.names)) for p in self._possible(number)]
        least = self.compared[0].asked.settings.commit_min_saving
        tried = better(self.estate, [*self._shared(bought), *bought], progress, least)
        found = [p for p in tried if p.holding.count]
        held = [*(p for p in found if p.rates is None), *self._divided(found)]
        by_kind = {
            kind: tuple(p.holding for p in held if p.kind == number and p.holding.count)
            for number, kind in enumerate(self.names)
        }
        return JointChoice(by_kind, left_out(self.estate, tried) if least else NOTHING_LEFT_OUT)

    def _divided(self, found: Sequence[KindPurchase]) -> Iterator[KindPurchase]:
        """What floats, bought for the kinds in proportion to what they use of it, in whole machines: the last, of the
        smallest, for what is left."""
        used, dollars = self.estate.used(found), defaultdict[tuple[Term, int], float](float)
        for purchase in found:
            if purchase.rates is not None:
                hourly = float(purchase.holding.offer.effective_hourly)
                dollars[purchase.term, purchase.holding.start_hour] += hourly * purchase.holding.count
        offers = [(o, number) for number in range(len(self.names)) for o in self._floating(number)]
        for (term, start), whole in dollars.items():
            users = [(o, number) for o, number in offers if term_of(o) == term and used[term][number]]
            left = whole
            for place, (offer, number) in enumerate(sorted(users, key=lambda user: -user[0].effective_hourly), 1):
                share = whole * used[term][number] / sum(used[term][n] for _, n in users)
                hourly = float(offer.effective_hourly)
                count = int(share / hourly) if place < len(users) else round(left / hourly)
                left -= count * hourly
                yield self._purchase(number, Holding(offer, count, start))

    def dollars(self, held: Mapping[MachineKind, Sequence[Holding]]) -> dict[MachineKind, KindDollars]:
        """What each kind costs as things are, and what the purchases for it save beside those for the kinds before."""
        before = self.estate.costs(())
        found, bought, now = {}, list[KindPurchase](), before.total
        month, held_machines = HOURS_PER_MONTH / self._hours, self.estate.held()
        for number, kind in enumerate(self.names):
            bought += [self._purchase(number, holding) for holding in held.get(kind, ())]
            then = self.estate.costs(bought).total
            alone = before.rented[number] + before.used[number] + before.idle[number] + self._bound(number)
            divided = (float(o.count * o.shape.vcpus) for o in self.compared[number].asked.owned if o.phases)
            vcpus = held_machines[number] * self.vcpus[number] - sum(divided)
            found[kind] = KindDollars(_cents(alone * month), _cents((now - then) * month), Decimal(f"{vcpus:.4f}"))
            now = then
        return found

    def _bound(self, number: int) -> float:
        """Dollars of what is held of a kind alone, and of licences that no commitment covers."""
        owned = (o for o in self.compared[number].asked.owned if not o.phases)
        optimum = self.compared[number].optimum
        licences = float(optimum.types[0].licence) * hours_in_use(optimum.option.demanded, optimum.types[0])
        return float(sum((o.cost(self._hours) for o in owned), Decimal(0))) + licences

    @property
    def _hours(self) -> int:
        return self.compared[0].optimum.option.demanded.hours

    def _possible(self, number: int) -> Iterator[KindPurchase]:
        """What its plan alone would hold, else one of the cheapest offer, in no number yet."""
        optimum = self.compared[number].optimum
        for holding in optimum.fleet.holdings:
            yield self._purchase(number, holding)
        if not optimum.fleet.holdings:
            for holding in fill(optimum.types[0].commitments, 1, optimum.option.demanded.hours):
                yield self._purchase(number, holding).of(0)

    def _shared(self, bought: Sequence[KindPurchase]) -> Iterator[KindPurchase]:
        """Of each term that is cheapest for a kind, of what floats and of what is of its family, and not bought yet the
        smallest, in no number."""
        found: dict[tuple[Term, int], list[KindPurchase]] = defaultdict(list)
        for number, compared in enumerate(self.compared):
            offers, hours = self._floating(number), compared.optimum.option.demanded.hours
            alike = ([o for o in offers if o.key.option.floats is floats] for floats in (True, False))
            for holding in (one for same in alike for one in fill(same, 1, hours)):
                purchase = self._purchase(number, holding).of(0)
                found[purchase.term, holding.start_hour].append(purchase)
        there = {(p.term, p.holding.start_hour) for p in bought}
        least = (min(same, key=lambda p: p.holding.offer.effective_hourly) for same in found.values())
        return (p for p in least if (p.term, p.holding.start_hour) not in there)

    def _floating(self, number: int) -> list[Offer]:
        """What covers several kinds and may be bought for a kind."""
        return [o for o in self.compared[number].optimum.types[0].commitments if self._covers_several(o)]

    def _covers_several(self, offer: Offer) -> bool:
        """Whether what is bought may cover more than one kind: it floats, or is of a family with several systems."""
        if not offer.key.option.is_of_a_family:
            return offer.key.option.floats
        return sum(_is_of_place(kind, term_of(offer)) for kind in self.estate.kinds) > 1

    def _purchase(self, number: int, holding: Holding) -> KindPurchase:
        key, optimum = holding.offer.key, self.compared[number].optimum
        types = {c.shape.name: c for c in optimum.types}
        machines = float(types[key.instance_type].capacity[0] / optimum.types[0].capacity[0])
        several = self._covers_several(holding.offer)
        rates = _rates_of_offer(holding.offer, self.estate.kinds, self.book) if several else None
        return KindPurchase(number, holding, holding.steps(optimum.option.demanded), machines, rates)


def _cents(dollars: float) -> Decimal:
    return cents(Decimal(repr(float(dollars))))


def together(compared: Mapping[MachineKind, ComparedFleets], basis: BillBasis) -> TogetherKinds | None:
    """The kinds that are bought for together; None where nothing that covers several is held or sold."""
    pools, uses = basis.held.pools, [use for use in basis.kinds if use.kind in compared]
    fleets = tuple(compared[use.kind] for use in uses)
    if not fleets or not (pools or _share(uses, fleets)):
        return None
    others = [use for use in (*basis.kinds, *basis.small) if use.kind not in compared]
    others = [use for use in others if any(use.kind in pool.rates for pool in pools)]
    settings, first = basis.loaded.config.settings(), fleets[0].optimum.option.demanded
    kinds = [*map(_planned, fleets), *(_other(use, basis, settings) for use in others)]
    steps = len(first)
    floating = _pools(pools, list(zip((*uses, *others), kinds, strict=True)), basis.book, (steps, first.step_seconds))
    estate = BilledEstate(tuple(kinds), tuple(floating), first.step_hours)
    vcpus = tuple(float(use.usual.vcpus) / _machines_of(use, kind) for use, kind in zip(uses, kinds, strict=False))
    return TogetherKinds(tuple(use.kind for use in uses), vcpus, fleets, estate, basis.book)


def _share(uses: Sequence[KindUse], fleets: Sequence[ComparedFleets]) -> bool:
    """Whether what is sold may cover several of the kinds."""
    sold = {o.key.option for c in fleets for t in c.optimum.types for o in t.commitments}
    families = {(use.kind.provider, use.kind.region, use.kind.family) for use in uses}
    if len(fleets) > 1 and any(option.floats for option in sold):
        return True
    return len(families) < len(uses) and any(option.is_of_a_family for option in sold)


def _planned(compared: ComparedFleets) -> EstateKind:
    bound, optimum = [o for o in compared.asked.owned if not o.phases], compared.optimum
    return EstateKind.planned(optimum.types[0], use_first(optimum.option.demanded, bound))


class BoughtForKind(NamedTuple):
    """What of a kind is bought already and what is left to buy."""

    owned: tuple[Owned, ...]
    left: tuple[Holding, ...]


def bought_already(
    bought: Sequence[OwnedSection], wanted: Sequence[Holding], basis: BillBasis, now: datetime
) -> BoughtForKind:
    """What was ``bought`` since the end of a bill and covers several kinds, in the place of what is ``wanted`` now of
    the same option for one kind: as many dollars of it."""
    left, owned, book = list(wanted), list[Owned](), basis.book
    for section in bought:
        dollars, expires = spent_on(section, book), datetime.combine(section.expires, time(), UTC)
        for number, holding in enumerate(left):
            key = holding.offer.key
            if key.option is not section.option or holding.start_hour or not dollars:
                continue
            each = holding.offer.effective_hourly
            part = min(dollars, each * holding.count)
            dollars -= part
            left[number] = replace(holding, count=round((each * holding.count - part) / each))
            same = replace(key, term_years=section.term_years, payment=section.payment)
            offer = book.offers.get(bought_key(same), holding.offer)
            shape = book.instance_type(key.provider, key.instance_type)
            owned.append(Owned(offer, shape, part / offer.effective_hourly, hours_left(section, now), expires=expires))
    return BoughtForKind(tuple(owned), tuple(holding for holding in left if holding.count))


def _other(use: KindUse, basis: BillBasis, settings: PlanSettings) -> EstateKind:
    """A kind that nothing is bought for."""
    demanded = stretch(planned_demand(basis.found.demand(use), settings), settings.outlook)
    held = [o for o in basis.held.by_kind.get(use.kind, ()) if not o.phases]
    left, vcpus = use_first(demanded, held), float(use.usual.vcpus)
    offer = basis.book.offers.get(bought_key(on_demand_key(use)))
    price = use.list_rate * vcpus if offer is None else float(offer.hourly)
    return EstateKind(left.cores / vcpus, price)


def on_demand_key(use: KindUse) -> OfferKey:
    """The offer on demand of the usual machine of a kind."""
    kind = use.kind
    place = kind.provider, kind.region, use.usual.name, PurchaseOption.ON_DEMAND
    return OfferKey(*place, os=kind.os, tenancy=kind.tenancy)


def _pools(
    held: Sequence[HeldPool], kinds: Sequence[tuple[KindUse, EstateKind]], book: PriceBook, clock: tuple[int, int]
) -> Iterator[EstatePool]:
    """Those of one option, term and payment are one: they apply at the same rates. ``clock`` is how many steps there
    are, and their seconds."""
    alike: dict[Term, list[HeldPool]] = defaultdict(list)
    for pool in held:
        alike[pool.provider, pool.option, pool.term_years, pool.payment, *pool.place].append(pool)
    for term, pools in alike.items():
        dollars = np.sum([_dollars(pool, *clock) for pool in pools], axis=0)
        rates = {n: _rate(pools, use, kind, book, term) for n, (use, kind) in enumerate(kinds)}
        yield EstatePool.of(dollars, {n: rate for n, rate in rates.items() if rate}, term[1])


def _dollars(pool: HeldPool, steps: int, seconds: int) -> Floats:
    dollars = np.zeros(steps)
    dollars[: pool.hours_left * SECONDS_PER_HOUR // seconds] = pool.dollars
    return dollars


def _rate(pools: Sequence[HeldPool], use: KindUse, kind: EstateKind, book: PriceBook, term: Term) -> float:
    """Dollars an hour of a machine of a kind: by what the bill covered of it, else by the book where the bill says its
    term, else at the mean discount of the commitment. 0 where it does not cover it."""
    known = [p for p in pools if use.kind in p.known]
    fitting = [p for p in pools if use.kind in p.rates]
    sold = None if known else _sold(use, kind, book, term)
    if not fitting or sold is not None:
        return float(sold.effective_hourly) if fitting and sold is not None else 0.0
    weights = [p.known[use.kind] for p in known] or [p.dollars for p in fitting]
    vcpus = sum(dollars / p.rates[use.kind] for p, dollars in zip(known or fitting, weights, strict=True))
    return sum(weights) / vcpus * float(use.usual.vcpus) / _machines_of(use, kind)


def _sold(use: KindUse, kind: EstateKind, book: PriceBook, term: Term) -> Offer | None:
    """The same commitment as it is sold today."""
    _, option, years, payment, *_ = term
    if years is None:
        return None
    on_demand = on_demand_key(use) if kind.candidate is None else kind.candidate.on_demand.key
    return sold_at(book.offers, bought_key(replace(on_demand, option=option, term_years=years)), payment)


def _machines_of(use: KindUse, kind: EstateKind) -> float:
    """How many of the type that it is counted in one machine of the usual type is."""
    if kind.candidate is None:
        return 1.0
    vcpus, gib = kind.candidate.capacity
    return float(max(use.usual.vcpus / vcpus, use.usual.memory_gib / gib))


def _rates_of_offer(offer: Offer, kinds: Sequence[EstateKind], book: PriceBook) -> dict[int, float]:
    """What an hour of a machine of each kind takes of a commitment in dollars that covers it."""
    bought, found = offer.key, dict[int, float]()
    for number, kind in enumerate(kinds):
        if kind.candidate is None or not _is_of_place(kind, term_of(offer)):
            continue
        key = replace(bought_key(kind.candidate.on_demand.key), option=bought.option)
        key = replace(key, term_years=bought.term_years, payment=bought.payment)
        if key in book.offers:
            found[number] = float(book.offers[key].effective_hourly)
    return found


def _is_of_place(kind: EstateKind, term: Term) -> bool:
    """Whether a kind that is bought for is of the provider, region and family that dollars of a term cover."""
    if kind.candidate is None:
        return False
    provider, *_, region, family = term
    key = kind.candidate.on_demand.key
    return key.provider == provider and region in ("", key.region) and family in ("", machines_alike(key))

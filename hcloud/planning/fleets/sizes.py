"""Sizes of a family: which one a plan counts in, and the machines that so many of them are bought and rented as."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from hcloud.catalog.flexibility import covers_all_sizes
from hcloud.model.catalog import Offer
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Fleet, Holding, PlannedRental, rent, rented_counts
from hcloud.planning.forecasting.forecast import Forecast

if TYPE_CHECKING:
    from hcloud.planning.fleets.fleet import Counts

ROUNDING = 0.002  # ours: prices of sizes differ by no more where upfront payments are rounded to dollars
ROUNDED = 0.02  # ours: nor by more where prices are given in few digits, whatever these would allow
LARGEST = 16  # ours, from HCloud section 8.3.1: servers of 16 vCPUs, larger ones only where a job needs them

Ladder = tuple[Candidate, ...]
"""A type and the larger sizes of it whose price is proportional, smallest first: so many of the first cost, and serve,
what fewer of the others do."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A type that a plan counts in, its ladder, and by what fraction at most a size it stands for is priced lower.
    Where sizes of the ladder are dearer by the vCPU than the first, it is ``counted`` at their prices."""

    ladder: Ladder
    excess: float = 0.0
    counted: Candidate | None = None

    @property
    def candidate(self) -> Candidate:
        """The type itself, at the prices that it is counted at."""
        return self.counted or self.ladder[0]


Holds = Callable[[Ladder], bool]
"""Whether the sizes of a ladder hold every job."""


def _always(_: Ladder) -> bool:
    return True


def units_of(candidates: Sequence[Candidate], waste_vcpus: float, holds: Holds | None = None) -> tuple[Unit, ...]:
    """The types worth counting in: of each family and GiB per vCPU in a region the smallest size, and others only where
    it is not as cheap, or does not hold the jobs.

    Instances are whole, which wastes half of one in the mean: sizes are no smaller than it takes to waste
    ``waste_vcpus`` (so that a large fleet is not counted in small machines), nor larger than ``LARGEST`` by that rule.
    """
    found: list[Unit] = []
    for sizes in _lines(candidates):
        fine = [c for c in sizes if c.shape.vcpus <= min(2 * waste_vcpus, LARGEST)]
        found += _units_of_line(sizes[max(len(fine) - 1, 0) :], holds)
    return tuple(found)


def _units_of_line(sizes: Sequence[Candidate], holds: Holds | None) -> Iterator[Unit]:
    """The units among the sizes of one line. Where jobs have to be held, sizes are also counted together that differ in
    price (see ``_levelled``): what makes one of them cheaper never makes a plan dearer."""
    priced = [_Priced.of(c) for c in sizes]
    plain = [Unit(_ladder(p, priced)) for p in priced]
    holding = [(holds or _always)(u.ladder) for u in plain]
    levelled = [] if holds is None else [u for u in _levelled(priced, plain) if holds(u.ladder)]
    others = [_Priced.of(u.candidate) for u in levelled]

    def excess(at: int) -> float | None:
        smaller = [p for p, its in zip(priced[:at], holding[:at], strict=True) if its or not holding[at]]
        beside = [p for p in others if p.candidate.shape.vcpus < sizes[at].shape.vcpus]
        return _replaced_by(priced[at], [*smaller, *beside])

    excesses = [excess(at) for at in range(len(sizes))]
    most = max((x for x in excesses if x is not None), default=0.0)
    yield from (replace(u, excess=max(most, 0.0)) for u, x in zip(plain, excesses, strict=True) if x is None)
    yield from levelled


def _levelled(sizes: Sequence[_Priced], plain: Sequence[Unit]) -> Sequence[Unit]:
    """At the prices of each size, those that are no dearer by the vCPU: so many of the smallest cost, and serve, what
    fewer of the others do at the most. Without those that a unit of as many sizes is as cheap as."""
    ladders = ((dearest, _no_dearer_than(dearest, sizes)) for dearest in sizes)
    found = sorted((one for one in ladders if len(one[1]) > 1), key=lambda one: -len(one[1]))
    known = [(frozenset(c.address for c in unit.ladder), p) for unit, p in zip(plain, sizes, strict=True)]
    kept: list[Unit] = []
    for dearest, members in found:
        first, addresses = members[0].candidate, frozenset(p.candidate.address for p in members)
        counted = _at_prices_of(dearest.candidate, first)
        priced = _Priced.of(counted)
        if not any(addresses <= has and _excess(its, priced) <= ROUNDING for has, its in known):
            kept.append(Unit(tuple(p.candidate for p in members), _cheaper_by(members), counted))
            known.append((addresses, priced))
    return kept


def _no_dearer_than(dearest: _Priced, sizes: Sequence[_Priced]) -> Sequence[_Priced]:
    """The sizes that are no dearer than one of them, and so many of the smallest of those."""
    members = [p for p in sizes if _is_no_dearer(p, dearest)] or [dearest]
    smallest = members[0].candidate.shape.vcpus
    return [p for p in members if p.candidate.shape.vcpus % smallest == 0]


def _cheaper_by(members: Sequence[_Priced]) -> float:
    """By what fraction at most one of the sizes is priced lower by the vCPU than the first."""
    return max(0.0, *(_excess(members[0], p) for p in members))


def _is_no_dearer(size: _Priced, dearest: _Priced) -> bool:
    """Whether a size has the other's GiB per vCPU, and each of its prices by the vCPU but for rounding or lower, under
    commitments that cover every size."""
    part = size.candidate.shape.vcpus / dearest.candidate.shape.vcpus
    if size.candidate.shape.memory_gib != dearest.candidate.shape.memory_gib * part:
        return False
    pairs = _alike(dearest, size)
    return bool(pairs) and all(float(_cost(its)) <= float(_cost(most) * part) * (1 + ROUNDING) for most, its in pairs)


def _alike(one: _Priced, other: _Priced) -> Sequence[tuple[Offer, Offer]]:
    """Each offer of one size that a plan may use with that of the other; none where the other lacks one of them, or
    where one of them does not cover every size."""
    pairs = [(one.candidate.on_demand, other.candidate.on_demand)]
    for offer in one.bought:
        same = other.flexible.get(_terms(offer))
        if same is None or not _is_flexible(offer, one.candidate.shape.family):
            return ()
        pairs.append((offer, same))
    return pairs


def _cost(offer: Offer) -> Decimal:
    return offer.term_cost if offer.term_hours else offer.hourly


def _at_prices_of(dearest: Candidate, size: Candidate) -> Candidate:
    """A size at the prices by the vCPU of another."""
    part, its = size.shape.vcpus / dearest.shape.vcpus, _by_terms(size)

    def priced(offer: Offer, at: Offer) -> Offer:
        return replace(offer, hourly=at.hourly * part, upfront=at.upfront * part)

    bought = tuple(priced(its[_terms(offer)], offer) for offer in dearest.commitments if _terms(offer) in its)
    return replace(size, on_demand=priced(size.on_demand, dearest.on_demand), commitments=bought)


def _lines(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """The candidates of one family, region and GiB per vCPU, smallest first."""

    def line(c: Candidate) -> tuple[str, str, str, float]:
        key, shape = c.on_demand.key, c.shape
        return key.provider, key.region, shape.family, round(float(shape.memory_gib / shape.vcpus), 2)

    ordered = sorted(candidates, key=lambda c: (line(c), c.shape.vcpus, c.on_demand.hourly, c.address))
    return [list(group) for _, group in itertools.groupby(ordered, key=line)]


@dataclass(frozen=True, slots=True)
class _Priced:
    """A candidate with its cheapest price by term in hours (0: on demand), those that do not run out, the commitments
    that a plan may buy (none of the same length is cheaper and lasts), and all that cover every size, by terms."""

    candidate: Candidate
    cheapest: Mapping[int, float]
    unlimited: Mapping[int, float]
    bought: Sequence[Offer]
    flexible: Mapping[tuple[object, ...], Offer]

    @classmethod
    def of(cls, candidate: Candidate) -> _Priced:
        terms = [(o, o.term_hours, float(o.term_cost)) for o in candidate.commitments]
        rented = {0: float(candidate.on_demand.hourly)}
        dearest_first = sorted(terms, key=lambda t: -t[2])
        unlimited = rented | {hours: cost for o, hours, cost in dearest_first if o.remaining is None}
        return cls(
            candidate,
            rented | {hours: cost for _, hours, cost in dearest_first},
            unlimited,
            tuple(o for o, hours, cost in terms if cost <= unlimited.get(hours, math.inf)),
            {_terms(o): o for o in candidate.commitments if _is_flexible(o, candidate.shape.family)},
        )


def _replaced_by(size: _Priced, smaller: Sequence[_Priced]) -> float | None:
    """By what fraction some smaller size costs more for the same capacity at most, where that is no more than rounding;
    None where no size replaces this one."""
    excesses = (_excess(small, size) for small in smaller)
    return min((x for x in excesses if x <= ROUNDING), default=None)


def _excess(small: _Priced, large: _Priced) -> float:
    """By what fraction at most the small size is dearer for what the large one serves, on demand or committed."""
    pairs = zip(large.candidate.capacity, small.candidate.capacity, strict=True)
    count = math.ceil(max(mine / its for mine, its in pairs))
    costs = [(small.unlimited.get(term, math.inf) * count, cost) for term, cost in large.cheapest.items()]
    return max(mine / its if its else math.inf for mine, its in costs) - 1


def ladder_of(unit: Candidate, sizes: Sequence[Candidate]) -> Ladder:
    """The type and those of the sizes that are so many of it, in what they serve and in every price."""
    return _ladder(_Priced.of(unit), [_Priced.of(c) for c in sizes])


def _ladder(unit: _Priced, sizes: Sequence[_Priced]) -> Ladder:
    larger = (p for p in sizes if p.candidate.shape.vcpus > unit.candidate.shape.vcpus)
    return (unit.candidate, *(p.candidate for p in larger if _is_proportional(unit, p)))


def _is_proportional(unit: _Priced, size: _Priced) -> bool:
    """Whether the size is so many units in vCPUs, in GiB and, but for rounding, in every price that a plan may pay for
    the unit, and is covered by each of those commitments to it."""
    small, large = unit.candidate.shape, size.candidate.shape
    count = large.vcpus / small.vcpus
    if count != int(count) or large.memory_gib != small.memory_gib * count:
        return False
    pairs = _alike(unit, size)
    return bool(pairs) and all(_is_multiple(mine, its, count) for mine, its in pairs)


def _is_multiple(mine: Offer, its: Offer, count: Decimal) -> bool:
    """Whether an offer costs so many of another, but for half a unit of the last digit of each price."""
    exact = _cost(mine) * count
    off = float(abs(_cost(its) - exact) / exact)
    if ROUNDING < off <= ROUNDED:
        half = _half_digit(mine.hourly, its.hourly) * max(mine.term_hours, 1) + _half_digit(mine.upfront, its.upfront)
        return off <= float(half * (count + 1) / exact)
    return off <= ROUNDING


def _half_digit(*prices: Decimal) -> Decimal:
    """Half a unit of the last digit that prices are given to, nothing where they are zero."""
    given = [min(int(price.as_tuple().exponent), 0) for price in prices if price]
    return Decimal(5).scaleb(min(given) - 1) if given else Decimal(0)


def _is_flexible(offer: Offer, family: str) -> bool:
    return offer.remaining is None and covers_all_sizes(offer.key, family)


def _by_terms(size: Candidate) -> Mapping[tuple[object, ...], Offer]:
    return {_terms(offer): offer for offer in size.commitments}


def _terms(offer: Offer) -> tuple[object, ...]:
    """Its key but for the type: offers of two sizes that have it in common are one offer in two sizes."""
    key = offer.key
    return (key.provider, key.region, key.zone, key.os, key.tenancy, key.option, key.term_years, key.payment)


def stated(fleet: Fleet, types: Sequence[Candidate], ladders: Mapping[str, Ladder], forecast: Forecast) -> Fleet:
    """The fleet in as few machines as there can be: every purchase, and what is rented at each step, in the largest
    sizes of its ladder that fit into it."""
    if all(len(ladders[c.address]) == 1 for c in types):
        return fleet
    known = {c.shape.name: ladders[c.address] for c in types}
    holdings = [part for h in fleet.holdings for part in _bought(h, known[h.offer.key.instance_type])]
    rented, whole = {r.offer.key: r for r in fleet.rentals}, forecast.in_whole_machines
    counted = zip(types, rented_counts(forecast, types, fleet.holdings), strict=True)
    rentals = [
        _charged_alike(rent(size, number, whole), rent(c, counts, whole), rented[c.on_demand.key])
        for c, counts in counted
        for size, number in _split(counts, ladders[c.address])
        if number.any()
    ]
    return Fleet(tuple(holdings), tuple(rentals))


def _bought(holding: Holding, ladder: Ladder) -> Iterator[Holding]:
    left = holding.count
    for size, of in _steps(ladder):
        its = holding.offer in size.commitments
        offer = holding.offer if its else _by_terms(size).get(_terms(holding.offer))
        if offer is not None and left >= of:
            number, left = divmod(left, of)
            yield Holding(offer, number, holding.start_hour)


def _steps(ladder: Ladder) -> Iterator[tuple[Candidate, int]]:
    """The sizes, largest first, each with the units it is."""
    return ((size, int(size.shape.vcpus / ladder[0].shape.vcpus)) for size in reversed(ladder))


def _split(counts: Counts, ladder: Ladder) -> Iterator[tuple[Candidate, Counts]]:
    for size, of in _steps(ladder):
        number = counts // of
        counts = counts - number * of
        yield size, number


def _charged_alike(part: PlannedRental, whole: PlannedRental, rented: PlannedRental) -> PlannedRental:
    """A part of what is rented with the sustained-use discount of all of it, which a series earns whatever its sizes;
    and what is owned of a machine left out of all parts alike."""
    hours = part.hours if rented.hours == whole.hours else part.hours * rented.hours / whole.hours
    if rented.charged_hours == rented.hours:
        return replace(part, hours=hours, charged_hours=hours)
    return replace(part, hours=hours, charged_hours=hours * rented.charged_hours / rented.hours)

"""The bill of successive clock hours, settled as reports settle them: who covers what, what is lost, what remains."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

from bill_lines import Bill, CommitmentLine, HourBill, Usage, UsageLine

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.google import price_ratio, unit_prices
from hcloud.catalog.cover.hour import layout_of, rows_of
from hcloud.catalog.cover.steps import ONE, CoverLayout, RanOffer, UsageRow, bought_offer
from hcloud.catalog.cover.sustained import Scope, charged_unit_hours, sustained_scope
from hcloud.catalog.quote import amortised_cost, commitment_cost, usage_cost
from hcloud.errors import EvidenceError
from hcloud.model.catalog import Offer, Payment, PurchaseOption, SustainedUse
from hcloud.model.usage import CommitmentTerm
from hcloud.units import HOURS_PER_MONTH

ZERO = Decimal(0)
# What is paid at once of a commitment in dollars an hour. Price lists give such a plan one rate per type and no split;
# half for partial upfront is what AWS asks for at least (Savings Plans User Guide, "Understanding plan types").
_UPFRONT_SHARE = {Payment.NONE: Decimal(0), Payment.PARTIAL: Decimal("0.5"), Payment.ALL: ONE}

Vector = tuple[Decimal, ...]
Active = tuple[int, ...]


class _Settled(NamedTuple):
    """One hour after matching: what is left of each row, and by commitment what it covered, offered and lost.

    ``offered`` and ``lost`` are pool units times the pool's value: only their quotient has a meaning.
    """

    left: list[Decimal]
    covered_hours: dict[int, Decimal]
    covered_cost: dict[int, Decimal]
    offered: dict[int, Decimal]
    lost: dict[int, Decimal]


@dataclass(frozen=True, slots=True)
class _Tally:
    """Sums over hours, each hour weighted by how often its like occurs."""

    hours: defaultdict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    left: defaultdict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    covered_hours: defaultdict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    covered_cost: defaultdict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    offered: defaultdict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    lost: defaultdict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))

    def add(self, vector: Vector, settled: _Settled, count: int) -> None:
        """Add ``count`` hours that went alike."""
        for into, values in ((self.hours, enumerate(vector)), (self.left, enumerate(settled.left))):
            for index, value in values:
                into[index] += value * count
        for into, by_commitment in (
            (self.covered_hours, settled.covered_hours),
            (self.covered_cost, settled.covered_cost),
            (self.offered, settled.offered),
            (self.lost, settled.lost),
        ):
            for index, value in by_commitment.items():
                into[index] += value * count


@dataclass(frozen=True, slots=True)
class _Matching:
    """Usage slots as priced rows and commitments in a fixed order: what every hour of a bill shares."""

    book: PriceBook
    slots: tuple[RanOffer, ...]
    rows: tuple[UsageRow, ...]
    commitments: tuple[CommitmentTerm, ...]

    def settle_all(self, hours: Mapping[tuple[Active, Vector], int]) -> dict[tuple[Active, Vector], _Settled]:
        """Settle every distinct hour once."""
        layouts = {active: self.layout(active) for active in sorted({a for a, _ in hours})}
        return {like: _settle(self.rows, layouts[like[0]], like[1]) for like in hours}

    def layout(self, active: Active) -> CoverLayout:
        """Pools and draws while just these commitments run, by their index in ``commitments``."""
        chosen = [self.commitments[i] for i in active]
        result = layout_of(self.rows, chosen, self.book)
        pools = [p._replace(commitment=active[p.commitment]) for p in result.pools]
        return CoverLayout(pools, result.steps)

    def active(self, hour: int) -> Active:
        """The commitments whose term runs in an hour."""
        return tuple(i for i, c in enumerate(self.commitments) if is_active(c, hour))


def _end(commitment: CommitmentTerm) -> int:
    return commitment.start_hour + commitment.offer.term_hours


def is_active(commitment: CommitmentTerm, hour: int) -> bool:
    """Whether a term runs in that hour."""
    return commitment.start_hour <= hour < _end(commitment)


def bill_hour(usages: Iterable[Usage], commitments: Iterable[CommitmentTerm], book: PriceBook, hour: int) -> HourBill:
    """The bill of one clock hour: commitments in force applied as their provider does, what they leave at list price.

    Lines come in a fixed order whatever the order given; equal usage is added up. Sustained use, a matter of months,
    is left to :func:`bill`. Raises EvidenceError where a price that decides is missing.
    """
    hours = [tuple(usages)]
    matching = _matching(hours, commitments, book)
    tally, _ = _tally(matching, hours, hour)
    usage = tuple(_usage_line(matching, i, tally, {}) for i in range(len(matching.slots)))
    return HourBill(usage, _commitment_lines(matching, tally, hour, hour + 1), hour)


def bill(
    hours: Sequence[Iterable[Usage]], commitments: Iterable[CommitmentTerm], book: PriceBook, first_hour: int = 0
) -> Bill:
    """The bill of successive clock hours, ``hours[0]`` being ``first_hour``; an empty hour still costs commitments.

    Months for sustained use are 730 h long and one starts at hour 0; the usage of a month that is only partly billed
    is measured against the whole month. Raises EvidenceError where a price that decides is missing.
    """
    held = [tuple(usages) for usages in hours]
    matching = _matching(held, commitments, book)
    tally, discounts = _tally(matching, held, first_hour)
    usage = tuple(_usage_line(matching, i, tally, discounts) for i in range(len(matching.slots)))
    lines = _commitment_lines(matching, tally, first_hour, first_hour + len(held))
    return Bill(usage, lines, first_hour, len(held))


def whole_offer(commitment: CommitmentTerm, book: PriceBook) -> Offer:
    """All of a commitment as one offer, so that :mod:`hcloud.catalog.quote` prices it like any other."""
    offer, option = bought_offer(commitment, book), commitment.offer.key.option
    if option is PurchaseOption.FLEXIBLE_COMMITTED_USE:
        return dollar_offer(offer, commitment.count * price_ratio(commitment, book))
    if option.is_spend_based:
        return dollar_offer(offer, commitment.count)
    scale = commitment.count * resource_scale(commitment, book)
    return replace(offer, hourly=offer.hourly * scale, upfront=offer.upfront * scale)


def _matching(hours: Sequence[Sequence[Usage]], commitments: Iterable[CommitmentTerm], book: PriceBook) -> _Matching:
    ordered = tuple(sorted(commitments, key=_order))
    slots = tuple(sorted({RanOffer(u.key, u.zone) for usages in hours for u in usages if u.instance_hours}))
    return _Matching(book, slots, rows_of(slots, {c.offer.key.provider for c in ordered}, book), ordered)


def _order(commitment: CommitmentTerm) -> tuple[object, ...]:
    """A total order over everything that tells commitments apart, so that the caller's order cannot matter."""
    offer, bought = commitment.offer, commitment.resources
    shape = (bought.vcpus, bought.memory_gib) if bought else ()
    place = (offer.key, commitment.start_hour, commitment.zone)
    return *place, commitment.count, shape, offer.hourly, offer.upfront, str(offer.origin)


def _tally(matching: _Matching, hours: Sequence[Sequence[Usage]], first: int) -> tuple[_Tally, dict[int, Decimal]]:
    """Sums over all hours and the sustained-use discount in dollars by row. Hours that are alike are settled once."""
    months: defaultdict[int, Counter[tuple[Active, Vector]]] = defaultdict(Counter)
    index = {slot: i for i, slot in enumerate(matching.slots)}
    active: Active = ()
    until: float = first
    for hour, usages in enumerate(hours, first):
        if hour >= until:
            active, until = matching.active(hour), _next_change(matching.commitments, hour)
        months[hour // HOURS_PER_MONTH][active, _vector(usages, index)] += 1
    alike = sum(months.values(), Counter())
    settled = matching.settle_all(alike)
    tally = _Tally()
    for like, count in alike.items():
        tally.add(like[1], settled[like], count)
    discounts: defaultdict[int, Decimal] = defaultdict(Decimal)
    for month in months.values():
        for row, dollars in _sustained(matching.rows, [(settled[x].left, n) for x, n in month.items()]):
            discounts[row] += dollars
    return tally, discounts


def _next_change(commitments: Sequence[CommitmentTerm], hour: int) -> float:
    """The next hour in which a term starts or ends."""
    edges = (edge for c in commitments for edge in (c.start_hour, _end(c)) if edge > hour)
    return min(edges, default=float("inf"))


def _vector(usages: Sequence[Usage], index: Mapping[RanOffer, int]) -> Vector:
    """Instance-hours by slot."""
    amounts = [ZERO] * len(index)
    for usage in usages:
        if usage.instance_hours:
            amounts[index[RanOffer(usage.key, usage.zone)]] += usage.instance_hours
    return tuple(amounts)


def _settle(rows: Sequence[UsageRow], layout: CoverLayout, vector: Vector) -> _Settled:
    """One hour: what the layout takes of its rows, summed up by commitment."""
    left = [vector[row.slot] * row.quantity for row in rows]
    hours, cost, offered, lost = (dict.fromkeys((p.commitment for p in layout.pools), ZERO) for _ in range(4))
    found, room = layout.take(left)
    for number, index, taken, _ in found:
        row, owner = rows[index], layout.pools[number].commitment
        hours[owner] += taken * row.share / row.quantity
        cost[owner] += taken * row.rate
    for pool, unused in zip(layout.pools, room, strict=True):
        offered[pool.commitment] += pool.capacity * pool.value
        lost[pool.commitment] += unused * pool.value
    return _Settled(left, hours, cost, offered, lost)


def _sustained(rows: Sequence[UsageRow], month: Sequence[tuple[Sequence[Decimal], int]]) -> list[tuple[int, Decimal]]:
    """Discount in dollars by row for one month of uncovered amounts, each with the number of hours it lasted."""
    pools: defaultdict[Scope, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        if row.sustained:
            pools[sustained_scope(row)].append(index)
    found: list[tuple[int, Decimal]] = []
    for members in pools.values():
        levels: Counter[Decimal] = Counter()
        amounts = dict.fromkeys(members, ZERO)
        for left, count in month:
            levels[sum((left[i] for i in members), ZERO)] += count
            for index in members:
                amounts[index] += left[index] * count
        rule, total = rows[members[0]].sustained, sum(amounts.values(), ZERO)
        if rule and total:
            saved = 1 - charged_unit_hours(levels, rule) / total
            found.extend((i, amounts[i] * rows[i].rate * saved) for i in members)
    return found


def _usage_line(matching: _Matching, slot: int, tally: _Tally, discounts: Mapping[int, Decimal]) -> UsageLine:
    key, zone = matching.slots[slot]
    hours = tally.hours[slot]
    own = [(i, row) for i, row in enumerate(matching.rows) if row.slot == slot]
    covered = sum(((hours - tally.left[i] / row.quantity) * row.share for i, row in own), ZERO)
    list_cost = usage_cost(matching.book.offer(key), hours)
    # Uncovered cost is what covering took off the list price: untouched usage then costs exactly its list price.
    saved = sum(((hours * row.quantity - tally.left[i]) * row.rate for i, row in own), ZERO)
    discount = sum((discounts.get(i, ZERO) for i, _ in own), ZERO)
    return UsageLine(key, zone, hours, list_cost, covered, list_cost - saved, discount)


def _commitment_lines(matching: _Matching, tally: _Tally, first: int, end: int) -> tuple[CommitmentLine, ...]:
    lines = []
    for index, commitment in enumerate(matching.commitments):
        offer, hours = (
            whole_offer(commitment, matching.book),
            max(0, min(end, _end(commitment)) - max(first, commitment.start_hour)),
        )
        offered = tally.offered[index]
        lines.append(
            CommitmentLine(
                commitment,
                hours,
                amortised_cost(offer, hours),
                _cash(offer, commitment.start_hour, first, end),
                tally.covered_hours[index],
                tally.covered_cost[index],
                1 - tally.lost[index] / offered if offered else ZERO,
            )
        )
    return tuple(lines)


def _cash(offer: Offer, start: int, first: int, end: int) -> Decimal:
    """Dollars paid in first <= h < end for a term from ``start``: what had been paid by then less what was before."""

    def paid_before(hour: int) -> Decimal:
        return commitment_cost(offer, hour - start) if hour > start else ZERO

    return paid_before(end) - paid_before(first)


def resource_scale(commitment: CommitmentTerm, book: PriceBook) -> Decimal:
    """How many times its instance type's price a committed-use commitment in explicit vCPUs and GiB costs.

    Google gives both resources of a series one committed-use discount, so both scale with their on-demand prices.
    Raises EvidenceError where those cannot be told apart from the book.
    """
    if commitment.resources is None:
        return ONE
    key = commitment.offer.key
    shape = book.instance_type(key.provider, key.instance_type)
    prices = unit_prices(book, shape.family, key.region)
    bought = commitment.resources
    if prices is None or (prices.ratio is not None and bought.memory_gib != prices.ratio * bought.vcpus):
        raise EvidenceError(
            f"{key}: the book's prices of series {shape.family} do not give a price per vCPU and per GiB",
            hint="import on-demand prices of two types of the series with different GiB per vCPU in this region",
        )
    return prices.of(bought.vcpus, bought.memory_gib) / prices.of(shape.vcpus, shape.memory_gib)


def dollar_offer(offer: Offer, dollars: Decimal) -> Offer:
    """A spend-based commitment of so many dollars an hour as one offer, split by its payment option."""
    upfront = dollars * _UPFRONT_SHARE[offer.key.payment]
    return replace(offer, hourly=dollars - upfront, upfront=upfront * offer.term_hours)


def sustained_cost(levels: Iterable[Decimal], hourly: Decimal, rule: SustainedUse) -> Decimal:
    """Dollars for a month in which ``levels`` units ran in successive hours, at ``hourly`` dollars list price a unit.

    Hours that are not given are hours without usage. Raises ValueError for more than 730 of them.
    """
    return hourly * charged_unit_hours(Counter(levels), rule)

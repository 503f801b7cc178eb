"""Which machine's hours a commitment covers: every clock hour is settled as the provider does, then told by machine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

from hcloud.catalog.bills.days import RentalCharge, clock_hours, month_of
from hcloud.catalog.bills.terms import Term
from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.hour import layout_of, rows_of
from hcloud.catalog.cover.steps import CoveredResource, CoverLayout, RanOffer, UsageRow
from hcloud.catalog.cover.sustained import Scope, charged_unit_hours, sustained_scope
from hcloud.model.report import Period
from hcloud.units import SECONDS_PER_HOUR

ZERO = Decimal(0)
_REMEMBERED = 512  # ours: hours that are alike are settled once

Running = tuple[tuple[int, int], ...]
"""Machines (or terms) with their seconds in an hour."""


class Covered(NamedTuple):
    """Seconds of a machine that a term covers, and how much of the term they use up (in its own units)."""

    rental: int
    term: int
    seconds: Decimal
    drawn: Decimal


class Open(NamedTuple):
    """What is left of a machine's row for on demand: units times seconds."""

    rental: int
    row: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Hour:
    """What became of an hour."""

    covered: tuple[Covered, ...]
    offered: dict[int, Decimal]
    open: tuple[Open, ...]


@dataclass(slots=True)
class Day:
    """The sums of a day: by machine and term the seconds covered, by term and machine what they use up of it, by term
    what it offers, and by machine the dollars that sustained use takes off."""

    seconds: dict[int, defaultdict[int, Decimal]] = field(default_factory=dict)
    drawn: dict[int, defaultdict[int, Decimal]] = field(default_factory=dict)
    offered: defaultdict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    discount: dict[int, Decimal] = field(default_factory=dict)

    def add(self, hour: Hour, count: int) -> None:
        """So many hours that went alike."""
        for rental, term, seconds, drawn in hour.covered:
            self.seconds.setdefault(rental, defaultdict(Decimal))[term] += seconds * count
            self.drawn.setdefault(term, defaultdict(Decimal))[rental] += drawn * count
        for term, offered in hour.offered.items():
            self.offered[term] += offered * count


class Cover:
    """Settles days one after the other; the days of a month have to come in order, since sustained use grows by it."""

    def __init__(self, rentals: Sequence[RentalCharge], terms: Sequence[Term], book: PriceBook) -> None:
        self.rentals, self._terms, self._book = rentals, terms, book
        slots = [RanOffer(r.offers.contracted.key, r.usage.zone) for r in rentals]
        distinct = sorted(set(slots))
        index = {slot: at for at, slot in enumerate(distinct)}
        self._slot_of = [index[slot] for slot in slots]
        self.rows = rows_of(distinct, {t.bought.offer.key.provider for t in terms}, book)
        self._of_slot: dict[int, list[int]] = defaultdict(list)
        for at, row in enumerate(self.rows):
            self._of_slot[row.slot].append(at)
        self._known: dict[tuple[Running, Running], Hour] = {}
        self._layouts: dict[Running, CoverLayout] = {}
        self._sustained = _Sustained(self.rows)

    @property
    def is_sustained(self) -> bool:
        """Whether any machine is of a series whose price falls with the month."""
        return any(row.sustained for row in self.rows)

    def bare_price(self, rental: int) -> Decimal:
        """Dollars an hour of what commitments can cover of a machine: its price without licence and devices."""
        rows = [self.rows[at] for at in self._of_slot[self._slot_of[rental]]]
        rest = sum((r.rate * r.quantity for r in rows if r.resource is CoveredResource.REST), ZERO)
        return self.rentals[rental].offers.contracted.hourly - rest

    def day(self, period: Period, there: Sequence[int]) -> Day:
        """One day of these machines."""
        running: dict[int, list[tuple[int, int]]] = {hour.start: [] for hour in clock_hours(period)}
        for at in there:
            for start, seconds in _by_hour(self.rentals[at], period):
                running[start].append((at, seconds))
        alike: Counter[tuple[Running, Running]] = Counter()
        for hour in clock_hours(period):
            terms = ((at, term.seconds(hour)) for at, term in enumerate(self._terms))
            alike[tuple(running[hour.start]), tuple(t for t in terms if t[1])] += 1
        found = Day()
        for like, count in alike.items():
            hour_ = self._hour(like)
            found.add(hour_, count)
            self._sustained.add(hour_, count, month_of(period.start))
        found.discount = self._sustained.discounts()
        return found

    def _hour(self, like: tuple[Running, Running]) -> Hour:
        if like not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[like] = self._settle(*like)
        return self._known[like]

    def _settle(self, machines: Running, terms: Running) -> Hour:
        by_slot: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for at, seconds in machines:
            by_slot[self._slot_of[at]].append((at, seconds))
        used = {slot: sum(s for _, s in found) for slot, found in by_slot.items()}
        left = [used.get(row.slot, 0) * row.quantity for row in self.rows]
        layout, offered = self._layout(terms), defaultdict[int, Decimal](Decimal)
        for pool in layout.pools:
            offered[pool.commitment] += pool.capacity * pool.value
        takes: dict[int, list[tuple[int, Decimal, Decimal]]] = defaultdict(list)
        for pool_at, row_at, amount, drawn in layout.take(left)[0]:
            pool = layout.pools[pool_at]
            takes[row_at].append((pool.commitment, amount, drawn * pool.value))
        covered, still_open = [], []
        for slot, there in by_slot.items():
            for at in self._of_slot[slot]:
                row = self.rows[at]
                for rental, term, amount, drawn in _dealt(there, takes.get(at, []), row.quantity):
                    if term is None:
                        still_open.append(Open(rental, at, amount))
                    else:
                        covered.append(Covered(rental, term, amount * row.share / row.quantity, drawn))
        return Hour(tuple(covered), dict(offered), tuple(still_open))

    def _layout(self, terms: Running) -> CoverLayout:
        """Pools and draws while these terms run, each for its seconds of the hour."""
        if terms not in self._layouts:
            bought = [self._terms[at].bought for at, _ in terms]
            scaled = [replace(b, count=b.count * seconds) for b, (_, seconds) in zip(bought, terms, strict=True)]
            found = layout_of(self.rows, scaled, self._book)
            pools = [p._replace(commitment=terms[p.commitment][0]) for p in found.pools]
            self._layouts[terms] = CoverLayout(pools, found.steps)
        return self._layouts[terms]


def _by_hour(rental: RentalCharge, period: Period) -> Iterator[tuple[int, int]]:
    """The clock hours of a period in which a machine is charged, by their beginning, with the seconds charged."""
    start = max(rental.usage.start // SECONDS_PER_HOUR * SECONDS_PER_HOUR, period.start)
    last, before = min(rental.end, period.end), rental.billed(start)
    while start < last:
        end = min((start // SECONDS_PER_HOUR + 1) * SECONDS_PER_HOUR, last)
        by = rental.billed(end)
        if by > before:
            yield start, by - before
        start, before = end, by


def _dealt(
    machines: Sequence[tuple[int, int]], takes: Sequence[tuple[int, Decimal, Decimal]], quantity: Decimal
) -> Iterator[tuple[int, int | None, Decimal, Decimal]]:
    """What was taken of a row, dealt out to its machines, the first in line covered first; None: to nobody."""
    waiting = list(reversed(takes))
    term, room, drawn = waiting.pop() if waiting else (None, ZERO, ZERO)
    for rental, seconds in machines:
        need = seconds * quantity
        while term is not None and need:
            amount = min(need, room)
            share = drawn if amount == room else drawn * amount / room
            yield rental, term, amount, share
            need, room, drawn = need - amount, room - amount, drawn - share
            if not room:
                term, room, drawn = waiting.pop() if waiting else (None, ZERO, ZERO)
        if need:
            yield rental, None, need, ZERO


class _Sustained:
    """The discount of a month as it grows: what is open is pooled by series and region, level by level."""

    def __init__(self, rows: Sequence[UsageRow]) -> None:
        self._rows = rows
        self._scopes = {at: sustained_scope(row) for at, row in enumerate(rows) if row.sustained}
        self._month: Period | None = None
        self._levels: dict[Scope, Counter[Decimal]] = {}
        self._amounts: dict[Scope, Decimal] = {}
        self._values: dict[Scope, Decimal] = {}
        self._told: dict[Scope, Decimal] = {}
        self._today: dict[Scope, defaultdict[int, Decimal]] = {}

    def add(self, hour: Hour, count: int, month: Period) -> None:
        """So many hours that went alike."""
        if not self._scopes:
            return
        if month != self._month:
            self._month = month
            self._levels, self._amounts, self._values, self._told = {}, {}, {}, {}
        level: defaultdict[Scope, Decimal] = defaultdict(Decimal)
        for rental, at, amount in hour.open:
            scope = self._scopes.get(at)
            if scope is not None:
                level[scope] += amount
                worth = amount * self._rows[at].rate * count
                self._values[scope] = self._values.get(scope, ZERO) + worth
                self._today.setdefault(scope, defaultdict(Decimal))[rental] += worth
        for scope, amount in level.items():
            self._levels.setdefault(scope, Counter())[amount] += count
            self._amounts[scope] = self._amounts.get(scope, ZERO) + amount * count

    def discounts(self) -> dict[int, Decimal]:
        """Dollars off since this was asked last, by machine."""
        found: defaultdict[int, Decimal] = defaultdict(Decimal)
        for scope, by_rental in self._today.items():
            grown = self._discount(scope) - self._told.get(scope, ZERO)
            self._told[scope] = self._told.get(scope, ZERO) + grown
            whole = sum(by_rental.values(), ZERO)
            for rental, worth in by_rental.items():
                found[rental] += grown * worth / whole
        self._today = {}
        return dict(found)

    def _discount(self, scope: Scope) -> Decimal:
        """Dollars off for the month so far. Levels are unit-seconds of an hour, and so are the hours charged."""
        rule = next(self._rows[at].sustained for at, s in self._scopes.items() if s == scope)
        if rule is None or self._month is None:
            return ZERO
        hours = (self._month.end - self._month.start) // SECONDS_PER_HOUR
        charged = charged_unit_hours(self._levels[scope], rule, hours)
        return self._values[scope] / SECONDS_PER_HOUR * (1 - charged / self._amounts[scope])

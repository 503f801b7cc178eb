"""The fakes' own bill: what machines and commitments cost by their clock and prices. It judges reports, and shares
nothing with what it judges: no price book, no matching, no formula of hcloud's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from hcloud.fake.ledger import BoughtCommitment, Ledger, Rented
from hcloud.model.catalog import BillingRule

HOUR, DAY = 3600, 86_400
NOTHING = Decimal(0)
BY_THE_MINUTE_AT_LEAST = BillingRule(1, 60)
BY_THE_SECOND = BillingRule(1, 1)


@dataclass(frozen=True, slots=True)
class Meter:
    """One thing that a machine is charged for: so many units of a pool that commitments cover (empty: none does), and
    dollars an hour for all of them."""

    pool: str
    units: Decimal
    hourly: Decimal


@dataclass(frozen=True, slots=True)
class FakeTerms:
    """What a commitment costs and gives: dollars at its start and an hour, units by pool, or dollars an hour of usage
    at a share of its price (``at`` by instance type; a type that is missing is not covered)."""

    upfront: Decimal
    hourly: Decimal
    units: Mapping[str, Decimal] = field(default_factory=dict)
    spend: Decimal = NOTHING
    at: Mapping[str, Decimal] = field(default_factory=dict)
    rank: int = 0


class FakeTariff(Protocol):
    """What a fake asks for what it rents out and sells."""

    rule: BillingRule

    def meters(self, rented: Rented) -> tuple[Meter, ...]:
        """What a machine is charged for, now."""

    def terms(self, purchase: BoughtCommitment) -> FakeTerms:
        """What a purchase costs and gives."""


@dataclass(slots=True)
class FakeBill:
    """Dollars by machine (or purchase) and day, the day as its first second since 1970."""

    lines: defaultdict[tuple[str, int], Decimal] = field(default_factory=lambda: defaultdict(lambda: NOTHING))

    @property
    def total(self) -> Decimal:
        """All of it."""
        return sum(self.lines.values(), NOTHING)


@dataclass(slots=True)
class _Left:
    """Seconds of one meter of a machine in an hour that no commitment covers (yet)."""

    machine: Rented
    meter: Meter
    seconds: Decimal


def bill(ledger: Ledger, tariff: FakeTariff, start: int, end: int) -> FakeBill:
    """What is charged from ``start`` to before ``end``, in whole seconds since 1970 as the fake tells them.

    Commitments are used clock hour by clock hour: machines' units first, the smaller and then the older machine before
    the others, then what was committed to be spent, where it saves most and of that at the lowest rate first. Their
    fees run whether they are used or not; one that was given back or dequeued costs nothing.
    """
    found = FakeBill()
    with ledger.held():
        machines = sorted(ledger.machines.values(), key=lambda m: (int(m.made_at), m.id))
        held = [(p, tariff.terms(p)) for _, p in sorted(ledger.purchases.items()) if p.cancelled_at is None]
    held.sort(key=lambda x: (x[1].rank, int(x[0].starts_at) + x[0].term_seconds))
    for hour, until in _hours(start, end):
        left = [
            _Left(m, meter, s)
            for m in machines
            if (s := Decimal(_charged_by(m, tariff.rule, until) - _charged_by(m, tariff.rule, hour)))
            for meter in tariff.meters(m)
        ]
        _cover_units(left, held, (hour, until))
        _cover_spend(left, held, (hour, until))
        for one in left:
            found.lines[one.machine.id, hour // DAY * DAY] += one.seconds * one.meter.hourly / HOUR
    for purchase, terms in held:
        for hour, until in _hours(start, end):
            seconds = _of_term(purchase, hour, until)
            if hour <= int(purchase.starts_at) < until:
                found.lines[purchase.id, hour // DAY * DAY] += terms.upfront
            if seconds:
                found.lines[purchase.id, hour // DAY * DAY] += terms.hourly * seconds / HOUR
    return found


def _hours(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The clock hours of a span, cut at its ends."""
    while start < end:
        until = min(start // HOUR * HOUR + HOUR, end)
        yield start, until
        start = until


def _charged_by(machine: Rented, rule: BillingRule, at: int) -> int:
    """Seconds of a machine that are charged until then, the minimum from when it begins."""
    over = at if machine.asked_to_end is None else min(at, int(machine.asked_to_end))
    seconds = over - int(machine.made_at)
    if seconds <= 0:
        return 0
    return max(-(-seconds // rule.step_seconds) * rule.step_seconds, rule.minimum_seconds)


def _of_term(purchase: BoughtCommitment, start: int, end: int) -> int:
    begins = int(purchase.starts_at)
    return max(min(end, begins + purchase.term_seconds) - max(start, begins), 0)


def _cover_units(
    left: Sequence[_Left], held: Sequence[tuple[BoughtCommitment, FakeTerms]], hour: tuple[int, int]
) -> None:
    pools: defaultdict[str, Decimal] = defaultdict(lambda: NOTHING)
    for purchase, terms in held:
        for pool, units in terms.units.items():
            pools[pool] += units * _of_term(purchase, *hour)
    for one in sorted(left, key=lambda x: x.meter.units):
        if one.meter.pool and one.meter.units:
            covered = min(one.seconds, pools[one.meter.pool] / one.meter.units)
            pools[one.meter.pool] -= covered * one.meter.units
            one.seconds -= covered


def _cover_spend(
    left: Sequence[_Left], held: Sequence[tuple[BoughtCommitment, FakeTerms]], hour: tuple[int, int]
) -> None:
    for purchase, terms in held:
        dollars = terms.spend * _of_term(purchase, *hour) / HOUR
        eligible = [
            (terms.at[one.machine.instance_type], one)
            for one in left
            if one.meter.pool and one.machine.instance_type in terms.at
        ]
        for share, one in sorted(eligible, key=lambda x: (x[0], x[0] * x[1].meter.hourly)):
            rate = one.meter.hourly * share / HOUR
            covered = min(one.seconds, dollars / rate)
            dollars -= covered * rate
            one.seconds -= covered


_SIZES = {"nano": "0.25", "micro": "0.5", "small": "1", "medium": "2", "large": "4", "xlarge": "8"}


def family_of(instance_type: str) -> str:
    """What stands before the dot."""
    return instance_type.partition(".")[0]


def units_of(instance_type: str) -> Decimal:
    """Normalised units of a size: 4 for large, 8 for xlarge, and 8 for each x of the larger ones."""
    size = instance_type.partition(".")[2]
    return Decimal(_SIZES[size]) if size in _SIZES else Decimal(size.removesuffix("xlarge")) * 8

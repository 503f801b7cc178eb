"""When things are charged: days and clock hours in UTC, calendar months, and the seconds of a rental by then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

from hcloud.catalog.quote import billed_seconds
from hcloud.model.catalog import BillingRule, Offer
from hcloud.model.report import MachineRental, Period
from hcloud.units import SECONDS_PER_HOUR

DAY = 86_400
_HOURS = Decimal("1e-12")  # ours: hours of a row are told to this, a hundred-millionth of a second
_DOLLARS = Decimal("1e-18")  # ours: a price in millionths times such hours is exact, and so are sums up to $10^10


def exact_hours(seconds: Decimal | int) -> Decimal:
    """Seconds as hours, in steps that add up without loss."""
    return (Decimal(seconds) / SECONDS_PER_HOUR).quantize(_HOURS)


def exact_dollars(amount: Decimal) -> Decimal:
    """Dollars in steps that add up without loss."""
    return amount.quantize(_DOLLARS)


def days(period: Period) -> Iterator[Period]:
    """The days (UTC) of a period, cut at its ends."""
    return _cut(period, DAY)


def clock_hours(period: Period) -> Iterator[Period]:
    """The clock hours of a period, cut at its ends."""
    return _cut(period, SECONDS_PER_HOUR)


def _cut(period: Period, step: int) -> Iterator[Period]:
    start = period.start
    while start < period.end:
        end = min((start // step + 1) * step, period.end)
        yield Period(start, end)
        start = end


def month_of(moment: int) -> Period:
    """The calendar month (UTC) of a moment."""
    first = datetime.fromtimestamp(moment, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return Period(int(first.timestamp()), int(after.timestamp()))


def within(period: Period, start: int, end: int) -> int:
    """Seconds of a span that lie in a period."""
    return max(min(period.end, end) - max(period.start, start), 0)


class Offers(NamedTuple):
    """What a machine is rented at, what it would be on demand, and what everybody is asked for on demand."""

    paid: Offer
    contracted: Offer
    listed: Offer

    def at_list(self, contracted: Decimal) -> Decimal:
        """Dollars at the contracted price on demand as they would be at the list price."""
        if self.listed.hourly == self.contracted.hourly:
            return contracted
        return exact_dollars(contracted * self.listed.hourly / self.contracted.hourly)


@dataclass(frozen=True, slots=True)
class RentalCharge:
    """A machine's rental with its prices, up to ``until`` where it still runs."""

    usage: MachineRental
    offers: Offers
    rule: BillingRule
    until: int

    @property
    def end(self) -> int:
        """When it is over, as far as is reported."""
        return self.until if self.usage.end is None else self.usage.end

    def billed(self, at: int) -> int:
        """Seconds that are charged for by then. Charges of successive periods are differences of this: they add up to
        the bill of the whole, whatever its step and minimum."""
        return billed_seconds(max(min(at, self.end) - self.usage.start, 0), self.rule)

    def seconds(self, period: Period) -> int:
        """Seconds that are charged in a period."""
        return self.billed(period.end) - self.billed(period.start)

    def hours(self, period: Period) -> Decimal:
        """The same in hours, exact over successive periods."""
        return exact_hours(self.billed(period.end)) - exact_hours(self.billed(period.start))

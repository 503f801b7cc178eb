"""What is different between two plans, and why: prices, demand, or decisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from hcloud.model.catalog import PurchaseOption

SETTINGS_DIGEST, PRICES_DIGEST = "settings digest", "prices digest"


@dataclass(frozen=True, slots=True)
class Shift:
    """A figure before and after; ``difference`` is after less before."""

    before: Decimal
    after: Decimal
    difference: Decimal


def shift(before: Decimal, after: Decimal) -> Shift:
    """The shift from one figure to another."""
    return Shift(before, after, after - before)


class Mark(StrEnum):
    """What became of a part of the plan; the value is the symbol people see. COMMIT is more to buy for a term."""

    ADD = "+"
    REMOVE = "-"
    CHANGE = "~"
    COMMIT = "$"


@dataclass(frozen=True, slots=True)
class Effects:
    """Why dollars an hour moved. ``prices`` is what dearer or cheaper offers make of it, ``demand`` what more or less
    mean demand does at the same shares, ``decisions`` the rest: which types, options and counts for that demand. They
    add up to the difference exactly."""

    prices: Decimal
    demand: Decimal
    decisions: Decimal

    @property
    def total(self) -> Decimal:
        """The difference they explain."""
        return self.prices + self.demand + self.decisions


@dataclass(frozen=True, slots=True)
class PartShift:
    """One offer (bought at one time of the horizon) in both plans; what a plan does not have counts as zero."""

    mark: Mark
    address: str
    option: PurchaseOption
    starts_hour: int
    count: Shift
    hourly: Shift
    upfront: Shift
    effects: Effects


@dataclass(frozen=True, slots=True)
class OptionShift:
    """All parts of one purchase option; ``count`` is the most instances of it at one time, ``upfront`` the cash of all
    days together."""

    option: PurchaseOption
    count: Shift
    hourly: Shift
    upfront: Shift


@dataclass(frozen=True, slots=True)
class PriceShift:
    """An offer whose price for one instance moved, in dollars an hour, and the days the prices are of."""

    address: str
    price: Shift
    day_before: str
    day_after: str


@dataclass(frozen=True, slots=True)
class QualityShift:
    """A predicted figure before and after, None where a plan predicts none; ``half`` is half of its 95 % interval."""

    name: str
    unit: str
    before: float | None
    after: float | None
    difference: float | None
    half_before: float | None = None
    half_after: float | None = None


@dataclass(frozen=True, slots=True)
class TextShift:
    """Something a plan was made from, before and after; empty where a plan does not have it."""

    key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two plans, as its reader knows it."""

    name: str
    made: datetime


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """All that is different from ``base`` (None: there was no plan) to ``head``.

    ``hourly`` and ``monthly`` are what the plans come to; ``rounding`` is by how much these differ from the sum of
    their parts. ``upfront`` is the cash of all purchases, ``upfront_now`` what of it is due now. ``simulated_monthly``
    is what running them would cost where all there are were simulated, else None. ``mean_cores`` and ``peak_cores`` are
    None where a plan was made from no trace. ``inputs`` are different traces, prices and settings as a whole,
    ``settings`` the single ones that the plans state. Nothing of this depends on when the plans were made.
    """

    currency: str
    base: Side | None
    head: Side | None
    hourly: Shift
    monthly: Shift
    simulated_monthly: Shift | None
    upfront: Shift
    upfront_now: Shift
    longest_term_years: Shift
    effects: Effects
    rounding: Shift
    options: tuple[OptionShift, ...]
    parts: tuple[PartShift, ...]
    prices: tuple[PriceShift, ...]
    mean_cores: Shift | None
    peak_cores: Shift | None
    quality: tuple[QualityShift, ...]
    inputs: tuple[TextShift, ...]
    settings: tuple[TextShift, ...]
    new_warnings: tuple[str, ...]
    gone_warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both plans come to the same. Warnings alone are no difference, nor are digests of settings and
        prices: they change with what is left of owned terms, and with what was merely looked at."""
        money = (self.hourly, self.monthly, self.upfront, self.upfront_now, self.longest_term_years)
        moved = any(m.difference for m in money) or (self.base is None) != (self.head is None)
        told = [t for t in self.inputs if t.key not in (SETTINGS_DIGEST, PRICES_DIGEST)]
        return not (moved or self.parts or self.quality or told or self.settings or self.prices)

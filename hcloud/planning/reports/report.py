"""What every report is made of: charges of a period, grouped so that the parts always add up to the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_FLOOR, Decimal
from enum import StrEnum

from hcloud.model.catalog import PurchaseOption
from hcloud.model.report import Charge, ChargeCategory, Costs, Period
from hcloud.units import CENT, cents

COMMITMENTS = "(commitments)"
"""Whose charges are of no machine: what commitments were not used for, and what was paid for them."""
UNNAMED = "(none)"
"""What has no application, team or type to it."""
TEAM_TAG = "team"
"""The tag that says whose a machine is, where the configuration names no other."""


class ReportSource(StrEnum):
    """What a report is made from."""

    PLAN = "plan"
    JOURNAL = "journal"
    LIVE = "live"


class Dimension(StrEnum):
    """What charges can be grouped by."""

    APP = "app"
    TEAM = "team"
    TYPE = "type"
    OPTION = "option"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class ReportedCommitment:
    """A commitment that a report tells of; ``dollars_per_hour`` where it is spend-based, else ``count`` machines."""

    id: str
    option: PurchaseOption
    instance_type: str
    region: str
    count: Decimal
    dollars_per_hour: Decimal | None
    starts: datetime | None
    ends: datetime | None


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What the same use would have cost otherwise, in dollars of the period."""

    name: str
    description: str
    dollars: Decimal


@dataclass(frozen=True, slots=True)
class Report:
    """Charges with what is needed to read them. ``name`` says which plan, journal or cloud it is; ``price_day`` is the
    day of the oldest price."""

    source: ReportSource
    name: str
    period: Period
    charges: tuple[Charge, ...]
    holdings: tuple[ReportedCommitment, ...]
    counterfactuals: tuple[Counterfactual, ...]
    price_day: date | None
    notes: tuple[str, ...] = ()
    team_tag: str = TEAM_TAG

    @property
    def costs(self) -> Costs:
        """The whole."""
        return total(self.charges)


@dataclass(frozen=True, slots=True)
class ChargeGroup:
    """Charges with the same keys, one a dimension; ``hours`` are those of machines."""

    keys: tuple[str, ...]
    hours: Decimal
    costs: Costs


def total(charges: Iterable[Charge]) -> Costs:
    """All charges together."""
    found = Costs()
    for charge in charges:
        found = found + charge.costs
    return found


def grouped(charges: Iterable[Charge], by: Sequence[Dimension], team_tag: str = TEAM_TAG) -> tuple[ChargeGroup, ...]:
    """Charges by some dimensions, the dearest first; days in their order where only they are asked for."""
    costs: dict[tuple[str, ...], Costs] = {}
    hours: dict[tuple[str, ...], Decimal] = {}
    for charge in charges:
        keys = tuple(key_of(charge, dimension, team_tag) for dimension in by)
        costs[keys] = costs.get(keys, Costs()) + charge.costs
        hours[keys] = hours.get(keys, Decimal(0)) + (charge.hours if charge.resource else Decimal(0))
    groups = [ChargeGroup(keys, hours[keys], found) for keys, found in costs.items()]
    if by and by[0] is Dimension.DAY:
        return tuple(sorted(groups, key=lambda g: (g.keys[0], -g.costs.effective, g.keys)))
    return tuple(sorted(groups, key=lambda g: (-g.costs.effective, -g.costs.billed, g.keys)))


def key_of(charge: Charge, dimension: Dimension, team_tag: str = TEAM_TAG) -> str:
    """Where a charge belongs by a dimension."""
    if dimension is Dimension.DAY:
        return datetime.fromtimestamp(charge.start, UTC).date().isoformat()
    if dimension is Dimension.OPTION:
        return str(charge.option)
    if dimension is Dimension.TYPE:
        return charge.instance_type or UNNAMED
    if not charge.resource:
        return COMMITMENTS
    return (charge.address if dimension is Dimension.APP else charge.tags.get(team_tag, "")) or UNNAMED


def is_purchase(charge: Charge) -> bool:
    """Whether it is what was paid for a commitment."""
    return charge.category is ChargeCategory.PURCHASE


def to_cents(amounts: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """Amounts rounded to the cent so that they add up to the rounded whole: those with most to lose are rounded up."""
    whole = cents(sum(amounts, Decimal(0)))
    floors = [amount.quantize(CENT, rounding=ROUND_FLOOR) for amount in amounts]
    short = int((whole - sum(floors, Decimal(0))) / CENT)
    order = sorted(range(len(amounts)), key=lambda at: (floors[at] - amounts[at], at))
    raised = set(order[:short])
    return tuple(floor + CENT if at in raised else floor for at, floor in enumerate(floors))


def shown(costs: Sequence[Costs]) -> tuple[Costs, ...]:
    """The same of all four costs."""
    columns = (to_cents([getattr(c, name) for c in costs]) for name in ("list", "contracted", "effective", "billed"))
    return tuple(Costs(*four) for four in zip(*columns, strict=True))

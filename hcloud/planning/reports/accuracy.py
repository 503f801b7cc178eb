"""What was predicted beside what happened: each figure with its error, and why dollars differ, adding up exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from hcloud.model.report import Charge
from hcloud.planning.reports.report import is_purchase
from hcloud.units import CENT

ZERO, DIME = Decimal(0), Decimal("0.1")


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A figure as it was predicted (with its interval, where there is one) and as it came; None where it is not known.

    ``unit`` is ``$/h``, ``$/month``, ``share``, ``s`` or ``vCPU``.
    """

    name: str
    unit: str
    predicted: Decimal | None
    actual: Decimal | None
    low: Decimal | None = None
    high: Decimal | None = None

    @property
    def error(self) -> Decimal | None:
        """By what fraction the actual figure exceeds the predicted one."""
        if self.predicted is None or self.actual is None or not self.predicted:
            return None
        return self.actual / self.predicted - 1

    @property
    def inside(self) -> bool | None:
        """Whether the actual figure lies in the interval; None without either."""
        if self.low is None or self.high is None or self.actual is None:
            return None
        return self.low <= self.actual <= self.high


@dataclass(frozen=True, slots=True)
class Item:
    """Machines of one kind over an hour: how many, of how many vCPUs each, and their effective dollars together."""

    machines: Decimal
    vcpus: Decimal
    dollars: Decimal

    @property
    def volume(self) -> Decimal:
        """vCPUs of them."""
        return self.machines * self.vcpus


@dataclass(frozen=True, slots=True)
class CostEffects:
    """Dollars an hour from predicted to actual: by other prices of the same kinds, by more or fewer vCPUs rented, and
    by another mix of kinds. They add up exactly. ``demand`` is the part of the volume that came with demand, None where
    that is not known; the rest is vCPUs beside it: gaps, starts and idle machines."""

    predicted: Decimal
    price: Decimal
    volume: Decimal
    mix: Decimal
    actual: Decimal
    demand: Decimal | None = None

    @property
    def difference(self) -> Decimal:
        """All three."""
        return self.actual - self.predicted


Items = Mapping[tuple[str, str], Item]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Figures of a plan beside those of a source over ``hours``, and why the dollars of an hour differ from those of
    the plan's mix. Without a plan (its name is empty) they are what a controller expected when it decided."""

    plan: str
    source: str
    hours: Decimal
    figures: tuple[ComparedFigure, ...]
    effects: CostEffects | None
    notes: tuple[str, ...] = ()


def items_of(charges: Iterable[Charge], hours: Decimal, vcpus: Callable[[str], Decimal]) -> Items:
    """Charges over ``hours`` by instance type and option; the unused part of a commitment is machines of its kind."""
    found: dict[tuple[str, str], Item] = {}
    for charge in charges:
        if is_purchase(charge):
            continue
        kind = charge.instance_type, str(charge.option)
        before = found.get(kind, Item(ZERO, vcpus(charge.instance_type) if charge.instance_type else ZERO, ZERO))
        machines = charge.hours / hours if charge.instance_type else ZERO
        found[kind] = Item(before.machines + machines, before.vcpus, before.dollars + charge.costs.effective / hours)
    return found


def effects(predicted: Items, actual: Items, grown_by: Decimal | None = None) -> CostEffects:
    """Why the dollars of an hour differ. A kind that was not predicted counts at its actual price, and so in the mix;
    ``grown_by`` is by what fraction the demand was larger than predicted.

    The three are rounded to the cent (to a hundredth of one below a dime), the mix to what the others leave.
    """
    before, after = _dollars(predicted), _dollars(actual)
    at_predicted = sum((_at_predicted(predicted.get(kind), item) for kind, item in actual.items()), ZERO)
    volume_before = sum((i.volume for i in predicted.values()), ZERO)
    grown = sum((i.volume for i in actual.values()), ZERO) - volume_before
    step = CENT if max(before, after) >= DIME else CENT * CENT

    def rounded(amount: Decimal) -> Decimal:
        return amount.quantize(step, ROUND_HALF_UP)

    volume = rounded(grown * before / volume_before if volume_before else ZERO)
    price = rounded(after - at_predicted)
    difference = rounded(after) - rounded(before)
    demand = None if grown_by is None else rounded(before * grown_by)
    return CostEffects(rounded(before), price, volume, difference - price - volume, rounded(after), demand)


def _dollars(items: Items) -> Decimal:
    return sum((i.dollars for i in items.values()), ZERO)


def _at_predicted(known: Item | None, item: Item) -> Decimal:
    """An item at the predicted price of its kind; what has no vCPUs (a commitment to spend) as its dollars then, and
    what was not predicted as it came."""
    if known is None or bool(known.volume) != bool(item.volume):
        return item.dollars
    return item.volume * known.dollars / known.volume if known.volume else known.dollars

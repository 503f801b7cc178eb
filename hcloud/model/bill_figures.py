"""What a bill amounts to: its usage by what it was, and how well commitments cover it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from hcloud.model.bill import Bill, BilledCommitment, BilledUsage, Service

NOTHING = Decimal(0)
_SHARE = Decimal("0.000001")


def size_of(usage: BilledUsage) -> str:
    """The size of its machines: the instance type, or what is sold without one."""
    return usage.kind.instance_type or (usage.kind.family if usage.kind.service is Service.INSTANCES else "")


DIMENSIONS: Mapping[str, Callable[[BilledUsage], str]] = {
    "account": lambda usage: usage.kind.account,
    "region": lambda usage: usage.kind.region,
    "family": lambda usage: usage.kind.family,
    "size": size_of,
    "os": lambda usage: usage.kind.os,
    "tenancy": lambda usage: usage.kind.tenancy,
}
"""By what usage is told apart."""


@dataclass(slots=True)
class UsageFigures:
    """Usage that has something in common. ``hours`` are instance-hours (vCPU-hours where no instance is named) without
    spot, ``covered_hours`` those that a commitment paid for; ``list_cost`` is None where the bill does not say it of
    all."""

    name: str
    hours: float = 0.0
    covered_hours: float = 0.0
    spot_hours: float = 0.0
    list_cost: Decimal | None = NOTHING
    covered_list_cost: Decimal = NOTHING
    cost: Decimal = NOTHING
    spot_cost: Decimal = NOTHING

    def add(self, usage: BilledUsage) -> None:
        """Count usage in."""
        hours = float(usage.hours.sum())
        covered = sum(float(part.sum()) for part in usage.covered.values()) if hours else 0.0
        self.hours += hours
        self.covered_hours += covered
        self.spot_hours += float(usage.spot.sum()) if usage.spot is not None else 0.0
        self.cost += usage.cost
        self.spot_cost += usage.spot_cost
        if usage.list_cost is not None and self.list_cost is not None:
            self.list_cost += usage.list_cost
            told = usage.covered_list_cost
            by_hours = Decimal(min(covered / hours, 1.0) if hours else 0.0)
            self.covered_list_cost += usage.list_cost * by_hours if told is None else told
        elif hours:
            self.list_cost = None

    @property
    def coverage(self) -> Decimal | None:
        """The part of it that commitments cover: by list cost, else by hours; None where nothing could be covered."""
        if self.list_cost:
            return (self.covered_list_cost / self.list_cost).quantize(_SHARE)
        return Decimal(self.covered_hours / self.hours).quantize(_SHARE) if self.hours else None

    @property
    def rank(self) -> tuple[Decimal, float, str]:
        """The largest come first by it: what it costs at list prices, else what was paid, then hours."""
        cost = self.list_cost if self.list_cost is not None else self.cost
        return -(cost + self.spot_cost), -self.hours - self.spot_hours, self.name


@dataclass(frozen=True, slots=True)
class BillFigures:
    """A bill, its usage as a whole and by each of ``DIMENSIONS`` (the largest first), and its commitments in the order
    in which they end."""

    bill: Bill
    usage: UsageFigures
    by: Mapping[str, tuple[UsageFigures, ...]]
    commitments: tuple[BilledCommitment, ...] = field(default=())

    @property
    def utilisation(self) -> Decimal | None:
        """The part of the commitments' cost that covered usage; None where the bill does not say it of any, or lacks
        columns of it."""
        if self.bill.lacking:
            return None
        told = [c for c in self.commitments if c.used is not None]
        paid = sum((c.paid for c in told), NOTHING)
        return (sum((c.used or NOTHING for c in told), NOTHING) / paid).quantize(_SHARE) if paid else None

    @property
    def unused(self) -> Decimal:
        """What was paid for commitments that covered nothing."""
        return sum((c.unused for c in self.commitments), NOTHING)

    @property
    def is_without_amortised(self) -> bool:
        """Whether commitments cover something, and the bill says nothing of what that cost."""
        return self.usage.covered_hours > 0 and not any(
            cost for usage in self.bill.usage for cost in usage.covered_cost.values()
        )

    @property
    def effective_savings_rate(self) -> Decimal | None:
        """1 - (amortised cost of usage + unused commitments) / cost of the usage at list prices; spot apart. None where
        the bill lacks a part of it, as one of actual costs does of what commitments cover."""
        if self.bill.lacking or self.is_without_amortised:
            return None
        listed = self.usage.list_cost
        return (1 - (self.usage.cost + self.unused) / listed).quantize(_SHARE) if listed else None


def figures_of(bill: Bill) -> BillFigures:
    """The figures of a bill."""
    by = {name: _by(bill.usage, of) for name, of in DIMENSIONS.items()}
    ends = sorted(bill.commitments, key=lambda c: (c.end is None, c.end.timestamp() if c.end else 0.0, c.id))
    whole = UsageFigures("all")
    for usage in bill.usage:
        whole.add(usage)
    return BillFigures(bill, whole, by, tuple(ends))


def _by(usages: Iterable[BilledUsage], of: Callable[[BilledUsage], str]) -> tuple[UsageFigures, ...]:
    found: dict[str, UsageFigures] = {}
    for usage in usages:
        name = of(usage) or str(usage.kind.service)
        found.setdefault(name, UsageFigures(name)).add(usage)
    return tuple(sorted(found.values(), key=lambda figures: figures.rank))

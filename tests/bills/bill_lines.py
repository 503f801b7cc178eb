"""What a bill says: usage with what became of it, commitments with what they did, and the sums."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.catalog import OfferKey, PurchaseOption
from hcloud.model.usage import CommitmentTerm

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True, order=True)
class Usage:
    """Instance-hours of one type that ran within one clock hour, named by its on-demand offer.

    ``instance_hours`` are already rounded to the billing step; 2.5 means two instances all hour and one for half of it.
    ``zone`` matters only to zonal reservations. Raises ValueError for another option than on-demand or a bad amount.
    """

    key: OfferKey
    instance_hours: Decimal
    zone: str = ""

    def __post_init__(self) -> None:
        if self.key.option is not PurchaseOption.ON_DEMAND:
            raise ValueError(f"{self.key}: usage is named by its on-demand offer")
        if not self.instance_hours.is_finite() or self.instance_hours < 0:
            raise ValueError(f"{self.key}: instance-hours must be a finite number of at least 0")


@dataclass(frozen=True, slots=True)
class UsageLine:
    """What became of the usage of one type (and zone) over the billed hours, in dollars at list price.

    ``covered_hours`` are instance-hours paid for by commitments; where vCPUs and GiB are covered apart, their
    value-weighted mean. ``on_demand_cost`` is the uncovered rest at list price, before ``sustained_discount``.
    """

    key: OfferKey
    zone: str
    instance_hours: Decimal
    list_cost: Decimal
    covered_hours: Decimal
    on_demand_cost: Decimal
    sustained_discount: Decimal = ZERO

    @property
    def billed(self) -> Decimal:
        """Dollars charged on demand."""
        return self.on_demand_cost - self.sustained_discount

    @property
    def coverage(self) -> Decimal:
        """Fraction of the instance-hours covered, 0 without usage."""
        return self.covered_hours / self.instance_hours if self.instance_hours else ZERO


@dataclass(frozen=True, slots=True)
class CommitmentLine:
    """What one commitment cost and did over the billed hours.

    ``hours`` are those of its term inside the billed ones, ``amortised`` its effective cost for them and ``cash`` what
    is paid in them (the upfront payment in its first hour, then the recurring charge), in dollars. ``covered_cost``
    and ``covered_hours`` are the list dollars and instance-hours it covered, ``utilisation`` the fraction of it used.
    """

    commitment: CommitmentTerm
    hours: int
    amortised: Decimal
    cash: Decimal
    covered_hours: Decimal
    covered_cost: Decimal
    utilisation: Decimal

    @property
    def unused(self) -> Decimal:
        """Amortised dollars that bought nothing."""
        return self.amortised * (1 - self.utilisation)


@dataclass(frozen=True, slots=True)
class BillLines:
    """Usage and commitment lines with their sums, all in dollars."""

    usage: tuple[UsageLine, ...]
    commitments: tuple[CommitmentLine, ...]

    @property
    def list_cost(self) -> Decimal:
        """All usage at list price: what it would cost without commitments or discounts."""
        return sum((u.list_cost for u in self.usage), ZERO)

    @property
    def sustained_discount(self) -> Decimal:
        """Google's sustained-use discount on the uncovered usage."""
        return sum((u.sustained_discount for u in self.usage), ZERO)

    @property
    def on_demand_cost(self) -> Decimal:
        """Uncovered usage as charged, after the sustained-use discount."""
        return sum((u.billed for u in self.usage), ZERO)

    @property
    def commitment_cost(self) -> Decimal:
        """Amortised cost of every commitment, used or not."""
        return sum((c.amortised for c in self.commitments), ZERO)

    @property
    def unused(self) -> Decimal:
        """Amortised dollars of commitments that covered nothing."""
        return sum((c.unused for c in self.commitments), ZERO)

    @property
    def total(self) -> Decimal:
        """On-demand charges plus amortised commitments (effective cost)."""
        return self.on_demand_cost + self.commitment_cost

    @property
    def cash(self) -> Decimal:
        """Dollars paid in the billed hours: on-demand charges, upfront payments and recurring charges."""
        return self.on_demand_cost + sum((c.cash for c in self.commitments), ZERO)

    @property
    def coverage(self) -> Decimal:
        """Fraction of the list cost that commitments covered, 0 without usage."""
        whole = self.list_cost
        return sum((c.covered_cost for c in self.commitments), ZERO) / whole if whole else ZERO

    @property
    def utilisation(self) -> Decimal:
        """Fraction of the commitments' dollars that covered something, 0 without commitments."""
        paid = self.commitment_cost
        return 1 - self.unused / paid if paid else ZERO


@dataclass(frozen=True, slots=True)
class HourBill(BillLines):
    """The bill of one clock hour; sustained use is a matter of months and not in it."""

    hour: int


@dataclass(frozen=True, slots=True)
class Bill(BillLines):
    """The bill of ``hours`` successive clock hours from ``first_hour`` on."""

    first_hour: int
    hours: int

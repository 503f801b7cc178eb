"""What ran in an hour, what was committed to, and the bill that follows from the two."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.catalog import Offer, OfferKey, PurchaseOption
from hcloud.model.clouds.known import CLOUDS

NOTHING = Decimal(0)

_ZONAL = (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)


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
        _require_amount(self.instance_hours, f"{self.key}: instance-hours")


@dataclass(frozen=True, slots=True)
class CommittedResources:
    """The vCPUs and GiB of a Google commitment that does not have the shape of an instance type."""

    vcpus: Decimal
    memory_gib: Decimal

    def __post_init__(self) -> None:
        _require_amount(self.vcpus, "vCPUs")
        _require_amount(self.memory_gib, "GiB")


@dataclass(frozen=True, slots=True)
class CommitmentTerm:
    """A bought term: covers and is charged for every hour h with ``start_hour`` <= h < ``end_hour``.

    ``count`` is instances for reserved instances and reservations; for Google's committed use the number of times the
    shape of the offer's instance type, or ``resources`` where given; for savings plans dollars an hour; for flexible
    committed use dollars an hour of on-demand-equivalent spend. ``offer`` is what was bought at the price then paid;
    hours count from the caller's origin and may be negative. Raises ValueError for what nobody sells.
    """

    offer: Offer
    count: Decimal
    start_hour: int
    zone: str = ""
    resources: CommittedResources | None = None

    def __post_init__(self) -> None:
        key = self.offer.key
        if key.option not in CLOUDS[key.provider].sold or not key.term_years:
            raise ValueError(f"{key}: {key.provider} sells no such commitment")
        if self.zone and key.option not in _ZONAL:
            raise ValueError(f"{key}: only reserved instances are bought for a zone")
        if self.resources is not None and key.option is not PurchaseOption.COMMITTED_USE:
            raise ValueError(f"{key}: only committed use is bought in vCPUs and GiB")
        _require_amount(self.count, f"{key}: count")

    @property
    def end_hour(self) -> int:
        """The first hour after the term."""
        return self.start_hour + self.offer.term_hours

    @property
    def scope_zone(self) -> str:
        """The zone it is tied to, empty for a regional one."""
        return self.zone or self.offer.key.zone

    def active(self, hour: int) -> bool:
        """Whether the term runs in that hour."""
        return self.start_hour <= hour < self.end_hour

    def active_hours(self, first: int, end: int) -> int:
        """Hours of the term that fall into first <= h < end."""
        return max(0, min(end, self.end_hour) - max(first, self.start_hour))


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
    sustained_discount: Decimal = NOTHING

    @property
    def billed(self) -> Decimal:
        """Dollars charged on demand."""
        return self.on_demand_cost - self.sustained_discount

    @property
    def coverage(self) -> Decimal:
        """Fraction of the instance-hours covered, 0 without usage."""
        return self.covered_hours / self.instance_hours if self.instance_hours else NOTHING


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
        return sum((u.list_cost for u in self.usage), NOTHING)

    @property
    def sustained_discount(self) -> Decimal:
        """Google's sustained-use discount on the uncovered usage."""
        return sum((u.sustained_discount for u in self.usage), NOTHING)

    @property
    def on_demand_cost(self) -> Decimal:
        """Uncovered usage as charged, after the sustained-use discount."""
        return sum((u.billed for u in self.usage), NOTHING)

    @property
    def commitment_cost(self) -> Decimal:
        """Amortised cost of every commitment, used or not."""
        return sum((c.amortised for c in self.commitments), NOTHING)

    @property
    def unused(self) -> Decimal:
        """Amortised dollars of commitments that covered nothing."""
        return sum((c.unused for c in self.commitments), NOTHING)

    @property
    def total(self) -> Decimal:
        """On-demand charges plus amortised commitments (effective cost)."""
        return self.on_demand_cost + self.commitment_cost

    @property
    def cash(self) -> Decimal:
        """Dollars paid in the billed hours: on-demand charges, upfront payments and recurring charges."""
        return self.on_demand_cost + sum((c.cash for c in self.commitments), NOTHING)

    @property
    def coverage(self) -> Decimal:
        """Fraction of the list cost that commitments covered, 0 without usage."""
        whole = self.list_cost
        return sum((c.covered_cost for c in self.commitments), NOTHING) / whole if whole else NOTHING

    @property
    def utilisation(self) -> Decimal:
        """Fraction of the commitments' dollars that covered something, 0 without commitments."""
        paid = self.commitment_cost
        return 1 - self.unused / paid if paid else NOTHING


@dataclass(frozen=True, slots=True)
class HourBill(BillLines):
    """The bill of one clock hour; sustained use is a matter of months and not in it."""

    hour: int


@dataclass(frozen=True, slots=True)
class Bill(BillLines):
    """The bill of ``hours`` successive clock hours from ``first_hour`` on."""

    first_hour: int
    hours: int


def _require_amount(amount: Decimal, what: str) -> None:
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{what} must be a finite number of at least 0, not {amount}")

"""What was used and what was charged for it: every report is a sum over charges, which are rows of a FOCUS file."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from hcloud.model.catalog import PurchaseOption

FORMAT_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class MachineRental:
    """The rental of one machine, from ``start`` to before ``end`` in whole seconds since 1970 (UTC), as its cloud tells
    them; ``end`` is None while it runs.

    ``address`` is its place in the plan (the application). ``end_is_told`` is False where the cloud told no time of
    its end, and ``end`` is then the latest moment at which it may have been there.
    """

    resource: str
    address: str
    instance_type: str
    zone: str
    option: PurchaseOption
    start: int
    end: int | None = None
    end_is_told: bool = True
    tags: dict[str, str] = field(default_factory=dict)

    def seconds_within(self, start: int, end: int) -> int:
        """Seconds of it between two moments; one that runs lasts to the later of them."""
        until = end if self.end is None else min(self.end, end)
        return max(until - max(self.start, start), 0)


@dataclass(frozen=True, slots=True)
class Period:
    """A span that is reported on: from ``start`` to before ``end``, in seconds since 1970 (UTC)."""

    start: int
    end: int


class ChargeCategory(StrEnum):
    """FOCUS ChargeCategory: what kind of charge it is."""

    USAGE = "Usage"
    PURCHASE = "Purchase"


class ChargeFrequency(StrEnum):
    """FOCUS ChargeFrequency: how often it is charged."""

    ONE_TIME = "One-Time"
    RECURRING = "Recurring"
    USAGE_BASED = "Usage-Based"


class PricingCategory(StrEnum):
    """FOCUS PricingCategory: at which kind of price."""

    STANDARD = "Standard"
    DYNAMIC = "Dynamic"
    COMMITTED = "Committed"


class CommitmentStatus(StrEnum):
    """FOCUS CommitmentDiscountStatus: whether a commitment's hour was used."""

    USED = "Used"
    UNUSED = "Unused"


@dataclass(frozen=True, slots=True)
class Costs:
    """Dollars four ways, as FOCUS defines them: at the list price, at the contracted price before commitments, with
    commitments amortised over what they cover (``effective``), and as invoiced (``billed``)."""

    list: Decimal = Decimal(0)
    contracted: Decimal = Decimal(0)
    effective: Decimal = Decimal(0)
    billed: Decimal = Decimal(0)

    def __add__(self, other: Costs) -> Costs:
        return Costs(
            self.list + other.list,
            self.contracted + other.contracted,
            self.effective + other.effective,
            self.billed + other.billed,
        )


@dataclass(frozen=True, slots=True)
class Charge:
    """One row: a machine, or a commitment, at one price in one charge period (a day in UTC, cut at the ends of what is
    reported on).

    ``resource`` is the machine's id, empty for what a commitment was paid for and nobody used, and for its purchase.
    ``hours`` is instance-hours (for spend-based commitments' unused part and purchases: hours of the term).
    ``list_price`` is dollars for one hour at list price. ``commitment`` is the id of the commitment that is bought,
    used or unused, else empty.
    """

    start: int
    end: int
    category: ChargeCategory
    frequency: ChargeFrequency
    pricing: PricingCategory
    provider: str
    account: str
    region: str
    zone: str
    resource: str
    address: str
    instance_type: str
    option: PurchaseOption
    hours: Decimal
    list_price: Decimal
    costs: Costs
    commitment: str = ""
    status: CommitmentStatus | None = None
    tags: dict[str, str] = field(default_factory=dict)
    os: str = "linux"
    tenancy: str = "shared"

"""What a provider's bill says of compute: what ran hour by hour, at which price, covered by which commitment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from hcloud.model.catalog import Payment, Provider, PurchaseOption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


NO_NAME = "without name"
"""How the id of a commitment ends that the bill does not name."""


GAP_DAYS = 7  # ours: so many days without a machine are not a holiday, but days that were not delivered


class LineKind(StrEnum):
    """What a line of a bill is; the value is what users read. The costs of all kinds add up to the bill's total."""

    ON_DEMAND = "on demand"
    SPOT = "spot"
    COVERED = "covered by a commitment"
    NEGATION = "taken off for a savings plan"
    COMMITTED = "taken off for committed use"
    RECURRING = "recurring fee of a commitment"
    UPFRONT = "upfront fee of a commitment"
    UNUSED = "unused commitment"
    CAPACITY = "capacity reservation"
    LICENCE = "licences beside machines"
    OTHER_COMPUTE = "other compute"
    OTHER_SERVICE = "other services"
    DISCOUNT = "discount"
    CREDIT = "credit or refund"
    TAX = "tax"
    FEE = "support and other fees"


class Service(StrEnum):
    """What runs there."""

    INSTANCES = "instances"
    FARGATE = "Fargate"
    LAMBDA = "Lambda"


@dataclass(frozen=True, slots=True, order=True)
class UsageKind:
    """One kind of machine in one account. ``family``, ``instance_type``, ``os`` and ``tenancy`` are spelled as in the
    price book; ``instance_type`` is empty where the bill counts vCPUs and GiB apart (Google without machine names,
    Fargate, Lambda)."""

    provider: Provider
    account: str
    region: str
    family: str
    instance_type: str
    os: str = "linux"
    tenancy: str = "shared"
    service: Service = Service.INSTANCES


@dataclass(frozen=True, slots=True)
class BilledUsage:
    """What of one kind ran, an entry for each hour of the bill (spot apart).

    ``hours`` are instance-hours, or vCPU-hours where the kind names no instance type; ``memory`` GiB-hours in that
    case, else None. ``covered`` is the part of ``hours`` that each commitment option paid for (of Lambda, which has
    none, of ``memory``), ``covered_list_cost`` that of ``list_cost`` (None: not told apart), ``spot`` is not in
    ``hours``. ``list_cost`` is what ``hours`` cost at public on-demand prices (None: the bill does not say), ``cost``
    what was paid for them, commitments amortised, and ``covered_cost`` the part of it that each commitment option bore
    (empty: not said). ``whole_days`` are the days' hours that are known for sure in a bill of daily rows: the part of
    ``hours`` from resources that ran all day; None in a bill of hourly rows.
    """

    kind: UsageKind
    hours: Floats
    cost: Decimal
    list_cost: Decimal | None
    memory: Floats | None = None
    covered: Mapping[PurchaseOption, Floats] = field(default_factory=dict)
    spot: Floats | None = None
    spot_cost: Decimal = Decimal(0)
    whole_days: Floats | None = None
    covered_cost: Mapping[PurchaseOption, Decimal] = field(default_factory=dict)
    covered_list_cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class CoveredUse:
    """What one commitment covered of one kind: instance-hours (vCPU-hours, where the kind names no instance type), and
    what of its cost they bore."""

    hours: float
    cost: Decimal


@dataclass(frozen=True, slots=True)
class BilledCommitment:
    """A commitment that the bill names. What the bill does not say is None or empty, never guessed.

    ``count`` is instances, or dollars an hour for a spend-based option (see ``PurchaseOption.is_spend_based``).
    ``paid`` is its amortised cost in the bill, ``used`` the part of ``paid`` that covered usage (None: not said,
    and then ``paid`` may be what it covered alone);
    ``covered_list_cost`` what that usage costs at public on-demand prices. ``hours`` are those of the bill that it was
    paid for, without those of days that are missing there, ``covered`` is what lines that name it used (None: no line
    of use names it), and ``first`` and ``last`` are when its first line begins and its last one ends. ``net`` is what
    a dollar of ``paid`` costs after discounts, where these are not taken off it. ``used_parts`` is what was used of
    the vCPUs and of the memory that commitments of its series hold apart (Google), 0 to 1, ``committed`` how many vCPUs
    and GiB it holds itself.
    """

    id: str
    provider: Provider
    option: PurchaseOption
    account: str
    region: str
    family: str
    instance_type: str
    count: Decimal | None
    paid: Decimal
    used: Decimal | None
    covered_list_cost: Decimal | None = None
    os: str = "linux"
    tenancy: str = "shared"
    term_years: int | None = None
    payment: Payment | None = None
    start: datetime | None = None
    end: datetime | None = None
    hours: int | None = None
    covered: Mapping[UsageKind, CoveredUse] | None = None
    first: datetime | None = None
    last: datetime | None = None
    net: Decimal = Decimal(1)
    used_parts: Mapping[str, Decimal] = field(default_factory=dict)
    committed: Mapping[str, Decimal] = field(default_factory=dict)

    @property
    def unused(self) -> Decimal:
        """What was paid for the part of it that covered nothing, as far as the bill says."""
        return Decimal(0) if self.used is None else (self.paid - self.used) * self.net

    @property
    def covered_nothing(self) -> bool:
        """Whether it was not used at all; of actual costs (Azure) what was used cost nothing."""
        return self.used == 0 and not self.covered

    @property
    def utilisation(self) -> Decimal | None:
        """The part of it that was used, 0 to 1."""
        return self.used / self.paid if self.used is not None and self.paid else None


@dataclass(frozen=True, slots=True)
class LineSum:
    """So many lines, and what they cost together."""

    rows: int
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Bill:
    """One bill: all files of it, merged. ``start`` is the first hour (UTC), ``hours`` how many there are;
    ``lines`` has every row of the files by kind, so that its costs add up to ``total``; ``repaired`` and ``said``
    count rows by what was repaired and what a user should know (a month delivered twice, an unknown type). ``lacking``
    are columns that its files have none of, without which it does not say what commitments and their use cost;
    ``gap_days`` is how many days without any machine in a row count as not delivered; ``daily`` says that most of its
    use is in rows of a day or more, ``longest_days`` how long the longest is."""

    name: str
    format: str
    digest: str
    start: datetime
    hours: int
    daily: bool
    usage: tuple[BilledUsage, ...]
    commitments: tuple[BilledCommitment, ...]
    lines: Mapping[LineKind, LineSum]
    files: int = 1
    repaired: Mapping[str, int] = field(default_factory=dict)
    said: Mapping[str, int] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    gap_days: int = GAP_DAYS
    longest_days: int = 1

    @property
    def total(self) -> Decimal:
        """What the whole bill costs, in US dollars."""
        return sum((line.cost for line in self.lines.values()), Decimal(0))

    @property
    def rows(self) -> int:
        """How many lines it has."""
        return sum(line.rows for line in self.lines.values())


def rows_in_words(*, daily: bool, longest_days: int) -> str:
    """How long the rows of a bill are."""
    longer = f"rows of up to {longest_days:,} days" if longest_days > 1 else "daily rows"
    return longer if daily else "hourly rows"

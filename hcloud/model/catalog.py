"""What can be rented: instance types, purchase options, offers with their price, and billing rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from hcloud.units import HOURS_PER_YEAR


class Provider(StrEnum):
    """A cloud."""

    AWS = "aws"
    GCP = "gcp"
    AZURE = "azure"


CloudName = Literal["aws", "gcp", "azure"]
ScopeName = Literal["aws", "gcp", "azure", "local"]
"""A cloud, or this machine."""
USUAL_PROVIDER = Provider.AWS
"""Whose offers count where none is named."""


class PurchaseOption(StrEnum):
    """How capacity is paid for; the value is the term users read in tables and files."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved-instance"
    CONVERTIBLE = "convertible-reserved-instance"
    INSTANCE_SAVINGS_PLAN = "ec2-instance-savings-plan"
    COMPUTE_SAVINGS_PLAN = "compute-savings-plan"
    COMMITTED_USE = "committed-use"
    FLEXIBLE_COMMITTED_USE = "flexible-committed-use"
    RESERVATION = "reservation"
    SAVINGS_PLAN = "savings-plan"

    @property
    def in_words(self) -> str:
        """As sentences have it: ``reserved instance``, ``committed use discount``."""
        discount = " discount" if self in (PurchaseOption.COMMITTED_USE, PurchaseOption.FLEXIBLE_COMMITTED_USE) else ""
        return self.replace("-", " ").replace("ec2", "EC2") + discount

    @property
    def is_commitment(self) -> bool:
        """Whether it is paid for every hour of a term, used or not."""
        return self not in (PurchaseOption.ON_DEMAND, PurchaseOption.SPOT)

    @property
    def floats(self) -> bool:
        """Whether the commitment covers every family and region of its provider."""
        return self in (
            PurchaseOption.COMPUTE_SAVINGS_PLAN,
            PurchaseOption.SAVINGS_PLAN,
            PurchaseOption.FLEXIBLE_COMMITTED_USE,
        )

    @property
    def is_of_one_system(self) -> bool:
        """Whether the commitment covers the operating system and tenancy alone that it was bought for."""
        return self in (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)

    @property
    def is_of_a_family(self) -> bool:
        """Whether the commitment covers all systems of a family in a region."""
        return self.is_commitment and not self.floats and not self.is_of_one_system

    def bound_to(self, special: str) -> str:
        """Which unusual system and tenancy it alone covers where it is bought for this one; empty where none."""
        return special if self.is_of_one_system else ""

    def several_of(self, special: str) -> str:
        """In words, of a system and tenancy where they are bound to it: ``reserved instances of windows``."""
        bound = self.bound_to(special).strip("/").replace("/", " ")
        return f"{self.in_words}s of {bound}" if bound else f"{self.in_words}s"

    @property
    def is_spend_based(self) -> bool:
        """Whether the commitment is dollars an hour rather than instances, vCPUs or GiB."""
        return self in (
            PurchaseOption.INSTANCE_SAVINGS_PLAN,
            PurchaseOption.COMPUTE_SAVINGS_PLAN,
            PurchaseOption.FLEXIBLE_COMMITTED_USE,
            PurchaseOption.SAVINGS_PLAN,
        )


class Payment(StrEnum):
    """How much of a commitment is paid when it is bought."""

    NONE = "no-upfront"
    PARTIAL = "partial-upfront"
    ALL = "all-upfront"


@dataclass(frozen=True, slots=True)
class InstanceType:
    """A machine shape. ``units`` is the size-flexibility weight inside its family (EC2 normalisation factor,
    Azure ratio, else vCPUs)."""

    provider: Provider
    name: str
    family: str
    vcpus: Decimal
    memory_gib: Decimal
    units: Decimal
    arch: str = "x86_64"
    category: str = "general"
    gpus: int = 0
    current: bool = True


TENANCIES = frozenset({"shared", "dedicated", "host"})


def refresh_command(provider: str, region: str) -> str:
    """The command that fetches today's prices of a region."""
    return f"hcloud pricing refresh --provider {provider} --region {region}"


@dataclass(frozen=True, slots=True, order=True)
class OfferKey:
    """What identifies an offer. ``term_years`` is 0 and ``payment`` no-upfront where nothing is committed;
    ``zone`` is empty for a regional offer."""

    provider: Provider
    region: str
    instance_type: str
    option: PurchaseOption
    term_years: int = 0
    payment: Payment = Payment.NONE
    os: str = "linux"
    tenancy: str = "shared"
    zone: str = ""

    def __str__(self) -> str:
        term = f"-{self.term_years}y-{self.payment}" if self.term_years else ""
        place = self.zone or self.region
        special = "".join(f"/{x}" for x, usual in ((self.os, "linux"), (self.tenancy, "shared")) if x != usual)
        return f"{self.provider}/{place}/{self.instance_type}/{self.option}{term}{special}"


def special_in(address: str) -> str:
    """What an address of an offer says of system and tenancy, empty where they are the usual ones: ``/windows``."""
    return "".join(f"/{word}" for word in address.split("/")[4:])


def system_of(special: str) -> tuple[str, str]:
    """(the system, the tenancy) that :func:`special_in` found."""
    words = special.split("/")[1:]
    system = next((word for word in words if word not in TENANCIES), "linux")
    return system, next((word for word in words if word in TENANCIES), "shared")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a price comes from. ``derived`` is empty for a published price, else says from what it was derived."""

    source: str
    day: date
    derived: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to rent one instance type in one region, in US dollars per instance.

    ``hourly`` is charged while the instance runs (on-demand, spot) or for every hour of the term (commitments);
    ``upfront`` once when the term starts. ``remaining`` limits how many can still be had, None meaning no limit;
    ``then`` is the offer of the same key that applies when they are gone; offers of one ``pool`` share what remains.
    """

    key: OfferKey
    hourly: Decimal
    upfront: Decimal
    origin: Origin
    remaining: int | None = None
    then: Offer | None = None
    pool: str = ""

    @property
    def term_hours(self) -> int:
        """Length of the commitment in hours, 0 without one."""
        return self.key.term_years * HOURS_PER_YEAR

    @property
    def effective_hourly(self) -> Decimal:
        """Amortised dollars an hour: the recurring charge plus the upfront payment spread over the term."""
        if not self.term_hours:
            return self.hourly
        return self.hourly + self.upfront / self.term_hours

    @property
    def tiers(self) -> tuple[Offer, ...]:
        """This offer and those that follow it as each runs out."""
        return (self, *(self.then.tiers if self.then else ()))

    @property
    def term_cost(self) -> Decimal:
        """All dollars paid over the whole term for one instance; raises ValueError where there is no term."""
        hours = self.term_hours
        if not hours:
            raise ValueError(f"{self.key} has no term")
        return self.upfront + self.hourly * hours


@dataclass(frozen=True, slots=True)
class BillingRule:
    """Usage is rounded up to ``step_seconds`` and charged for at least ``minimum_seconds``."""

    step_seconds: int
    minimum_seconds: int


@dataclass(frozen=True, slots=True)
class SustainedUse:
    """Google's sustained-use discount of a series: price factors of successive equal parts of the month."""

    series: str
    tiers: tuple[Decimal, ...]

    @property
    def full_month_factor(self) -> Decimal:
        """What a full month costs in terms of list price: 0.7 for four quarters at 1, 0.8, 0.6, 0.4."""
        return sum(self.tiers, Decimal(0)) / len(self.tiers)


@dataclass(frozen=True, slots=True)
class QuarantinedPrice:
    """A price row that was read but may not be used, with the reason."""

    row: str
    reason: str
    key: OfferKey | None = None

    @property
    def is_of_a_term(self) -> bool:
        """Whether it priced a commitment, as far as its key or its place in the source says."""
        return ".reserved." in self.row if self.key is None else self.key.option.is_commitment

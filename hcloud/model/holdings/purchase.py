"""Purchases of commitments: what is to be bought, what was asked of a cloud for it, and what came of that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from hcloud.model.catalog import Payment, PurchaseOption, special_in
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Commitment, CommitmentQuote, Scope
from hcloud.units import HOURS_PER_YEAR

FORMAT_VERSION = "1.0"
TERM_YEARS = (1, 3)


@dataclass(frozen=True, slots=True, order=True)
class HeldCommitment:
    """A commitment as it stood in the cloud when a purchase was planned or asked for."""

    id: str
    option: PurchaseOption
    instance_type: str
    count: int
    state: str
    ends: datetime | None


def snapshot(commitments: tuple[Commitment, ...]) -> tuple[HeldCommitment, ...]:
    """What is held, by id."""
    return tuple(sorted(HeldCommitment(c.id, c.option, c.instance_type, c.count, c.state, c.ends) for c in commitments))


def committed(quote: CommitmentQuote) -> Decimal:
    """Every dollar that a purchase binds: what is paid at once and each hour of the term; exact."""
    return quote.upfront + quote.hourly * quote.order.term_years * HOURS_PER_YEAR


@dataclass(frozen=True, slots=True)
class WantedCommitment:
    """A commitment that a plan asks for: instances, or dollars an hour for what is spend-based.

    ``total`` is what the plan expects it to cost over its term, ``break_even`` the share of time above which it pays,
    ``derived`` how the price was come by where it was not published.
    """

    address: str
    cloud: str
    region: str
    instance_type: str
    option: PurchaseOption
    term_years: int
    payment: Payment
    count: int
    dollars_per_hour: Decimal | None
    total: Decimal
    upfront: Decimal
    break_even: Decimal | None
    starts: datetime | None = None
    derived: str = ""

    @property
    def special(self) -> str:
        """What its address says of system and tenancy."""
        return special_in(self.address)

    @property
    def quantity(self) -> Decimal:
        """How much of it in its own unit."""
        return Decimal(self.count) if self.dollars_per_hour is None else self.dollars_per_hour

    @property
    def unit(self) -> str:
        """What the quantity counts."""
        return "instances" if self.dollars_per_hour is None else "dollars an hour"


@dataclass(frozen=True, slots=True)
class CommitmentNeed:
    """A wanted commitment with the part of it that is held already, and so need not be bought. ``rented`` of ``held``
    is no more than a part of a machine that is left to on demand. ``apart`` are the vCPUs and GiB that are missing,
    where they are less than those of the missing machines: the rest is held in machines of other ratios (Google)."""

    wanted: WantedCommitment
    held: Decimal
    rented: Decimal = Decimal(0)
    apart: tuple[Decimal, ...] = ()

    @property
    def missing(self) -> Decimal:
        """What is still to be bought, in the unit of what is wanted."""
        return max(self.wanted.quantity - self.held, Decimal(0))

    @property
    def by_hand(self) -> bool:
        """Whether it is left to a person in the cloud's console."""
        return CLOUDS[self.wanted.cloud].is_by_hand(self.wanted.option, self.wanted.special, self.wanted.instance_type)

    @property
    def expected(self) -> Decimal:
        """Dollars that the plan expects the missing part to cost over its term."""
        return self.wanted.total * self.missing / self.wanted.quantity

    @property
    def upfront(self) -> Decimal:
        """The part of that which is due at once."""
        return self.wanted.upfront * self.missing / self.wanted.quantity


@dataclass(frozen=True, slots=True)
class PurchaseItem:
    """One purchase: the quote that it was planned at, and the place in the plan that asks for it."""

    address: str
    quote: CommitmentQuote

    @property
    def key(self) -> str:
        """What it is noted under, and sent as handle where the provider takes one."""
        return self.quote.order.key

    @property
    def amount(self) -> Decimal:
        """Dollars over the term."""
        return committed(self.quote)


@dataclass(frozen=True, slots=True)
class PurchasePlan:
    """What may be bought once. ``plan`` is the digest of the plan that asks for it, ``prices`` that of the quotes;
    ``held`` and ``recorded`` are the commitments of the cloud and the purchases of the ledger when it was made: where
    either has moved since, it is stale. ``digest`` is over all the rest."""

    lineage: str
    scope: Scope
    plan: str
    prices: str
    generated_at: datetime
    expires: datetime
    held: tuple[HeldCommitment, ...]
    recorded: int
    items: tuple[PurchaseItem, ...]
    tool_version: str = ""
    digest: str = ""
    format_version: str = FORMAT_VERSION

    @property
    def amount(self) -> Decimal:
        """Dollars of all items over their terms; exact."""
        return sum((item.amount for item in self.items), Decimal(0))

    @property
    def upfront(self) -> Decimal:
        """Dollars that are due at once."""
        return sum((item.quote.upfront for item in self.items), Decimal(0))


class PurchaseOutcome(StrEnum):
    """What came of something that was asked of a cloud. FOUND and NOT_BOUGHT were looked up after the answer was lost;
    UNKNOWN stays open."""

    BOUGHT = "bought"
    FOUND = "found"
    REFUSED = "refused"
    NOT_BOUGHT = "not-bought"
    CANCELLED = "cancelled"
    NOT_CANCELLED = "not-cancelled"
    UNKNOWN = "unknown"


HAS_IT = (PurchaseOutcome.BOUGHT, PurchaseOutcome.FOUND)


@dataclass(frozen=True, slots=True)
class PurchaseIntent:
    """A purchase that is about to be asked for, and what was held before."""

    number: int
    at: datetime
    scope: Scope
    plan: str
    address: str
    quote: CommitmentQuote
    before: tuple[HeldCommitment, ...]

    @property
    def key(self) -> str:
        """The key of the purchase."""
        return self.quote.order.key

    @property
    def amount(self) -> Decimal:
        """Dollars over the term."""
        return committed(self.quote)


@dataclass(frozen=True, slots=True)
class CancelIntent:
    """A commitment that is about to be given back or dequeued."""

    number: int
    at: datetime
    scope: Scope
    commitment: str


@dataclass(frozen=True, slots=True)
class PurchaseConclusion:
    """What came of an intent; ``id`` is the commitment's where there is one."""

    number: int
    at: datetime
    outcome: PurchaseOutcome
    id: str = ""
    ends: datetime | None = None
    why: str = ""


Entry = PurchaseIntent | CancelIntent | PurchaseConclusion


def takes_key(option: PurchaseOption) -> bool:
    """Whether the provider takes a key with a purchase, so that the same order sent again is bought once: all but
    EC2's reserved instances do."""
    return option not in (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)


class Refund(StrEnum):
    """How a commitment can be got rid of, by the terms that are on file."""

    NONE = "none"
    RETURN = "return"
    REFUND = "refund"


@dataclass(frozen=True, slots=True)
class ExitTerms:
    """The ways out of a kind of commitment, as published on a day; None where there is no such limit."""

    cloud: str
    option: PurchaseOption
    refund: Refund
    queued_deletable: bool
    within: timedelta | None
    same_month: bool
    most_hourly: Decimal | None
    most_a_year: int | None
    most_dollars_a_year: Decimal | None
    note: str
    source: str
    day: str


@dataclass(frozen=True, slots=True)
class Purchased:
    """What came of an item; ``before`` says that an earlier run had bought it."""

    item: PurchaseItem
    outcome: PurchaseOutcome
    id: str
    before: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """A purchase plan with what came of each of its items."""

    plan: PurchasePlan
    purchased: tuple[Purchased, ...]

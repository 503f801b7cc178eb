"""What the ledger of purchases adds up to: what was bought, what is open, and how much is committed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from hcloud.model.holdings.purchase import (
    HAS_IT,
    CancelIntent,
    Entry,
    PurchaseConclusion,
    PurchaseIntent,
    PurchaseOutcome,
)
from hcloud.units import HOURS_PER_YEAR


@dataclass(frozen=True, slots=True)
class Recorded:
    """A purchase of the ledger with what came of it last, None where nothing was noted; ``cancelled`` says that it was
    given back."""

    intent: PurchaseIntent
    conclusion: PurchaseConclusion | None
    cancelled: bool = False

    @property
    def outcome(self) -> PurchaseOutcome:
        """What came of it; a purchase of which nothing was noted is unknown."""
        return self.conclusion.outcome if self.conclusion else PurchaseOutcome.UNKNOWN

    @property
    def is_open(self) -> bool:
        """Whether it is not known if it was bought."""
        return self.outcome is PurchaseOutcome.UNKNOWN

    @property
    def is_bought(self) -> bool:
        """Whether it was."""
        return self.outcome in HAS_IT

    @property
    def id(self) -> str:
        """The commitment's, empty where there is none."""
        return self.conclusion.id if self.conclusion else ""

    @property
    def ends(self) -> datetime:
        """When its term is over: as the cloud said, or reckoned from the order."""
        if self.conclusion and self.conclusion.ends:
            return self.conclusion.ends
        order = self.intent.quote.order
        return (order.starts or self.intent.at) + timedelta(hours=order.term_years * HOURS_PER_YEAR)

    def binds(self, at: datetime) -> bool:
        """Whether it counts against the ceiling: bought or perhaps bought, not given back, its term not over."""
        return (self.is_bought or self.is_open) and not self.cancelled and self.ends > at


@dataclass(frozen=True, slots=True)
class CancelledCommitment:
    """A cancellation of the ledger with what came of it."""

    intent: CancelIntent
    outcome: PurchaseOutcome


@dataclass(frozen=True, slots=True)
class PurchaseHistory:
    """All purchases and cancellations, in the order in which they were intended."""

    purchases: tuple[Recorded, ...]
    cancellations: tuple[CancelledCommitment, ...]

    @property
    def open(self) -> tuple[Recorded, ...]:
        """Purchases of which it is not known whether they took place."""
        return tuple(p for p in self.purchases if p.is_open)

    @property
    def ids(self) -> frozenset[str]:
        """Commitments that a purchase accounts for."""
        return frozenset(p.id for p in self.purchases if p.is_bought)

    def of(self, key: str, plan: str) -> Recorded | None:
        """The last purchase under a key for a purchase plan."""
        return next((p for p in reversed(self.purchases) if (p.intent.key, p.intent.plan) == (key, plan)), None)

    def committed(self, at: datetime) -> Decimal:
        """Dollars that all purchases bind over their terms; exact."""
        return sum((p.intent.amount for p in self.purchases if p.binds(at)), Decimal(0))

    def recorded_beside(self, plan: str) -> int:
        """How many purchases were bought, or perhaps bought, other than those of one purchase plan."""
        return sum(1 for p in self.purchases if p.intent.plan != plan and (p.is_bought or p.is_open))


def history(entries: Iterable[Entry]) -> PurchaseHistory:
    """The entries of a ledger put together; a later conclusion goes over an earlier one."""
    intents: dict[int, PurchaseIntent | CancelIntent] = {}
    conclusions: dict[int, PurchaseConclusion] = {}
    for entry in entries:
        if isinstance(entry, PurchaseConclusion):
            conclusions[entry.number] = entry
        else:
            intents[entry.number] = entry
    cancels = tuple(
        CancelledCommitment(i, conclusions[n].outcome if n in conclusions else PurchaseOutcome.UNKNOWN)
        for n, i in intents.items()
        if isinstance(i, CancelIntent)
    )
    gone = {c.intent.commitment for c in cancels if c.outcome is PurchaseOutcome.CANCELLED}
    purchases = tuple(
        Recorded(i, conclusions.get(n), _id(conclusions.get(n)) in gone)
        for n, i in intents.items()
        if isinstance(i, PurchaseIntent)
    )
    return PurchaseHistory(purchases, cancels)


def _id(conclusion: PurchaseConclusion | None) -> str:
    return conclusion.id if conclusion else ""

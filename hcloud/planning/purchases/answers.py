"""What is held, recommended and planned of commitments: what the verbs that buy answer."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.holdings.live import Commitment, Scope
from hcloud.model.holdings.purchase import CommitmentNeed, ExitTerms, PurchasePlan
from hcloud.model.plans.plan import Plan
from hcloud.planning.purchases.history import Recorded
from hcloud.planning.purchases.reconciled import Reconciled


@dataclass(frozen=True, slots=True)
class MatchedPurchase:
    """A purchase of the ledger, a commitment of the cloud, or both where they are the same."""

    recorded: Recorded | None
    commitment: Commitment | None


@dataclass(frozen=True, slots=True)
class Holdings:
    """All pairs, what the ledger binds against the ceiling, and which commitments end soon; ``scope`` is None where no
    cloud was asked."""

    pairs: tuple[MatchedPurchase, ...]
    scope: Scope | None
    committed: Decimal
    ceiling: Decimal | None
    expiring: tuple[Commitment, ...]


@dataclass(frozen=True, slots=True)
class PlannedPurchases:
    """A purchase plan (without items where nothing is left to buy), and what was left out and why: what begins later,
    what is bought by hand, what is in other places."""

    purchases: PurchasePlan
    later: tuple[CommitmentNeed, ...]
    by_hand: tuple[CommitmentNeed, ...]
    elsewhere: tuple[str, ...]
    expiring: tuple[Commitment, ...]
    unplanned: tuple[Commitment, ...]
    reconciled: Reconciled
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The needs of a plan, the way out of each, and what stands in the cloud; ``scope`` is None where no cloud was
    asked, and then nothing counts as held."""

    plan: Plan
    needs: tuple[CommitmentNeed, ...]
    ways_out: tuple[ExitTerms | None, ...]
    scope: Scope | None
    expiring: tuple[Commitment, ...]
    unplanned: tuple[Commitment, ...]
    warnings: tuple[str, ...]

    @property
    def rows(self) -> list[dict[str, CommitmentNeed | ExitTerms | None]]:
        """Each need beside its way out."""
        return [{"need": n, "way_out": out} for n, out in zip(self.needs, self.ways_out, strict=True)]

"""Gives a commitment back or dequeues it, where the terms on file allow it; noted before and after the call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hcloud.errors import (
    CloudError,
    DeniedByGuardError,
    PartialError,
    UnavailableError,
    UnknownOutcomeError,
    UsageError,
)
from hcloud.live.buying.purchase import PurchaseContext, PurchaseRecords
from hcloud.model.holdings.live import Commitment
from hcloud.model.holdings.purchase import CancelIntent, ExitTerms, PurchaseConclusion, PurchaseIntent, PurchaseOutcome
from hcloud.planning.purchases.leaving import WayOut, way_out


class CancelLedger(PurchaseRecords, Protocol):
    """The ledger of purchases, as far as cancelling needs it."""

    def intend(self, intent: PurchaseIntent | CancelIntent) -> None:
        """Note so that it lasts, or raise: then nothing may be asked."""


@dataclass(frozen=True, slots=True)
class Cancelling:
    """A commitment that is to be given back: the terms for each cloud and option, and how a person agrees."""

    id: str
    terms: Callable[[Commitment], ExitTerms | None]
    agree: Callable[[Commitment, WayOut], None]


def cancel(asked: Cancelling, ledger: CancelLedger, ground: PurchaseContext) -> Commitment:
    """Give one commitment back.

    Raises UsageError for one that is not held, DeniedByGuardError where the terms leave no way out, what the cloud says
    where it says no, and PartialError where its answer was lost and it is still listed.
    """
    with ledger.held("commit cancel"):
        found = _find(asked.id, ground)
        if _settled(found, ledger, ground):
            return found
        way = way_out(found, asked.terms(found), ground.history(), ground.now())
        if not way.is_open:
            raise DeniedByGuardError(f"{found.id} cannot be cancelled: {way.why}")
        asked.agree(found, way)
        intent = CancelIntent(ledger.next_number(), ground.now(), ground.cloud.scope(), found.id)
        ground.crash("commit.cancel.agreed")
        ledger.intend(intent)
        ground.crash("commit.cancel.intended")
        _ask(intent, ledger, ground)
        return found


def _settled(found: Commitment, ledger: PurchaseRecords, ground: PurchaseContext) -> bool:
    """Whether an earlier cancellation, whose answer was lost, turns out to have been heard; if so it is noted."""
    lost = [
        c
        for c in ground.history().cancellations
        if c.intent.commitment == found.id and c.outcome is PurchaseOutcome.UNKNOWN
    ]
    if found.state != "ended":
        return False
    for one in lost:
        ledger.conclude(PurchaseConclusion(one.intent.number, ground.now(), PurchaseOutcome.CANCELLED))
    return bool(lost)


def _find(commitment: str, ground: PurchaseContext) -> Commitment:
    held = {c.id: c for c in ground.ask(ground.cloud.commitments)}
    if commitment not in held:
        hint = f"held are: {', '.join(sorted(held)[:10])}" if held else "none is held"
        raise UsageError(f"there is no commitment {commitment} in {ground.cloud.scope()}", hint=hint)
    return held[commitment]


def _ask(intent: CancelIntent, ledger: PurchaseRecords, ground: PurchaseContext) -> None:
    outcome, why = PurchaseOutcome.CANCELLED, ""
    try:
        ground.cloud.cancel(intent.commitment)
    except (UnknownOutcomeError, UnavailableError) as error:
        outcome, why = _looked_up(intent, ground), str(error)
    except CloudError as error:
        ledger.conclude(
            PurchaseConclusion(intent.number, ground.now(), PurchaseOutcome.NOT_CANCELLED, "", None, str(error))
        )
        raise
    ground.crash("commit.cancel.answered")
    ledger.conclude(PurchaseConclusion(intent.number, ground.now(), outcome, "", None, why))
    if outcome is PurchaseOutcome.UNKNOWN:
        raise PartialError(
            f"it is unknown whether {intent.commitment} was given back: {why}",
            hint="'hcloud commit list' shows its status; cancelling it again is safe",
        )


def _looked_up(intent: CancelIntent, ground: PurchaseContext) -> PurchaseOutcome:
    try:
        held = {c.id: c for c in ground.ask(ground.cloud.commitments)}
    except CloudError:
        return PurchaseOutcome.UNKNOWN
    found = held.get(intent.commitment)
    # A list without it may be late: only what is listed as ended was surely given back
    return PurchaseOutcome.CANCELLED if found is not None and found.state == "ended" else PurchaseOutcome.UNKNOWN

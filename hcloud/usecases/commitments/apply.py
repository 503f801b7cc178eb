"""``hcloud commit apply``, ``resolve`` and ``cancel``: buy a purchase plan once, settle what is unknown, give one
back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hcloud.errors import DeniedByGuardError, UsageError
from hcloud.live.buying.cancelling import Cancelling, cancel
from hcloud.live.buying.purchase import Approve, check_open, execute, settle
from hcloud.model.holdings.live import Commitment, Scope
from hcloud.model.holdings.purchase import Applied, PurchaseConclusion, PurchaseOutcome
from hcloud.planning.changes.slots import CloudRegion
from hcloud.planning.purchases.history import Recorded, history
from hcloud.planning.purchases.leaving import WayOut
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.exit_terms import exit_terms
from hcloud.store.files.lock import drawn
from hcloud.store.purchase_file import load_purchase_plan
from hcloud.usecases.commitments.ground import CommitGround, CommitSelection, at_scope, gates_of, ledger_of, opened
from hcloud.usecases.live.places import is_fake, selected_for


def apply_purchases(loaded: Loaded, file: Path, where: CommitSelection, approve: Approve, at: datetime) -> Applied:
    """Buy what a purchase plan says; see :func:`hcloud.live.buying.purchase.execute` for what it raises."""
    gates = gates_of(loaded)
    check_open(gates)
    plan = load_purchase_plan(file)
    with opened(*_planned_for(loaded, plan.scope, where), at) as ground:
        return Applied(plan, execute(plan, gates, approve, ground.live))


def _planned_for(
    loaded: Loaded, scope: Scope, where: CommitSelection
) -> tuple[Loaded, CommitSelection, CloudRegion | None]:
    """Where something was planned; a rehearsal has accounts of its own. UsageError where another cloud is named."""
    cloud = selected_for(loaded, where.cloud, scope)
    there, place = at_scope(loaded, scope)
    return loaded if is_fake(cloud) else there, replace(where, cloud=cloud), place


@dataclass(frozen=True, slots=True)
class Word:
    """What a person found out about a purchase: the commitment's id, or none where nothing was bought."""

    key: str
    bought: str | None


def resolve(loaded: Loaded, where: CommitSelection, word: Word | None, at: datetime) -> tuple[Recorded, ...]:
    """Settle what is unknown, by looking or (``word``) by what a person found; returns the purchases that it was about.

    Raises PartialError where looking cannot tell, UsageError for a word about a purchase that is not open.
    """
    pending = history(ledger_of(loaded, where).entries()).open
    chosen = next((p for p in pending if word and p.intent.key == word.key), None)
    if word is not None and chosen is None:
        raise UsageError(f"{word.key}: is not the key of a purchase of which the outcome is unknown")
    if not pending:
        return ()
    planned_for = _planned_for(loaded, (chosen or pending[0]).intent.scope, where)
    with opened(*planned_for, at) as ground, ground.ledger.held("commit resolve"):
        if word is None or chosen is None:
            settle(ground.live)
        else:
            _note(chosen, word, ground)
        keys = {p.intent.key for p in pending}
        return tuple(p for p in ground.live.history().purchases if p.intent.key in keys)


def _note(chosen: Recorded, word: Word, ground: CommitGround) -> None:
    """Note a person's word; a commitment that they name has to be one that the cloud lists."""
    outcome, ends = PurchaseOutcome.NOT_BOUGHT, None
    if word.bought is not None:
        held = {c.id: c for c in ground.cloud.commitments()}
        if word.bought not in held:
            raise UsageError(
                f"--bought {word.bought}: the cloud lists no such commitment",
                hint="hcloud commit list --cloud shows what it lists; --not-bought if there is none",
            )
        outcome, ends = PurchaseOutcome.FOUND, held[word.bought].ends
    why = f"as {drawn('commit resolve').user} says"
    ground.ledger.conclude(
        PurchaseConclusion(chosen.intent.number, ground.live.now(), outcome, word.bought or "", ends, why)
    )


Agree = Callable[[Commitment, WayOut], None]
"""Shows what would be given back and returns where a person agrees; ConfirmationError where there is nobody to ask."""


def cancel_commitment(
    loaded: Loaded, commitment: str, where: CommitSelection, agree: Agree, at: datetime
) -> Commitment:
    """Cancel one commitment; see :func:`hcloud.live.buying.cancelling.cancel` for what it raises."""
    if not loaded.config.commitments.enabled:
        raise DeniedByGuardError(
            "commitments are not enabled, and nothing was cancelled",
            hint="commitments.enabled: true in hcloud.yaml enables them",
        )
    with opened(loaded, where, None, at) as ground:
        terms, cloud = exit_terms(), ground.live.ask(ground.cloud.scope).cloud
        asked = Cancelling(commitment, lambda found: terms.get((cloud, found.option)), agree)
        return cancel(asked, ground.ledger, ground.live)

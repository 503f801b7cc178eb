"""``hcloud commit list``: the ledger of purchases and what the cloud holds, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from hcloud.model.holdings.live import Commitment, Scope
from hcloud.planning.purchases.history import Recorded, history
from hcloud.planning.purchases.purchase import expiring
from hcloud.readers.configuration.config import Loaded
from hcloud.usecases.commitments.ground import CommitSelection, ledger_of, opened


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


def list_commitments(loaded: Loaded, where: CommitSelection, at: datetime) -> Holdings:
    """What is recorded and what is held; a cloud is asked where one is named."""
    past = history(ledger_of(loaded, where).entries())
    scope, held = None, dict[str, Commitment]()
    if where.cloud_in(loaded) is not None:
        with opened(loaded, where, None, at) as ground:
            scope = ground.live.ask(ground.cloud.scope)
            held = {c.id: c for c in ground.live.ask(ground.cloud.commitments)}
    pairs = [MatchedPurchase(p, held.pop(p.id, None)) for p in past.purchases]
    pairs += [MatchedPurchase(None, held[i]) for i in sorted(held)]
    everything = [p.commitment for p in pairs if p.commitment is not None]
    return Holdings(
        tuple(pairs), scope, past.committed(at), loaded.config.commitments.ceiling, expiring(everything, at)
    )

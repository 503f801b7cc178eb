"""``hcloud commit list``: the ledger of purchases and what the cloud holds, side by side."""

from __future__ import annotations

from datetime import datetime

from hcloud.model.holdings.live import Commitment
from hcloud.planning.purchases.answers import Holdings, MatchedPurchase
from hcloud.planning.purchases.history import history
from hcloud.planning.purchases.purchase import expiring
from hcloud.readers.configuration.config import Loaded
from hcloud.usecases.commitments.ground import CommitSelection, ledger_of, opened


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

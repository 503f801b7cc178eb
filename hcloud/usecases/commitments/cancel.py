"""``hcloud commit cancel``: give a commitment back or dequeue it, where the published terms allow it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from hcloud.errors import DeniedByGuardError
from hcloud.live.buying.cancelling import Cancelling, cancel
from hcloud.model.holdings.live import Commitment
from hcloud.planning.purchases.leaving import WayOut
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.exit_terms import exit_terms
from hcloud.usecases.commitments.ground import CommitSelection, opened

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

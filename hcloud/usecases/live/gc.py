"""``hcloud gc``: machines with this project's tags that nobody holds, and their end."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.collect import Orphan, collect, orphans
from hcloud.usecases.live.ground import LiveGround


def find(ground: LiveGround, lineages: Sequence[str]) -> tuple[Orphan, ...]:
    """What could be ended, and what is left alone and why; changes nothing."""
    return orphans(ground.site(), lineages)


def end(ground: LiveGround, found: Sequence[Orphan], ends: int | None) -> tuple[str, ...]:
    """End those that are not left alone; their number has to be said on purpose."""
    return collect(ground.site(), found, ChangeApproval(ends=ends))

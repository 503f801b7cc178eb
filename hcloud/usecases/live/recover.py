"""``hcloud recover``: a lost or damaged state rebuilt from what the cloud and the remains tell."""

from __future__ import annotations

from dataclasses import replace

from hcloud.live.recover import RecoveryFindings, put_back, rebuild
from hcloud.live.site import Progress
from hcloud.model.holdings.state import State
from hcloud.usecases.live.ground import LiveGround


def look(ground: LiveGround, lineage: str | None, progress: Progress = lambda step: None) -> RecoveryFindings:
    """What the state would be rebuilt to; changes nothing. Waits for machines that lists show late where a part of the
    journal is lost."""
    return rebuild(replace(ground.site(), progress=progress), ground.store, lineage)


def write(ground: LiveGround, found: RecoveryFindings) -> State:
    """Put it in place; what stood there is kept."""
    return put_back(ground.store, found)

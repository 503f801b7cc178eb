"""``hcloud fake wait``: let time pass on a rehearsal, so that there is a month to report on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hcloud.errors import UsageError
from hcloud.usecases.live.ground import LiveGround

LONGEST_SECONDS = 10 * 365 * 86_400  # ours: longer than any commitment


@dataclass(frozen=True, slots=True)
class Waited:
    """How far a rehearsal's clock was put forward."""

    cloud: str
    before: datetime
    after: datetime


def wait(ground: LiveGround, seconds: int) -> Waited:
    """Put the clock of the cloud in memory forward and keep it so: its machines are rented on, and what was to happen
    happens. Nothing else is changed; UsageError for a cloud whose time is nobody's to turn."""
    from hcloud.fake.in_memory.memory import MemoryCloud

    memory = ground.cloud
    if not isinstance(memory, MemoryCloud):
        hint = "--cloud fake; of 'hcloud fake up' POST {\"advance\": SECONDS} to its /_hcloud/clock"
        raise UsageError(f"--cloud {ground.selection}: only a rehearsal's clock can be put forward", hint=hint)
    if not 0 < seconds <= LONGEST_SECONDS:
        raise UsageError("neither backwards nor for longer than ten years")
    before = memory.clock.moment()
    memory.clock.advance(seconds)
    with memory.ledger.held():
        memory.world.settle()
        memory.world.keep()
    return Waited(memory.name, before, memory.clock.moment())

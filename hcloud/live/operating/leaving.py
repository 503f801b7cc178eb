"""A cloud says that it takes a machine away, or works on what it runs on: its jobs leave it before that."""

from __future__ import annotations

from functools import partial

from hcloud.control.operating.records import MachineRecord
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.losing import lose
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.event import Closing, Interruption
from hcloud.model.running.job import NodePhase
from hcloud.model.running.note import Held

HEEDED_SECONDS = 3600.0
"""Ours: a notice of what is further away changes nothing yet."""
LAST_SECONDS = 120.0
"""Ours: what is left to jobs that may begin anew elsewhere. Clouds tell of the end of spot machines no sooner."""


def heed(desk: OperatingDesk, machine: MachineRecord, now: float) -> None:
    """Let nothing new begin on a machine of which there is notice. When what may not begin anew has ended on it, and
    shortly before it goes in any case, it counts as lost: what may begin anew does so elsewhere."""
    number, notice = machine.instance, desk.notices[machine.instance]
    left = 0.0 if notice.at is None else notice.at.timestamp() - now
    if left > HEEDED_SECONDS:
        return
    why = f"its cloud takes it away: {notice.why}"
    if machine.why != why:
        desk.tell(Held(now, number, why))
    if machine.option is PurchaseOption.SPOT:
        desk.happen(Interruption(now, number))
        return
    if desk.nodes.get(number) is NodePhase.READY and desk.may_say("warn", number, now):
        desk.said("warn", number, now)
        desk.say(partial(desk.parts.engine.warn, number, f"cloud: {notice.why}"))
    desk.nodes[number] = NodePhase.LEAVING
    if left > LAST_SECONDS and any(j.on == number and not j.order.restartable for j in desk.fold.active.values()):
        if not desk.session.is_closed(number):
            desk.happen(Closing(now, number))
        return
    lose(desk, machine, now)

"""A machine counts as gone, or its cloud says that it takes it away: what the controller is told then."""

from __future__ import annotations

from functools import partial

from hcloud.control.operating.records import MachinePhase, MachineRecord
from hcloud.live.operating.desk import OperatingDesk
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.event import Closing, Interruption, Lost, Pool
from hcloud.model.running.job import NodePhase
from hcloud.model.running.note import Held, NotLaunched

HEEDED_SECONDS = 3600.0
"""Ours: a notice of what is further away changes nothing yet."""
LAST_SECONDS = 120.0
"""Ours: what is left to jobs that may begin anew elsewhere. Clouds tell of the end of spot machines no sooner."""


def lose(desk: OperatingDesk, machine: MachineRecord, now: float) -> None:
    """A machine is gone that the controller still counts on; the reserve is brought back to its size."""
    number = machine.instance
    if number not in desk.session.instances or desk.finishing:
        return
    jobs = (desk.fold.jobs[name] for name in machine.jobs)
    desk.happen(Lost(now, number, tuple(j.order.id for j in jobs if j.on is None and j.began is None)))
    if machine.reserved:
        desk.happen(Pool(now, desk.fold.setup.pool))
        if machine.joined is None:
            _wait_with_the_next(desk, machine, now)


def _wait_with_the_next(desk: OperatingDesk, machine: MachineRecord, now: float) -> None:
    """Where a machine of the reserve was paid for and never became ready, the one in its place may not either."""
    until = desk.not_before(machine.type_name, now)
    fresh = (m for m in desk.fold.standing.values() if m.reserved and m.phase is MachinePhase.WANTED)
    for one in [m for m in fresh if m.wanted_at == now and not m.orders]:
        desk.tell(NotLaunched(now, one.instance, "the machine before it never became ready for jobs", until))


def lose_ended(desk: OperatingDesk, now: float) -> None:
    """Tell the controller of rented machines that were ended when all was over, where it turns out that it was not."""
    for number in list(desk.session.instances):
        machine = desk.fold.machines[number]
        if machine.phase is MachinePhase.GONE and not machine.reserved:
            lose(desk, machine, now)


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

"""A machine counts as gone; what the controller is told then."""

from __future__ import annotations

from hcloud.control.operating.records import MachinePhase, MachineRecord
from hcloud.live.operating.desk import OperatingDesk
from hcloud.model.running.event import Lost, Pool
from hcloud.model.running.note import NotLaunched


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
    until = desk.not_before(machine, now)
    fresh = (m for m in desk.fold.standing.values() if m.reserved and m.phase is MachinePhase.WANTED)
    for one in [m for m in fresh if m.wanted_at == now and not m.orders]:
        desk.tell(NotLaunched(now, one.instance, "the machine before it never became ready for jobs", until))


def lose_ended(desk: OperatingDesk, now: float) -> None:
    """Tell the controller of rented machines that were ended when all was over, where it turns out that it was not."""
    for number in list(desk.session.instances):
        machine = desk.fold.machines[number]
        if machine.phase is MachinePhase.GONE and not machine.reserved:
            lose(desk, machine, now)

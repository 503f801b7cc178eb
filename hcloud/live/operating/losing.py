"""A machine counts as gone; what the controller is told then."""

from __future__ import annotations

from hcloud.control.operating.records import MachinePhase, MachineRecord
from hcloud.live.operating.desk import OperatingDesk
from hcloud.model.running.event import Lost, Pool


def lose(desk: OperatingDesk, machine: MachineRecord, now: float) -> None:
    """A machine is gone that the controller still counts on; the reserve is brought back to its size."""
    number = machine.instance
    if number not in desk.session.instances or desk.finishing:
        return
    jobs = (desk.fold.jobs[name] for name in machine.jobs)
    desk.happen(Lost(now, number, tuple(j.order.id for j in jobs if j.on is None and j.began is None)))
    if machine.reserved:
        desk.happen(Pool(now, desk.fold.setup.pool))


def lose_ended(desk: OperatingDesk, now: float) -> None:
    """Tell the controller of rented machines that were ended when all was over, where it turns out that it was not."""
    for number in list(desk.session.instances):
        machine = desk.fold.machines[number]
        if machine.phase is MachinePhase.GONE and not machine.reserved:
            lose(desk, machine, now)

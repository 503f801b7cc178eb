"""What goes wrong in a simulated cloud: launches that fail, machines that are lost, jobs that are cancelled."""

from __future__ import annotations

from hcloud.control.losses import cancel, grow, lose
from hcloud.control.pieces import is_piece
from hcloud.control.ranks import CANCEL, FAILED_LAUNCH, LOSS, REPLACE
from hcloud.control.state import INTERRUPTIBLE, OWN, RENTED
from hcloud.policy.codes import LAUNCH_FAILED, LOST
from hcloud.sim.kernels.agents import withdraw
from hcloud.sim.kernels.gangs import give_up_together, stop_piece
from hcloud.sim.kernels.heap import has_more, push
from hcloud.sim.kernels.interference import at_quantile, part
from hcloud.sim.kernels.moving import drop_copy, has_copies, is_copy
from hcloud.sim.kernels.obeying import advance, leave_for_good, note, obey
from hcloud.sim.kernels.progress import halt, review
from hcloud.sim.kernels.world import SimulatedWorld

_TRIED_AGAIN = 60.0
"""Ours: seconds after which a type is launched again whose launch failed."""
_GIVEN_UP = 16
"""Ours: machines that a job loses before its user cancels it. Some jobs would never end."""


def fail_launch(w: SimulatedWorld, place: int, now: float) -> None:
    """The cloud has no capacity for an instance that was ordered."""
    w.tally.failed += 1
    until, number = now + _TRIED_AGAIN, w.control.servers[place].first
    while number >= 0:
        w.tasks[number].awaits = 0
        number = w.control.jobs[number].next
    note(w, (FAILED_LAUNCH, place, 0, 0, 0), until)
    lose(w.control, place, LAUNCH_FAILED, until, now)
    obey(w, now)


def lose_server(w: SimulatedWorld, place: int, now: float) -> None:
    """A machine is gone with all that its jobs did on it. A reserved one is replaced in the time that one of its type
    takes to start; a job that lost very many machines is given up by its user."""
    host, own = w.hosts[place], w.hosts[place].paid == OWN
    w.tally.lost += 1
    number = w.control.servers[place].first
    while number >= 0:
        task = w.tasks[number]
        if task.running:
            halt(w, number, now)
            task.left = task.work
            task.lost += 1
            w.tally.stopped += 1
            if task.lost == _GIVEN_UP:
                give_up_together(w, number, now)
        if is_piece(w.control.jobs[number]):
            stop_piece(w, number, now)
        number = w.control.jobs[number].next
    if own:
        draw = w.draws[host.serial % len(w.draws)]
        push(w, now + at_quantile(w.behaviours[host.kind].spin_up, draw.spin_up), REPLACE, host.kind, 0)
    note(w, (LOSS, place, 0, 0, 0), 0.0)
    lose(w.control, place, LOST, 0.0, now)
    obey(w, now)


def replace_server(w: SimulatedWorld, kind: int, now: float) -> None:
    """The reserve has the server of a type again that it lost."""
    advance(w, now)
    note(w, (REPLACE, w.active[OWN, kind] + 1, kind, 0, 0), 0.0)
    grow(w.control, kind, 1, now)
    obey(w, now)


def cancel_job(w: SimulatedWorld, number: int, now: float) -> None:
    """A job's user cancels it, if it has not ended."""
    task, place = w.tasks[number], w.control.jobs[number].server
    if task.over:
        return
    advance(w, now)
    task.awaits, task.rests = 0, 0
    if task.running:
        halt(w, number, now)
    if place >= 0:
        part(w, number, place)
    w.tally.cancelled += 0 if is_copy(w, number) else 1
    leave_for_good(w, number)
    if has_copies(w):
        drop_copy(w, number, now)
    if task.agent >= 0:  # the controller has not heard of it
        withdraw(w, number)
        return
    note(w, (CANCEL, number, 0, 0, 0), 0.0)
    cancel(w.control, number, now)
    if place >= 0 and not w.hosts[place].calm:
        review(w, place, now, -1)
    obey(w, now)


def is_over(w: SimulatedWorld) -> bool:
    """Whether all jobs have come and gone, and nothing is rented any more: only reserved machines may still be lost."""
    if has_more(w) or w.tally.present > 0:
        return False
    for kind in range(w.active.shape[1]):
        if w.active[RENTED, kind] > 0 or w.active[INTERRUPTIBLE, kind] > 0:
            return False
    return True

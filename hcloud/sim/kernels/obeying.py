"""What the engine does on every event: time passes, a line is noted, and the controller's commands are obeyed."""

from __future__ import annotations

import math

from hcloud.control.pieces import is_piece
from hcloud.control.ranks import BOUND, EXPIRE, FAILED_LAUNCH, INTERRUPT, LOOK, LOSS, READY
from hcloud.control.state import INTERRUPTIBLE, OWN, RENTED, UP, Command
from hcloud.policy.codes import (
    BADLY_BEHAVED,
    END,
    ENLARGE,
    FROM_QUEUE,
    HELD_BACK,
    LAUNCH,
    LAUNCH_FAILED,
    MOVE,
    PIECE_LOST,
    PLACE,
    QUEUE,
    RELEASE,
    RETAIN,
    SHRINK,
    TURN_AWAY,
    WAIT,
)
from hcloud.policy.placing.placement import RESOURCES, UNTOUCHED
from hcloud.sim.kernels.gangs import begin_together, stop_piece
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.interference import at_quantile, join, part
from hcloud.sim.kernels.moving import drop_copy, has_copies, is_copy, leave_for, set_off
from hcloud.sim.kernels.progress import begin, halt, review
from hcloud.sim.kernels.stages import release
from hcloud.sim.kernels.world import COMMAND, SimulatedWorld

_LOOKS_A_LIFE = 16
"""Neighbours of a job with much work left are looked at this many times over the rest of its life, if that is rarer."""
_ANSWERED = 1.0
"""Ours: seconds until a cloud answers that it cannot launch an instance."""


def advance(w: SimulatedWorld, now: float) -> None:
    """Let time pass, and count what is used meanwhile."""
    tally = w.tally
    counted = min(now, tally.until) - max(tally.now, tally.since)
    if counted > 0:
        tally.used_seconds += counted * w.control.desk.used
    tally.now = now


def note(w: SimulatedWorld, event: tuple[int, int, int, int, int], value: float) -> None:
    """Write a line of the journal, where one is kept."""
    if len(w.lines) == 0:
        return
    if w.tally.lines >= len(w.lines):
        w.tally.full = 1
        return
    line = w.lines[w.tally.lines]
    line.code, line.a, line.b, line.c, line.d = event
    line.time, line.value = w.tally.now, value
    w.tally.lines += 1


def look_again(w: SimulatedWorld, place: int, now: float) -> None:
    """Look at a server's neighbours again after a while, if it has a tenant."""
    number, host = w.control.servers[place].first, w.hosts[place]
    if number >= 0 and w.behaviours[host.kind].varies:
        host.look = now + max(w.cloud.resample, w.tasks[number].left / _LOOKS_A_LIFE)
        push(w, host.look, LOOK, host.serial, place)


def leave_for_good(w: SimulatedWorld, number: int) -> None:
    """A job is over, however it went."""
    w.tasks[number].over = 1
    w.tally.present -= 1
    if number < len(w.stages):
        release(w, number)


def obey(w: SimulatedWorld, now: float) -> None:
    """Carry out what the controller ordered, in order."""
    for at in range(w.control.desk.commands):
        order = w.control.commands[at]
        what = order.what
        note(w, (COMMAND + what, order.job, order.server, order.action, order.reason), order.margin)
        if what == PLACE:
            _place(w, order, now)
        elif what == LAUNCH:
            _launch(w, order, now)
        elif what == RETAIN:
            w.tally.emptied += 1
            push(w, order.margin, EXPIRE, w.hosts[order.server].serial, order.server)
        elif what == RELEASE:
            _close(w, order.server, order.reason, now)
        elif what in (ENLARGE, SHRINK):
            w.tally.enlarged += 1 if what == ENLARGE else 0
            w.tally.shrunk += 1 if what == SHRINK else 0
            part(w, order.job, order.server)
            join(w, order.job, order.server)
            w.hosts[order.server].calm = 0
            review(w, order.server, now, -1)
        elif what == MOVE:
            _move(w, order, now)
        elif what == WAIT:
            _hold(w, order)
        elif what in (TURN_AWAY, END):
            _give_up(w, order.job, what, now)
    w.control.desk.commands = 0
    _expect_wake(w, now)


def _give_up(w: SimulatedWorld, number: int, what: int, now: float) -> None:
    """A job is turned away, or ends with its machine."""
    w.tally.refused += 1 if what == TURN_AWAY else 0
    w.tally.ended += 1 if what == END and not is_copy(w, number) else 0
    leave_for_good(w, number)
    if has_copies(w):
        drop_copy(w, number, now)


def _expect_wake(w: SimulatedWorld, now: float) -> None:
    """When the controller is to look after those who wait, unless that is known."""
    tally, wake = w.tally, w.control.desk.wake
    if wake < tally.woken or tally.woken <= now:
        tally.woken = wake
        if wake < math.inf:
            push(w, wake, BOUND, 0, 0)


def _move(w: SimulatedWorld, order: Command, now: float) -> None:
    """A job leaves its server; those that stay feel it."""
    if order.reason == PIECE_LOST:
        w.tally.stopped += w.tasks[order.job].running
        stop_piece(w, order.job, now)
    else:
        w.tally.moved += 1
        halt(w, order.job, now)
        if w.control.rules.watching > 0:
            leave_for(w, order.job, order.reason)
    part(w, order.job, order.server)
    if not w.hosts[order.server].calm:
        review(w, order.server, now, -1)


def _remember(w: SimulatedWorld, order: Command) -> None:
    """The first decision about a job is kept; where it runs is the last one's."""
    task, host = w.tasks[order.job], w.hosts[order.server]
    if task.action < 0:
        task.action, task.reason, task.margin = order.action, order.reason, order.margin
    if order.reason == FROM_QUEUE or (task.queued < 0.0 and task.action == QUEUE):
        task.queued = w.tally.now - w.control.jobs[order.job].asked
    task.paid, task.kind, task.serial = host.paid, host.kind, host.serial


def _hold(w: SimulatedWorld, order: Command) -> None:
    """A job joins a queue: the first decision about it, if it just came."""
    task, job = w.tasks[order.job], w.control.jobs[order.job]
    task.locally = 1 if job.ticket > 0 else task.locally
    if order.reason == HELD_BACK:
        task.held = job.usual
        push(w, order.margin, BOUND, order.job, 0)
    if task.action < 0:
        task.action, task.reason, task.margin = order.action, order.reason, order.margin


def _place(w: SimulatedWorld, order: Command, now: float) -> None:
    server = w.control.servers[order.server]
    _remember(w, order)
    join(w, order.job, order.server)
    if server.paid != OWN and w.hosts[order.server].uses > 0:
        w.tally.reused += 1
    if is_piece(w.control.jobs[order.job]):
        begin_together(w, order.job, now)
    elif server.status == UP and w.control.rules.watching > 0 and w.watches[order.job].away > 0.0:
        set_off(w, order.job, now)
    elif server.status == UP:
        begin(w, order.job, order.server, now)
    if server.status == UP and server.tenants == 1:
        look_again(w, order.server, now)


def _launch(w: SimulatedWorld, order: Command, now: float) -> None:
    place = order.server
    open_host(w, place, now)
    host = w.hosts[place]
    if host.paid == RENTED:
        host.launched = max(now, w.control.kinds[host.kind].shut)
    expect_loss(w, place)
    if host.paid == OWN:
        return
    _remember(w, order)
    join(w, order.job, place)
    w.tasks[order.job].awaits = 1 if is_piece(w.control.jobs[order.job]) else 0
    draw = w.draws[host.serial % len(w.draws)]
    if draw.launch < w.cloud.failed_launches:
        push(w, host.launched + _ANSWERED, FAILED_LAUNCH, host.serial, place)
        return
    seconds = at_quantile(w.behaviours[host.kind].spin_up, draw.spin_up)
    push(w, host.launched + seconds, READY, host.serial, place)
    if host.paid == INTERRUPTIBLE and w.cloud.interruptions > 0.0:
        lasts = -math.log(1.0 - draw.interruption) / w.cloud.interruptions
        push(w, host.launched + seconds + lasts, INTERRUPT, host.serial, place)


def open_host(w: SimulatedWorld, place: int, now: float) -> None:
    """Begin the record of a server that the controller has opened."""
    host, server = w.hosts[place], w.control.servers[place]
    host.ordered, host.launched, host.ready, host.probed, host.look = now, now, now, now, -1.0
    host.serial, host.kind, host.paid = server.serial, server.kind, server.paid
    host.uses, host.calm, host.stale = 0, 1, 0
    for i in range(RESOURCES):
        host.pressure[i], host.room[i] = 0, UNTOUCHED
    behaviour, draw = w.behaviours[host.kind], w.draws[host.serial % len(w.draws)]
    host.spread = at_quantile(behaviour.spread, draw.spread)
    host.slowness = at_quantile(behaviour.slowness, draw.slowness)
    host.phase = draw.phase
    w.active[host.paid, host.kind] += 1


def expect_loss(w: SimulatedWorld, place: int) -> None:
    """When a machine that was launched will be lost, unless it is released before."""
    host = w.hosts[place]
    if w.cloud.losses > 0.0:
        lasts = -math.log(1.0 - w.draws[host.serial % len(w.draws)].loss) / w.cloud.losses
        push(w, host.launched + lasts, LOSS, host.serial, place)


def _close(w: SimulatedWorld, place: int, reason: int, now: float) -> None:
    if w.tally.rentals >= len(w.rentals):
        w.tally.full = 1
        return
    host, rental = w.hosts[place], w.rentals[w.tally.rentals]
    w.active[host.paid, host.kind] -= 1
    was_had = host.paid != OWN and reason != LAUNCH_FAILED and (host.launched < now or host.launched == host.ordered)
    if not was_had:
        host.paid = -1
        return
    w.tally.rentals += 1
    if reason <= BADLY_BEHAVED:
        w.tally.at_once += 1
        w.tally.emptied += 1
    rental.kind, rental.paid, rental.reason = host.kind, host.paid, reason
    rental.serial, rental.uses = host.serial, host.uses
    rental.launched, rental.ready, rental.released = host.launched, host.ready, now
    host.paid = -1

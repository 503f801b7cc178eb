"""The event engine: takes the next event, asks the controller about it, and does what it says to a simulated cloud."""

from __future__ import annotations

import math

from hcloud.control.controller import arrive, expire, interrupt, leave, nominee, ready, sampled, suffer, tick
from hcloud.control.ranks import ARRIVAL, CHECK, CONTROL, EXPIRE, FINISH, INTERRUPT, LOOK, READY
from hcloud.control.state import INTERRUPTIBLE, OWN, UP, Command
from hcloud.policy.codes import (
    BADLY_BEHAVED,
    ENLARGE,
    FROM_QUEUE,
    LAUNCH,
    MOVE,
    PLACE,
    QUEUE,
    RELEASE,
    RETAIN,
    TURN_AWAY,
    WAIT,
)
from hcloud.policy.placement import RESOURCES, UNTOUCHED
from hcloud.sim.kernels.heap import pop, push
from hcloud.sim.kernels.interference import at_quantile, join, part, quality_of
from hcloud.sim.kernels.progress import DONE, begin, halt, performance_now, performance_so_far, review, settle
from hcloud.sim.kernels.world import COMMAND, QUALITY, RANK, SimulatedWorld

_LOOKS_A_LIFE = 16
"""Neighbours of a job with much work left are looked at this many times over the rest of its life, if that is rarer."""


def simulate(w: SimulatedWorld, until: int) -> bool:
    """Handle events until none is left (True) or ``until`` jobs have come (False): a long run goes in steps.

    Stops early with ``tally.full`` set where a table was too short; the run is then repeated with longer ones.
    """
    tally, desk = w.tally, w.control.desk
    period = w.control.rules.period
    while tally.full == 0 and desk.overflow == 0:
        coming = w.tasks[tally.next_job].decide if tally.next_job < len(w.tasks) else math.inf
        event = w.events[0].time if tally.events > 0 else math.inf
        if coming == math.inf and event == math.inf:
            return True
        control = tally.last_control + period
        sample = w.series[tally.samples, 0] if tally.samples < len(w.series) else math.inf
        first = min(coming, event)
        if event <= coming and event <= control and event <= sample:
            _handle(w, pop(w))
        elif control <= sample and control <= first:
            _control(w, control)
        elif sample <= first:
            _sample(w)
        elif tally.next_job >= until:
            return False
        else:
            _arrival(w, coming)
    return True


def _advance(w: SimulatedWorld, now: float) -> None:
    tally, desk = w.tally, w.control.desk
    passed = now - tally.now
    counted = min(now, tally.until) - max(tally.now, tally.since)
    if counted > 0:
        tally.used_seconds += counted * desk.used
    tally.queue_seconds += passed * desk.queued
    tally.now = now


def _note(w: SimulatedWorld, event: tuple[int, int, int, int, int], value: float) -> None:
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


def _control(w: SimulatedWorld, now: float) -> None:
    _advance(w, now)
    w.tally.last_control = now
    _note(w, (CONTROL, 0, 0, 0, 0), 0.0)
    tick(w.control, now)
    _obey(w, now)


def _sample(w: SimulatedWorld) -> None:
    row, kinds = w.series[w.tally.samples], w.active.shape[1]
    row[1] = w.control.desk.used / 1000.0
    row[2] = w.control.desk.queued
    row[3] = w.control.desk.soft
    for paid in range(3):
        for kind in range(kinds):
            row[4 + paid * kinds + kind] = w.active[paid, kind]
    for server in range(w.heat.shape[1]):
        capacity = w.control.kinds[w.control.servers[server].kind].cores
        w.heat[w.tally.samples, server] = w.control.servers[server].used / capacity
    w.tally.samples += 1


def _arrival(w: SimulatedWorld, now: float) -> None:
    _advance(w, now)
    number = w.tally.next_job
    w.tally.next_job += 1
    w.tasks[number].left = w.tasks[number].work
    idle = nominee(w.control, number)
    if idle >= 0:
        _probe(w, idle, now)
    _note(w, (ARRIVAL, number, 0, 0, 0), 0.0)
    arrive(w.control, number, now)
    _obey(w, now)


def _probe(w: SimulatedWorld, place: int, now: float) -> None:
    high, low = quality_of(w, place, now)
    _note(w, (QUALITY, place, high, low, 0), 0.0)
    w.hosts[place].probed = now
    sampled(w.control, place, (high, low), now)


def _handle(w: SimulatedWorld, event: tuple[float, int, int]) -> None:
    now, kind, number, tag = event[0], event[1] // RANK, event[1] % RANK, event[2]
    if kind == FINISH:
        _finish(w, number, now)
    elif kind == CHECK:
        _check(w, number, tag, now)
    elif w.hosts[tag].serial == number and w.hosts[tag].paid >= 0:
        _advance(w, now)
        if kind == READY:
            _ready(w, tag, now)
        elif kind == LOOK:
            _look(w, tag, now)
        elif kind == EXPIRE:
            _note(w, (EXPIRE, tag, 0, 0, 0), 0.0)
            expire(w.control, tag, now)
            _obey(w, now)
        elif kind == INTERRUPT:
            _interrupt(w, tag, now)


def _finish(w: SimulatedWorld, number: int, now: float) -> None:
    task = w.tasks[number]
    if not task.running or task.due != now:
        return
    settle(task, now)
    if task.left > DONE and not task.service:
        due = now + task.left / task.rate
        if due > now:  # late in a long run what is left may be less than the clock can tell
            task.due = due
            push(w, due, FINISH, number, 0)
            return
    _advance(w, now)
    task.left, task.running, task.ended = 0.0, 0, now
    task.version += 1
    w.tally.running -= 1
    w.tally.last_finish = now
    place = w.control.jobs[number].server
    server = w.control.servers[place]
    if server.paid != OWN and server.tenants == 1:
        _probe(w, place, now)
    performance = performance_so_far(task)
    _note(w, (FINISH, number, 0, 0, 0), performance)
    part(w, number, place)
    leave(w.control, number, performance, now)
    if not w.hosts[place].calm:
        review(w, place, now, -1)
    _obey(w, now)


def _check(w: SimulatedWorld, number: int, version: int, now: float) -> None:
    task = w.tasks[number]
    if task.version != version or not task.running:
        return
    performance = performance_now(task)
    if performance >= w.control.rules.monitor_level:
        task.suspect = 0
        return
    _advance(w, now)
    settle(task, now)
    _note(w, (CHECK, number, 0, 0, 0), performance)
    task.suspect = 0 if suffer(w.control, number, performance, now) else 2
    _obey(w, now)


def _ready(w: SimulatedWorld, place: int, now: float) -> None:
    host = w.hosts[place]
    host.ready = now
    _note(w, (READY, place, 0, 0, 0), now - host.launched)
    ready(w.control, place, now - host.launched)
    _probe(w, place, now)
    number = w.control.servers[place].first
    while number >= 0:
        begin(w, number, place, now)
        number = w.control.jobs[number].next
    _look_again(w, place, now)


def _look(w: SimulatedWorld, place: int, now: float) -> None:
    """The neighbours' load has moved: rate the tenants anew, and probe now and then."""
    host = w.hosts[place]
    if w.control.servers[place].tenants == 0 or host.look != now:
        return
    host.calm = 0
    review(w, place, now, -1)
    if now - host.probed >= w.control.rules.probe_seconds:
        _probe(w, place, now)
    _look_again(w, place, now)


def _look_again(w: SimulatedWorld, place: int, now: float) -> None:
    number, host = w.control.servers[place].first, w.hosts[place]
    if number >= 0 and w.behaviours[host.kind].varies:
        host.look = now + max(w.cloud.resample, w.tasks[number].left / _LOOKS_A_LIFE)
        push(w, host.look, LOOK, host.serial, place)


def _interrupt(w: SimulatedWorld, place: int, now: float) -> None:
    number = w.control.servers[place].first
    if number >= 0 and w.tasks[number].running:
        task = w.tasks[number]
        halt(w, number, now)
        task.left += (task.work - task.left) * w.cloud.lost_share
        w.tally.stopped += 1
    _note(w, (INTERRUPT, place, 0, 0, 0), 0.0)
    interrupt(w.control, place, now)
    _obey(w, now)


def _obey(w: SimulatedWorld, now: float) -> None:
    """Carry out what the controller ordered, in order."""
    for at in range(w.control.desk.commands):
        order = w.control.commands[at]
        what = order.what
        _note(w, (COMMAND + what, order.job, order.server, order.action, order.reason), order.margin)
        if what == PLACE:
            _place(w, order, now)
        elif what == LAUNCH:
            _launch(w, order, now)
        elif what == RETAIN:
            w.tally.emptied += 1
            push(w, order.margin, EXPIRE, w.hosts[order.server].serial, order.server)
        elif what == RELEASE:
            _close(w, order.server, order.reason, now)
        elif what == ENLARGE:
            w.tally.enlarged += 1
            part(w, order.job, order.server)
            join(w, order.job, order.server)
            w.hosts[order.server].calm = 0
            review(w, order.server, now, -1)
        elif what == MOVE:
            _move(w, order, now)
        elif what == WAIT:
            _hold(w, order)
        elif what == TURN_AWAY:
            w.tally.refused += 1
    w.control.desk.commands = 0


def _move(w: SimulatedWorld, order: Command, now: float) -> None:
    """A job leaves its server; those that stay feel it."""
    w.tally.moved += 1
    halt(w, order.job, now)
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
    """A job joins the queue: the first decision about it, if it just came."""
    task = w.tasks[order.job]
    if task.action < 0:
        task.action, task.reason, task.margin = order.action, order.reason, order.margin


def _place(w: SimulatedWorld, order: Command, now: float) -> None:
    server = w.control.servers[order.server]
    _remember(w, order)
    join(w, order.job, order.server)
    if server.paid != OWN and w.hosts[order.server].uses > 0:
        w.tally.reused += 1
    if server.status == UP:
        begin(w, order.job, order.server, now)
        if server.tenants == 1:
            _look_again(w, order.server, now)


def _launch(w: SimulatedWorld, order: Command, now: float) -> None:
    place = order.server
    open_host(w, place, now)
    _remember(w, order)
    join(w, order.job, place)
    host = w.hosts[place]
    draw = w.draws[host.serial % len(w.draws)]
    seconds = at_quantile(w.behaviours[host.kind].spin_up, draw.spin_up)
    push(w, now + seconds, READY, host.serial, place)
    if host.paid == INTERRUPTIBLE and w.cloud.interruptions > 0.0:
        lasts = -math.log(1.0 - draw.interruption) / w.cloud.interruptions
        push(w, now + seconds + lasts, INTERRUPT, host.serial, place)


def open_host(w: SimulatedWorld, place: int, now: float) -> None:
    """Begin the record of a server that the controller has opened."""
    host, server = w.hosts[place], w.control.servers[place]
    host.launched, host.ready, host.probed, host.look = now, now, now, -1.0
    host.serial, host.kind, host.paid = server.serial, server.kind, server.paid
    host.uses, host.calm, host.stale = 0, 1, 0
    for i in range(RESOURCES):
        host.pressure[i], host.room[i] = 0, UNTOUCHED
    behaviour, draw = w.behaviours[host.kind], w.draws[host.serial % len(w.draws)]
    host.spread = at_quantile(behaviour.spread, draw.spread)
    host.slowness = at_quantile(behaviour.slowness, draw.slowness)
    host.phase = draw.phase
    w.active[host.paid, host.kind] += 1


def _close(w: SimulatedWorld, place: int, reason: int, now: float) -> None:
    if w.tally.rentals >= len(w.rentals):
        w.tally.full = 1
        return
    host, rental = w.hosts[place], w.rentals[w.tally.rentals]
    w.tally.rentals += 1
    if reason <= BADLY_BEHAVED:
        w.tally.at_once += 1
        w.tally.emptied += 1
    rental.kind, rental.paid, rental.reason = host.kind, host.paid, reason
    rental.serial, rental.uses = host.serial, host.uses
    rental.launched, rental.ready, rental.released = host.launched, host.ready, now
    w.active[host.paid, host.kind] -= 1
    host.paid = -1

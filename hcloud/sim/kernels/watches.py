"""Running jobs as somebody sees them who measures them: how far from their targets, since when, and when they are
looked after; and when they change, which nobody sees."""

from __future__ import annotations

import math

from hcloud.control.pieces import is_piece
from hcloud.control.ranks import CHECK
from hcloud.control.searching.renting import rented_as
from hcloud.control.state import FULL_SPEED, OWN
from hcloud.policy.adjusting import SOON, due_at, notice
from hcloud.policy.repair import AUTOSCALE
from hcloud.policy.rules import Rules
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.interference import rate_of, service_tail
from hcloud.sim.kernels.world import PHASE, REOPENED, SimulatedWorld, TaskWatch

_AT_ONCE = 1e-9
_HURT = 0.95
_LEAST_LOAD = 1e-3
_MOST_VAIN = 6
"""Ours: a job that nothing can be done for is looked after more and more rarely, up to 64 times as rarely."""


def size_by_row(w: SimulatedWorld, number: int) -> None:
    """A job came: it asks for what the row of its application says by now, if that was written anew since the run
    began: no more than the large type has, or than it was told where it needs a larger one. A piece of several asks for
    what it was told to, as the others do."""
    watch, job, c = w.watches[number], w.control.jobs[number], w.control
    factor = w.written[watch.known, 0]
    if factor == 1.0 or is_piece(job):
        return
    most = max(c.kinds[c.rules.large].cores, watch.told)
    wanted = min(max(math.floor(watch.told * factor + 0.5), 1), most)
    kind = rented_as(c, number, wanted)
    if kind < 0:
        return  # nothing holds so much: it stays as it was told
    job.ask, job.kind = wanted, kind
    w.tally.resized += 1


def write_back(w: SimulatedWorld, number: int, sized: int, now: float) -> None:
    """What a job was found to need is written into the row of its application, by which the next ones are sized, if it
    was ``sized`` otherwise before, and was off from when it began: one that changes later is in a phase. It is on one
    reserved server: elsewhere neighbours may be the reason that nobody knows of. Each job counts once."""
    watch, c = w.watches[number], w.control
    mine, job = c.watched[number], c.jobs[number]
    is_new = now - w.tasks[number].began <= SOON * c.rules.apart
    if watch.known == 0 or c.rules.by_rows == 0 or mine.sized == sized or mine.beside > 0 or not is_new:
        return
    place = job.server
    if place < 0 or c.servers[place].paid != OWN:
        return
    speed = c.speeds[job.platform, c.servers[place].kind] / FULL_SPEED
    found = mine.sized * speed * (1.0 + c.rules.on_top) / watch.fit
    row = w.written[watch.known]
    row[1] += 1.0
    row[0] += (found - row[0]) / row[1]
    watch.known = 0


def begin_watching(w: SimulatedWorld, number: int, now: float) -> None:
    """A job begins on a server: it has not been measured there."""
    watch = w.watches[number]
    watch.below, watch.above, watch.due, watch.looked, watch.away = math.inf, math.inf, math.inf, -math.inf, 0.0
    watch.since, watch.using, watch.turns, watch.vain = now, 0.0, math.inf, 0


def stopped(w: SimulatedWorld, number: int, now: float) -> None:
    """A job does not run any more where it did: what it used is counted."""
    watch = w.watches[number]
    watch.used += (now - watch.since) * watch.using
    watch.since, watch.using, watch.part = now, 0.0, 0.0
    if watch.shuts > 0:
        push(w, now, REOPENED, number, 0)
    first = first_row(w, number)
    if first != number:
        _observe(w, first, now)  # its other servers have more to do


def rated(w: SimulatedWorld, number: int, slow: tuple[float, float, float], now: float) -> None:
    """A running job got another rate: by points of excess pressure, the slowness of its server, and its share of what
    it needs."""
    w.watches[number].part = rate_of(w.cloud, w.tasks[number].service, slow)
    _observe(w, first_row(w, number), now)


def first_row(w: SimulatedWorld, number: int) -> int:
    """The row of a service's first server; of all others their own."""
    is_beside = w.control.rules.most_servers > 1 and w.tasks[number].service == 1 and w.watches[number].twin < 0
    return -w.watches[number].twin - 1 if is_beside else number


def rows_beside(w: SimulatedWorld, number: int) -> int:
    """How many rows there are for other servers of a service."""
    has_rows = w.control.rules.most_servers > 1 and w.tasks[number].service == 1 and w.watches[number].twin > 0
    return int(w.control.rules.most_servers - 1) if has_rows else 0


def _observe(w: SimulatedWorld, number: int, now: float) -> None:
    """A job that runs, on whichever servers, does more or less than before."""
    task, watch, rules = w.tasks[number], w.watches[number], w.control.rules
    if not task.running:
        return
    watch.used += (now - watch.since) * watch.using
    rate, cores, more, servers = watch.part, task.cores, rows_beside(w, number), 1
    for row in range(watch.twin - 1, watch.twin - 1 + more):
        if w.tasks[row].running:
            rate += w.watches[row].part
            cores += w.tasks[row].cores
            servers += 1
    if servers > 1 and watch.out > 0:
        rate *= w.together[watch.out, servers - 1]
    watch.since, watch.using, watch.rate = now, min(cores, task.need), rate
    if more > 0:
        task.rate = service_tail(w.cloud, 0.0, 1.0, rate)
    if rules.watching == AUTOSCALE:  # one over the share of its processors that is in use, as a monitor tells it
        watch.rate = max(rate / max(w.cloud.service_load, _LEAST_LOAD), 1.0)
    performance = 1.0 / task.rate if task.service else task.rate
    if watch.open == 1 and performance < _HURT:
        watch.open = 2
        w.tally.hurt += 1
    expect_phase(w, number, now)
    if watch.shuts > 0 and performance >= rules.monitor_level:
        push(w, next_sample(rules, now), REOPENED, number, 0)
    if rules.watching > 0:
        notice(rules, watch, (performance, watch.rate), now)
        expect_look(w, number, now)


def expect_look(w: SimulatedWorld, number: int, now: float) -> None:
    """Look after a job when it has been off its target for long enough, unless that is expected already. Best effort
    has none, and batch jobs are not scaled."""
    watch, rules = w.watches[number], w.control.rules
    if w.control.watched[number].spare or (rules.watching == AUTOSCALE and not w.tasks[number].service):
        return
    due = due_at(rules, watch, w.control.watched[number])
    if due == math.inf:
        return
    due = next_sample(rules, max(due, now, looked_until(rules, watch)))
    if due < watch.due or watch.due <= now:
        watch.due = due
        push(w, due, CHECK, number, w.tasks[number].version)


def looked_until(rules: Rules, watch: TaskWatch) -> float:
    """Until when a job is not looked after again: the longer, the oftener nothing came of it."""
    return watch.looked + rules.apart * 2.0 ** min(watch.vain, _MOST_VAIN)


def next_sample(rules: Rules, time: float) -> float:
    """When the monitor first looks at jobs from a time on: at every period since the start of the run."""
    return max(math.ceil(time / rules.monitor_period) * rules.monitor_period, time)


def expect_phase(w: SimulatedWorld, number: int, now: float) -> None:
    """Expect the next change of a running job at the soonest that it can come."""
    task, watch = w.tasks[number], w.watches[number]
    if watch.next >= watch.last:
        return
    ahead = max(task.left - w.phases[watch.next].left, 0.0)
    at = now + (ahead if task.service else ahead / task.rate)
    if at < watch.turns - _AT_ONCE or watch.turns < now:
        watch.turns = at
        push(w, at, PHASE, number, 0)

"""Running jobs as somebody sees them who measures them: how far from their targets, since when, and when they are
looked after; and when they change, which nobody sees."""

from __future__ import annotations

import math

from hcloud.control.ranks import CHECK
from hcloud.policy.adjusting import due_at, notice
from hcloud.policy.rules import Rules
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.interference import rate_of
from hcloud.sim.kernels.world import PHASE, SimulatedWorld, TaskWatch

_AT_ONCE = 1e-9
_HURT = 0.95
_MOST_VAIN = 6
"""Ours: a job that nothing can be done for is looked after more and more rarely, up to 64 times as rarely."""


def begin_watching(w: SimulatedWorld, number: int, now: float) -> None:
    """A job begins on a server: it has not been measured there."""
    watch = w.watches[number]
    watch.below, watch.above, watch.due, watch.looked, watch.away = math.inf, math.inf, math.inf, -math.inf, 0.0
    watch.since, watch.using, watch.turns, watch.vain = now, 0.0, math.inf, 0


def stopped(w: SimulatedWorld, number: int, now: float) -> None:
    """A job does not run any more where it did: what it used is counted."""
    watch = w.watches[number]
    watch.used += (now - watch.since) * watch.using
    watch.since, watch.using = now, 0.0


def rated(w: SimulatedWorld, number: int, slow: tuple[float, float, float], now: float) -> None:
    """A running job got another rate: by points of excess pressure, the slowness of its server, and its share of what
    it needs."""
    task, watch, rules = w.tasks[number], w.watches[number], w.control.rules
    watch.used += (now - watch.since) * watch.using
    watch.since, watch.using = now, min(task.cores, task.need)
    watch.rate = rate_of(w.cloud, task.service, slow)
    performance = 1.0 / task.rate if task.service else task.rate
    if watch.open == 1 and performance < _HURT:
        watch.open = 2
        w.tally.hurt += 1
    expect_phase(w, number, now)
    if rules.watching > 0:
        notice(rules, watch, (performance, watch.rate), now)
        expect_look(w, number, now)


def expect_look(w: SimulatedWorld, number: int, now: float) -> None:
    """Look after a job when it has been off its target for long enough, unless that is expected already. Best effort
    has none."""
    watch, rules = w.watches[number], w.control.rules
    if w.control.watched[number].spare:
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

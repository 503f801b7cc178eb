"""How running jobs get on: work done since the last look, the rate from now on, and when each will end."""

from __future__ import annotations

from hcloud.control.ranks import CHECK, FINISH
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.interference import (
    batch_rate,
    is_calm,
    most_neighbours,
    neighbours,
    pressing,
    service_tail,
    suffered,
)
from hcloud.sim.kernels.watches import begin_watching, first_row, next_sample, rated, stopped
from hcloud.sim.kernels.world import SimulatedWorld, Task

DONE = 1e-9
"""Seconds of work that count as none."""


def settle(task: Task, now: float) -> None:
    """Book what a running job did since the last look."""
    passed = now - task.since
    task.since = now
    task.ran += passed
    task.usage += passed * task.cores
    if task.service:
        task.left -= passed
        task.tail += passed * task.rate
    else:
        task.left -= passed * task.rate


def begin(w: SimulatedWorld, number: int, place: int, now: float) -> None:
    """A job starts (or goes on) on a server that is up; its neighbours feel it. Where the server has less memory than
    all of them ask for, it is ended as it begins."""
    task = w.tasks[number]
    task.running, task.since, task.suspect, task.rate = 1, now, 0, -1.0
    task.version += 1
    w.tally.running += 1
    w.hosts[place].uses += 1
    if task.began < 0.0:
        task.began = now
    if len(w.watches) > 0:
        begin_watching(w, number, now)
    review(w, place, now, number)
    if w.control.rules.overcommit and w.control.servers[place].memory > w.control.kinds[w.hosts[place].kind].memory:
        task.crashed, task.due = 1, now
        push(w, now, FINISH, number, 0)


def halt(w: SimulatedWorld, number: int, now: float) -> None:
    """A job stops running where it is."""
    task = w.tasks[number]
    settle(task, now)
    if len(w.watches) > 0:
        settle_first(w, number, now)
        stopped(w, number, now)
    task.running, task.due = 0, -1.0
    task.version += 1
    w.tally.running -= 1


def settle_first(w: SimulatedWorld, number: int, now: float) -> None:
    """Before a server of a service does more or less: book what the service did."""
    first = w.tasks[first_row(w, number)]
    if first.running:
        settle(first, now)


def review(w: SimulatedWorld, place: int, now: float, only: int) -> None:
    """Rate the tenants of a server anew; where it was and stays calm, ``only`` the one that changed (-1: nobody)."""
    host = w.hosts[place]
    load, was_calm = most_neighbours(w, host), host.calm == 1
    calm = is_calm(w, place, load)
    if not calm and w.behaviours[host.kind].varies:
        load = neighbours(w, host, now)
        calm = is_calm(w, place, load)
    host.calm = 1 if calm else 0
    if calm and was_calm:
        if only >= 0:
            _rate(w, only, now, 0.0, place)
        return
    number, found = w.control.servers[place].first, 0 if calm else pressing(w, place, load)
    while number >= 0:
        if w.tasks[number].running:
            _rate(w, number, now, suffered(w, number, place, load, found), place)
        number = w.control.jobs[number].next


def _rate(w: SimulatedWorld, number: int, now: float, excess: float, place: int) -> None:
    task, before, host = w.tasks[number], w.tasks[number].rate, w.hosts[place]
    if len(w.watches) > 0:
        settle_first(w, number, now)
    speed, slowness = w.speeds[w.control.jobs[number].platform, host.kind], host.slowness
    if speed != 1.0:  # most clusters are of one type: no division for each tenant there
        slowness /= speed
    settle(task, now)
    task.cores = w.control.jobs[number].cores
    share = task.cores / task.need
    if task.service:
        task.rate = service_tail(w.cloud, excess, slowness, share)
        if before < 0.0:
            task.due = now + task.left
            push(w, task.due, FINISH, number, 0)
    else:
        task.rate = batch_rate(w.cloud, excess, slowness, share)
        if task.rate > before:  # a job that got slower is looked at when its old end comes
            task.due = now + task.left / task.rate
            push(w, task.due, FINISH, number, 0)
    rules = w.control.rules
    if len(w.watches) > 0:
        rated(w, number, (excess, slowness, share), now)
    if rules.monitor and rules.watching == 0 and task.suspect == 0 and performance_now(task) < rules.monitor_level:
        task.suspect = 1
        push(w, next_sample(rules, now + rules.patience), CHECK, number, task.version)


def performance_now(task: Task) -> float:
    """The share of its performance in isolation that a running job has at this moment."""
    return 1.0 / task.rate if task.service else task.rate


def performance_so_far(task: Task) -> float:
    """The share of its performance in isolation that a job had while it ran; 1 for one that has hardly run."""
    if task.ran <= 0.0:
        return 1.0
    if task.service:
        return task.ran / max(task.tail, task.ran)
    return min((task.work - task.left) / task.ran, 1.0)

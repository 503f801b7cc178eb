"""What happens to running jobs that are watched or change: a phase begins, a job is measured anew and looked after,
goes on after a move; and some are measured before anybody suffers (Paragon §3.4)."""

from __future__ import annotations

import math

from hcloud.control.controller import reclassify
from hcloud.control.ranks import CHECK
from hcloud.control.state import UP
from hcloud.control.watching.adjusting import adjust
from hcloud.policy.adjusting import due_at, refold
from hcloud.policy.codes import SCALE
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.records import Ints
from hcloud.sim.kernels.beside import change_servers
from hcloud.sim.kernels.heap import has_more, push
from hcloud.sim.kernels.interference import join, part
from hcloud.sim.kernels.obeying import advance, note, obey
from hcloud.sim.kernels.progress import DONE, begin, performance_now, review, settle
from hcloud.sim.kernels.watches import expect_look, expect_phase, looked_until, rows_beside
from hcloud.sim.kernels.world import MEASURED, PHASE, RESUME, SWEEP, Phase, SimulatedWorld, TaskWatch

_POINTS = 100
"""What two scores are packed with into one number of a journal's line."""
_STRIDE, _TURN = 7919, 131
"""Ours: which numbers of chance say whether a job is measured in a sweep; a prime each."""


def happen(w: SimulatedWorld, kind: int, about: tuple[int, int], now: float) -> None:
    """A job is to change, or goes on after a move; or some are measured."""
    if kind == PHASE:
        _begin_phase(w, about[0], now)
    elif kind == RESUME:
        _resume(w, about[0], about[1], now)
    else:
        _sweep(w, now)


def _begin_phase(w: SimulatedWorld, number: int, now: float) -> None:
    """A job changes, if it has come so far: it needs and causes other things from now on."""
    task, watch = w.tasks[number], w.watches[number]
    if watch.turns != now or not task.running:
        return
    watch.turns = math.inf
    advance(w, now)
    settle(task, now)
    phase = w.phases[watch.next]
    if task.left > phase.left + DONE and now + (task.left - phase.left) / task.rate > now:
        expect_phase(w, number, now)
        return
    watch.next += 1
    watch.open = 1
    w.tally.phases += 1
    _change(w, number, phase, now)
    for row in range(watch.twin - 1, watch.twin - 1 + rows_beside(w, number)):
        if w.tasks[row].running:
            _change(w, row, phase, now)


def _change(w: SimulatedWorld, number: int, phase: Phase, now: float) -> None:
    """A job is as a phase of it says from now on, on one of its servers."""
    task, place = w.tasks[number], w.control.jobs[number].server
    part(w, number, place)
    vector, tolerates = task.vector, task.tolerates
    for i in range(RESOURCES):
        vector[i], tolerates[i] = phase.vector[i], phase.tolerates[i]
    task.need = phase.need
    join(w, number, place)
    w.hosts[place].calm = 0
    review(w, place, now, -1)


def look_after(w: SimulatedWorld, number: int, version: int, now: float) -> None:
    """A job has been off its target for long enough, if it still is: it is measured anew, the controller is told."""
    task, watch, rules = w.tasks[number], w.watches[number], w.control.rules
    if task.version != version or not task.running or watch.due != now:
        return
    watch.due = math.inf
    due = max(due_at(rules, watch, w.control.watched[number]), looked_until(rules, watch))
    if due > now:
        expect_look(w, number, now)
        return
    advance(w, now)
    settle(task, now)
    watch.looked = now
    watch.vain += 1
    performance, rate = performance_now(task), int(watch.rate * SCALE)
    if performance < rules.monitor_level:
        measure_anew(w, number, performance, now)
    _tell(w, number, (performance, rate), now)
    if task.running:
        expect_look(w, number, now)


def _tell(w: SimulatedWorld, number: int, measured: tuple[float, int], now: float) -> None:
    note(w, (CHECK, number, measured[1], 0, 0), measured[0])
    adjust(w.control, number, (measured[0], measured[1] / SCALE), now)
    if w.control.watched[number].adjusted == now:
        w.watches[number].vain = 0
        _found(w, w.watches[number])
    obey(w, now)
    if w.control.rules.most_servers > 1:
        change_servers(w, number, now)


def measure_anew(w: SimulatedWorld, number: int, performance: float, now: float) -> int:
    """Measure a job anew in the two resources that are most pressed on its server: whether it is of another kind than
    it was taken for. Nobody looks at what jobs are like where they are not profiled."""
    if w.control.rules.informed == 0:
        return 0
    task, job, nature = w.tasks[number], w.control.jobs[number], w.tally.nature
    one, two = _most_pressed(w.control.servers[job.server].pressure)
    for i in range(RESOURCES):
        nature[i], nature[RESOURCES + i] = job.vector[i], job.tolerates[i]
    found = int(task.vector[one]), int(task.tolerates[one]), int(task.vector[two]), int(task.tolerates[two])
    changed = refold(w.control.rules, nature, (one, two), found)
    w.tally.measured += 1
    if changed and not _found(w, w.watches[number]):
        w.tally.alarms += 1
    packed = ((one * _POINTS + found[0]) * _POINTS + found[1], (two * _POINTS + found[2]) * _POINTS + found[3])
    note(w, (MEASURED, number, packed[0], packed[1], changed), performance)
    reclassify(w.control, number, nature, performance, now)
    obey(w, now)
    return changed


def _found(w: SimulatedWorld, watch: TaskWatch) -> bool:
    """Whether a job had a phase that nobody had found up to now: before it hurt, or after that."""
    w.tally.found += 1 if watch.open == 1 else 0
    w.tally.late += 1 if watch.open == 2 else 0
    was_open = watch.open > 0
    watch.open = 0
    return was_open


def _most_pressed(pressure: Ints) -> tuple[int, int]:
    """The two resources with the most pressure, of equal ones the first."""
    one, two = 0, 1
    if pressure[1] > pressure[0]:
        one, two = 1, 0
    for i in range(2, RESOURCES):
        if pressure[i] > pressure[one]:
            one, two = i, one
        elif pressure[i] > pressure[two]:
            two = i
    return one, two


def _sweep(w: SimulatedWorld, now: float) -> None:
    """Measure some of the jobs that have run for a period; one that is of another kind is looked after."""
    rules, tally = w.control.rules, w.tally
    advance(w, now)
    tally.sweeps += 1
    for number in range(tally.next_job):
        task = w.tasks[number]
        spare = w.control.watched[number].spare
        chance = w.chances[(number * _STRIDE + tally.sweeps * _TURN) % len(w.chances)]
        if task.running and not spare and now - task.began >= rules.sample_every and chance < rules.sampled_share:
            settle(task, now)
            performance = performance_now(task)
            if measure_anew(w, number, performance, now):
                _tell(w, number, (performance, int(w.watches[number].rate * SCALE)), now)
    if tally.present > 0 or has_more(w):
        push(w, now + rules.sample_every, SWEEP, 0, 0)


def _resume(w: SimulatedWorld, number: int, version: int, now: float) -> None:
    """A job that has moved goes on."""
    task, place = w.tasks[number], w.control.jobs[number].server
    waits = task.version == version and not task.running and not task.over
    if waits and place >= 0 and w.control.servers[place].status == UP:
        advance(w, now)
        begin(w, number, place, now)

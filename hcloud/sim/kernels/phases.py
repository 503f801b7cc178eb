"""What happens to running jobs that are watched or change: a phase begins, a job is measured anew and looked after,
goes on after a move or gets a server beside; and some are measured before anybody suffers (Paragon §3.4)."""

from __future__ import annotations

import math

from hcloud.control.controller import reclassify
from hcloud.control.losses import shut
from hcloud.control.pieces import is_piece
from hcloud.control.ranks import ARRIVAL, CANCEL, CHECK
from hcloud.control.searching.candidates import may_run_on
from hcloud.control.searching.renting import rented_as
from hcloud.control.servers.tenancy import runs_jobs
from hcloud.control.state import CLOSED, OWN, UP, Control
from hcloud.control.watching.adjusting import adjust
from hcloud.control.watching.copying import arrive_as_copy
from hcloud.policy.adjusting import MOST_POINTS, due_at, refold
from hcloud.policy.codes import SCALE
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.records import Ints
from hcloud.sim.kernels.heap import has_more, push
from hcloud.sim.kernels.interference import join, part
from hcloud.sim.kernels.moving import fill_copy
from hcloud.sim.kernels.obeying import advance, note, obey
from hcloud.sim.kernels.progress import DONE, begin, performance_now, review, settle
from hcloud.sim.kernels.watches import expect_look, expect_phase, looked_until, rows_beside, write_back
from hcloud.sim.kernels.world import (
    CLASSIFIED,
    KEPT_FREE,
    MEASURED,
    PHASE,
    PROFILED,
    REOPENED,
    RESUME,
    SWEEP,
    Phase,
    SimulatedWorld,
    TaskWatch,
)


def change_servers(w: SimulatedWorld, number: int, now: float) -> None:
    """Do what the controller wants of the servers of a service."""
    mine = w.control.watched[number]
    add, drop = mine.to_add, mine.to_drop - 1
    mine.to_add, mine.to_drop = 0, 0
    if add > 0:
        _add(w, number, add, now)
    elif drop >= 0:
        w.tally.dropped += 1
        push(w, now, CANCEL, drop, 0)


def _add(w: SimulatedWorld, number: int, cores: int, now: float) -> None:
    """A row for another server comes, if there is room at once: it never waits."""
    copy = fill_copy(w, number)
    if copy < 0:
        return
    w.control.jobs[copy].kind = rented_as(w.control, copy, cores)
    w.control.jobs[copy].ask = cores
    note(w, (ARRIVAL, copy, -1, cores, number + 1), 0.0)
    arrive_as_copy(w.control, copy, number, now)
    obey(w, now)
    if w.control.jobs[copy].server < 0:
        push(w, now, CANCEL, copy, 0)
    else:
        w.tally.added += 1


_POINTS = 100
"""What two scores are packed with into one number of a journal's line."""
HALF_ENTRIES = 5
"""Scores in one number, where all of a job's are noted."""
_STRIDE, _TURN = 7919, 131
"""Ours: which numbers of chance say whether a job is measured in a sweep; a prime each."""


def happen(w: SimulatedWorld, kind: int, about: tuple[int, int], now: float) -> None:
    """A job is to change, or goes on after a move; or some are measured."""
    if kind == PHASE:
        _begin_phase(w, about[0], now)
    elif kind == RESUME:
        _resume(w, about[0], about[1], now)
    elif kind == PROFILED:
        _end_alone(w, about[0], about[1], now)
    elif kind == REOPENED:
        _reopen(w, about[0], now)
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
    if task.version != version or not task.running or watch.due != now or watch.alone > 0:
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
        if begin_alone(w, number, now):
            _close_to_others(w, number, now)
            return  # what is done follows when it is known what the job is like
        measure_anew(w, number, performance, now)
    _tell(w, number, (performance, rate), now)
    if task.running:
        expect_look(w, number, now)
        _close_to_others(w, number, now)


def _close_to_others(w: SimulatedWorld, number: int, now: float) -> None:
    """Where the rules have it so, a reserved server gets no other job while one of its jobs is below its target (Tarcil
    §7.5.2)."""
    place, level = w.control.jobs[number].server, w.control.rules.monitor_level
    server = w.control.servers[place]
    if w.control.rules.closes == 0 or server.paid != OWN or server.status != UP:
        return
    if performance_now(w.tasks[number]) < level:
        w.watches[number].shuts, w.watches[number].serial = place + 1, server.serial
        w.tally.shut += 1
        note(w, (KEPT_FREE, place, number, 0, 1), 0.0)
        shut(w.control, place, 0, now)
        obey(w, now)


def _reopen(w: SimulatedWorld, number: int, now: float) -> None:
    """A job has left the server that it was closed for, or is at its target there: others may come, unless another of
    its jobs is below its own."""
    watch, c, level = w.watches[number], w.control, w.control.rules.monitor_level
    place = watch.shuts - 1
    if place < 0 or (_runs_on(w, number, place) and performance_now(w.tasks[number]) < level):
        return
    watch.shuts = 0
    if c.servers[place].status != CLOSED or c.servers[place].serial != watch.serial:
        return  # it was lost in the meantime
    tenant = c.servers[place].first
    while tenant >= 0:
        if w.tasks[tenant].running and performance_now(w.tasks[tenant]) < level and w.watches[tenant].shuts == 0:
            w.watches[tenant].shuts, w.watches[tenant].serial = place + 1, watch.serial
            return
        tenant = c.jobs[tenant].next
    advance(w, now)
    note(w, (KEPT_FREE, place, number, 1, 1), 0.0)
    shut(c, place, 1, now)
    obey(w, now)


def _runs_on(w: SimulatedWorld, number: int, place: int) -> bool:
    return bool(w.tasks[number].running and w.control.jobs[number].server == place)


def _tell(w: SimulatedWorld, number: int, measured: tuple[float, int], now: float) -> None:
    note(w, (CHECK, number, measured[1], 0, 0), measured[0])
    sized = w.control.watched[number].sized
    adjust(w.control, number, (measured[0], measured[1] / SCALE), now)
    write_back(w, number, sized, now)
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


def begin_alone(w: SimulatedWorld, number: int, now: float) -> bool:
    """Have a job measured on an empty server, which is kept for that meanwhile, while it runs on where it is; False
    where that is not wanted, no server is empty, or the job has much state: it is measured where it is, then (Paragon
    §3.4)."""
    job, c = w.control.jobs[number], w.control
    if c.rules.in_vitro == 0 or c.rules.informed == 0 or not job.again or is_piece(job):
        return False
    place = _empty_for(c, number)
    if place < 0:
        return False
    w.watches[number].alone = c.servers[place].serial + 1
    note(w, (KEPT_FREE, place, number, 0, 0), 0.0)
    shut(c, place, 0, now)
    obey(w, now)
    push(w, now + c.rules.profiling, PROFILED, number, place)
    return True


def _empty_for(c: Control, number: int) -> int:
    """The smallest empty reserved server that holds a job, the first of equal ones; -1: none."""
    found, job = -1, c.jobs[number]
    for place in range(len(c.servers)):
        server = c.servers[place]
        if server.status != UP or server.paid != OWN or server.tenants > 0 or not may_run_on(c, job, server.kind):
            continue
        its = c.kinds[server.kind]
        is_less = found < 0 or its.cores < c.kinds[c.servers[found].kind].cores
        if is_less and job.cores <= its.cores and job.memory <= its.memory:
            found = place
    return found


def _end_alone(w: SimulatedWorld, number: int, place: int, now: float) -> None:
    """A job was measured on an empty server: all that it causes and tolerates is known again, but for the errors of
    classification. The server is free, and what is to be done for the job is done."""
    watch, c = w.watches[number], w.control
    serial = watch.alone - 1
    watch.alone = 0
    advance(w, now)
    if c.servers[place].status != CLOSED or c.servers[place].serial != serial:
        return  # it was lost in the meantime
    if w.tasks[number].running:
        settle(w.tasks[number], now)
        _classify_anew(w, number, now)
    note(w, (KEPT_FREE, place, number, 1, 0), 0.0)
    shut(c, place, 1, now)
    obey(w, now)
    if w.tasks[number].running:
        _tell(w, number, (performance_now(w.tasks[number]), int(watch.rate * SCALE)), now)
        expect_look(w, number, now)


def _classify_anew(w: SimulatedWorld, number: int, now: float) -> None:
    """A job is taken to be what it is, as its classification errs; the controller is told."""
    task, job, nature, errors = w.tasks[number], w.control.jobs[number], w.tally.nature, w.errors
    halves, moved, known = w.tally.digits, 0, 0
    for i in range(2 * RESOURCES):
        of = i % RESOURCES
        error = int(errors[number, of])
        found, before = int(task.vector[of]) + error, int(job.vector[of])
        if i >= RESOURCES:
            found, before = int(task.tolerates[of]) - error, int(job.tolerates[of])
        nature[i] = min(max(found, 0), MOST_POINTS)
        moved += abs(nature[i] - before)
        known += before
        half = i // HALF_ENTRIES
        halves[half] = (halves[half] if i % HALF_ENTRIES else 0) * _POINTS + nature[i]
    changed = moved > w.control.rules.differs * known
    w.tally.measured += 1
    w.tally.apart += 1
    if changed and not _found(w, w.watches[number]):
        w.tally.alarms += 1
    performance = performance_now(task)
    note(w, (CLASSIFIED, number, halves[0], halves[1], 0), performance)
    note(w, (CLASSIFIED, number, halves[2], halves[3], 1), performance)
    reclassify(w.control, number, nature, performance, now)
    obey(w, now)


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
            if w.watches[number].alone > 0 or begin_alone(w, number, now):
                continue
            if measure_anew(w, number, performance, now):
                _tell(w, number, (performance, int(w.watches[number].rate * SCALE)), now)
    if tally.present > 0 or has_more(w):
        push(w, now + rules.sample_every, SWEEP, 0, 0)


def _resume(w: SimulatedWorld, number: int, version: int, now: float) -> None:
    """A job that has moved goes on."""
    task, place = w.tasks[number], w.control.jobs[number].server
    waits = task.version == version and not task.running and not task.over
    if waits and place >= 0 and runs_jobs(w.control.servers[place]):
        advance(w, now)
        begin(w, number, place, now)

"""Jobs of several servers in the simulated cloud: their pieces begin when all have a server that is up, and end when
the slowest is done; those that are done before keep what they have."""

from __future__ import annotations

from hcloud.control.pieces import is_piece, next_piece
from hcloud.control.ranks import CANCEL
from hcloud.control.servers.tenancy import runs_jobs
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.moving import drop_copy, expect_stragglers
from hcloud.sim.kernels.progress import begin, halt
from hcloud.sim.kernels.world import SimulatedWorld


def has_come(w: SimulatedWorld, number: int) -> bool:
    """Whether all pieces of a job have come with this one; their rows follow each other."""
    job = w.control.jobs[number]
    return not is_piece(job) or next_piece(w.control, number) < number


def begin_together(w: SimulatedWorld, number: int, now: float) -> None:
    """A piece is on its server: if the others are, too, and all are up, all begin."""
    c = w.control
    w.tasks[number].awaits = 1
    other = number
    while True:
        task, place = w.tasks[other], c.jobs[other].server
        here = task.awaits == 1 or task.running == 1
        if not here or place < 0 or not runs_jobs(c.servers[place]):
            return
        other = next_piece(c, other)
        if other == number:
            break
    first = number
    while True:
        if w.tasks[other].awaits == 1:
            w.tasks[other].awaits = 0
            begin(w, other, c.jobs[other].server, now)
        other, first = next_piece(c, other), min(first, other)
        if other == number:
            break
    if c.rules.straggling > 0 and w.tasks[first].service == 0:
        expect_stragglers(w, first, now)


def is_first_done(w: SimulatedWorld, number: int) -> bool:
    """Whether others of its pieces still run while this one is done."""
    task = w.tasks[number]
    if task.service or task.crashed or not is_piece(w.control.jobs[number]):
        return False
    other = next_piece(w.control, number)
    while other != number:
        if w.tasks[other].running:
            return True
        other = next_piece(w.control, other)
    return False


def rest(w: SimulatedWorld, number: int, now: float) -> None:
    """A piece is done and keeps its place until the others are."""
    halt(w, number, now)
    w.tasks[number].left, w.tasks[number].rests = 0.0, 1


def wake(w: SimulatedWorld, number: int, now: float) -> None:
    """The last piece is done: one that rested ends with it, having taken as long."""
    task = w.tasks[number]
    passed = now - task.since
    task.since, task.rests, task.running = now, 0, 1
    task.ran += passed
    task.usage += passed * task.cores
    w.tally.running += 1


def stop_piece(w: SimulatedWorld, number: int, now: float) -> None:
    """What a piece has done is of no use: it begins anew, with all others."""
    task = w.tasks[number]
    if task.running:
        halt(w, number, now)
    if w.control.rules.straggling > 0:
        drop_copy(w, number, now)
    task.left, task.rests, task.awaits = task.work, 0, 0


def give_up_together(w: SimulatedWorld, number: int, now: float) -> None:
    """A job's user cancels it: each of its pieces."""
    push(w, now, CANCEL, number, 0)
    if not is_piece(w.control.jobs[number]):
        return
    other = next_piece(w.control, number)
    while other != number:
        push(w, now, CANCEL, other, 0)
        other = next_piece(w.control, other)

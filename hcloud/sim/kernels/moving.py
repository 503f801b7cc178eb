"""Jobs that move while they run take some time for it. Pieces of jobs that lag behind the others run a second time
elsewhere: each has a row for that, and the first run to end counts."""

from __future__ import annotations

from hcloud.control.ranks import CANCEL, FINISH
from hcloud.policy.adjusting import migration_seconds
from hcloud.policy.codes import MAKES_ROOM, YIELDS
from hcloud.policy.placing.placement import RESOURCES
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.progress import settle
from hcloud.sim.kernels.watches import rows_beside
from hcloud.sim.kernels.world import RESUME, STRAGGLERS, SimulatedWorld


def leave_for(w: SimulatedWorld, number: int, reason: int) -> None:
    """A job leaves its server: for how long it does not run. One that yields does over again what a cloud's interrupted
    jobs do."""
    task, job, watch = w.tasks[number], w.control.jobs[number], w.watches[number]
    if reason == YIELDS:
        w.tally.moved -= 1
        w.tally.yielded += 1
        task.left += (task.work - task.left) * w.cloud.lost_share
        return
    w.tally.isolated += 1 if reason == MAKES_ROOM else 0
    watch.away = migration_seconds(w.control.rules, job.memory, not job.again)


def set_off(w: SimulatedWorld, number: int, now: float) -> None:
    """A job has a place on another server: it goes on there when all of it has moved."""
    push(w, now + w.watches[number].away, RESUME, number, w.tasks[number].version)


def expect_stragglers(w: SimulatedWorld, number: int, now: float) -> None:
    """Look at the pieces of a job after a while; ``number`` is the one that the look is known by."""
    watch = w.watches[number]
    watch.compare = now + w.control.rules.straggle_period
    push(w, watch.compare, STRAGGLERS, number, 0)


def is_copy(w: SimulatedWorld, number: int) -> bool:
    """Whether a row is that of a second run."""
    return has_copies(w) and w.watches[number].twin < 0


def has_copies(w: SimulatedWorld) -> bool:
    """Whether there are rows for second runs, and for other servers of services."""
    return bool(w.control.rules.straggling > 0 or w.control.rules.most_servers > 1)


def drop_copy(w: SimulatedWorld, number: int, now: float) -> None:
    """A piece ended, or begins anew: its second run is of no use. A service ended: so do its other servers."""
    copy = w.watches[number].twin - 1
    for row in range(copy, copy + max(rows_beside(w, number), 1)):
        if row >= 0 and w.tasks[row].over == 0:
            push(w, now, CANCEL, row, 0)


def fill_copy(w: SimulatedWorld, number: int) -> int:
    """A row for a copy of a job, as that is and is known by now; -1 where none is left."""
    c, copy = w.control, w.watches[number].twin - 1
    last = copy + max(rows_beside(w, number), 1)
    while copy < last and w.tasks[copy].over == 0:
        copy += 1
    if copy == last:
        return -1
    task, other, job, twin = w.tasks[number], w.tasks[copy], c.jobs[number], c.jobs[copy]
    other.left, other.over, other.need, other.ended = other.work, 0, task.need, -1.0
    twin.high, twin.low = job.high, job.low
    for i in range(RESOURCES):
        other.vector[i], other.tolerates[i] = task.vector[i], task.tolerates[i]
        twin.vector[i], twin.tolerates[i] = job.vector[i], job.tolerates[i]
    w.tally.present += 1
    return copy


def overtake(w: SimulatedWorld, copy: int, now: float) -> None:
    """A second run is done: so is the piece, if it still ran, and the seconds that this saved are counted."""
    number = -w.watches[copy].twin - 1
    task = w.tasks[number]
    w.tasks[copy].due = -1.0
    push(w, now, CANCEL, copy, 0)
    if task.running == 1:
        settle(task, now)
        w.tally.overtook += 1
        w.tally.gained += max(task.left, 0.0) / task.rate
        task.left, task.due = 0.0, now
        push(w, now, FINISH, number, 0)

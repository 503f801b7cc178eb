"""Jobs that move while they run take some time for it."""

from __future__ import annotations

from hcloud.policy.adjusting import migration_seconds
from hcloud.policy.codes import MAKES_ROOM, YIELDS
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.world import RESUME, SimulatedWorld


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

"""Jobs that wait for the end of others: each comes when the last of them has ended, never if one did not."""

from __future__ import annotations

from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.world import RELEASED, SimulatedWorld


def is_kept(w: SimulatedWorld, number: int) -> bool:
    """Whether a job whose time is here does not come: it still waits for others, an event brings it, or it never
    comes."""
    stage = w.stages[number]
    if stage.waits > 0:
        stage.kept = 1
    return bool(stage.kept == 1 or stage.void == 1)


def release(w: SimulatedWorld, number: int) -> None:
    """A job is over: of those that wait for it alone each comes, or, where it has not ended, none ever does, nor do
    those that wait for these."""
    w.stages[number].behind, last = -1, number
    while number >= 0:
        stage, has_ended = w.stages[number], w.tasks[number].ended >= 0.0
        for at in range(stage.first, stage.last):
            follower = int(w.followers[at])
            one = w.stages[follower]
            one.waits -= 1
            if one.void == 0 and not has_ended:
                one.void, one.behind, w.tasks[follower].over = 1, -1, 1
                w.stages[last].behind, last = follower, follower
            elif one.void == 0 and one.waits == 0:
                _expect(w, follower)
        number = stage.behind


def _expect(w: SimulatedWorld, number: int) -> None:
    """A job waits for nobody any more: it counts as submitted now, or after its pause, unless that is still to be."""
    stage, task = w.stages[number], w.tasks[number]
    since = w.tally.now + stage.pause
    if since > task.submit:
        stage.since, stage.comes = since, since + (task.decide - task.submit)
        task.cancelled += stage.comes - task.decide if task.cancelled >= 0.0 else 0.0
    if stage.kept == 1 or stage.comes > task.decide:
        stage.kept = 1
        w.tally.present += 1  # or a run with faults would be over
        push(w, stage.comes, RELEASED, number, 0)

"""Waiting for machines to run; one that never does is ended, and replaced once."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.live.ending import GROWTH
from hcloud.live.run import Run
from hcloud.live.site import Step
from hcloud.model.live import Machine, MachineState


@dataclass(frozen=True, slots=True)
class Late:
    """What does not run when the time is up: ``pending`` by what the cloud says, ``untold`` because it says nothing."""

    pending: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


def wait_until_ready(run: Run) -> Late:
    """Look until all machines that came run, or time is up; what somebody else ended meanwhile is not waited for."""
    if not run.launched:
        return Late()
    delay = run.site.waits.first_poll
    until = run.site.clock.passed() + run.site.waits.ready
    while True:
        told = {m.id: m for m in run.look().machines}
        late = _late(run, told)
        running = len(run.launched) - len(late.pending) - len(late.untold)
        run.site.progress(Step("running", running, len(run.launched)))
        if not (late.pending or late.untold) or run.site.clock.passed() >= until:
            return late
        run.patience.pause(delay)
        delay = min(delay * GROWTH, run.site.waits.longest_poll)


def _late(run: Run, told: dict[str, Machine]) -> Late:
    ids = sorted(i for i in run.launched if i not in run.ended)
    return Late(
        pending=tuple(i for i in ids if i in told and told[i].state is MachineState.PENDING),
        untold=tuple(i for i in ids if i not in told),
    )

"""The loop over ticks: servers, then jobs on demand, then those that come or have slipped, then tasks that wait."""

from __future__ import annotations

from hcloud.sim.harvesting.dispatching import arrive, dispatch, look_for_slips
from hcloud.sim.harvesting.ending import end_rented
from hcloud.sim.harvesting.serving import serve
from hcloud.sim.harvesting.world import IdleWorld


def go_through(w: IdleWorld, begin: int, until: int) -> None:
    """All ticks from one on and before another. What is seen in a tick acts at its end."""
    for at in range(begin, until):
        serve(w, at)
        end_rented(w, float((at + 1) * w.rules.tick))
        arrive(w, at)
        if w.rules.slips == 1 and at % w.rules.look == 0:
            look_for_slips(w, float((at + 1) * w.rules.tick))
        dispatch(w, at)

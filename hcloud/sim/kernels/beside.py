"""A service gets another server beside those that it has, or gives the last one back, where the controller wants so."""

from __future__ import annotations

from hcloud.control.ranks import ARRIVAL, CANCEL
from hcloud.control.searching.renting import rented_as
from hcloud.control.watching.copying import arrive_as_copy
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.moving import fill_copy
from hcloud.sim.kernels.obeying import note, obey
from hcloud.sim.kernels.world import SimulatedWorld


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

"""The reserved servers of a run, open before its first event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hcloud.control.controller import open_pool
from hcloud.control.opening import rank_by_type
from hcloud.sim.kernels.agents import first_crash
from hcloud.sim.kernels.obeying import expect_loss, open_host
from hcloud.sim.kernels.world import SimulatedWorld
from hcloud.sim.machine_code.objects import as_objects, write_back

_UNTOUCHED = ("windows", "waits", "drifts", "followed", "jobs", "candidates", "audits", "changes", "local", "releases",
              "commands", "watched")  # fmt: skip
"""Tables of the controller of which opening a server reads and writes nothing."""
_UNREAD = ("tasks", "rentals", "lines", "phases", "watches", "stages")


def open_reserve(made: SimulatedWorld, lots: Iterable[tuple[int, int]]) -> None:
    """Open so many servers of each type, and let agents and machines have the time of their first crash.

    Done on Python's own objects and then written into the tables: with NumPy's records ten thousand servers take as
    long as a fifth of a run of a million tasks.
    """
    lots = list(lots)
    servers = sum(count for _, count in lots)
    part: Any = made if made.control.rules.hash_draw else _touched(made, servers)
    here = part if part is made else as_objects(part)._replace(behaviours=made.behaviours)
    for kind, count in lots:
        open_pool(here.control, kind, count)
    rank_by_type(here.control)
    for agent in range(here.control.rules.agents):
        first_crash(here, agent, 0.0)
    for place in range(servers):
        open_host(here, place, 0.0)
        expect_loss(here, place)
    if part is not made:
        write_back(here, part)


def _touched(made: SimulatedWorld, servers: int) -> Any:
    """The rows that opening so many servers may touch; they share memory with the tables."""

    def first(rows: Any, count: int = servers + 1) -> Any:
        return rows[:count]

    c: Any = made.control
    control = c._replace(
        servers=first(c.servers),
        blocks=first(c.blocks),
        rosters=first(c.rosters),
        **{name: first(getattr(c, name), 0) for name in _UNTOUCHED},
    )
    none = {name: first(getattr(made, name), 0) for name in _UNREAD}
    events = first(made.events, servers + len(made.agents) + 1)
    there: Any = made
    return there._replace(
        control=control, behaviours=(), draws=first(made.draws), hosts=first(made.hosts), events=events, **none
    )

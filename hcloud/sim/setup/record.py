"""What a run writes: how much room it has, and the empty tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hcloud.policy.records import Ints, Table, table
from hcloud.sim.kernels.world import Event, JournalLine, ServerSlot, SimulatedRental, Tally


class Capacity(NamedTuple):
    """How much a run has room for: servers at a time, coming events, rentals, lines of journal, commands an event."""

    servers: int
    events: int
    rentals: int
    lines: int
    commands: int


class RunTables(NamedTuple):
    """The empty tables that a run writes."""

    hosts: Table[ServerSlot]
    events: Table[Event]
    rentals: Table[SimulatedRental]
    lines: Table[JournalLine]
    tally: Tally
    active: Ints


def new_record(capacity: Capacity, kinds: int) -> RunTables:
    """The tables a run writes, empty."""
    return RunTables(
        table(ServerSlot, capacity.servers),
        table(Event, capacity.events),
        table(SimulatedRental, capacity.rentals),
        table(JournalLine, capacity.lines),
        table(Tally, 1)[0],
        np.zeros((3, kinds), np.int64),
    )

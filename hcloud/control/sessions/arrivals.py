"""Jobs of several servers in a live controller: their pieces come one after the other and are decided on together;
and jobs that are held back, by when that ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from hcloud.control.pieces import are_linked
from hcloud.control.tables import ControlTables
from hcloud.model.running.event import Arrival, EventError
from hcloud.policy.mapping import MAP_RESERVED
from hcloud.policy.rules import Rules

if TYPE_CHECKING:
    from hcloud.policy.facts import Setup

Lot = tuple[int, int, int]
"""Thousandths of a vCPU and MiB of a server, and how many there are."""


def check_arrival(tables: ControlTables, event: Arrival) -> None:
    """Raise EventError for a job of an unknown platform, or that is no piece of those before it."""
    if event.platform >= len(tables.control.speeds):
        raise EventError(f"platform {event.platform}: speeds are known for {len(tables.control.speeds)}")
    if event.copy_of is not None:
        _check_copied(tables, event.copy_of)
    if event.after is None:
        return
    if event.pieces <= 1:
        raise EventError(f"after {event.after}: {event.job} has only one piece; state pieces, too")
    row = tables.rows.get(event.after)
    if row is None:
        raise EventError(f"after {event.after}: has not arrived, or has ended")
    before = tables.control.jobs[row]
    if before.ask != event.ask or before.memory != event.memory:
        raise EventError(f"after {event.after}: all pieces of a job must ask for the same vCPUs and memory")
    linked = before.piece_after > 0 and before.server < 0 and not before.stands
    if linked and _count(tables, row) >= event.pieces:
        raise EventError(f"after {event.after}: all {event.pieces} pieces have arrived")
    if not linked and are_linked(tables.control.rules):
        raise EventError(f"after {event.after}: does not wait for other pieces")


def _check_copied(tables: ControlTables, job: str) -> None:
    if not tables.control.rules.watching:
        raise EventError(f"copy_of {job}: the strategy does not watch jobs")
    if job not in tables.rows:
        raise EventError(f"copy_of {job}: has not arrived, or has ended")
    if tables.server[tables.rows[job]] < 0:
        raise EventError(f"copy_of {job}: is in the queue and has not started")


def join_others(tables: ControlTables, setup: Setup, event: Arrival, row: int) -> bool:
    """Whether a job can be decided on: all its pieces have come, or it has one."""
    if event.pieces <= 1 or not are_linked(setup.rules):
        return True
    jobs = tables.control.jobs
    if event.after is None:
        jobs[row].piece_after = jobs[row].piece_before = row + 1
        return False
    before = tables.rows[event.after]
    first = int(jobs[before].piece_after) - 1
    jobs[row].piece_after, jobs[row].piece_before = first + 1, before + 1
    jobs[before].piece_after = jobs[first].piece_before = row + 1
    if _count(tables, row) < event.pieces:
        return False
    if setup.rules.gang and setup.rules.mapping == MAP_RESERVED:
        room = {k: setup.types[k] for k, _ in setup.lots if setup.runs_on(event.platform, k)}
        lots = [(room[k].cores, room[k].memory, n) if k in room else (0, 0, n) for k, n in setup.lots]
        if at_once(lots, (event.ask, event.memory), setup.rules) < event.pieces:
            jobs[row].kind = -1
    return True


def at_once(lots: Iterable[Lot], piece: tuple[int, int], rules: Rules) -> int:
    """How many pieces (thousandths of a vCPU, MiB) an empty reserve holds at once: its lots in the order of their
    servers, with nothing on those where the job may not run."""
    held, first, beyond = 0, 0, 0
    for cores, memory, servers in lots:
        each = min(cores // piece[0], memory // piece[1] if piece[1] else cores // piece[0])
        last = first + servers
        if (
            rules.spread and each and servers and last > beyond
        ):  # one a rack; the first may have one from the lot before
            begin = max(first, beyond) // rules.spread
            held += (last - 1) // rules.spread - begin + 1
            beyond = ((last - 1) // rules.spread + 1) * rules.spread
        elif not rules.spread:
            held += servers * each
        first = last
    return held


def _count(tables: ControlTables, row: int) -> int:
    jobs, count, other = tables.control.jobs, 1, int(tables.control.jobs[row].piece_after) - 1
    while other != row:
        count, other = count + 1, int(jobs[other].piece_after) - 1
    return count


class HeldJobs:
    """Rows of jobs with the end of their bounds; one may have begun by then, or be over."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, int, int]] = []

    def hold(self, tables: ControlTables, row: int, until: float) -> None:
        """A job is held back until then."""
        heappush(self._rows, (until, int(tables.held[row]), row))

    @property
    def due(self) -> float:
        """When the next bound ends."""
        return self._rows[0][0] if self._rows else math.inf

    def next(self) -> int:
        """The row of that job, which is then forgotten."""
        return heappop(self._rows)[2]

    def adopt(self, tables: ControlTables) -> None:
        """Hold whom the tables say is held back."""
        held, until = tables.held, tables.until
        rows = tables.rows.values()
        self._rows = sorted((float(until[row]), int(held[row]), row) for row in rows if held[row])

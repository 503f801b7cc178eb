"""Arrivals and completions of a stretch of a journal, which a session follows many at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hcloud.control.batch import ENDED, Batch, BatchCommand, BatchEvent, BatchState
from hcloud.control.sessions.decode import always
from hcloud.control.sessions.instances import InstanceBook, Order, booked, place_of
from hcloud.control.tables import ControlTables
from hcloud.model.running.decision import Decided, DecisionAction
from hcloud.policy import codes
from hcloud.policy.facts import DecisionFacts, Setup
from hcloud.policy.records import Table, table

Follow = Callable[..., Any]
LONGEST_GAP = 366 * 86400.0
"""Seconds between two events at most: a slip of the clock's unit would otherwise fire billions of control periods."""
_GIVEN = ("ask", "memory", "high", "low", "kind", "restartable", "coin")
_TOLD = 1 << 16
"""Ours: commands that there is room for between two reads."""


class EventBatch:
    """Events in order, with the names of their jobs: ``events`` are records of :class:`BatchEvent`, whose ``who`` is a
    place in ``names``. ``kernel`` is :func:`hcloud.control.batch.follow_events`, compiled or plain."""

    def __init__(self, kernel: Follow, events: NDArray[Any], names: list[str], tables: ControlTables) -> None:
        self._kernel, self._names = kernel, names
        self._events = cast("Table[BatchEvent]", events)
        self._row_of = np.array([tables.rows.get(name, -1) for name in names] or [-1], np.int64)
        self._by_row = np.full(len(tables.control.jobs), -1, np.int64)
        here = np.flatnonzero(self._row_of >= 0)
        self._by_row[self._row_of[here]] = here
        self._told, self._state = table(BatchCommand, _TOLD, np.empty), table(BatchState, 1)[0]  # 9 MB a piece
        self._first = self.next = 0
        self._turned: list[str] = []

    def follow(
        self, tables: ControlTables, until: int, now: float, control: float, deadline: float
    ) -> tuple[float, float]:
        """Handle events before a number, as far as that goes; the time then, and that of the last control period."""
        s, self._first = self._state, self.next
        s.next, s.end, s.told, s.rows, s.vacant = self.next, until, 0, len(tables.names), tables.vacants
        s.now, s.control, s.deadline, s.longest_gap = now, control, deadline, LONGEST_GAP
        if not math.isnan(now):
            self._kernel(tables.control, Batch(s, self._events, self._told, self._row_of, self._by_row, tables.vacant))
        self.next, tables.vacants = int(s.next), int(s.vacant)
        return float(s.now), float(s.control)

    def decided(self, setup: Setup, book: InstanceBook, tables: ControlTables) -> list[Decided]:
        """What was decided, in order; the ``book`` has what changed by it."""
        commands = cast("NDArray[Any]", self._told)[: int(self._state.told)]
        placed = bool((commands["what"] == codes.PLACE).all())
        said = {code: always(code) for code in np.unique(commands["reason"]).tolist()} if placed else {}
        words = {code: told for code, told in said.items() if told is not None}
        if placed and len(words) == len(said):
            numbers = {slot: book.number(slot) for slot in np.unique(commands["slot"]).tolist()}
            places = {slot: (n, place_of(setup, book, codes.PLACE, n)) for slot, n in numbers.items()}
            return list(self._placed(commands, tables, places, words))
        return [booked(setup, book, *told) for told in self._orders(commands.tolist(), tables)]

    def _placed(
        self,
        commands: NDArray[Any],
        tables: ControlTables,
        places: dict[int, tuple[int, str]],
        said: dict[int, tuple[str, str]],
    ) -> Iterator[Decided]:
        """Decisions that place jobs on servers, by their slots, for reasons that need no numbers."""
        columns = (commands[name].tolist() for name in ("at", "who", "row", "slot", "reason"))
        for at, who, row, slot, reason in zip(*columns, strict=True):
            name = self._names[who] if who >= 0 else tables.names[row]
            (number, place), (word, why) = places[slot], said[reason]
            yield at, DecisionAction.PLACE, name, number, place, word, None, "", why, None

    def _orders(self, commands: list[Any], tables: ControlTables) -> Iterator[tuple[Order, DecisionFacts]]:
        """The commands that were given, in order."""
        names = self._names
        for at, used, soft, who, row, slot, what, action, reason, margin, *job, measured, kind, paid in commands:
            name = names[who] if who >= 0 else tables.names[row] if row >= 0 else None
            if what == codes.TURN_AWAY:
                self._turned.append(cast("str", name))
            yield (
                Order(what, slot, action, reason, margin, name, kind, paid),
                DecisionFacts._make((at, used, soft, *job, measured > 0, tables.platform_of(row))),
            )

    def settle(self, tables: ControlTables) -> None:
        """Let the tables know the names of the jobs that came and ended, after all commands were read."""
        names, rows = self._names, tables.rows
        events = cast("NDArray[Any]", self._events).view(np.ndarray)[self._first : self.next]
        who, came = events["who"], events["what"] != ENDED
        last = np.full(len(names), -1, np.int64)
        last[who] = np.arange(len(events))
        about = np.unique(who)
        for number in about.tolist():
            rows.pop(names[number], None)
        stays = np.sort(last[about][came[last[about]]])
        for name, row in zip(map(names.__getitem__, who[stays].tolist()), events["row"][stays].tolist(), strict=True):
            rows[name] = row
        self._fill(tables, events[came])
        for name in self._turned:
            del rows[name]
        self._turned.clear()

    def _fill(self, tables: ControlTables, came: NDArray[Any]) -> None:
        """The last job that came to each row is what is known of it."""
        used, places = np.unique(came["row"][::-1], return_index=True)
        more = int(used[-1]) + 1 - len(tables.names) if len(used) else 0
        tables.names += [""] * more
        tables.given += [(0, 0, 0, 0, 0, 0, 0.0)] * more
        last = came[len(came) - 1 - places]
        given = zip(*(last[name].tolist() for name in _GIVEN), strict=True)
        for row, who, one in zip(used.tolist(), last["who"].tolist(), given, strict=True):
            tables.names[row], tables.given[row] = self._names[who], one

    @cached_property
    def _who(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._names)}

    def passed(self, tables: ControlTables, jobs: Iterable[str]) -> None:
        """The event that comes next was handled by itself; it and its decisions were about these ``jobs``."""
        self.next += 1
        for name in jobs:
            who = self._who.get(name, -1)
            if who >= 0:
                self._row_of[who] = row = tables.rows.get(name, -1)
                if row >= 0:
                    self._lengthen(tables)
                    self._by_row[row] = who

    def _lengthen(self, tables: ControlTables) -> None:
        more = len(tables.control.jobs) - len(self._by_row)
        if more > 0:
            self._by_row = np.concatenate([self._by_row, np.full(more, -1, np.int64)])

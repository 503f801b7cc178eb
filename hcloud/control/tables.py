"""The tables behind a live controller: grown by doubling between events, rows of ended jobs used again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hcloud.control.opening import new_control
from hcloud.control.state import Control, Desk, Job, RentableKind
from hcloud.model.running.event import HIGHEST, Arrival, Known
from hcloud.policy.facts import Setup
from hcloud.policy.limits import next_soft_limit
from hcloud.policy.mapping import MAP_RESERVED
from hcloud.policy.records import Table, column, table, zeros

_FIRST = 1024
"""Rows of jobs, and slots beside the reserved servers, to begin with."""
_OF_SETUP = ("rules", "speeds", "bound", "desk")
"""What no image holds: the setup has the first two, no live job is bound, and the desk is held by its row."""
URGENT = 1 << 33
"""More than any two priorities are apart."""
_NOWHERE = (0.0, 0)
"""Of a job that came: since when it is on its server, what it has there."""
_UNTRIED = (0, 0, 0, -1, 0, 0.0, 0.0)
"""Of a job that came: when it last fitted nowhere, its place in the queues of servers, who decided on it, and for how
long it is held back."""
_UNCLASSED = (0, 0, 0.0, 0.0, 0)
"""Of a job that came: its class and queue, when it leaves that, when it is looked after, whether its window is nearly
over."""
_ON_ITS_OWN = (0, 0, -1)
"""And of one that is no piece of several: who is before it in the ring, whether it stands for them, what is chosen."""
R = TypeVar("R")

Given = tuple[int, int, int, int, int, int, float]
"""What is known of a job when it comes: ask, memory, high, low, kind, restartable, coin."""


class TablesImage(NamedTuple):
    """All that :class:`ControlTables` hold: jobs with their rows, the name and what is known of the job in each row,
    rows that are free, and the tables of numbers."""

    rows: list[tuple[str, int]]
    names: list[str]
    given: list[Given]
    vacant: list[int]
    arrays: dict[str, NDArray[Any]]


class ControlTables:
    """A controller's tables with names for jobs. Columns that are looked at for every event are kept as arrays: reading
    a field of a record by name takes longer than a decision."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        rows = table(Desk, 1)
        control = new_control(setup.rules, _kinds(setup), table(Job, _FIRST), len(setup.reserve) + _FIRST)
        cast("NDArray[Any]", rows)[0] = control.desk
        self._rows = rows
        if setup.speeds:
            control = control._replace(speeds=np.array(setup.speeds, np.int64))
        self.control = control._replace(desk=rows[0])
        self._used, self._pool, self._queued, self._pending, self._free, self.soft, self._blocked, self.wake = (
            column(rows, name)[0:1]
            for name in ("used", "pool", "queued", "commands", "free", "soft", "blocked", "wake")
        )
        self.samples = column(control.windows, "length")
        self.rows: dict[str, int] = {}
        self.names: list[str] = []
        self.given: list[Given] = []
        self.vacant = np.zeros(_FIRST, np.int64)
        self.vacants = 0
        self._lead()

    def _lead(self) -> None:
        """The columns of the present tables."""
        control = self.control
        self.kind, self.server = column(control.jobs, "kind"), column(control.jobs, "server")
        self.cores, self.again = column(control.jobs, "cores"), column(control.jobs, "again")
        self.held, self.until = column(control.jobs, "held"), column(control.jobs, "until")
        servers = control.servers
        self.status, self.tenants = column(servers, "status"), column(servers, "tenants")
        self.type_of, self.paid = column(servers, "kind"), column(servers, "paid")
        self._jobs, self._commands = _array(control.jobs), _array(control.commands)
        self.vacant.resize(len(self._jobs), refcheck=False)

    def utilisation(self) -> float:
        """As :func:`hcloud.control.mapped.utilisation` has it."""
        pool = self._pool.item()
        return cast("float", self._used.item() / pool) if pool > 0 else 1.0

    def last_alike(self, period: float, before: float) -> float:
        """The last of the control periods from one on, and ``before`` something else happens, that change as little as
        that one: where nobody queues and the soft limit stays as it is nothing comes of any, and there may be millions.
        """
        desk, rules = self.control.desk, self._setup.rules
        if not desk.queued and next_soft_limit(rules, desk.soft, 0, math.inf) == desk.soft:
            while (following := period + rules.period) < before:
                period = following
        return period

    def make_room(self, more: int = 0) -> None:
        """Room for whatever one event may bring: at worst every queued job, one more, and so many ``more`` go to new
        instances."""
        control, queued = self.control, self._queued.item() + more
        if self._free.item() + queued + 2 > len(control.servers):
            servers, blocks = longer(control.servers, queued + 2), longer(control.blocks, queued + 2)
            rosters = longer(control.rosters, queued + 2)
            ringed = longer(control.ringed, queued + 2) if self._setup.rules.hash_draw else control.ringed
            self.control = control._replace(servers=servers, blocks=blocks, rosters=rosters, ringed=ringed)
            self._lead()
        orders = (2 + self._setup.rules.classes) * queued + 16
        if orders > len(control.commands):
            self.control = self.control._replace(commands=longer(control.commands, orders))
            self._lead()

    def orders(self) -> Iterator[tuple[int, int, int, int, int, float]]:
        """The commands the controller left, which are then gone."""
        count = self._pending.item()
        self._pending[0] = 0
        return (self._commands[at].item() for at in range(count))

    def add(self, event: Arrival, nature: Known) -> int:
        """A row for a job that came; ``nature`` are the points that it causes, and those that it tolerates."""
        row = int(self.vacant[self.vacants - 1]) if self.vacants else len(self.names)
        self.vacants = max(self.vacants - 1, 0)
        if row >= len(self._jobs):
            control = self.control
            self.control = control._replace(jobs=longer(control.jobs, 1), local=longer(control.local, 1))
            if self._setup.rules.watching:
                self.control = self.control._replace(watched=longer(control.watched, 1))
            self._lead()
        if row == len(self.names):
            self.names.append("")
            self.given.append((0, 0, 0, 0, 0, 0, 0.0))
        high, low = quality_needed(nature[1])
        kind = self.kind_for(event.ask, event.memory, event.platform)
        restartable = int(event.restartable and self._setup.rules.spot)
        given = (event.ask, event.memory, high, low, kind, restartable, event.coin)
        word = int(event.movable), int(event.restartable)
        self._jobs[row] = (
            *_NOWHERE,
            event.memory,
            event.ask,
            -1,
            *given[2:],
            *word,
            *nature,
            -1,
            -1,
            event.platform,
            0,
            -1,
            0,
            0,
            event.at,
            0,
            0,
            0.0,
            0.0,
            -1.0,
            1.0,
            -1.0,
            -1.0,
            -1.0,
            *_UNTRIED,
            -1.0 if event.expected is None else event.expected,
            self._slack(event),
            event.priority + int(event.urgent) * URGENT,
            *_UNCLASSED,
            *_ON_ITS_OWN,
        )
        self.rows[event.job], self.names[row], self.given[row] = row, event.job, given
        if self._setup.rules.watching:
            self.control.watched[row].spare = int(event.spare)
        return row

    def _slack(self, event: Arrival) -> float:
        """How long a job may wait: as it says, else what its promise leaves of the time that it runs for; -1 where
        nobody knows."""
        if event.slack is not None:
            return event.slack
        return -1.0 if event.expected is None else (1.0 - self._setup.rules.promise) * event.expected

    def kind_for(self, ask: int, memory: int, platform: int = 0) -> int:
        """The type a job is rented: a whole one where servers are rented whole and it fits; -1 where none is."""
        setup = self._setup
        if setup.rules.mapping == MAP_RESERVED:
            held = setup.whole_servers and any(setup.holds(kind, ask, memory, platform) for kind, _ in setup.lots)
            return setup.rules.large if held else -1
        whole = setup.whole_for(ask, memory, platform) if setup.whole_servers else -1
        kinds = range(len(setup.types)) if whole < 0 else (whole,)
        return next((kind for kind in kinds if setup.holds(kind, ask, memory, platform)), -1)

    def platform_of(self, row: int) -> int:
        """The row of the speeds of a job in a row; 0 where there are none."""
        return int(self.control.jobs[row].platform) if self._setup.speeds and row >= 0 else 0

    def correct(self, row: int, high: int, low: int) -> None:
        """A job needs another quality than was estimated when it came."""
        ask, memory, _, _, kind, restartable, coin = self.given[row]
        self.given[row] = (ask, memory, high, low, kind, restartable, coin)

    def forget(self, row: int) -> None:
        """A job ended: its row is free, and the controller's note on the head of the queue does not mean the next."""
        if self._blocked.item() == row + 1:
            self._blocked[0] = 0
        del self.rows[self.names[row]]
        self.vacant[self.vacants] = row
        self.vacants += 1

    def image(self) -> TablesImage:
        """All that the tables hold; the numbers are shared with them."""
        rows = [(name, row) for name, row in self.rows.items()]
        vacant = self.vacant[: self.vacants].tolist()
        return TablesImage(rows, self.names, self.given, vacant, self._arrays())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        tables = {name: getattr(self.control, name) for name in Control._fields if name not in _OF_SETUP}
        return {name: _array(rows) for name, rows in {**tables, "desk": self._rows}.items()}

    def adopt(self, image: TablesImage) -> None:
        """Hold what an image holds."""
        self.rows, self.vacants = dict(image.rows), len(image.vacant)
        self.names, self.given = list(image.names), list(image.given)
        mine = self._arrays()
        grown: dict[str, Any] = {
            name: its.astype(mine[name].dtype) for name, its in image.arrays.items() if len(its) != len(mine[name])
        }
        self.control = self.control._replace(**grown)
        for name in mine.keys() - grown.keys():
            mine[name][:] = image.arrays[name]
        self._lead()
        self.vacant[: self.vacants] = image.vacant


def quality_needed(tolerates: tuple[int, ...]) -> tuple[int, int]:
    """The two halves of the quality that a job needs: the less it tolerates, the more."""
    return encoded(tuple([HIGHEST - points for points in tolerates]))


def encoded(vector: tuple[int, ...]) -> tuple[int, int]:
    """The two halves of the encoding of a vector, as :func:`hcloud.policy.quality.encode` gives them, but faster."""
    a, b, c, d, e, f, g, h, i, j = sorted(vector, reverse=True)
    return (((a * 100 + b) * 100 + c) * 100 + d) * 100 + e, (((f * 100 + g) * 100 + h) * 100 + i) * 100 + j


def longer(rows: Table[R], more: int) -> Table[R]:
    """A copy of a table at least twice as long, and by at least so many rows of zeros."""
    old = cast("NDArray[Any]", rows)
    made = zeros(len(old) + max(len(old), more), old.dtype)
    made[: len(old)] = old
    return cast("Table[R]", made)


def _array(rows: object) -> NDArray[Any]:
    return cast("NDArray[Any]", rows)


def _kinds(setup: Setup) -> Table[RentableKind]:
    kinds = table(RentableKind, len(setup.types))
    for at, facts in enumerate(setup.types):
        kind = kinds[at]
        kind.cores, kind.memory, kind.spin_up, kind.prior = facts.cores, facts.memory, facts.spin_up, facts.prior
    for at in setup.wholes:
        kinds[at].whole = 1
    return kinds

"""Arrivals and completions of a piece of a journal as numbers, and the decisions that stand there, as they would be
read line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hcloud.control.batch import CAME, ENDED, BatchEvent
from hcloud.control.tables import ControlTables
from hcloud.model.running.event import ENTRIES, UNKNOWN
from hcloud.policy.facts import Setup
from hcloud.policy.records import Ints, numpy_type
from hcloud.store.journals.events import LONGEST_NAME, MOST
from hcloud.store.journals.pieces import JournalPiece

if TYPE_CHECKING:
    import pyarrow as pa

_PLACES = 100 ** np.arange(4, -1, -1)
Bools = NDArray[np.bool_]
_OF_ALL = {"at", "event", "job"}
_OF_DECISIONS = ("at", "decision", "job", "instance", "place", "reason", "margin", "unit", "why", "until")
_MUST = ("at", "decision", "place", "reason", "why")
_OF_ARRIVALS = {*_OF_ALL, "cores", "memory_gib", "vector", "restartable", "coin", "submitted"}
_OF_COMPLETIONS = {*_OF_ALL, "performance"}


class PieceColumns:
    """The columns of a piece of a journal: which ``lines`` are events, and what a controller is told by them."""

    def __init__(self, columns: dict[str, pa.Array]) -> None:
        self._columns = columns
        self._there = {name: _there(column) for name, column in columns.items()}
        self._decides = self._there["decision"]
        self.lines = np.flatnonzero(~self._decides)

    @classmethod
    def of(cls, piece: JournalPiece) -> Self | None:
        """None where a line is not one that hcloud writes: the lines say then what is wrong."""
        columns = piece.columns()
        made = None if columns is None else cls(columns)
        return made if made and made._has(made._decides, set(_MUST), set(_OF_DECISIONS))[made._decides].all() else None

    def told(self) -> list[tuple[object, ...]]:
        """The decisions."""
        import pyarrow as pa

        rows = pa.array(self._decides)
        parts = [self._columns[name].filter(rows).to_pylist() for name in _OF_DECISIONS]
        parts[7] = [unit or "" for unit in parts[7]]
        return list(zip(*parts, strict=True))

    def events(self, setup: Setup, tables: ControlTables) -> tuple[NDArray[Any], list[str]]:
        """The events as a batch has them, and the names of the jobs that it names."""
        made = np.zeros(len(self.lines), numpy_type(BatchEvent))
        names = self._columns["job"].take(self.lines).dictionary_encode()
        known: list[str] = names.dictionary.to_pylist()
        made["who"] = _array(names.indices.fill_null(-1))
        proper = [0 < len(name) <= LONGEST_NAME and name.isprintable() for name in known]
        named = np.array([*proper, False])[made["who"]]  # the last is for events that name no job
        made["at"] = self._reals("at")
        named &= _within(made["at"], 0.0, MOST)
        self._arrivals(made, named & self._is("arrival", _OF_ARRIVALS), setup, tables)
        self._completions(made, named & self._is("completion", _OF_COMPLETIONS))
        return made, known

    def _arrivals(self, made: NDArray[Any], which: Bools, setup: Setup, tables: ControlTables) -> None:
        cores, memory, coin = self._reals("cores"), self._reals("memory_gib"), self._reals("coin")
        which &= _within(cores, 0.0, 1e6) & _within(memory, 0.0, 1e6) & _within(coin, 0.0, 1.0)
        submitted = self._reals("submitted", usual=0.0)
        which &= _within(submitted, 0.0, made["at"])
        vectors = self._vectors()
        which &= _within(vectors, 0, 99).all(axis=1) & self._there["restartable"][self.lines]
        if not setup.rules.informed:
            vectors[:] = UNKNOWN
        cores, memory = np.where(which, cores, 0.0), np.where(which, memory, 0.0)
        made["ask"], made["memory"] = np.maximum(np.rint(cores * 1000), 1), np.ceil(memory * 1024)
        made["coin"], made["vector"], made["movable"] = coin, vectors, 1
        worst = np.sort(vectors, axis=1)[:, ::-1]
        made["high"], made["low"] = worst[:, :5] @ _PLACES, worst[:, 5:] @ _PLACES
        made["again"] = self._flags("restartable")
        made["restartable"] = made["again"] * int(setup.rules.spot > 0)
        asked, places = np.unique(made["ask"] << 32 | made["memory"], return_inverse=True)
        kinds = [tables.kind_for(int(both) >> 32, int(both) & 0xFFFFFFFF) for both in asked]
        made["kind"] = np.array(kinds, np.int64)[places]
        made["what"][which] = CAME

    def _completions(self, made: NDArray[Any], which: Bools) -> None:
        made["performance"] = self._reals("performance")
        made["what"][which & _within(made["performance"], 0.0, 1000.0)] = ENDED

    def _is(self, event: str, keys: set[str]) -> Bools:
        """Which events are of a kind, and state nothing but some keys."""
        import pyarrow.compute as pc

        kinds = pc.equal(self._columns["event"], event).fill_null(False)
        found: Bools = (_array(kinds) & self._has(self._there["event"], set(), keys))[self.lines]
        return found

    def _has(self, which: Bools, must: set[str], may: set[str]) -> Bools:
        """Which of some lines have what they must have, and nothing but what they may."""
        found = which.copy()
        for name, there in self._there.items():
            if name in must:
                found &= there
            elif name not in may:
                found &= ~there
        return found

    def _reals(self, name: str, usual: float = -1.0) -> NDArray[np.float64]:
        if name not in self._there:
            return np.full(len(self.lines), usual)
        column = self._columns[name].take(self.lines)
        found: NDArray[np.float64] = _array(column.fill_null(usual))
        return found

    def _flags(self, name: str) -> Bools:
        if name not in self._there:
            return np.zeros(len(self.lines), np.bool_)
        return _array(self._columns[name].take(self.lines).fill_null(False))

    def _vectors(self) -> Ints:
        """The vector of each event; -1 where it states none of ten numbers."""
        import pyarrow as pa

        column = self._columns["vector"].take(self.lines)
        ten = _array(column.value_lengths().fill_null(0)) == ENTRIES
        made = np.full((len(ten), ENTRIES), -1, np.int64)
        made[ten] = _array(column.filter(pa.array(ten)).flatten().fill_null(-1)).reshape(-1, ENTRIES)
        return made


def _there(column: pa.Array) -> Bools:
    """Where a column has a value."""
    if column.null_count in (0, len(column)):
        return np.full(len(column), column.null_count == 0)
    return _array(column.is_valid())


def _within(values: NDArray[Any], least: float, most: float | NDArray[Any]) -> Bools:
    return (values >= least) & (values <= most)


def _array(values: Any) -> NDArray[Any]:
    found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found

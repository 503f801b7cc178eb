"""The entries of a journal one after the other, a piece of it in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hcloud.errors import InputError
from hcloud.model.running.decision import Decision, DecisionAction, Entry
from hcloud.model.running.event import ENTRIES, Arrival, Completion, EventError
from hcloud.model.running.note import Note, PassNoted, SnapshotTaken
from hcloud.store.journals.events import LONGEST_NAME, MOST, from_line
from hcloud.store.journals.journal import LONGEST_LINE, PassSums, parse_line, read_header
from hcloud.store.journals.live import parts_of
from hcloud.store.journals.pieces import JournalPiece, journal_pieces

if TYPE_CHECKING:
    import pyarrow as pa

Bools = NDArray[np.bool_]
_ACTIONS = {action.value: action for action in DecisionAction}
_DECISION = ("at", "decision", "job", "instance", "place", "reason", "margin", "unit", "why", "until")
_DECIDED = {"at", "decision", "place", "reason", "why"}
_ARRIVED = {"at", "event", "job", "cores", "memory_gib", "vector", "restartable", "coin"}
_COMPLETED = {"at", "event", "job", "performance"}
PIECE = 2 << 20
"""Ours: bytes whose entries are in memory at a time; larger pieces take no less time a line."""


def entries_of(path: Path, size: int = PIECE) -> Iterator[Entry | Note]:
    """All lines of a journal, and before them those of the parts of the same work that were put aside; of live work
    whole passes alone. Raises InputError with the line where one is damaged, or where a part is missing."""
    for part in parts_of(path):
        lines = _lines(part, size)
        yield from _whole_passes(lines) if read_header(part)[1] is not None else lines


def _whole_passes(lines: Iterator[Entry | Note]) -> Iterator[Entry | Note]:
    waiting: list[Entry | Note] = []
    for line in lines:
        waiting.append(line)
        if isinstance(line, PassNoted):
            yield from (one for one in waiting if not isinstance(one, SnapshotTaken))
            waiting = []


def _lines(path: Path, size: int) -> Iterator[Entry | Note]:
    with path.open("rb") as file:
        header = file.readline(LONGEST_LINE)
    before, sums = 1, PassSums(path)
    sums.add(header)
    for piece in journal_pieces(path, len(header), size):
        plain, added = _plain(piece), 0
        for number, entry in enumerate(plain):
            line = entry or _parsed(path, piece, number, before)
            if isinstance(line, PassNoted):
                begins = int(piece.places[number])
                sums.add(piece.text[added:begins])
                sums.check(line, before + number + 1)
                added = begins
            yield line
        sums.add(piece.text[added:])
        before += len(plain)


def _parsed(path: Path, piece: JournalPiece, number: int, before: int) -> Entry | Note:
    text, line = piece.line(number), before + number + 1
    if len(text) >= LONGEST_LINE:
        raise InputError(f"{path}: line {line} is longer than any of a journal")
    try:
        return parse_line(from_line(text.decode()))
    except (EventError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: line {line} is damaged: {error}") from None


def _plain(piece: JournalPiece) -> Sequence[Entry | None]:
    """The decisions, arrivals and completions that state what they usually do; None for each other line."""
    made: list[Entry | None] = [None] * (len(piece.places) - 1)
    columns = piece.columns()
    if columns is None:
        return made
    found = _Columns(columns)
    for rows, entries in (found.decisions(), found.arrivals(), found.completions()):
        for row, entry in zip(rows.tolist(), entries, strict=True):
            made[row] = entry
    return made


class _Columns:
    def __init__(self, columns: dict[str, pa.Array]) -> None:
        self._columns = columns
        self._there = {name: _array(column.is_valid()) for name, column in columns.items()}
        at = self._reals("at")
        self._timed = (at >= 0) & (at <= MOST)

    def decisions(self) -> tuple[NDArray[Any], list[Entry]]:
        which = self._states(_DECIDED, set(_DECISION)) & self._timed
        which[which] = [name in _ACTIONS for name in self._picked("decision", which)]
        rows = zip(*(self._picked(name, which) for name in _DECISION), strict=True)
        made: list[Entry] = [
            Decision(at, _ACTIONS[what], job, instance, place, reason, margin, unit or "", why, until)
            for at, what, job, instance, place, reason, margin, unit, why, until in rows
        ]
        return np.flatnonzero(which), made

    def arrivals(self) -> tuple[NDArray[Any], list[Entry]]:
        which = self._of("arrival", _ARRIVED, {*_ARRIVED, "submitted"})
        if not which.any():
            return np.flatnonzero(which), []
        cores, memory, coin, submitted = map(self._reals, ("cores", "memory_gib", "coin", "submitted"))
        with np.errstate(invalid="ignore"):
            which &= (cores >= 0) & (cores <= 1e6) & (memory >= 0) & (memory <= 1e6) & (coin >= 0) & (coin <= 1)
            which &= np.isnan(submitted) | ((submitted >= 0) & (submitted <= self._reals("at")))
        vectors = self._vectors()
        which &= ((vectors >= 0) & (vectors <= 99)).all(axis=1)
        asks = np.maximum(np.rint(cores[which] * 1000), 1).astype(np.int64).tolist()
        sizes = np.ceil(memory[which] * 1024).astype(np.int64).tolist()
        names = (self._picked(name, which) for name in ("at", "job", "restartable", "coin", "submitted"))
        made: list[Entry] = [
            Arrival(at, job, ask, size, tuple(vector), again, own, before)
            for at, job, again, own, before, ask, size, vector in zip(
                *names, asks, sizes, vectors[which].tolist(), strict=True
            )
        ]
        return np.flatnonzero(which), made

    def completions(self) -> tuple[NDArray[Any], list[Entry]]:
        which = self._of("completion", _COMPLETED, _COMPLETED)
        performance = self._reals("performance")
        with np.errstate(invalid="ignore"):
            which &= (performance >= 0) & (performance <= 1000)
        made = map(Completion, *(self._picked(name, which) for name in ("at", "job", "performance")))
        return np.flatnonzero(which), list(made)

    def _of(self, event: str, must: set[str], may: set[str]) -> Bools:
        """Which lines are an event of a kind about a job with a proper name, with nothing but what it may state."""
        which = self._states(must, may) & self._timed
        which[which] = [name == event for name in self._picked("event", which)]
        which[which] = [0 < len(name) <= LONGEST_NAME and name.isprintable() for name in self._picked("job", which)]
        return which

    def _states(self, must: set[str], may: set[str]) -> Bools:
        if not must <= set(self._there):
            return np.zeros_like(self._there["at"])
        found = np.ones_like(self._there["at"])
        for name, there in self._there.items():
            if name in must:
                found &= there
            elif name not in may:
                found &= ~there
        return found

    def _picked(self, name: str, which: Bools) -> list[Any]:
        import pyarrow as pa

        if name not in self._columns:
            return [None] * int(which.sum())
        picked: list[Any] = self._columns[name].filter(pa.array(which)).to_pylist()
        return picked

    def _reals(self, name: str) -> NDArray[np.float64]:
        """A column of numbers, NaN where nothing stands."""
        if name not in self._columns:
            return np.full(len(self._there["at"]), np.nan)
        found: NDArray[np.float64] = _array(self._columns[name].fill_null(float("nan")))
        return found

    def _vectors(self) -> NDArray[np.int64]:
        """The vector of each line; -1 where it states none of ten numbers."""
        import pyarrow as pa

        column = self._columns["vector"]
        ten = _array(column.value_lengths().fill_null(0)) == ENTRIES
        made = np.full((len(ten), ENTRIES), -1, np.int64)
        made[ten] = _array(column.filter(pa.array(ten)).flatten().fill_null(-1)).reshape(-1, ENTRIES)
        return made


def _array(values: Any) -> NDArray[Any]:
    found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found.copy() if not found.flags.writeable else found

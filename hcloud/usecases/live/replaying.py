"""A controller is led through its journal: what it decides has to be what stands there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path

from hcloud.control.sessions.batches import EventBatch, Follow
from hcloud.control.sessions.session import ControlSession
from hcloud.errors import InputError
from hcloud.model.running.decision import Decided, Decision, without_words
from hcloud.model.running.event import Arrival, Event, EventError, OfJob
from hcloud.model.running.note import Note
from hcloud.store.journals.events import from_line
from hcloud.store.journals.journal import LONGEST_LINE, parse_line
from hcloud.store.journals.pieces import PIECE, JournalPiece, journal_pieces
from hcloud.usecases.live.replayed import PieceColumns

_Read = tuple[JournalPiece, PieceColumns | None, Follow | None]


@dataclass(slots=True)
class Replayed:
    """A controller after what its journal holds: ``whole`` bytes with so many ``events``, the last at ``last``, of
    which the bytes until ``saved`` were not gone through; ``untold`` are decisions that the journal has not."""

    session: ControlSession
    whole: int
    events: int = 0
    last: float = 0.0
    saved: int = 0
    untold: tuple[Decision, ...] = ()


def followed(path: Path, replayed: Replayed, kernel: Callable[[], Follow | None], size: int = PIECE) -> Replayed:
    """Go through the rest; InputError where its decisions do not follow from its events. As soon as there is a
    ``kernel`` arrivals and completions are handled many at a time."""
    replaying = _Replaying(path, replayed)
    for piece, columns, follow in _read_ahead(journal_pieces(path, replayed.whole, size), kernel):
        replaying.go_through(piece, columns, follow)
    replaying.end()
    return replayed


def _read_ahead(pieces: Iterator[JournalPiece], kernel: Callable[[], Follow | None]) -> Iterator[_Read]:
    """Pieces of a journal, each read by another thread while the one before it is gone through."""

    def read() -> _Read | None:
        piece, follow = next(pieces, None), kernel()
        return None if piece is None else (piece, PieceColumns.of(piece) if follow else None, follow)

    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(read)
        while one := coming.result():
            coming = reader.submit(read)
            yield one


class _Replaying:
    def __init__(self, path: Path, replayed: Replayed) -> None:
        self._path, self._to = path, replayed
        self._session, self._decided, self._told = replayed.session, deque[Decided](), deque[tuple[object, ...]]()
        self._line = 0 if replayed.saved else 1

    def go_through(self, piece: JournalPiece, columns: PieceColumns | None, follow: Follow | None) -> None:
        """The lines of a piece."""
        try:
            if follow and columns:
                self._many_at_a_time(piece, columns, follow)
            else:
                self._line_by_line(piece)
        except EventError as error:
            self._compare()
            raise InputError(f"the journal contains an impossible event: {error}") from None
        self._line += len(piece.places) - 1

    def end(self) -> None:
        """Keep what the journal does not tell; InputError where it tells what was not decided."""
        if self._told:
            raise self._differs(self._to.last)
        self._to.untold = tuple(Decision(*fields) for fields in self._decided)

    def _line_by_line(self, piece: JournalPiece) -> None:
        for number, place in enumerate(piece.places[1:].tolist()):
            entry = self._entry(piece, number)
            self._by_itself(entry)
            self._to.whole = piece.begins + place
            self._compare()

    def _entry(self, piece: JournalPiece, number: int) -> Decision | Event | Note:
        text = piece.line(number)
        if len(text) >= LONGEST_LINE:
            raise InputError(f"{self._path}: {self._where(piece, number)} is longer than any of a journal")
        try:
            return parse_line(from_line(text.decode()))
        except (EventError, UnicodeDecodeError) as error:
            raise InputError(f"{self._path}: {self._where(piece, number)} is damaged: {error}") from None

    def _where(self, piece: JournalPiece, number: int) -> str:
        if self._to.saved:
            return f"the line before byte {piece.begins + int(piece.places[number + 1]):,}"
        return f"line {self._line + number + 1}"

    def _many_at_a_time(self, piece: JournalPiece, columns: PieceColumns, follow: Follow) -> None:
        session, tables = self._session, self._session.tables
        events, names = columns.events(session.setup, tables)
        batch = EventBatch(follow, events, names, tables)
        self._told += columns.told()
        while batch.next < len(events):
            first = batch.next
            self._decided += session.follow(batch, len(events))
            self._to.events += batch.next - first
            if batch.next < len(events):
                number = int(columns.lines[batch.next])
                batch.passed(tables, self._by_itself(self._entry(piece, number)))
        self._to.last = session.now if len(events) else self._to.last
        self._to.whole = piece.begins + int(piece.places[-1])
        self._compare()

    def _by_itself(self, entry: Decision | Event | Note) -> set[str]:
        """The jobs that an event and its decisions are about."""
        if isinstance(entry, Decision):
            self._told.append(astuple(entry))
        if isinstance(entry, Decision | Note):
            return set()
        self._to.events, self._to.last = self._to.events + 1, entry.at
        decisions = self._session.handle(entry)
        self._decided += map(astuple, decisions)
        mine = {entry.job} if isinstance(entry, Arrival | OfJob) else set()
        return mine | {d.job for d in decisions if d.job is not None}

    def _compare(self) -> None:
        decided, told = self._decided, self._told
        while decided and told:
            mine, his = decided.popleft(), told.popleft()
            if mine != his and without_words(mine) != without_words(his):
                raise self._differs(mine[0])

    def _differs(self, at: float) -> InputError:
        return InputError(f"{self._path}: its decisions do not follow from its events, from {at!r} on")

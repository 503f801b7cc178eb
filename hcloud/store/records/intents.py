"""The journal of intents: what is about to be asked of a cloud, noted so that it lasts before it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hcloud.control.ports import Crash
from hcloud.errors import HcloudError, InputError, UsageError
from hcloud.model.holdings.state import Conclusion, Intent, IntentResult
from hcloud.store.files.crash import go_on
from hcloud.store.files.place import JOURNAL, LINEAGE, STATE, StorageLocation, UnsyncedError
from hcloud.store.records.durable_lines import sealed
from hcloud.store.records.intent_codec import Entry, Head, IntentLines, entry_content, read_lines, written

HINT = (
    "open requests are unknown: hcloud recover rebuilds the state from the machines' tags, waits some "
    "minutes for those that lists do not show yet, and puts aside what is left of this journal"
)


@dataclass(frozen=True, slots=True)
class JournalBasis:
    """The state a journal stands beside: its lineage (empty where none was written yet) and serial."""

    lineage: str
    serial: int


@dataclass(slots=True)
class _Tail:
    """Where the next line goes, and what is known of those before it."""

    whole: int
    size: int
    sum: str
    numbers: set[int]


class PlacedJournal:
    """The Journal port on a place. Threads may share it; processes are kept apart by the state's lock, and a line that
    another has written meanwhile is noticed.

    ``guard`` is called before each writing and raises where the lock was lost.
    """

    def __init__(
        self, place: StorageLocation, basis: Callable[[], JournalBasis], guard: Callable[[], None], crash: Crash = go_on
    ):
        self._place = place
        self._basis = basis
        self._guard = guard
        self._crash = crash
        self._tail: _Tail | None = None
        self._next = 1
        self._refused = ""
        self._mutex = threading.Lock()

    def intend(self, intent: Intent) -> None:
        """Note an intent; it lasts when this returns."""
        with self._writing():
            tail = self._last()
            if intent.number in tail.numbers:
                raise UsageError(f"{self._where()}: there is an intent {intent.number} already")
            self._append(intent, tail)

    def conclude(self, conclusion: Conclusion) -> None:
        """Note what came of an intent; it lasts when this returns."""
        with self._writing():
            tail = self._last()
            if conclusion.number not in tail.numbers:
                raise UsageError(f"{self._where()}: there is no intent {conclusion.number} to conclude")
            self._append(conclusion, tail)

    def entries(self) -> tuple[Entry, ...]:
        """All whole entries in order; none where there is no journal."""
        with self._mutex:
            lines = self._read()
        return () if lines is None else lines.entries

    def next_number(self) -> int:
        """A number that no intent has or had, another one each time."""
        with self._mutex:
            if self._tail is None:
                self._next = max(self._next, _after(self._read()))
            self._next += 1
            return self._next - 1

    def trim(self, upto: int) -> None:
        """Write the journal anew without the intents up to a number that are concluded for good."""
        with self._writing():
            lines = self._read()
            if lines is None:
                return
            kept = tuple(_kept(lines.entries, upto))
            basis = self._basis()
            self._next = max(self._next, _after(lines))
            self._tail = None
            head = Head(basis.lineage or lines.head.lineage, max(basis.serial, lines.head.serial), self._next)
            data = written(head, kept)
            self._place.exchange(JOURNAL, data)
            self._tail = _tail_of(read_lines(data, self._where(), HINT))
            self._crash("store.journal.trimmed")

    def begin(self) -> None:
        """Write a journal without entries where there is none."""
        with self._writing():
            self._last()

    def reopen(self) -> None:
        """Read what stands there again before the next writing: another journal was put there."""
        with self._mutex:
            self._tail = None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._mutex:
            if self._refused:
                raise HcloudError(
                    f"{self._where()}: is not used any more: {self._refused}",
                    hint="run the command again: hcloud checks the cloud first",
                )
            self._guard()
            try:
                yield
            except UnsyncedError as error:
                self._refused = str(error)
                raise

    def _last(self) -> _Tail:
        if self._tail is None:
            self._tail = self._opened()
        return self._tail

    def _opened(self) -> _Tail:
        lines = self._read()
        if lines is None:
            if STATE not in self._place.names():
                raise HcloudError(
                    f"{self._where()}: there is no state yet that it could belong to",
                    hint="the first state is saved before anything is intended",
                )
            basis = self._basis()
            self._place.exchange(JOURNAL, written(Head(basis.lineage, basis.serial, self._next), ()))
            self._crash("store.journal.begun")
            lines = self._read()
            if lines is None:
                raise HcloudError(f"{self._where()}: was written and is gone", hint="start again")
        self._next = max(self._next, _after(lines))
        return _tail_of(lines)

    def _append(self, entry: Entry, tail: _Tail) -> None:
        line, digest = sealed(tail.sum, entry_content(entry))
        self._tail = None  # unless it succeeds: what stands there then has to be read
        self._place.append(JOURNAL, line, tail.whole, tail.size)
        if isinstance(entry, Intent):
            tail.numbers.add(entry.number)
        size = tail.whole + len(line)
        self._tail = _Tail(size, size, digest, tail.numbers)
        self._next = max(self._next, entry.number + 1)
        self._crash("store.journal.noted")

    def _read(self) -> IntentLines | None:
        data = self._place.read(JOURNAL)
        if data is not None:
            return read_lines(data, self._where(), HINT)
        if LINEAGE in self._place.names():
            raise InputError(f"{self._where()}: is missing, although there is {LINEAGE}", hint=HINT)
        return None

    def _where(self) -> str:
        return f"{self._place}/{JOURNAL}"


def open_numbers(entries: Iterable[Entry]) -> frozenset[int]:
    """The numbers of the intents that nobody knows the outcome of."""
    intended, over = set[int](), set[int]()
    for entry in entries:
        if isinstance(entry, Intent):
            intended.add(entry.number)
        elif entry.result is not IntentResult.UNKNOWN:
            over.add(entry.number)
    return frozenset(intended - over)


def _kept(entries: tuple[Entry, ...], upto: int) -> Iterator[Entry]:
    still = open_numbers(entries)
    return (e for e in entries if e.number > upto or e.number in still)


def _tail_of(lines: IntentLines) -> _Tail:
    return _Tail(lines.whole, lines.size, lines.sum, {e.number for e in lines.entries if isinstance(e, Intent)})


def _after(lines: IntentLines | None) -> int:
    if lines is None:
        return 1
    return max([lines.head.number, *(e.number + 1 for e in lines.entries)])

"""The state store on any place: what is written in which order, so that after a crash anywhere the next run can go on.

What a state says of machines that were rented is in the log of rentals before the state itself is written.

A first state is written before the journal beside it and the lineage marker, which is therefore the sign that all three
must be there from then on. Later states replace the one before, which is kept.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hcloud.control.ports import Crash
from hcloud.errors import InputError, StaleError
from hcloud.model.holdings.state import Intent, LockInfo, OwnedMachine, Remains, State
from hcloud.store.files.crash import go_on
from hcloud.store.files.lock import FileLock, Flock, Lock
from hcloud.store.files.place import (
    DAMAGED,
    JOURNAL,
    JOURNAL_ASIDE,
    LINEAGE,
    PREVIOUS,
    STATE,
    ChangedError,
    StorageLocation,
)
from hcloud.store.files.private_directory import Disk, PrivateDirectory
from hcloud.store.files.strict_json import HINT
from hcloud.store.records.intent_codec import Entry, Head, read_head, read_lines, readable_lines
from hcloud.store.records.intent_codec import written as written_journal
from hcloud.store.records.intents import HINT as JOURNAL_HINT
from hcloud.store.records.intents import JournalBasis, PlacedJournal
from hcloud.store.records.rentals import Rentals
from hcloud.store.states.codec import (
    CHECKSUM,
    decode_state,
    head_document,
    laid_out,
    record_document,
)


class _Row(NamedTuple):
    """A record, how it is laid out in a file, and how it is summed."""

    record: OwnedMachine
    laid_out: str
    summed: str


class StateEncoder:
    """Makes the bytes of states. What it made last it remembers by record: of ten thousand a save changes a few."""

    def __init__(self) -> None:
        self._rows: Mapping[int, _Row] = {}

    def encode(self, state: State) -> bytes:
        """The bytes of a state: the same for the same state, whatever order its records are in.

        Raises InputError for a state that could not be read back.
        """
        known = self._rows  # by identity: records are frozen, and a row keeps its own alive
        rows = [known.get(id(r)) or _row(r) for r in sorted(state.records, key=lambda r: r.id)]
        distinct = len({row.record.id for row in rows}) == len(rows)
        new = [row for row in rows if id(row.record) not in known] if distinct else rows
        decode_state(_bytes(state, new), "the state to be written")
        self._rows = {id(row.record): row for row in rows}
        return _bytes(state, rows)


def encode_state(state: State) -> bytes:
    """The bytes of one state; see :meth:`StateEncoder.encode`."""
    return StateEncoder().encode(state)


def _row(record: OwnedMachine) -> _Row:
    document = record_document(record)
    return _Row(record, json.dumps(document), json.dumps(document, sort_keys=True, separators=(",", ":")))


def _bytes(state: State, rows: list[_Row]) -> bytes:
    head = head_document(state)
    summed = {k: json.dumps(v, sort_keys=True, separators=(",", ":")) for k, v in head.items() if k != CHECKSUM}
    summed["records"] = f"[{','.join(row.summed for row in rows)}]"
    whole = "{" + ",".join(f'"{key}":{summed[key]}' for key in sorted(summed)) + "}"
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return laid_out({**head, CHECKSUM: digest}, [row.laid_out for row in rows]).encode("ascii")


class PlacedStore:
    """The MendableStore port on a place and its lock."""

    def __init__(self, place: StorageLocation, lock: Lock, crash: Crash = go_on) -> None:
        self._place = place
        self._lock = lock
        self._crash = crash
        self._basis = JournalBasis("", 0)
        self._mutex = threading.RLock()
        self._journal = PlacedJournal(place, lambda: self._basis, lock.check, crash)
        self._rentals = Rentals(place)
        self._encoder = StateEncoder()
        self._read_last: tuple[State, bytes] | None = None
        self._is_known = self._is_complete = False

    def __str__(self) -> str:
        return str(self._place)

    def load(self) -> State | None:
        """The state; None where there never was one. InputError, never a new beginning, where there was."""
        with self._mutex:
            found = self._load()
        return None if found is None else found[0]

    def save(self, state: State) -> State:
        """Write the successor of the stored state; StaleError where it is not the one that was given."""
        with self._alone("saving the state"):
            if self._is_known:
                self._lock.check()  # before the version before is replaced, too
            found = self._load()
            self._check_successor(state, None if found is None else found[0])
            self._rentals.follow(state)
            if found is not None:
                self._keep(found[1])
            return self._write(replace(state, serial=state.serial + 1))

    def locked(self, purpose: str) -> AbstractContextManager[LockInfo]:
        """Hold it; LockedError names the one who does. Who holds it knows what it read or wrote since: where another
        writes all the same, a place that honours conditions refuses what is written next, and others are read again."""
        self._is_known = False
        self._journal.reopen()
        return self._lock.hold(purpose)

    def journal(self) -> PlacedJournal:
        """The journal beside it, the same one each time."""
        return self._journal

    def rentals(self) -> Rentals:
        """The log of rentals beside it."""
        return self._rentals

    def overwrite(self, state: State) -> State:
        """Write a state whatever stands there; what it replaces is kept beside it."""
        with self._alone("writing over the state"):
            remains = self.remains()
            written = replace(state, serial=max(remains.serial, state.serial) + 1)
            encode_state(written)
            data = self._place.read(STATE)
            if data is not None:
                stored = _readable(data, self._where(STATE))
                self._place.replace(DAMAGED if stored is None else PREVIOUS, data)
            self._rentals.put_aside()
            self._rentals.follow(state)
            journal = self._journal_aside(written)
            return self._write(written, anew=True, journal=journal)

    def remains(self) -> Remains:
        """What can still be made out of what stands there."""
        newest = self._salvage(STATE)
        states = [s for s in (newest, self._salvage(PREVIOUS)) if s is not None]
        head, entries, damaged = self._salvage_journal()
        marker = (self._bytes(LINEAGE) or b"").decode("ascii", "replace").strip()
        orders = [e.order.owner.lineage for e in entries if isinstance(e, Intent) and e.order is not None]
        named = [*(s.lineage for s in states), marker, *([head.lineage] if head else []), *orders]
        return Remains(
            tuple(dict.fromkeys(n for n in named if n)),
            max([0, *(s.serial for s in states), *([head.serial] if head else [])]),
            max([0, *(s.generation for s in states), *(e.generation for e in entries if isinstance(e, Intent))]),
            max(states, key=lambda s: s.serial) if states else None,
            damaged,
            newest is not None,
        )

    def holder(self) -> LockInfo | None:
        """Who holds it now."""
        return self._lock.holder()

    def unlock(self, lock: str) -> LockInfo:
        """Take the lock with this id away from its holder."""
        return self._lock.force(lock)

    def _load(self) -> tuple[State, bytes] | None:
        """The stored state and its bytes; the journal's first line is read before it, since both may move on."""
        if self._is_known and self._lock.held and self._read_last is not None:
            return self._read_last
        names = self._place.names()
        self._is_complete = names >= {JOURNAL, LINEAGE}
        head = self._head(names)
        data = self._place.read(STATE)
        if data is None:
            self._check_new(names)
            return None
        state = self._understood(data)
        if LINEAGE in names:
            self._check_lineage(state)
        if head is not None:
            self._check_journal(state, head)
        self._basis = JournalBasis(state.lineage, state.serial)
        self._is_known = self._lock.held and self._place.is_conditional
        return state, data

    def _understood(self, data: bytes) -> State:
        """What the bytes of a state say; the same bytes as last time say the same."""
        if self._read_last is None or self._read_last[1] != data:
            self._read_last = decode_state(data, self._where(STATE)), data
        return self._read_last[0]

    def _head(self, names: frozenset[str]) -> Head | None:
        data = self._place.read(JOURNAL) if JOURNAL in names else None
        if data is not None:
            return read_head(data, self._where(JOURNAL), JOURNAL_HINT)
        if LINEAGE in names and STATE in names:
            raise InputError(f"{self._where(JOURNAL)}: is missing, although there is a state", hint=JOURNAL_HINT)
        return None

    def _check_new(self, names: frozenset[str]) -> None:
        traces = sorted(names & {PREVIOUS, LINEAGE, JOURNAL, DAMAGED})
        if traces:
            hint = HINT if PREVIOUS in traces else HINT.partition(";")[0]
            raise InputError(f"{self._where(STATE)}: is missing, although there is {', '.join(traces)}", hint=hint)

    def _check_lineage(self, state: State) -> None:
        data = self._place.read(LINEAGE)
        marked = (data or b"").decode("ascii", "replace").strip()
        if data is not None and marked != state.lineage:
            raise InputError(
                f"{self._where(STATE)}: lineage: {state.lineage} is another than {self._where(LINEAGE)} names "
                f"({marked[:40] or 'nothing'}): a state of another project",
                hint=HINT,
            )

    def _check_journal(self, state: State, head: Head) -> None:
        if head.lineage not in ("", state.lineage):
            raise InputError(f"{self._where(JOURNAL)}: belongs to another state ({head.lineage})", hint=JOURNAL_HINT)
        if head.serial > state.serial:
            raise InputError(
                f"{self._where(STATE)}: serial: {state.serial} is older than what the journal was trimmed for "
                f"({head.serial}): an earlier version of the state was put back",
                hint=HINT,
            )

    def _check_successor(self, state: State, stored: State | None) -> None:
        serial = 0 if stored is None else stored.serial
        if stored is not None and stored.lineage != state.lineage:
            raise StaleError(
                f"{self}: holds the state of another project (lineage {stored.lineage}, not {state.lineage})",
                hint="--state names another place",
            )
        if serial != state.serial:
            raise StaleError(
                f"{self}: somebody else wrote the state meanwhile: its serial is {serial}, not {state.serial}",
                hint="run the command again: it starts from what is stored now",
            )

    def _keep(self, data: bytes) -> None:
        """Keep what is about to be replaced."""
        self._place.replace(PREVIOUS, data)
        self._crash("store.state.kept")

    def _write(self, state: State, *, anew: bool = False, journal: bytes | None = None) -> State:
        """Write a state, then what has to stand beside it; ``anew`` where that is another's, ``journal`` what could be
        saved of a damaged one. What stood there goes only when the new state stands: whoever is killed before leaves
        what is refused, not trusted."""
        state = replace(state, departed=())
        data = self._encoder.encode(state)
        is_complete, self._is_known, known = self._is_complete and not anew, False, self._is_known
        self._lock.check()
        try:
            self._place.exchange(STATE, data)
        except ChangedError as error:
            raise StaleError(f"{self}: somebody else wrote the state meanwhile", hint=error.hint) from None
        self._crash("store.state.written")
        ordered = replace(state, records=tuple(sorted(state.records, key=lambda r: r.id)))
        self._read_last = ordered, data
        self._basis = JournalBasis(state.lineage, state.serial)
        if anew:
            self._place.remove(LINEAGE)
        if journal is not None:
            self._place.replace(JOURNAL, journal)
            self._journal.reopen()
        names = frozenset({JOURNAL, LINEAGE}) if is_complete else self._place.names()
        if JOURNAL not in names:
            self._journal.begin()
        if LINEAGE not in names:
            self._place.replace(LINEAGE, f"{state.lineage}\n".encode("ascii"))
            self._crash("store.state.marked")
        self._is_known, self._is_complete = known, True
        return state

    def _journal_aside(self, state: State) -> bytes | None:
        """Leave a journal of this lineage that can be read where it is; copy any other aside. What can be read of a
        damaged one is returned, to take its place; of another lineage's nothing is kept, and it is removed."""
        data = self._place.read(JOURNAL)
        lines = None if data is None else readable_lines(data)
        if data is None or (lines is not None and lines.head.lineage in ("", state.lineage) and _is_whole(data)):
            return None
        self._place.replace(JOURNAL_ASIDE, data)
        if lines is not None and lines.head.lineage in ("", state.lineage):
            number = max([lines.head.number, *(e.number + 1 for e in lines.entries)])
            return written_journal(Head(state.lineage, lines.head.serial, number), lines.entries)
        self._place.remove(JOURNAL)
        self._journal.reopen()
        return None

    def _salvage(self, name: str) -> State | None:
        data = self._bytes(name)
        return None if data is None else _readable(data, self._where(name))

    def _salvage_journal(self) -> tuple[Head | None, tuple[Entry, ...], bool]:
        """The journal's first line and entries, of a damaged one those before the damage; and whether it is damaged, or
        gone while anything else is left."""
        data = self._bytes(JOURNAL)
        lines = None if data is None else readable_lines(data)
        damaged = bool(self._place.names() & {STATE, PREVIOUS, LINEAGE}) if data is None else not _is_whole(data)
        return (None, (), damaged) if lines is None else (lines.head, lines.entries, damaged)

    def _bytes(self, name: str) -> bytes | None:
        """All of a file; None where it is none of the user's own."""
        try:
            return self._place.read(name)
        except InputError:
            return None

    @contextmanager
    def _alone(self, purpose: str) -> Iterator[None]:
        """Under the lock that is held, or under one of its own; other threads wait."""
        with self._mutex, nullcontext() if self._lock.held else self.locked(purpose):
            yield

    def _where(self, name: str) -> str:
        return f"{self._place}/{name}"


def _readable(data: bytes, where: str) -> State | None:
    try:
        return decode_state(data, where)
    except InputError:
        return None


def _is_whole(data: bytes) -> bool:
    """Whether all of a journal can be read; a last line that a crash cut off was of something that was not begun."""
    try:
        read_lines(data, JOURNAL, JOURNAL_HINT)
    except InputError:
        return False
    return True


class FileStateStore(PlacedStore):
    """The MendableStore port on a file system.

    ``crash`` is what is done at crash points (see hcloud.store.files.crash), ``disk`` and ``flock`` what the system
    is asked.
    """

    def __init__(
        self, directory: Path, crash: Crash = go_on, disk: Disk | None = None, flock: Flock | None = None
    ) -> None:
        place = PrivateDirectory(directory, crash, disk)
        super().__init__(place, FileLock(place, crash, flock), crash)

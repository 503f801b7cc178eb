"""Journals: a header that says what the controller was told, then a JSON line an event or decision."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, cast
from zlib import crc32

from hcloud import __version__
from hcloud.control.operating.records import FoldImage
from hcloud.control.state import FULL_SPEED
from hcloud.errors import InputError
from hcloud.model.checked import form_of
from hcloud.model.running.decision import Decision, Entry
from hcloud.model.running.event import Event, EventError
from hcloud.model.running.note import Note, PassNoted, SnapshotTaken
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.rules import Rules
from hcloud.store.files.looked_at import check_file
from hcloud.store.files.looked_at import check_target as check_replaced
from hcloud.store.files.whole import write_whole
from hcloud.store.journals.decisions import decision_document, parse_decision
from hcloud.store.journals.events import event_document, from_line, parse_event, to_line
from hcloud.store.journals.notes import note_document, parse_note
from hcloud.units import counted

FORMAT_VERSION = "1.0"
_TYPE = ("name", "cores", "memory", "spin_up", "prior")
LONGEST_LINE = 1 << 20
MOST_POOL = 1_000_000


@dataclass(frozen=True, slots=True)
class LiveOrigin:
    """Where live work belongs: its lineage, whose cloud it rents from, and what runs its jobs; ``selection`` is how the
    command line named that cloud (``fake`` is one like AWS, too); ``state`` is the place of its state."""

    lineage: str
    cloud: str
    account: str
    region: str
    engine: str
    selection: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """What was before a journal that begins with a snapshot: the controller's session, and the fold."""

    session: bytes
    fold: FoldImage


@dataclass(frozen=True)
class JournalContents:
    """What a journal holds. ``whole_bytes`` are those of its complete lines; ``torn`` says that a last one was begun
    and not ended, as a crash leaves it. ``lines`` are all of them, and ``live`` says where live work belongs: there a
    pass of the loop counts as a whole, or not at all."""

    setup: Setup
    lines: tuple[Entry | Note, ...]
    whole_bytes: int
    torn: bool
    live: LiveOrigin | None = None
    before: Before | None = None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Events and decisions, in order."""
        return tuple(line for line in self.lines if not isinstance(line, Note))

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(e for e in self.entries if not isinstance(e, Decision))

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(e for e in self.entries if isinstance(e, Decision))


def header_line(setup: Setup, live: LiveOrigin | None = None) -> str:
    """The first line: format, strategy with its digest and the numbers it was composed to, pool, clock and types; of
    live work also where it belongs."""
    return to_line(
        {
            "format_version": FORMAT_VERSION,
            "tool_version": __version__,
            "journal": {
                "strategy": setup.strategy,
                "digest": setup.digest,
                "pool": setup.pool,
                "start": setup.start,
                "beside": [list(lot) for lot in setup.beside],
                **({"wholes": list(setup.wholes)} if setup.beside and not setup.alone else {}),
                **({"speeds": [list(row) for row in setup.speeds]} if setup.speeds else {}),
                **({"window": list(setup.window)} if setup.window else {}),
            },
            "types": [{name: getattr(facts, name) for name in _TYPE} for facts in setup.types],
            "whole_servers": setup.whole_servers,
            "rules": setup.rules._asdict(),
            **({"live": asdict(live)} if live else {}),
        }
    )


def setup_of_line(line: str) -> Setup:
    """What a first line says of the controller; raises EventError where it is none."""
    return _setup(from_line(line))


def entry_line(entry: Entry | Note) -> str:
    """A line of an event, a decision or a note."""
    if isinstance(entry, Decision):
        return to_line(decision_document(entry))
    return to_line(event_document(entry) if isinstance(entry, Event) else note_document(entry))


def check_target(path: Path) -> None:
    """Refuse, with InputError, a place where no journal can or should be written."""
    check_replaced(path, "a journal", lambda head: b'"journal"' in head[:200], ".jsonl", ".json", is_renamed=False)


def save_journal(setup: Setup, entries: Iterable[Entry], path: Path) -> None:
    """Write a whole journal next to its final name, then rename; raises InputError where it may not be written.

    A journal may replace a journal, and nothing else.
    """
    check_target(path)
    write_whole(path, [header_line(setup), *map(entry_line, entries)])


def read_journal(path: Path) -> JournalContents:
    """The whole of a journal; a torn last line is tolerated. Raises InputError with the line where one is damaged."""
    if not path.is_file() or path.stat().st_size:  # of an empty one more is known below
        check_file(path, "a journal", hint="hcloud simulate and hcloud decide write one with --journal")
    whole, torn, setup, lines, live = 0, False, None, [], None
    noted, sums = (0, 0), PassSums(path)
    for number, raw in _lines(path):
        if not raw.endswith(b"\n"):
            torn = True
            break
        try:
            document = from_line(raw.decode())
            if setup is None:
                setup, live = _setup(document), _live(document)
                noted = (0, len(raw))
            else:
                lines.append(parse_line(document))
        except (EventError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: line {number} is damaged: {error}") from None
        if lines and isinstance(lines[-1], PassNoted):
            sums.check(lines[-1], number)
            noted = (len(lines), whole + len(raw))
        whole += len(raw)
        sums.add(raw)
    if setup is None:
        raise _nothing_in(path)
    if live is not None and len(lines) > noted[0]:  # a crash cut a pass short
        lines, whole, torn = lines[: noted[0]], noted[1], True
    before = _before(path, lines[0]) if lines and isinstance(lines[0], SnapshotTaken) else None
    return JournalContents(setup, tuple(lines), whole, torn, live, before)


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """After so many whole ``bytes`` of a file, by its number; ``sum`` is their checksum."""

    file: int
    bytes: int
    sum: int


@contextmanager
def refusing_impossible(name: Path | str) -> Iterator[None]:
    """What is made of a journal's events: InputError where one of them does not fit what happened before."""
    try:
        yield
    except EventError as error:
        raise InputError(f"{name}: the journal contains an impossible event: {error}") from None


def place_of(path: Path, whole: int) -> JournalPlace:
    """After the ``whole`` bytes of a journal that was read."""
    with path.open("rb") as file:
        return JournalPlace(os.fstat(file.fileno()).st_ino, whole, crc32(file.read(whole)))


def read_on(path: Path, place: JournalPlace) -> tuple[tuple[Entry | Note, ...], JournalPlace] | None:
    """The whole passes of live work after a place, and the place after them; None where the journal began anew since
    or says something else now, so that it has to be read as a whole."""
    found = path.stat()
    if found.st_ino != place.file or found.st_size < place.bytes:
        return None
    lines, reached, sums = list[Entry | Note](), 0, PassSums(path, place.sum)
    ahead = place.bytes
    try:
        for number, raw in _lines(path, place.bytes):
            if not raw.endswith(b"\n"):
                break
            lines.append(line := parse_line(from_line(raw.decode())))
            ahead += len(raw)
            if isinstance(line, PassNoted):
                sums.check(line, number)
            sums.add(raw)
            if isinstance(line, PassNoted):
                reached, place = len(lines), JournalPlace(place.file, ahead, sums.sum)
    except (EventError, UnicodeDecodeError, InputError):
        return None
    return tuple(lines[:reached]), place


def checksum(value: int) -> str:
    """A checksum as the end of a pass has it."""
    return f"{value:08x}"


class PassSums:
    """Compares the checksum at the end of each pass with the bytes of a journal before it."""

    def __init__(self, path: Path, sum_before: int = 0) -> None:
        self._path, self.sum, self._first = path, sum_before, 1

    def add(self, text: bytes) -> None:
        """Whole lines that come next."""
        self.sum = crc32(text, self.sum)

    def check(self, noted: PassNoted, line: int) -> None:
        """InputError where the end of a pass, on this line, does not fit what is before it."""
        if noted.sum not in (None, checksum(self.sum)):
            said = "a line was changed or is missing: the checksum does not match"
            raise InputError(f"{self._path}: lines {self._first} to {line} are damaged: {said}")
        self._first = line + 1


def _nothing_in(path: Path) -> InputError:
    hint = "a crash may have caused this: remove it and start again"
    return InputError(f"{path}: contains no journal, not even its first line", hint=hint)


def read_header(path: Path) -> tuple[Setup, LiveOrigin | None]:
    """The first line of a journal alone. Raises InputError where it is none."""
    if not path.is_file() or path.stat().st_size:  # of an empty one more is known below
        check_file(path, "a journal", hint="hcloud simulate and hcloud decide write one with --journal")
    for _, raw in _lines(path):
        if not raw.endswith(b"\n"):
            break
        try:
            document = from_line(raw.decode())
            return _setup(document), _live(document)
        except (EventError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: line 1 is damaged: {error}") from None
    raise _nothing_in(path)


def goes_on(path: Path) -> bool:
    """Whether a journal goes on from a snapshot."""
    first = next((raw for number, raw in _lines(path) if number == 2), b"")
    try:
        return first.endswith(b"\n") and isinstance(parse_line(from_line(first.decode())), SnapshotTaken)
    except (EventError, UnicodeDecodeError):
        return False  # who reads it says what is wrong


def _before(path: Path, taken: SnapshotTaken) -> Before:
    """What a snapshot beside a journal holds; InputError where it is not there, or not what was written."""
    beside = path.with_name(Path(taken.file).name)
    try:
        data = beside.read_bytes()
    except OSError as error:
        raise InputError(f"{beside}: {error.strerror}: {path} continues from it", hint="restore this file") from None
    if sha256(data).hexdigest() != taken.digest:
        raise InputError(f"{beside}: was changed: {path} continues from it", hint="restore a copy of this file")
    session, _, fold = data.partition(b"\n")
    try:
        return Before(session, form_of(FoldImage).validate_json(fold))
    except ValueError:
        said = f"{beside}: is not as this version of hcloud writes it, and {path} continues from it"
        raise InputError(said, hint="end the work with the version that began it: hcloud operate stop") from None


def snapshot_bytes(before: Before) -> bytes:
    """A snapshot as its file holds it: a line of the session and one of the fold."""
    return before.session + b"\n" + form_of(FoldImage).dump_json(before.fold) + b"\n"


def parse_line(document: dict[str, Any]) -> Entry | Note:
    """The event, decision or note of a line; raises EventError where it is none."""
    if "decision" in document:
        return parse_decision(document)
    return parse_note(document) if "note" in document else parse_event(document)


def _live(document: dict[str, Any]) -> LiveOrigin | None:
    """Where the journal of live work belongs; None for that of a stream or of a run."""
    told = document.get("live")
    if told is None:
        return None
    try:
        return LiveOrigin(**{name: str(value) for name, value in told.items()})
    except (TypeError, AttributeError):
        raise EventError("not the first line of a journal: live is not as hcloud writes it") from None


def _lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        file.seek(start)
        number = 0
        while raw := file.readline(LONGEST_LINE):
            number += 1
            if len(raw) == LONGEST_LINE:
                raise InputError(f"{path}: line {number} is longer than any of a journal")
            yield number, raw


def _setup(document: dict[str, Any]) -> Setup:
    version = str(document.get("format_version", ""))
    major, ours = (text.partition(".")[0] for text in (version, FORMAT_VERSION))
    if "journal" not in document:
        raise EventError("not the first line of a journal")
    if major != ours:
        raise EventError(f"format_version {version!r} cannot be read; this hcloud reads {FORMAT_VERSION}")
    try:
        head, rules = document["journal"], document["rules"]
        if unknown := set(rules) - set(Rules._fields):
            raise EventError(f"rules of a later version: {', '.join(sorted(unknown))}")
        types = tuple(TypeFacts(**facts) for facts in document["types"])
        whole = bool(document["whole_servers"])
        start = cast("float | None", head["start"])
        beside = tuple((int(kind), int(servers)) for kind, servers in head.get("beside", ()))
        named = str(head["strategy"]), str(head["digest"])
        speeds = tuple(tuple(map(int, row)) for row in head.get("speeds", ()))
        since, until = map(float, head.get("window") or (0.0, 0.0))
        window = (since, until) if "window" in head else None
        alone = bool(beside) and "wholes" not in head
        made = Setup(*named, Rules(**rules), whole, int(head["pool"]), start, types, beside, speeds, window, alone)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EventError(f"not the first line of a journal: {error}") from None
    _check(made)
    return made


def _check(made: Setup) -> None:
    """EventError for numbers that no controller was ever told."""
    numbers = [
        *made.rules,
        *(made.window or ()),
        made.start or 0.0,
        *(n for t in made.types for n in (t.cores, t.memory, t.spin_up, t.prior)),
    ]
    if any(isinstance(n, bool) or not isinstance(n, int | float) or not math.isfinite(n) for n in numbers):
        raise EventError("not the first line of a journal: a number is none")
    known = all(0 <= kind < len(made.types) and 0 <= servers <= MOST_POOL for kind, servers in made.lots)
    if not (known and made.rules.period > 0):
        raise EventError("not the first line of a journal: large, pool or period is out of range")
    for number, row in enumerate(made.speeds, 1):
        if len(row) != len(made.types):
            missing = ", ".join(t.name for t in made.types[len(row) :])
            lacks = f", none for {missing}" if missing else ""
            raise EventError(f"row {number} of the speeds has {counted(len(row), 'type')} of {len(made.types)}{lacks}")
        if not all(0 <= speed <= FULL_SPEED for speed in row):
            allowed = f"1 to {FULL_SPEED} are allowed, 0 for a type that a job may not run on"
            raise EventError(f"row {number} of the speeds: {allowed}")
    if any(made.types[kind].cores > made.large.cores for kind, _ in made.beside):
        raise EventError("not the first line of a journal: a reserved type is larger than the large one")
    if not all(name.isprintable() for name in (made.strategy, *(t.name for t in made.types))):
        raise EventError("not the first line of a journal: a name that cannot be printed")

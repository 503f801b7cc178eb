"""A file of checksummed JSON lines that only grows: each line is on the disk before the writer goes on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hcloud.errors import HcloudError, InputError
from hcloud.model.json_text import parsed
from hcloud.store.files.place import StorageLocation, UnsyncedError
from hcloud.store.files.strict_json import load_strict

LONGEST_LINE = 4 << 20  # ours
NO_SUM = "0" * 32
_OPENING = re.compile(rb'\{"sum":"([0-9a-f]{32})",')
_BEGINNING = b'{"sum":"'

Content = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SealedLine:
    """A whole line: where it stands, what it says, where it ends in the file, and its checksum."""

    where: str
    content: dict[str, object]
    end: int
    sum: str


def sealed(before: str, content: Content) -> tuple[bytes, str]:
    """A line and its checksum, which follows from the one before it."""
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
    digest = _digest(before, body)
    return b'{"sum":"' + digest.encode() + b'",' + body[1:] + b"\n", digest


def sealed_lines(data: bytes, where: str, hint: str) -> Iterator[SealedLine]:
    """The lines of a file, as far as they are whole; a last one that a crash cut short is left out. InputError, with
    the line, where one is damaged in another way: no line behind it is trusted."""
    before, end = NO_SUM, 0
    for number, line in _split(data):
        at = f"{where}: line {number}"
        if not line.endswith(b"\n"):
            if number > 1 and _may_be_torn(line):
                return
            raise InputError(f"{at}: is damaged: it neither ends nor begins as a line does", hint=hint)
        found = _OPENING.match(line)
        if found is None or len(line) > LONGEST_LINE:
            raise InputError(f"{at}: is damaged: not a line that hcloud writes", hint=hint)
        body = b"{" + line[found.end() : -1]
        if _digest(before, body).encode() != found[1]:
            said = "is damaged, or a line before it is missing: its checksum does not fit"
            raise InputError(f"{at}: {said}", hint=hint)
        before, end = found[1].decode(), end + len(line)
        yield SealedLine(at, load_strict(body, at, hint), end, before)


def _split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbered lines with their line feeds; no other byte ends a line."""
    *whole, rest = data.split(b"\n")
    yield from ((number, line + b"\n") for number, line in enumerate(whole, start=1))
    if rest:
        yield len(whole) + 1, rest


def _may_be_torn(line: bytes) -> bool:
    """Whether a write that was cut short can have left this: the beginning of a line, then nothing or NULs, which a
    file system fills in where the length of a file lasted and its content did not."""
    left = line.rstrip(b"\0")
    begins = left.startswith(_BEGINNING) or _BEGINNING.startswith(left)
    return begins and len(left) <= LONGEST_LINE and all(0x20 <= byte < 0x7F for byte in left) and not _is_closed(left)


def _is_closed(line: bytes) -> bool:
    """Whether the object that a line begins is over before the line is: then something else took the line feed."""
    try:
        _, end = json.JSONDecoder().raw_decode(line.decode("ascii"))
    except RecursionError:  # no line of ours begins like that
        return True
    except ValueError:
        return False
    return end < len(line)


def _digest(before: str, body: bytes) -> str:
    return hashlib.sha256(before.encode() + body).hexdigest()[:32]


HINT = "restore the file from a copy; it is never repaired by guessing"


@dataclass(frozen=True, slots=True)
class SealedLines:
    """What the file holds: the content of its whole lines, how many bytes these are out of ``size``, and the checksum
    of the last one. What stands behind them was begun by a write that a crash cut short."""

    contents: tuple[Content, ...] = ()
    whole: int = 0
    size: int = 0
    sum: str = NO_SUM


class DurableLines:
    """Lines of a file at a place, sealed as those of the journal of intents are: no line can be changed, left out or
    moved unseen. ``what`` is how messages call the file, ``hint`` what to do where it is damaged."""

    def __init__(self, place: StorageLocation, name: str, what: str, hint: str = HINT) -> None:
        self._place = place
        self._name = name
        self._what = what
        self._hint = hint
        self._refused = ""
        self._known = (
            SealedLines(),
            b"",
        )  # what was read or written last: of a file that is as it was nothing is parsed again

    def __str__(self) -> str:
        return f"{self._place}/{self._name}"

    def read(self) -> SealedLines:
        """All whole lines; none where there is no file. InputError where it is another's, or damaged."""
        data = self._place.read(self._name)
        if data is None:
            return SealedLines()
        if not data or self._known[1] != data:
            self._known = self._parse(data), data
        return self._known[0]

    def append(self, content: Content) -> None:
        """Add a line; returns when it will outlast a crash. HcloudError where it may not: then nothing is to be done
        that it would have told of, and this file is not written any more."""
        if self._refused:
            raise HcloudError(
                f"{self}: is not used any more: {self._refused}", hint="check the disk, then run the command again"
            )
        lines = self.read()
        line, digest = sealed(lines.sum, content)
        try:
            if lines.size:
                self._place.append(self._name, line, lines.whole, lines.size)
            else:
                self._place.exchange(self._name, line)
        except UnsyncedError as error:
            self._refused = str(error)
            raise
        before = self._known[1][: lines.whole] if lines.size else b""
        whole, written = lines.whole + len(line), parsed(line)
        del written["sum"]
        self._known = SealedLines((*lines.contents, written), whole, whole, digest), before + line

    def _parse(self, data: bytes) -> SealedLines:
        contents: list[Content] = []
        whole, before = 0, NO_SUM
        for line in sealed_lines(data, f"{self} ({self._what})", self._hint):
            contents.append(line.content)
            whole, before = line.end, line.sum
        if not contents:
            raise InputError(f"{self}: is empty: the first line of a {self._what} is never missing", hint=self._hint)
        return SealedLines(tuple(contents), whole, len(data), before)

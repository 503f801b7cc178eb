"""Lines of JSON with a checksum that also covers all lines before: none can be changed, left out or moved unseen."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hcloud.errors import InputError
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

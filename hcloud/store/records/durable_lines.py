"""A file of checksummed JSON lines that only grows: each line is on the disk before the writer goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hcloud.errors import HcloudError, InputError
from hcloud.model.json_text import parsed
from hcloud.store.files.place import StorageLocation, UnsyncedError
from hcloud.store.records.intent_codec import LONGEST_LINE, NO_SUM, sealed

_BEGINNING = b'{"sum":"'
HINT = "restore the file from a copy; it is never repaired by guessing"

Content = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SealedLines:
    """What the file holds: the content of its whole lines, how many bytes these are out of ``size``, and the checksum
    of the last one. What stands behind them was begun by a write that a crash cut short."""

    contents: tuple[Content, ...] = ()
    whole: int = 0
    size: int = 0
    sum: str = NO_SUM

    @property
    def torn(self) -> bool:
        """Whether a last line was begun and not ended."""
        return self.whole < self.size


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
                f"{self}: is not used any more: {self._refused}", hint="see to the disk, then start again"
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
        written, _ = self._opened(line, lines.sum, len(lines.contents) + 1)
        whole = lines.whole + len(line)
        self._known = SealedLines((*lines.contents, written), whole, whole, digest), before + line

    def _parse(self, data: bytes) -> SealedLines:
        contents: list[Content] = []
        whole, before = 0, NO_SUM
        for number, line in _split(data):
            if not line.endswith(b"\n"):
                if not _may_be_torn(line):
                    raise self._damaged(number, "it neither ends nor begins as a line does")
                break
            content, before = self._opened(line, before, number)
            contents.append(content)
            whole += len(line)
        if not contents:
            raise self._damaged(1, "it is not there, and it is never missing")
        return SealedLines(tuple(contents), whole, len(data), before)

    def _opened(self, line: bytes, before: str, number: int) -> tuple[Content, str]:
        if len(line) > LONGEST_LINE:
            raise self._damaged(number, f"longer than any ({LONGEST_LINE} bytes)")
        try:
            content = parsed(line)
        except ValueError as error:
            raise self._damaged(number, str(error)) from None
        if not isinstance(content, dict) or "sum" not in content:
            raise self._damaged(number, "no checksum")
        del content["sum"]
        again, digest = sealed(before, content)
        if again != line:
            raise self._damaged(number, "its checksum does not fit, or a line before it is missing")
        return content, digest

    def _damaged(self, number: int, why: str) -> InputError:
        return InputError(f"{self}: line {number} of the {self._what} is damaged: {why}", hint=self._hint)


def _split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbered lines with their line feeds; no other byte ends a line."""
    *whole, rest = data.split(b"\n")
    yield from ((number, line + b"\n") for number, line in enumerate(whole, start=1))
    if rest:
        yield len(whole) + 1, rest


def _may_be_torn(line: bytes) -> bool:
    """Whether a write that was cut short can have left this: the beginning of a line, then nothing or NULs."""
    told = line.rstrip(b"\0")
    return told.startswith(_BEGINNING) or _BEGINNING.startswith(told)

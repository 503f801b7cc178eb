"""A file of checksummed JSON lines that only grows: each line is on the disk before the writer goes on."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.errors import HcloudError, InputError
from hcloud.model.json_text import parsed
from hcloud.store.files.place import StorageLocation, UnsyncedError
from hcloud.store.records.sealed_lines import NO_SUM, Content, sealed, sealed_lines

HINT = "restore the file from a copy; it is never repaired by guessing"


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

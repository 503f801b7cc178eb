"""The file of a live journal: lines are added in one write and synced, or none of them is there."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from io import FileIO
from pathlib import Path
from zlib import crc32

from hcloud.errors import HcloudError, InputError
from hcloud.model.running.decision import Entry
from hcloud.model.running.note import Note, PassNoted, SnapshotTaken
from hcloud.store.journals.journal import (
    Before,
    JournalContents,
    LiveOrigin,
    checksum,
    entry_line,
    goes_on,
    read_header,
    read_journal,
    snapshot_bytes,
)
from hcloud.whole_files import sync_directory

LONG = 32 << 20
"""Ours: bytes of a journal after which it begins anew with a snapshot; replaying so many takes some seconds."""

SNAPSHOT = "snapshot"


def segment(path: Path, suffix: str = "jsonl") -> Path:
    """The next name for a journal that is put aside, or for a snapshot. Its number is the highest, also where somebody
    removed old ones: parts of one work are read in the order of their numbers."""
    is_snapshot = suffix != "jsonl"
    kept = (p for p in path.parent.glob("*.*") if p.name.startswith(f"{SNAPSHOT}.") == is_snapshot)
    number = 1 + max(map(_number, kept), default=0)
    return path.with_name(f"{SNAPSHOT if is_snapshot else path.stem}.{number}.{suffix}")


def read_whole(path: Path) -> JournalContents:
    """A journal from the beginning of its work: with all that was put aside before it. Raises InputError where a part
    is damaged or missing."""
    parts = [read_journal(part) for part in parts_of(path)]
    last, lines = parts[-1], tuple(line for part in parts for line in part.lines if not isinstance(line, SnapshotTaken))
    return last if len(parts) == 1 else replace(last, lines=lines, before=None)


def parts_of(path: Path) -> list[Path]:
    """The files of one work in the order in which they were written, of which the last is given. Raises InputError
    where one is missing."""
    parts = [path]
    while goes_on(parts[0]):
        parts.insert(0, _part_before(parts[0], read_header(parts[0])[1]))
    return parts


def _part_before(path: Path, live: LiveOrigin | None) -> Path:
    """Where the part of the same work is that was put aside last before this one. A crash may have left one part under
    two names."""
    number = _number(path) or sys.maxsize
    earlier = [p for p in path.parent.glob(f"{path.stem.partition('.')[0]}.*.jsonl") if 0 < _number(p) < number]
    for found in sorted(earlier, key=_number, reverse=True):
        if not found.samefile(path) and read_header(found)[1] == live:
            return found
    hint = "restore the file that was set aside: its name has the next lower number"
    raise InputError(f"{path}: continues an earlier journal that is missing", hint=hint)


def _number(path: Path) -> int:
    """The number in the name of what was put aside; 0 where there is none."""
    return next((int(part) for part in path.name.split(".")[1:] if part.isdecimal()), 0)


class LiveJournalFile:
    """Adds lines behind the ``whole`` bytes that a journal has; after ``long`` bytes it wants to begin anew. ``check``
    raises LockedError where it is somebody else's by now."""

    def __init__(self, path: Path, whole: int, long: int = LONG, check: Callable[[], None] = lambda: None) -> None:
        self._path, self._whole, self._long = path, whole, long
        self._check = check
        _drop_twin(path)
        self._file = FileIO(path, "r+" if path.exists() else "x+")
        self._file.truncate(whole)
        self._sum = crc32(self._file.read())
        self._file.seek(whole)

    @property
    def is_long(self) -> bool:
        """Whether it should begin anew."""
        return self._whole > self._long

    def renew(self, header: str, before: Before, at: float) -> None:
        """Begin anew with a snapshot; what there is so far is put aside, under a name of its own.

        Killed at any point there is one journal, the old or the new one. HcloudError where the disk does not take it:
        then the old one goes on.
        """
        self._check()
        data, name = snapshot_bytes(before), segment(self._path, "json")
        fresh = self._path.with_suffix(".new")
        first = (header + entry_line(SnapshotTaken(at, name.name, sha256(data).hexdigest()))).encode()
        first += entry_line(PassNoted(at, checksum(crc32(first)))).encode()
        try:
            _written(name, data)
            _written(fresh, first)
            os.link(self._path, segment(self._path))
            fresh.replace(self._path)
            sync_directory(self._path.parent)
        except OSError as error:
            name.unlink(missing_ok=True)
            fresh.unlink(missing_ok=True)
            raise HcloudError(f"{self._path}: cannot begin anew: {error.strerror or error}") from error
        self._file.close()
        self._file = FileIO(self._path, "r+")
        self._whole, self._sum = self._file.seek(0, os.SEEK_END), crc32(first)

    def append(self, lines: Iterable[Entry | Note]) -> None:
        """Add lines; returns when they will outlast a crash. Raises HcloudError where they will not: then none of them
        is there, and the same may be tried again. The end of a pass has the checksum of all before it."""
        data = bytearray()  # a pass may bring ten thousand jobs: bytes would be copied for each line
        for line in lines:
            is_end = isinstance(line, PassNoted)
            data += entry_line(PassNoted(line.at, checksum(crc32(data, self._sum))) if is_end else line).encode()
        self._append(data)

    def append_text(self, text: str) -> None:
        """Add whole lines as they are."""
        self._append(text.encode())

    def _append(self, data: bytes | bytearray) -> None:
        self._check()
        try:
            if self._file.write(data) != len(data):
                raise OSError("the disk took only a part of it")
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                if error.errno == errno.ESTALE:
                    self._reopen()
                self._file.truncate(self._whole)
                self._file.seek(self._whole)
            raise HcloudError(
                f"{self._path}: cannot be written: {error.strerror or error}", hint="free some room; hcloud tries again"
            ) from error
        self._whole, self._sum = self._whole + len(data), crc32(data, self._sum)

    def _reopen(self) -> None:
        """Where a file server began anew, what was open means nothing there any more; the file is as it was."""
        file = FileIO(self._path, "r+")
        is_same = crc32(file.read()[: self._whole]) == self._sum
        self._file, other = (file, self._file) if is_same else (self._file, file)
        other.close()

    def close(self) -> None:
        """Let go of it."""
        self._file.close()


def _drop_twin(path: Path) -> None:
    """A controller that was killed while its journal began anew may have left a second name of it, as a segment that
    would grow with it."""
    for other in path.parent.glob(f"{path.stem}.*{path.suffix}") if path.exists() else ():
        if other.samefile(path):
            other.unlink()


def _written(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())

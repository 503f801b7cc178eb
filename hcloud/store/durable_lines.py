"""A file of checksummed JSON lines that only grows: each line is on the disk before the writer goes on."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hcloud.errors import HcloudError, InputError

LONGEST_LINE = 4 << 20  # ours: a snapshot of some thousand commitments fits many times
PRIVATE = 0o600
_CHECK, _ENTRY = "check", "entry"
_CHECK_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Lines:
    """What the file holds: the entries of its whole lines, how many bytes these are, the checksum of the last one, and
    whether a further line was begun and not ended, as a crash leaves it."""

    entries: tuple[Mapping[str, object], ...] = ()
    whole_bytes: int = 0
    check: str = ""
    torn: bool = False


class DurableLines:
    """Lines at a path. Every line's checksum covers the one before it too, so that a line can be neither changed nor
    taken out unseen; what an interrupted write left behind the last whole line is cut off by the next one."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self.what = what
        self._broken = False

    def read(self) -> Lines:
        """All whole lines; empty where there is no file. InputError where it is another's or damaged."""
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return Lines()
        except OSError as error:
            raise InputError(f"{self.path}: the {self.what} cannot be opened: {error.strerror}") from None
        with os.fdopen(handle, "rb") as file:
            self._check_file(os.fstat(file.fileno()))
            return self._parse(file.read())

    def append(self, entry: Mapping[str, object]) -> None:
        """Add a line; returns when it will outlast a crash. Raises HcloudError where it will not, and leaves the file
        as it was as far as that can be done."""
        if self._broken:
            raise HcloudError(f"{self.path}: the {self.what} could not be written before, and is not written any more")
        lines = self.read()
        check = _checksum(lines.check, entry)
        line = json.dumps({_CHECK: check, _ENTRY: entry}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        try:
            self._write(line.encode() + b"\n", lines.whole_bytes)
        except OSError as error:
            self._broken = True
            raise HcloudError(
                f"{self.path}: the {self.what} cannot be written so that it lasts: {error.strerror or error}",
                hint="make room on the disk, or put it on another one; nothing was asked of the cloud after this",
            ) from error

    def _write(self, line: bytes, at: int) -> None:
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.path, flags, PRIVATE)
        try:
            os.fchmod(handle, PRIVATE)
            os.ftruncate(handle, at)
            try:
                _write_all(handle, line, at)
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, at)
                raise
        finally:
            os.close(handle)
        if is_new:
            sync_directory(self.path.parent)

    def _check_file(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{self.path}: is no plain file, and no {self.what}")
        if found.st_uid != os.geteuid():
            raise InputError(f"{self.path}: belongs to another user (uid {found.st_uid}); it is not believed")
        if found.st_nlink > 1:
            raise InputError(f"{self.path}: has a second name (a hard link); it is not believed")

    def _parse(self, content: bytes) -> Lines:
        entries: list[Mapping[str, object]] = []
        whole, check = 0, ""
        for number, raw in enumerate(io.BytesIO(content), start=1):
            if not raw.endswith(b"\n"):
                return Lines(tuple(entries), whole, check, torn=True)
            entry, stated = self._line(raw, number)
            check = _checksum(check, entry)
            if check != stated:
                raise self._damaged(number, "its checksum is wrong, or a line before it is missing")
            entries.append(entry)
            whole += len(raw)
        return Lines(tuple(entries), whole, check)

    def _line(self, raw: bytes, number: int) -> tuple[Mapping[str, object], str]:
        if len(raw) > LONGEST_LINE:
            raise self._damaged(number, "it is longer than any")
        try:
            document = json.loads(raw.decode())
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise self._damaged(number, str(error)) from None
        if not isinstance(document, dict) or not isinstance(document.get(_ENTRY), dict):
            raise self._damaged(number, "it is no entry")
        return document[_ENTRY], str(document.get(_CHECK))

    def _damaged(self, number: int, why: str) -> InputError:
        return InputError(
            f"{self.path}: line {number} of the {self.what} is damaged: {why}",
            hint="restore the file from a copy; it is never repaired by guessing",
        )


def _checksum(before: str, entry: Mapping[str, object]) -> str:
    text = json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:_CHECK_DIGITS]


def _write_all(handle: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(handle, data, at)
        data, at = data[written:], at + written


def sync_directory(directory: Path) -> None:
    """Make the names in a directory last."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

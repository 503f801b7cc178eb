"""The file of a live journal: lines are added in one write and synced, or none of them is there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from hcloud.errors import HcloudError
from hcloud.model.running.decision import Entry
from hcloud.model.running.note import Note
from hcloud.store.journal import entry_line


class LiveJournalFile:
    """Adds lines behind the ``whole`` bytes that a journal has."""

    def __init__(self, path: Path, whole: int) -> None:
        self._path, self._whole = path, whole
        self._file = FileIO(path, "r+" if path.exists() else "x+")
        self._file.truncate(whole)
        self._file.seek(whole)

    def append(self, lines: Iterable[Entry | Note]) -> None:
        """Add lines; returns when they will outlast a crash. Raises HcloudError where they will not: then none of them
        is there, and the same may be tried again."""
        self.append_text("".join(map(entry_line, lines)))

    def append_text(self, text: str) -> None:
        """Add whole lines as they are."""
        data = text.encode()
        try:
            if self._file.write(data) != len(data):
                raise OSError("the disk took only a part of it")
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._whole)
                self._file.seek(self._whole)
            raise HcloudError(
                f"{self._path}: cannot be written: {error.strerror or error}", hint="free some room; hcloud tries again"
            ) from error
        self._whole += len(data)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

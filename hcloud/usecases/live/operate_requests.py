"""Where live work is, who works there, and what others ask its controller for."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from hcloud.live.operating.desk import FORCED, KEEPING
from hcloud.model.running.note import Asked
from hcloud.store.files.lock import FileLock
from hcloud.store.files.private_directory import PrivateDirectory
from hcloud.store.journals.events import from_line
from hcloud.store.journals.journal import read_header
from hcloud.whole_files import whole_file

DIRECTORY, JOURNAL = "operate", "journal.jsonl"
LAST_BYTES = 4096
"""Ours: more than the last two notes of finished work take."""
ASKS = ("drain", "stop", KEEPING, FORCED, "cancel")
"""What a running controller can be asked for."""


def directory_at(place: str) -> Path:
    """The directory of live work, beside the state at a place."""
    return Path(".hcloud" if "://" in place else place).resolve() / DIRECTORY


def lock_of_work(place: str) -> FileLock | None:
    """The lock that a controller holds while it works; None where nothing was ever operated."""
    directory = directory_at(place)
    return FileLock(PrivateDirectory(directory)) if directory.is_dir() else None


def cloud_of_work(place: str, *, finished_too: bool) -> str | None:
    """How the command line named the cloud of the work at a place; None where there is none, or none that goes on
    unless it may be ``finished_too``, or where the journal does not say it."""
    path = directory_at(place) / JOURNAL
    if not path.is_file() or not path.stat().st_size or (_is_finished(path) and not finished_too):
        return None
    live = read_header(path)[1]
    return (live.selection or None) if live else None


def _is_finished(path: Path) -> bool:
    """Whether a journal ends as that of finished work does."""
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, LAST_BYTES), os.SEEK_END)
        return any(b'"note":"finished"' in line for line in file.read().splitlines()[-2:])


class Requests:
    """What other processes ask a controller for: one small file each. It is there until the controller asks for more,
    when it has noted it; one that is killed in between leaves it to the next."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._read = directory, list[Path]()

    def put(self, what: str, job: str = "") -> Path:
        """Ask for something; the file is there until a controller has read it."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._directory / f"{uuid4().hex}.json"
        with whole_file(path, lasts=False) as file:
            file.write(json.dumps({"what": what, "job": job}).encode())
        return path

    def new(self) -> Sequence[Asked]:
        """What was asked for since the last call."""
        self._forget(self._read)
        if not self._directory.is_dir():
            return ()
        found = []
        for path in sorted(self._directory.glob("*.json"), key=lambda p: p.stat().st_mtime_ns):
            try:
                told = from_line(path.read_text())
                if told.get("what") in ASKS:
                    found.append(Asked(0.0, str(told["what"]), str(told.get("job", ""))))
            except (OSError, ValueError):
                pass  # nobody knows what it said
            self._read.append(path)
        return found

    def clear(self) -> None:
        """Forget all that was asked for."""
        self._forget(list(self._directory.glob("*.json")))

    def _forget(self, paths: list[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)
        self._read = []

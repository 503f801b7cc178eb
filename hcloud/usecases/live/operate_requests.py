"""Where live work is, who works there, and what others ask its controller for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from hcloud.live.operating.desk import FORCED, KEEPING
from hcloud.model.running.note import Asked
from hcloud.store.events import from_line
from hcloud.store.files.lock import FileLock
from hcloud.store.files.private_directory import PrivateDirectory

DIRECTORY = "operate"
ASKS = ("drain", "stop", KEEPING, FORCED, "cancel")
"""What a running controller can be asked for."""


def directory_at(place: str) -> Path:
    """The directory of live work, beside the state at a place."""
    return Path(".hcloud" if "://" in place else place).resolve() / DIRECTORY


def lock_of_work(place: str) -> FileLock | None:
    """The lock that a controller holds while it works; None where nothing was ever operated."""
    directory = directory_at(place)
    return FileLock(PrivateDirectory(directory)) if directory.is_dir() else None


class Requests:
    """What other processes ask a controller for: one small file each. It is there until the controller asks for more,
    when it has noted it; one that is killed in between leaves it to the next."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._read = directory, list[Path]()

    def put(self, what: str, job: str = "") -> Path:
        """Ask for something; the file is there until a controller has read it."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._directory / f"{uuid4().hex}.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({"what": what, "job": job}))
        fresh.rename(path)
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

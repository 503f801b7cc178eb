"""What is noted of the machines of this machine: one file each, there whole before anything of it runs."""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from hcloud.model.json_text import parsed
from hcloud.whole_files import sync_directory, whole_file

FORMAT_VERSION = "1.0"
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")


class DamagedError(Exception):
    """A note that cannot be read; its text says which and why."""


@dataclass(frozen=True, slots=True)
class Note:
    """A machine: ``order`` is what it was ordered by, so that another order under its key is told from it;
    ``ended`` is when its end was asked for or found, in seconds since 1970, None while it stands."""

    id: str
    instance_type: str
    zone: str
    launched: float
    tags: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    ended: float | None = None


class Registry:
    """A directory of notes, one writer at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else writes meanwhile, on this machine."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def all(self) -> tuple[Note, ...]:
        """Every note, by id; raises DamagedError where one cannot be read."""
        names = sorted(p for p in self._directory.glob("*.json"))
        return tuple(note for path in names if (note := _read(path)) is not None)

    def get(self, identity: str) -> Note | None:
        return _read(self._path(identity)) if _ID.fullmatch(identity) else None

    def add(self, note: Note) -> None:
        """A new one, lasting when this returns; FileExistsError where there is one of this id."""
        fresh = self._written(note)
        try:
            os.link(fresh, self._path(note.id))
        finally:
            fresh.unlink()

    def sync(self) -> None:
        """Make the names of new notes last, too."""
        sync_directory(self._directory)

    def change(self, note: Note) -> None:
        """Put another in its place."""
        with whole_file(self._path(note.id)) as file:
            file.write(_text(note))

    def end(self, note: Note, at: float) -> None:
        """Note its end; the first one stands."""
        if note.ended is None:
            self.change(replace(note, ended=at))

    def forget(self, note: Note) -> None:
        self._path(note.id).unlink(missing_ok=True)

    def _path(self, identity: str) -> Path:
        return self._directory / f"{identity}.json"

    def _written(self, note: Note) -> Path:
        handle, name = tempfile.mkstemp(prefix=".new-", dir=self._directory)
        with os.fdopen(handle, "wb") as file:
            file.write(_text(note))
            file.flush()
            os.fsync(file.fileno())
        return Path(name)


def _text(note: Note) -> bytes:
    return json.dumps({"format_version": FORMAT_VERSION, **asdict(note)}, sort_keys=True).encode()


def _read(path: Path) -> Note | None:
    try:
        found = parsed(path.read_text(encoding="utf-8"))
        if found.pop("format_version") != FORMAT_VERSION:
            raise DamagedError(f"{path}: of another version")
        note = Note(**found)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(f"{path}: no note of a machine: {error}") from error
    if note.id != path.stem or not isinstance(note.tags, dict):
        raise DamagedError(f"{path}: not the note of {path.stem}")
    return note

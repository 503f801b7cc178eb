"""Where live work is, who works there, and what others ask its controller for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote, unquote
from uuid import uuid4

from hcloud.errors import HcloudError, UsageError
from hcloud.live.operating.desk import FORCED
from hcloud.model.running.note import KEEPING, Asked
from hcloud.store.files.lock import OPERATE, FileLock
from hcloud.store.files.private_directory import PrivateDirectory
from hcloud.store.journals.events import from_line
from hcloud.store.journals.journal import LiveOrigin, read_header
from hcloud.whole_files import whole_file

DIRECTORY, JOURNAL, REQUESTS = "operate", "journal.jsonl", "requests"
BEGINS = "hcloud operate run jobs.csv"
READABLE = 40  # ours: characters of a bucket's address in the name of its directory
LAST_BYTES = 4096
"""Ours: more than the last two notes of finished work take."""
ASKS = ("drain", "stop", KEEPING, FORCED, "cancel")
"""What a running controller can be asked for."""
_NOTHING = "", ""
BY_NAME, LONGEST_FILE_NAME = ".asked", 255
"""How the name of an empty file ends that asks by its name."""


def directory_at(place: str) -> Path:
    """The directory of live work: beside the state at a place, and of each state in a bucket another one here."""
    if "://" not in place:
        return Path(place).resolve() / DIRECTORY
    from hcloud.store.buckets.address import parse_address

    address = str(parse_address(place))
    words = re.sub(r"[^A-Za-z0-9]+", "-", address.partition("://")[2])[:READABLE]
    return Path(".hcloud").resolve() / f"{DIRECTORY}-{words}-{sha256(address.encode()).hexdigest()[:8]}"


def never_ran(directory: Path) -> UsageError:
    """That nothing was ever operated in a directory, with what begins it, or goes on with what may be meant."""
    kept = "the journal is not in the bucket: where work began in another directory or on another computer, go there; "
    begins = f"{'' if directory.name == DIRECTORY else kept}{BEGINS}"
    hint = _shared(directory, finished_too=True) or begins
    return UsageError(f"{directory}: 'hcloud operate' has never run there", hint=hint)


def check_not_shared(directory: Path) -> None:
    """Refuse to begin work for a state in a bucket that may be under way where all of them once had it."""
    if hint := _shared(directory):
        raise UsageError(f"{directory}: no work is running there, and it may be in another directory", hint=hint)


def _shared(directory: Path, *, finished_too: bool = False) -> str:
    """What to do about work that was begun when all states in buckets had one directory."""
    old = directory.with_name(DIRECTORY)
    live = None if old == directory or directory.exists() else _unfinished(old / JOURNAL, finished_too=finished_too)
    if live is None or live.state:
        return ""
    works = FileLock(PrivateDirectory(old)).holder()
    moved = f"{f', and {works}: interrupt that first, then' if works else ':'} 'mv {old} {directory}'"
    ends = f"end it: hcloud operate stop --state {old.parent} --cloud {live.selection or live.cloud}"
    otherwise = BEGINS if _is_finished(old / JOURNAL) else ends
    return f"{old} has work of some state{moved} if it is of this one, else {otherwise}"


def lock_of_work(place: str) -> FileLock | None:
    """The lock that a controller holds while it works; None where nothing was ever operated."""
    directory = directory_at(place)
    return FileLock(PrivateDirectory(directory)) if directory.is_dir() else None


@contextmanager
def alone(directory: Path) -> Iterator[FileLock]:
    """Be the only controller of a directory of live work: LockedError where another one is. Work that is refused before
    it has a journal leaves no directory behind that was not there before."""
    place, were = directory.parent, (directory.exists(), directory.parent.exists())
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(PrivateDirectory(directory))
    with lock.hold(OPERATE):
        try:
            yield lock
        except BaseException:
            if not (were[0] or any(directory.glob("journal*"))):
                rmtree(directory, ignore_errors=True)
                with suppress(OSError):  # something else is there, as a cloud in memory
                    place.rmdir() if not were[1] else None
            raise


def origin_of_work(place: str, *, finished_too: bool) -> LiveOrigin | None:
    """Where the work at a place belongs; None where there is none, or none that goes on unless it may be
    ``finished_too``."""
    return _unfinished(directory_at(place) / JOURNAL, finished_too=finished_too)


def _unfinished(path: Path, *, finished_too: bool = False) -> LiveOrigin | None:
    """Where the work of a journal belongs; None where there is none, or none that goes on."""
    if not path.is_file() or not path.stat().st_size or (_is_finished(path) and not finished_too):
        return None
    return read_header(path)[1]


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
        try:
            with whole_file(path, lasts=False) as file:
                file.write(json.dumps({"what": what, "job": job}).encode())
        except (OSError, HcloudError):  # a full disk takes names, still
            path = self._directory / f"{path.stem},{quote(what, '')},{quote(job, '')}{BY_NAME}"
            if len(path.name) > LONGEST_FILE_NAME:
                raise
            path.touch(mode=0o600)
        return path

    def new(self) -> Sequence[Asked]:
        """What was asked for since the last call. What cannot be removed for a time is told once; what cannot be read
        is left for later."""
        self._forget(self._read)
        try:
            there = self._all()
        except OSError:
            return ()
        fresh = {path: _said(path) for path in sorted(set(there).difference(self._read), key=_since)}
        self._read = [path for path in there if fresh.get(path, _NOTHING) is not None]
        return [Asked(0.0, *said) for said in fresh.values() if said is not None and said[0] in ASKS]

    @property
    def end(self) -> str:
        """How the work is to end by what nobody has read yet; empty where nobody asked for that."""
        asked = [what for what, _ in filter(None, map(_said, self._all())) if what in ASKS and what != "cancel"]
        return asked[-1] if asked else ""

    def _all(self) -> list[Path]:
        return [*self._directory.glob("*.json"), *self._directory.glob(f"*{BY_NAME}")]

    def clear(self) -> None:
        """Forget all that was asked for."""
        self._forget(self._all())

    def _forget(self, paths: list[Path]) -> None:
        for path in paths:
            with suppress(OSError):
                path.unlink()


def _since(path: Path) -> int:
    """When something was asked for; 0 where the system does not tell."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _said(path: Path) -> tuple[str, str] | None:
    """What a file asks for, and of which job; nothing where nobody knows what it said, None where it cannot be read."""
    if path.suffix == BY_NAME:
        _, what, job = map(unquote, path.stem.split(","))
        return what, job
    try:
        told = from_line(path.read_text())
        return str(told.get("what", "")), str(told.get("job", ""))
    except OSError:
        return None
    except ValueError:
        return _NOTHING

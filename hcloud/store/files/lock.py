"""Who holds a state: a flock, which the kernel gives back when its holder dies, and a note that says who that is."""

from __future__ import annotations

import errno
import getpass
import json
import os
import platform
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Protocol

from hcloud.control.ports import Crash
from hcloud.errors import HcloudError, LockedError, UsageError
from hcloud.model.holdings.state import LockInfo
from hcloud.model.json_text import parsed
from hcloud.store.files.crash import go_on
from hcloud.store.files.place import LOCK
from hcloud.store.files.private_directory import PrivateDirectory, refused

TRIES, PAUSE_SECONDS = 5, 0.02  # ours: somebody who only looks at the lock is gone by then
NOTE_BYTES = 2048
_NO_FLOCK = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOLCK)

OPERATE = "hcloud operate"
NOBODY_KNOWN = LockInfo("unknown", "somebody", "an unknown host", 0, datetime.fromtimestamp(0, UTC), "something")
"""Who holds a lock whose note cannot be read: it can be taken away all the same."""

Flock = Callable[[int, int], None]


class Lock(Protocol):
    """A lock of one state, in one process."""

    def hold(self, purpose: str) -> AbstractContextManager[LockInfo]:
        """Hold it; LockedError names the one who does."""

    @property
    def held(self) -> bool:
        """Whether this object holds it."""

    def check(self) -> None:
        """Raise LockedError where it was held and is not any more."""

    def holder(self) -> LockInfo | None:
        """Who holds it; None where nobody does."""

    def force(self, lock: str) -> LockInfo:
        """Take it away from the holder with this id; UsageError where that is not the id."""


def locked_error(where: str, info: LockInfo | None) -> LockedError:
    """What is said to somebody who finds a state locked."""
    if info is None:
        return LockedError(f"{where} is locked by a process that has not written its name yet", hint="try again")
    works_on = info.purpose == OPERATE
    meanwhile = f"'{OPERATE} status' shows it, '{OPERATE} stop' ends it" if works_on else "wait until it is done"
    return LockedError(
        f"{where} is locked: {info}",
        hint=f"{meanwhile}; where it cannot be alive any more: hcloud state force-unlock {info.id}",
    )


def lost_error(where: str) -> LockedError:
    """What is said to a holder whose lock was taken away."""
    return LockedError(
        f"{where}: the lock was taken away (hcloud state force-unlock); nothing more is written",
        hint="run the command again: hcloud checks the cloud first",
    )


def other_id_error(where: str, lock: str, info: LockInfo | None) -> UsageError:
    """What is said to somebody who would unlock what is not locked, or by another."""
    if info is None:
        return UsageError(f"{where} is not locked", hint="nothing needs to be unlocked")
    return UsageError(f"{where}: the lock's id is {info.id}, not {lock}: {info}", hint="use the id shown above")


def drawn(purpose: str) -> LockInfo:
    """Who we are, with an id that nobody else has."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = f"uid {os.getuid()}"
    now = datetime.now(UTC).replace(microsecond=0)
    return LockInfo(uuid.uuid4().hex, user, platform.node(), os.getpid(), now, purpose)


def note_of(info: LockInfo) -> dict[str, object]:
    """The note that a holder leaves, as a JSON object."""
    since = info.since.isoformat().replace("+00:00", "Z")
    told = {"user": info.user, "host": info.host, "pid": info.pid, "purpose": info.purpose}
    return {"id": info.id, "since": since, **told}


def noted(data: bytes) -> LockInfo | None:
    """The holder that a note tells of; None where it is empty, half written or damaged: it is only a note."""
    try:
        note = parsed(data)
        since = datetime.fromisoformat(note["since"]).astimezone(UTC)
        name, user, host, purpose = (str(note[key])[:200] for key in ("id", "user", "host", "purpose"))
        return LockInfo(name, user, host, int(note["pid"]), since, purpose)
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(slots=True)
class _HeldLock:
    handle: int
    inode: int
    info: LockInfo


class FileLock:
    """The lock of a state in a directory."""

    def __init__(self, directory: PrivateDirectory, crash: Crash = go_on, flock: Flock | None = None) -> None:
        self._directory = directory
        self._crash = crash
        self._flock = flock or _flock()
        self._held: _HeldLock | None = None

    @contextmanager
    def hold(self, purpose: str) -> Iterator[LockInfo]:
        """Hold it until the block ends; a holder that died is replaced, since the kernel has let go for it."""
        self._directory.make()
        held = self._taken(drawn(purpose))
        try:
            self._crash("store.lock.taken")
            self._tell(held)
            self._crash("store.lock.told")
            self._held = held
            yield held.info
        finally:
            self._held = None
            with suppress(OSError):
                os.ftruncate(held.handle, 0)
            os.close(held.handle)
            self._crash("store.lock.released")

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._held is not None

    def check(self) -> None:
        """Raise LockedError where somebody took it away: then the name stands for another file."""
        if self._held is not None and self._directory.inode(LOCK) != self._held.inode:
            raise lost_error(str(self._directory))

    def holder(self) -> LockInfo | None:
        """Who holds it; asks the kernel, not the note."""
        if LOCK not in self._directory.names():
            return None
        handle = self._directory.open(LOCK, os.O_RDONLY)
        try:
            with self._directory.failing(LOCK, "locked"):
                return None if self._try(handle, shared=True) else self._noted(handle) or NOBODY_KNOWN
        finally:
            os.close(handle)

    def force(self, lock: str) -> LockInfo:
        """Put the lock file away: who holds it holds what nobody looks at any more, and notices before it writes."""
        info = self.holder()
        if info is None or info.id != lock:
            raise other_id_error(str(self._directory), lock, info)
        self._directory.remove(LOCK)
        return info

    def _taken(self, info: LockInfo) -> _HeldLock:
        seen: LockInfo | None = None
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE_SECONDS)
            handle = self._directory.open(LOCK, os.O_RDWR | os.O_CREAT)
            try:
                with self._directory.failing(LOCK, "locked"):
                    inode = os.fstat(handle).st_ino
                    if self._try(handle, shared=False) and inode == self._directory.inode(LOCK):
                        self._check_works()
                        return _HeldLock(handle, inode, info)
                    seen = self._noted(handle) or seen
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
        raise locked_error(str(self._directory), seen)

    def _try(self, handle: int, *, shared: bool) -> bool:
        import fcntl

        try:
            self._flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in _NO_FLOCK:
                raise self._without_flock(error.strerror or str(error)) from None
            raise
        return True

    def _check_works(self) -> None:
        """Some file systems say yes to everybody: a second look must be refused."""
        handle = self._directory.open(LOCK, os.O_RDWR)
        try:
            if self._try(handle, shared=False):
                raise self._without_flock("it lets two hold the same lock")
        finally:
            os.close(handle)

    def _without_flock(self, why: str) -> HcloudError:
        return HcloudError(
            f"{self._directory}: this file system has no locks that work (flock: {why}): two could work on one state",
            hint="--state names a directory on a local disk, or a bucket (s3://, gs://, or Azure's https://)",
        )

    def _tell(self, held: _HeldLock) -> None:
        """Write the note with one call and one length, so that nobody reads half of one."""
        note = json.dumps(note_of(held.info)).encode()
        try:
            self._directory.disk.write_at_start(held.handle, note.ljust(NOTE_BYTES - 1) + b"\n")
        except OSError as error:
            raise refused(self._directory.path / LOCK, "written", error) from error

    def _noted(self, handle: int) -> LockInfo | None:
        return noted(os.pread(handle, NOTE_BYTES, 0))


def claim(file: IO[bytes], refused: HcloudError) -> None:
    """Be the only process that writes a file until it is closed; ``refused`` is raised where another one does. On a
    system without such locks that is left to the user."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise refused from None


def _flock() -> Flock:
    try:
        import fcntl
    except ImportError:
        raise HcloudError("this system has no flock, so two could work on one state") from None
    return fcntl.flock

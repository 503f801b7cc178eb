"""The state in a bucket, guarded by conditional writes and a lock object, whoever's the bucket is.

The journal is one object that each entry writes anew on the condition that nobody else did, rather than one object an
entry: it is as long as one apply, a single request reads it or trims it (whole or not at all), and no listing has to be
trusted to be complete.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hcloud import __version__
from hcloud.at_once import in_parallel
from hcloud.control.ports import Crash
from hcloud.errors import HcloudError, UsageError
from hcloud.model.holdings.state import LockInfo
from hcloud.model.json_text import parsed
from hcloud.store.buckets.bucket import Bucket
from hcloud.store.files.crash import go_on
from hcloud.store.files.lock import NOBODY_KNOWN, drawn, locked_error, lost_error, note_of, noted, other_id_error
from hcloud.store.files.place import LOCK, ChangedError
from hcloud.store.states.remembered import PlacedStore

NOTE = "conditional-writes.json"
AT_ONCE = 2
FLAG = "--unsafe-store"


def check_conditions(bucket: Bucket, *, unsafe: bool) -> None:
    """Try the store out unless it was before, and note in the bucket that it passed.

    UsageError where it ignores conditions; with ``unsafe`` a warning each time instead, and the bucket is told to look
    before it writes. A store that failed is tried again: it may have been mended.
    """
    if _is_noted(bucket):
        return
    fault = found_fault(bucket)
    if not fault:
        now = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        note = {"format_version": "1.0", "tool_version": __version__, "store": bucket.objects.where, "passed": now}
        bucket.replace(NOTE, f"{json.dumps(note)}\n".encode())
        return
    said = f"{bucket}: the store at {bucket.objects.where} does not honour {bucket.objects.conditions}: {fault}"
    if not unsafe:
        raise UsageError(
            f"{said}. Two runs at once could both launch machines",
            hint=f"name another store with --state; {FLAG} takes this one where only one run at a time is ever started",
        )
    bucket.blind = True
    logging.getLogger(__name__).warning("%s. Start no second run while one works: nothing keeps the two apart", said)


def found_fault(bucket: Bucket) -> str:
    """What is wrong with the store, in a clause; empty where it honours conditions. Leaves nothing behind."""
    name = f"probe-{uuid.uuid4().hex}"
    used = [name]
    try:
        return _one_after_another(bucket, name) or _at_once(bucket, used)
    finally:
        for each in used:
            bucket.remove(each)


def _is_noted(bucket: Bucket) -> bool:
    """A note of another store (the objects were copied) or one that cannot be read says nothing."""
    data = bucket.read(NOTE)
    try:
        return data is not None and parsed(data)["store"] == bucket.objects.where
    except (ValueError, KeyError, TypeError):
        return False


def _one_after_another(bucket: Bucket, name: str) -> str:
    fresh, late = (Bucket(bucket.objects, str(bucket), bucket.prefix) for _ in range(2))
    for each in (fresh, late):
        each.sleep = bucket.sleep
        each.read(name)
    fresh.exchange(name, b"1")
    if not _is_refused(lambda: late.exchange(name, b"2")):
        return "an object was written although it was there already"
    late.read(name)
    fresh.exchange(name, b"3")
    if not _is_refused(lambda: late.exchange(name, b"4")):
        return "an object was written although another had written it since it was read"
    if late.read(name) != b"3":
        return "an object that was just written was not read back"
    return "" if name in late.names() else "a list did not show an object that was just written"


def _at_once(bucket: Bucket, used: list[str]) -> str:
    """Servers that look and then write let both of two through that come at the same time."""
    name = f"probe-{uuid.uuid4().hex}"
    used.append(name)

    def write(number: int) -> bool:
        own = Bucket(bucket.objects, str(bucket), bucket.prefix)
        own.sleep = bucket.sleep
        return not _is_refused(lambda: own.exchange(name, str(number).encode()))

    through = in_parallel(write, range(AT_ONCE), AT_ONCE)
    return "" if sum(through) == 1 else f"of {AT_ONCE} writings of a new object at once, {sum(through)} came through"


def _is_refused(write: Callable[[], None]) -> bool:
    try:
        write()
    except ChangedError:
        return True
    return False


TRIES = 3
_RELEASED = "released"


class BucketStateStore(PlacedStore):
    """The MendableStore port on a bucket. ``unsafe`` takes one that ignores conditions, with a warning each time."""

    def __init__(self, bucket: Bucket, crash: Crash = go_on, *, unsafe: bool = False) -> None:
        super().__init__(bucket, ObjectLock(bucket, crash, unsafe=unsafe), crash)


class ObjectLock:
    """The lock of a state in a bucket: an object that is written on the condition that it is what was read.

    It is given back by writing over it, not by removing it: fewer stores honour conditions of a removal.
    """

    def __init__(self, bucket: Bucket, crash: Crash = go_on, *, unsafe: bool = False) -> None:
        self._bucket = bucket
        self._crash = crash
        self._unsafe = unsafe
        self._info: LockInfo | None = None

    @contextmanager
    def hold(self, purpose: str) -> Iterator[LockInfo]:
        """Hold it until the block ends; a holder of this machine that died is replaced. Before anything is written
        it is known that the store honours conditions."""
        check_conditions(self._bucket, unsafe=self._unsafe)
        info = drawn(purpose)
        self._take(info)
        self._crash("store.lock.taken")
        self._info = info
        try:
            yield info
        finally:
            self._info = None
            self._leave(info)
            self._crash("store.lock.released")

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._info is not None

    def check(self) -> None:
        """Raise LockedError where another holds it by now, or nobody does."""
        if self._info is not None and not self._is_ours(self._info):
            raise lost_error(str(self._bucket))

    def holder(self) -> LockInfo | None:
        return _holder(self._bucket.read(LOCK))

    def force(self, lock: str) -> LockInfo:
        """Give it back for the holder with this id."""
        info = self.holder()
        if info is None or info.id != lock:
            raise other_id_error(str(self._bucket), lock, info)
        self._give_back(info)
        return info

    def _take(self, info: LockInfo) -> None:
        note = json.dumps({**note_of(info), "machine": _machine()}).encode()
        for _ in range(TRIES):
            found = self._bucket.read(LOCK)
            theirs = _holder(found)
            if found is not None and theirs is not None and not _is_dead_here(found, theirs):
                raise locked_error(str(self._bucket), theirs)
            with suppress(ChangedError):  # another was faster
                self._bucket.exchange(LOCK, note)
                return
        raise locked_error(str(self._bucket), None)

    def _leave(self, info: LockInfo) -> None:
        try:
            if self._is_ours(info):
                self._give_back(info)
        except ChangedError:
            pass  # it is another's by now
        except HcloudError as error:
            logging.getLogger(__name__).warning(
                "%s stays locked: %s. The next command on this machine unlocks it; for others: "
                "hcloud state force-unlock %s --state %s",
                self._bucket,
                error,
                info.id,
                self._bucket,
            )

    def _give_back(self, info: LockInfo) -> None:
        self._bucket.exchange(LOCK, json.dumps({_RELEASED: info.id}).encode())

    def _is_ours(self, info: LockInfo) -> bool:
        found = self.holder()
        return found is not None and found.id == info.id


def _holder(data: bytes | None) -> LockInfo | None:
    """Who a lock object tells of; somebody unknown where it cannot be read."""
    if data is None:
        return None
    info = noted(data)
    return None if info is None and _is_released(data) else info or NOBODY_KNOWN


def _is_released(data: bytes) -> bool:
    try:
        found: Any = parsed(data)
    except ValueError:
        return False
    return isinstance(found, dict) and set(found) == {_RELEASED}


def _is_dead_here(note: bytes, info: LockInfo) -> bool:
    """Whether a holder is known to be dead: it ran where we run, and there is no such process any more."""
    machine = _machine()
    if info.pid <= 0 or not machine or parsed(note).get("machine") != machine:
        return False
    try:
        os.kill(info.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # another user's
        return False
    return False


def _machine() -> str:
    """This start of this machine, and the processes we can see of it: a name of a host says less, since containers may
    share one. Empty where the system does not tell."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return hashlib.sha256(f"{start} {Path('/proc/self/ns/pid').readlink()}".encode()).hexdigest()[:32]
    except OSError:
        return ""

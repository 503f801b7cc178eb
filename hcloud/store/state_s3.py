"""The state in a bucket of S3 (``s3://BUCKET/PREFIX``), guarded by conditional writes and a lock object.

The journal is one object that each entry writes anew on the condition that nobody else did, rather than one object an
entry: it is as long as one apply, a single request reads it or trims it (whole or not at all), and no listing has to be
trusted to be complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcloud.control.ports import Crash
from hcloud.errors import HcloudError, MissingExtraError, UsageError
from hcloud.model.json_text import parsed
from hcloud.model.state import LockInfo
from hcloud.store.crash import go_on
from hcloud.store.lock import NOBODY_KNOWN, drawn, locked_error, lost_error, note_of, noted, other_id_error
from hcloud.store.place import LOCK, ChangedError
from hcloud.store.remembered import PlacedStore

if TYPE_CHECKING:
    from hcloud.store.bucket import Bucket

SCHEME = "s3://"
ATTEMPTS, CONNECT_SECONDS, READ_SECONDS = 3, 5, 20  # ours
TRIES = 3
_ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?", re.ASCII)


class S3StateStore(PlacedStore):
    """The MendableStore port on a bucket; ``client`` is boto3's for S3, made from the environment without one."""

    def __init__(self, address: str, client: Any = None, crash: Crash = go_on) -> None:
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise UsageError(f"--state {address}: not a place in S3", hint="s3://BUCKET/PREFIX")
        client = client or _client()
        from hcloud.store.bucket import Bucket

        place = Bucket(client, found[1], (found[2] or "").strip("/"), crash)
        super().__init__(place, ObjectLock(place, crash), crash)


class ObjectLock:
    """The lock of a state in a bucket: an object that is made on the condition that there is none."""

    def __init__(self, bucket: Bucket, crash: Crash = go_on) -> None:
        self._bucket = bucket
        self._crash = crash
        self._info: LockInfo | None = None

    @contextmanager
    def hold(self, purpose: str) -> Iterator[LockInfo]:
        """Hold it until the block ends; a holder of this machine that died is replaced."""
        info = drawn(purpose)
        self._take(info)
        self._crash("store.lock.taken")
        self._info = info
        try:
            yield info
        finally:
            self._info = None
            with suppress(HcloudError):  # whoever comes next is told who left it, and that it can be taken away
                if self._is_ours(info):
                    self._bucket.remove_seen(LOCK)
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
        """Who holds it."""
        data = self._bucket.read(LOCK)
        return None if data is None else noted(data) or NOBODY_KNOWN

    def force(self, lock: str) -> LockInfo:
        """Remove the lock object where it is the holder's with this id."""
        info = self.holder()
        if info is None or info.id != lock:
            raise other_id_error(str(self._bucket), lock, info)
        self._bucket.remove_seen(LOCK)
        return info

    def _take(self, info: LockInfo) -> None:
        note = json.dumps({**note_of(info), "machine": _machine()}).encode()
        for _ in range(TRIES):
            try:
                self._bucket.create(LOCK, note)
                return
            except ChangedError:
                found = self._bucket.read(LOCK)
            if found is None:  # given back in between
                continue
            theirs = noted(found) or NOBODY_KNOWN
            if theirs.id == info.id:
                return
            if not _is_dead_here(found, theirs):
                raise locked_error(str(self._bucket), theirs)
            with suppress(ChangedError):  # another took it from the dead one first
                self._bucket.exchange(LOCK, note)
                return
        raise locked_error(str(self._bucket), None)

    def _is_ours(self, info: LockInfo) -> bool:
        data = self._bucket.read(LOCK)
        found = None if data is None else noted(data)
        return found is not None and found.id == info.id


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


def _client() -> Any:
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError:
        raise MissingExtraError("boto3", "aws") from None
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    try:
        config = Config(retries=retries, connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS)
        return boto3.client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(f"the client for S3 cannot be made: {error}", hint="see AWS_PROFILE and AWS_REGION") from None

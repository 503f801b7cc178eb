"""Whether a store of objects honours the conditions of a writing, tried out once for each place: some that speak S3's
language take every writing, and two runs would then both believe that they hold the lock."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from hcloud import __version__
from hcloud.at_once import in_parallel
from hcloud.errors import UsageError
from hcloud.model.json_text import parsed
from hcloud.store.buckets.bucket import Bucket
from hcloud.store.files.place import ChangedError

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

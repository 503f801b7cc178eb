"""A place in a bucket: objects written on conditions, so that no writer undoes what another wrote meanwhile."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

from hcloud.control.ports import Crash
from hcloud.store.buckets.objects import ABSENT, ConditionError, LostError, Objects, PutOffError, StoredObject, Writing
from hcloud.store.files.crash import go_on
from hcloud.store.files.place import ChangedError

TRIES, LONGEST_PAUSE_SECONDS = 6, 8.0  # ours


class Bucket:
    """A place (see hcloud.store.files.place) under a prefix of a bucket; ``address`` is what messages call it.

    ``blind`` is for a store that ignores conditions: what stands there is looked at right before it is written, which
    leaves a moment in which another may write.
    """

    is_conditional = True

    def __init__(self, objects: Objects, address: str, prefix: str, crash: Crash = go_on) -> None:
        self.objects = objects
        self.blind = False
        self.sleep: Callable[[float], None] = time.sleep
        self._address = address
        self._prefix = f"{prefix}/" if prefix else ""
        self._crash = crash
        self._seen: dict[str, StoredObject | None] = {}
        self._mutex = threading.RLock()  # an answer that overtakes another would leave the older one as seen last

    def __str__(self) -> str:
        return self._address

    @property
    def prefix(self) -> str:
        """What the names of its objects begin with, without the last slash."""
        return self._prefix.rstrip("/")

    def names(self) -> frozenset[str]:
        """The names of all objects directly under the prefix."""
        return frozenset(key.removeprefix(self._prefix) for key in self.objects.list(self._prefix))

    def read(self, name: str) -> bytes | None:
        """All of an object; None where there is none."""
        with self._mutex:
            found = self._seen[name] = self.objects.get(self.key(name))
        return None if found is None else found.body

    def replace(self, name: str, data: bytes) -> None:
        """Write an object whatever there is."""
        self._put(name, data, None)

    def exchange(self, name: str, data: bytes) -> None:
        """Write an object where it is what was read last, or still absent."""
        with self._mutex:
            seen = self._seen.get(name)
            self._put(name, data, ABSENT if seen is None else seen.tag)

    def append(self, name: str, line: bytes, whole: int, size: int) -> None:
        """Write the object anew with a line more, where it is what was read last: buckets cannot append."""
        with self._mutex:
            seen = self._seen.get(name)
            if seen is None or len(seen.body) != size:
                raise self._changed(name)
            self.exchange(name, seen.body[:whole] + line)

    def remove(self, name: str) -> None:
        self.objects.delete(self.key(name))
        self._seen[name] = None

    def key(self, name: str) -> str:
        """The name of an object within the bucket."""
        return f"{self._prefix}{name}"

    def _put(self, name: str, data: bytes, only_if: str | None) -> None:
        """The mark is drawn anew for each writing: it tells a writer whose answer was lost that it was its own."""
        writing = Writing(self.key(name), data, uuid.uuid4().hex, only_if)
        with self._mutex:
            if self.blind and only_if is not None:
                self._look(name, only_if)
            try:
                tag = self._sent(writing)
            except (ConditionError, LostError) as error:
                tag = self._own(name, writing, error)
            self._seen[name] = StoredObject(tag, data)
        self._crash("store.object.put")

    def _sent(self, writing: Writing) -> str:
        """The tag it was given. Where the store puts it off the same is sent again, and the condition it bears still
        keeps it from undoing what another wrote."""
        for number in range(TRIES):
            try:
                return self.objects.put(writing)
            except PutOffError as error:
                if number + 1 == TRIES:
                    raise error.meaning from None
                self.sleep(min(error.pause * 2**number, LONGEST_PAUSE_SECONDS))
        raise AssertionError("unreachable")

    def _own(self, name: str, writing: Writing, error: ConditionError | LostError) -> str:
        """The tag of the object where it bears our mark: our writing arrived and only its answer was lost, or it was
        sent twice. Raises what the error means where it does not."""
        found = self.objects.marked(writing.key)
        if found is not None and found.mark == writing.mark:
            return found.tag
        if isinstance(error, LostError):
            raise error.meaning from None
        raise self._changed(name) from None

    def _look(self, name: str, only_if: str) -> None:
        found = self.objects.marked(self.key(name))
        if (ABSENT if found is None else found.tag) != only_if:
            raise self._changed(name)

    def _changed(self, name: str) -> ChangedError:
        return ChangedError(f"{self}/{name}: somebody else wrote to it", hint="start again")

"""Deletes of many machines, several at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hcloud.at_once import in_parallel
from hcloud.errors import CloudError, UnknownOutcomeError

DELETES_AT_ONCE = 8  # ours: below the ten connections that the SDK keeps


@dataclass(frozen=True, slots=True)
class Deleted:
    """Whether a delete was accepted now, rather than the machine not known any more; ``at`` is when the delete that
    ended it came to Google, None where Google does not say."""

    accepted: bool
    at: datetime | None = None


class BatchEnding:
    """Ends machines several at a time, and begins no more once one of them met an error."""

    def __init__(self, end: Callable[[str], Deleted]) -> None:
        self._end = end
        self._lock = threading.Lock()
        self.ending: set[str] = set()
        self.ended: dict[str, datetime] = {}
        self.errors: list[CloudError] = []

    def run(self, identities: Sequence[str]) -> None:
        """End these."""
        in_parallel(self._one, identities, DELETES_AT_ONCE)

    def worst(self) -> CloudError:
        """The error that matters most: an outcome that is not known before one that is."""
        return min(self.errors, key=lambda e: not isinstance(e, UnknownOutcomeError))

    def _one(self, identity: str) -> None:
        if self.errors:
            return
        try:
            deleted = self._end(identity)
        except CloudError as error:
            with self._lock:
                self.errors.append(error)
            return
        with self._lock:
            if deleted.accepted:
                self.ending.add(identity)
            if deleted.at is not None:
                self.ended[identity] = deleted.at

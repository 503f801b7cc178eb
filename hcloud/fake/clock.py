"""A clock that tests and rehearsals turn: it follows real time at a speed, and can be put forward."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

_DAY, _PACIFIC_OFFSET = 86_400.0, 8 * 3600.0


def midnight_after(now: float) -> float:
    """The next midnight in Pacific standard time, when commitments of Google begin."""
    return ((now - _PACIFIC_OFFSET) // _DAY + 1) * _DAY + _PACIFIC_OFFSET


class FakeClock:
    """Time inside a fake cloud, in seconds since 1970. ``speed`` 0 stands still until it is put forward."""

    def __init__(self, start: float | None = None, speed: float = 1.0) -> None:
        self._lock = threading.Lock()
        self._base = time.time() if start is None else start
        self._since = time.monotonic()
        self.speed = speed

    def now(self) -> float:
        """The fake's time now."""
        with self._lock:
            return self._base + (time.monotonic() - self._since) * self.speed

    def passed(self) -> float:
        """The same: a fake's time only goes back by hand."""
        return self.now()

    def sleep(self, seconds: float) -> None:
        """Put a clock that stands still forward; wait on one that runs."""
        if self.speed > 0:
            time.sleep(seconds / self.speed)
        else:
            self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Put it forward (or back)."""
        with self._lock:
            self._base += seconds

    def moment(self) -> datetime:
        """The fake's time as a date in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

"""The machine's own clock."""

from __future__ import annotations

import time


class SystemClock:
    """Time as this machine tells it."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def passed(self) -> float:
        """Seconds that passed since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

"""What jobs use of their machines between two looks, from the seconds of processors that they have used so far."""

from __future__ import annotations

import math
from collections.abc import Mapping

Attempt = tuple[str, int]
SHORTEST = 0.05
"""Ours: seconds between two looks below which the clock of processors, of hundredths, says nothing."""


class Gauge:
    """Remembers the last look."""

    def __init__(self) -> None:
        self._at = -math.inf
        self._seconds: Mapping[Attempt, float] = {}
        self._used: dict[Attempt, float] = {}

    def look(self, seconds: Mapping[Attempt, float], now: float) -> None:
        """Take what every attempt has used until now. Where a process ended whose seconds nobody took over, they fall:
        then it used nothing that can be seen."""
        passed = now - self._at
        if passed < SHORTEST:
            return
        before = self._seconds
        self._used = {one: max(used - before[one], 0.0) / passed for one, used in seconds.items() if one in before}
        self._at, self._seconds = now, dict(seconds)

    def forget(self) -> None:
        """Nobody could look: nothing is known until two looks were made."""
        self._at, self._seconds, self._used = -math.inf, {}, {}

    def used(self, attempt: Attempt) -> float | None:
        """The vCPUs that an attempt used between the last two looks; None where it was not there at both."""
        return self._used.get(attempt)

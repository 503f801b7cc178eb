"""Wait for what another process does: gently, and as long as a busy machine may need."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 90.0
"""Seconds: a machine with others on it takes that long for what a quiet one does at once."""
NAP = 0.02


def until(holds: Callable[[], object], why: str | Callable[[], str] = "it never came") -> None:
    """Return once it holds; fails with ``why`` when patience ends (a question is asked then). Naps between two looks
    are counted, and no clock: a machine that is busy, or stands still for a while, takes its time for looking."""
    naps = 0
    while not holds():
        assert naps * NAP < PATIENCE, why if isinstance(why, str) else why()
        time.sleep(NAP)
        naps += 1

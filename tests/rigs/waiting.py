"""Wait for what another process does: gently, and as long as a busy machine may need."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 90.0
"""Seconds: a machine with others on it takes that long for what a quiet one does at once."""


def until(holds: Callable[[], object], why: str = "it never came") -> None:
    """Return once it holds; fails with ``why`` when patience ends."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, why
        time.sleep(0.02)

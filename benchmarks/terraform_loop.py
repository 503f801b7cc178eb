"""terraform beside B10, where it is installed."""

from __future__ import annotations

import shutil


def told() -> str:
    """What is said of it in the output."""
    return "terraform: left out" if shutil.which("terraform") else "terraform: not installed, left out"

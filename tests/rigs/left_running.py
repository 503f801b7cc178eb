"""What runs on this machine, told by a word in its command line."""

from __future__ import annotations

import os
from pathlib import Path

from hcloud.profiling.programs import orphans


def runs(mark: str) -> set[int]:
    """The living processes with a word in their command line."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid() and not orphans.is_dead(int(entry.name)):
            try:
                if mark in (entry / "cmdline").read_bytes().decode(errors="replace").split("\0"):
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


def some_number() -> str:
    """A time to sleep that no other test has."""
    return f"{1000 + int.from_bytes(os.urandom(5))}"

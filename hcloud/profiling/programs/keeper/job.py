"""An attempt that runs, and the signs by which its processes are told."""

from __future__ import annotations

import contextlib
import os
import time

from hcloud.profiling.programs.keeper import MARK
from hcloud.profiling.programs.keeper.files import text
from hcloud.profiling.programs.keeper.groups import is_in
from hcloud.profiling.programs.keeper.processes import started_at


class Spare:
    """A process that waits for a job at the end of a pipe, and the job's control groups."""

    __slots__ = ("groups", "orders", "pid")

    def __init__(self, pid: int, groups: list[str], orders: int) -> None:
        self.pid, self.groups, self.orders = pid, groups, orders


class KeptAttempt:
    """An attempt that runs, or of which something still runs."""

    __slots__ = (
        "_begun",
        "began",
        "code",
        "deadline",
        "groups",
        "memory",
        "name",
        "out_of_memory",
        "pid",
        "start",
        "strays",
    )

    def __init__(self, name: str, began: float, memory: int, process: Spare) -> None:
        self.name, self.began, self.memory = name, began, memory
        self.pid, self.groups = process.pid, process.groups
        self.start = started_at(process.pid) or 0
        self._begun = time.monotonic()
        self.code: int | None = None
        self.deadline: float | None = None
        self.out_of_memory = False
        self.strays: set[tuple[int, int | None]] = set()

    def ended(self) -> float:
        """When it ends where that is now: never before it began, whatever was done to the clock."""
        return self.began + time.monotonic() - self._begun


def _by_group(pid: int, job: KeptAttempt) -> bool:
    return any(is_in(pid, group) for group in job.groups)


def _by_mark(pid: int, job: KeptAttempt) -> bool:
    words = text(f"/proc/{pid}/environ").split("\0")
    return any(word.startswith(f"{MARK}=") and word.endswith(f"/{job.name}") for word in words)


def _by_session(pid: int, job: KeptAttempt) -> bool:
    with contextlib.suppress(OSError):
        return os.getsid(pid) == job.pid
    return False


SIGNS = (_by_group, _by_mark, _by_session)

"""What the attempts of a spool use of processors: the seconds of all their processes, as the kernel tells them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


class _Process(NamedTuple):
    """A process: whose child it is, when it started (ticks since boot), and its ticks of processors with those of the
    children that it waited for."""

    pid: int
    parent: int
    start: int
    ticks: int


class UsedSeconds:
    """Knows the processes that it has seen, by their numbers and starts: their mark is read once. What a process
    without a mark used counts for the attempt that its parent belongs to."""

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode()
        self._names: dict[tuple[int, int], str] = {}

    def look(self, names: Collection[str]) -> Mapping[str, float]:
        """Seconds by the names of these attempts."""
        processes = {one.pid: one for one in _processes()}
        owners: dict[int, str] = {}
        for one in processes.values():
            if known := self._marked(one):
                owners[one.pid] = known
        found = dict.fromkeys(names, 0.0)
        for one in processes.values():
            name = _owner(one, processes, owners)
            if name in found:
                found[name] += one.ticks / _TICKS
        self._names = {(pid, processes[pid].start): name for pid, name in owners.items()}
        return found

    def _marked(self, one: _Process) -> str:
        """The attempt that a process is marked with; one that starts a program shows none for a moment."""
        if (known := self._names.get((one.pid, one.start))) is not None:
            return known
        with suppress(OSError):
            for word in (_PROC / str(one.pid) / "environ").read_bytes().split(b"\0"):
                if word.startswith(self._mark):
                    return os.fsdecode(word[len(self._mark) :])
        return ""


def _processes() -> Iterator[_Process]:
    for entry in os.scandir(_PROC):
        if entry.name.isdecimal():
            with suppress(OSError):
                fields = (_PROC / entry.name / "stat").read_text().rpartition(")")[2].split()
                ticks = sum(int(fields[at]) for at in range(11, 15))
                yield _Process(int(entry.name), int(fields[1]), int(fields[19]), ticks)


def _owner(one: _Process, processes: Mapping[int, _Process], owners: Mapping[int, str]) -> str:
    """The attempt of a process, or of the nearest before it that has one."""
    seen = set[int]()
    while one.pid not in owners:
        seen.add(one.pid)
        if one.parent not in processes or one.parent in seen:
            return ""
        one = processes[one.parent]
    return owners[one.pid]

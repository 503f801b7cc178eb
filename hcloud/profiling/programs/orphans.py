"""Nothing survives a run: everything it started carries a mark, and a watcher beside it ends what is left over.

Run by path in a process of its own, this file is the watcher: it holds a pipe to hcloud and clears up when that closes,
however hcloud ended. It therefore imports nothing of hcloud.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

MARK = "HYC_PROFILE_RUN"
PREFIX = "hyc-profile-"
PATIENCE = 5.0  # ours: seconds to wait for killed processes to be gone
_LOOK_EVERY = 0.02
_LOOKS_AT_NONE, _BETWEEN_LOOKS = 30, 0.001  # ours: starting a program takes under a millisecond, more under load
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD of Linux, in the flags of /proc/PID/stat
_PROC = Path("/proc")


def marked(token: str) -> set[int]:
    """The processes that carry a run's mark in their environment."""
    mark = f"{MARK}={token}".encode()
    return {pid for pid, words in environments() if mark in words} - {os.getpid()}


def environments() -> Iterator[tuple[int, list[bytes]]]:
    """Each living process whose environment may be read, with its words. A process that starts another program has
    none for a moment: what shows none is looked at again before it is passed over."""
    pids = {int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()}
    for look in range(_LOOKS_AT_NONE):
        if look:
            time.sleep(_BETWEEN_LOOKS)
        bare = set()
        for pid in pids:
            try:
                environment = (_PROC / str(pid) / "environ").read_bytes()
            except OSError:
                continue  # gone, or another user's
            if environment and not is_dead(pid):
                yield pid, environment.split(b"\0")
            elif not environment and _may_have_one(pid):
                bare.add(pid)
        if not bare:
            return
        pids = bare


def _may_have_one(pid: int) -> bool:
    fields = _fields(pid)
    return bool(fields) and fields[0] not in "ZX" and not int(fields[6]) & _KERNEL_THREAD


def members(groups: Iterable[Path]) -> set[int]:
    """The processes in control groups and in the groups below them."""
    found = set()
    for group in groups:
        for file in group.rglob("cgroup.procs"):
            try:
                found |= {int(pid) for pid in file.read_text().split()}
            except OSError:
                continue
    return {pid for pid in found if not is_dead(pid)}


def session_members(leader: int) -> set[int]:
    """The living processes of the session that a process led."""
    found = set()
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and int(entry.name) != leader:
            fields = _fields(int(entry.name))
            if fields and fields[0] not in "ZX" and int(fields[3]) == leader:
                found.add(int(entry.name))
    return found


def is_dead(pid: int) -> bool:
    """Whether a process is gone, or ended and not yet waited for."""
    return started_at(pid) is None


def started_at(pid: int) -> int | None:
    """When a process started, in ticks since boot, by which it is told from a later one of the same number."""
    fields = _fields(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def _fields(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def clear(token: str, groups: Iterable[Path] = (), folders: Iterable[Path] = ()) -> int:
    """Kill what carries the mark or sits in the groups, then remove groups and folders; how many were killed."""
    killed: set[int] = set()
    owned = list(groups)
    until = time.monotonic() + PATIENCE
    while (left := marked(token) | members(owned)) and time.monotonic() < until:
        for pid in left:
            kill(pid)
        killed |= left
        time.sleep(_LOOK_EVERY)
    for group in owned:
        remove_group(group)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return len(killed)


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def remove_group(group: Path) -> None:
    """Remove a control group and those below it once their processes have left."""
    until = time.monotonic() + PATIENCE
    while group.is_dir():
        try:
            for below in sorted(group.rglob("*"), reverse=True):
                if below.is_dir():
                    below.rmdir()
            group.rmdir()
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(_LOOK_EVERY)


def watch(token: str) -> None:
    """Learn what a run owns, a line each, until its pipe closes; then clear it up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    owned: dict[str, list[Path]] = {"group": [], "folder": []}
    for line in sys.stdin:
        kind, _, path = line.rstrip("\n").partition(" ")
        owned[kind].append(Path(path))
    clear(token, owned["group"], owned["folder"])


if __name__ == "__main__":
    watch(sys.argv[1])

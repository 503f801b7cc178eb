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
    return {pid for pid, more in carrying(f"{MARK}={token}") if not more} - {os.getpid()}


def carrying(mark: str) -> Iterator[tuple[int, str]]:
    """Each living process with a word in its environment that begins so, and what follows in that word. A process that
    starts another program has no environment for a moment: what shows none is looked at again before it is passed
    over."""
    wanted = os.fsencode(mark)
    pids = [int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdecimal()]
    for look in range(_LOOKS_AT_NONE):
        if look:
            time.sleep(_BETWEEN_LOOKS)
        bare = []
        for pid in pids:
            environment = _told(pid, "environ")
            if not environment:
                if environment is not None and _may_have_one(pid):
                    bare.append(pid)
            elif wanted in environment and not is_dead(pid):
                for word in environment.split(b"\0"):
                    if word.startswith(wanted):
                        yield pid, os.fsdecode(word.removeprefix(wanted))
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
        for folder, _, _ in os.walk(group):  # which goes on where one is gone: another run may end it, too
            try:
                found |= {int(pid) for pid in Path(folder, "cgroup.procs").read_text().split()}
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
    return (_told(pid, "stat") or b"").rpartition(b")")[2].decode().split()


def _told(pid: int, what: str) -> bytes | None:
    """What the kernel tells of a process; None of one that is gone or, in part, another user's."""
    try:
        with open(f"/proc/{pid}/{what}", "rb", 0) as file:  # noqa: PTH123  # a path as an object takes as long again
            return file.read()
    except OSError:
        return None


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

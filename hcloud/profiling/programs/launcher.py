"""Starts one program in its place (control groups, cores, priority, network) and dies with whoever asked for it.

Run by path in the process that becomes the program, so it imports nothing of hcloud and little else.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x40000000
CANNOT_START = 127


def take_place(place: dict[str, object], parent: int) -> None:
    """Put this process where the program is to run."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the process that asked for this one is gone")
    for file in _texts(place, "groups"):
        Path(file).write_text(str(os.getpid()), encoding="ascii")
    if cores := [int(c) for c in _texts(place, "cores")]:
        os.sched_setaffinity(0, cores)
    if nice := int(str(place.get("nice", 0))):
        os.nice(nice)
    if network := str(place.get("network", "")):
        _enter_network(libc, network)
    if place.get("kill_first"):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _enter_network(libc: ctypes.CDLL, network: str) -> None:
    if network == "new":
        failed = libc.unshare(CLONE_NEWNET)
    else:
        handle = os.open(network, os.O_RDONLY)
        failed = libc.setns(handle, CLONE_NEWNET)
        os.close(handle)
    if failed:
        sys.exit(f"private network: {os.strerror(ctypes.get_errno())}")


def _texts(place: dict[str, object], key: str) -> list[str]:
    given = place.get(key, [])
    return [str(item) for item in given] if isinstance(given, list) else []


def main() -> None:
    """Take the place in the first argument for the parent in the second, and become the rest; the pipe in the third
    closes then."""
    try:
        os.set_inheritable(int(sys.argv[3]), False)
        take_place(json.loads(sys.argv[1]), int(sys.argv[2]))
        os.execvp(sys.argv[4], sys.argv[4:])
    except OSError as error:
        sys.stderr.write(f"cannot start: {error}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main()

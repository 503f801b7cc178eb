"""What the kernel tells of processes, and signals that reach nobody else."""

from __future__ import annotations

import contextlib
import os
import signal

from hcloud.profiling.programs.keeper.files import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> Iterator[int]:
    """The children of a process."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            yield from (int(child) for child in text(f"/proc/{pid}/task/{task}/children").split())


def started_at(pid: int) -> int | None:
    """When a living process started, in ticks since boot."""
    fields = text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def resident(pid: int) -> int:
    """Bytes that a process and those below it have to themselves."""
    words = text(f"/proc/{pid}/statm").split()
    own = (int(words[1]) - int(words[2])) * _PAGE if words else 0
    return own + sum(resident(child) for child in children(pid))


def give_way() -> None:
    """Let this process and its children have the processors that nobody else of this machine wants."""
    for priority in (lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)), lambda: os.nice(19)):
        with contextlib.suppress(OSError):
            priority()
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as file:
        file.write("19")  # else a session of its own has its part, whatever its processes say


def kill_if(pid: int, still: Callable[[int], bool]) -> None:
    """Kill a process if it is the one that is meant, and never a later one with its number."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if still(pid):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def kill(pid: int) -> None:
    """Kill a child that was not waited for, whose number is therefore nobody else's."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def signal_all(leader: int, number: int) -> None:
    """Signal the process group of a main process that was not waited for."""
    with contextlib.suppress(OSError):
        os.killpg(leader, number)

"""Control groups of version 2 and 1 for single jobs, inside those of their machine, and the attempts that run in
them."""

from __future__ import annotations

import contextlib
import errno
import os
import time

from hcloud.profiling.programs.keeper import MARK
from hcloud.profiling.programs.keeper.files import text, write
from hcloud.profiling.programs.keeper.processes import started_at

MIB = 1 << 20
_PERIOD_US, _LEAST_US = 20_000, 1_000


def usable(groups: list[str]) -> list[str]:
    """Those of the machine's groups inside which jobs can be limited."""
    files = ("cpu.max", "memory.max", "cpu.cfs_quota_us", "memory.limit_in_bytes")
    return [g for g in groups if os.access(g, os.W_OK) and any(os.path.exists(f"{g}/{file}") for file in files)]


def make_groups(parents: list[str], name: str) -> list[str]:
    """Control groups for a job inside those of the machine; none where the kernel refuses one."""
    made = [f"{parent}/{name}" for parent in parents]
    try:
        for group in made:
            os.makedirs(group, exist_ok=True)
    except OSError:
        for group in made:
            removed(group)
        return []
    return made


def limit(groups: list[str], cores: int, memory: int) -> None:
    """Thousandths of a vCPU and MiB."""
    for group in groups:
        limit_memory(group, memory * MIB)
    limit_cpu(groups, cores)


def limit_memory(group: str, amount: int) -> None:
    """So many bytes and no swap; the whole job goes where it takes more, as far as the kernel can do that."""
    if os.path.exists(f"{group}/memory.max"):
        write(f"{group}/memory.max", str(amount))
        for file, text in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            with contextlib.suppress(OSError):
                write(f"{group}/{file}", text)
    elif os.path.exists(f"{group}/memory.limit_in_bytes"):
        write(f"{group}/memory.limit_in_bytes", str(amount))
        with contextlib.suppress(OSError):
            write(f"{group}/memory.memsw.limit_in_bytes", str(amount))


def limit_cpu(groups: list[str], cores: int) -> None:
    """So many thousandths of a vCPU; more than the machine has is what the machine has."""
    quota = max(cores * _PERIOD_US // 1000, _LEAST_US)
    for group in groups:
        with contextlib.suppress(OSError):
            if os.path.exists(f"{group}/cpu.max"):
                write(f"{group}/cpu.max", f"{quota} {_PERIOD_US}")
            elif os.path.exists(f"{group}/cpu.cfs_quota_us"):
                write(f"{group}/cpu.cfs_period_us", str(_PERIOD_US))
                write(f"{group}/cpu.cfs_quota_us", str(quota))


def yield_to_others(groups: list[str]) -> None:
    """Let other groups have the processors first."""
    for group in groups:
        for file, least in (("cpu.weight", "1"), ("cpu.shares", "2")):
            if os.path.exists(f"{group}/{file}"):
                with contextlib.suppress(OSError):
                    write(f"{group}/{file}", least)


def ran_out_of_memory(groups: list[str]) -> bool:
    """Whether the kernel killed a process of these groups for want of memory."""
    for group in groups:
        for file in ("memory.events", "memory.oom_control"):
            words = text(f"{group}/{file}").split()
            if "oom_kill" in words and int(words[words.index("oom_kill") + 1]):
                return True
    return False


def limits_memory(groups: list[str]) -> bool:
    """Whether the kernel sees to the memory of these groups."""
    return any(os.path.exists(f"{g}/memory.{end}") for g in groups for end in ("max", "limit_in_bytes"))


def members(group: str) -> list[int]:
    """The processes in a group."""
    return [int(pid) for pid in text(f"{group}/cgroup.procs").split()]


def is_in(pid: int, group: str) -> bool:
    """Whether a process is in a group, by the last part of its name."""
    own = "/" + group.rpartition("/")[2]
    return any(line.endswith(own) for line in text(f"/proc/{pid}/cgroup").splitlines())


def removed(group: str) -> bool:
    """Whether a group could be removed, or was before."""
    try:
        os.rmdir(group)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


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

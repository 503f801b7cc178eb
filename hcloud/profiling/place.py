"""Where programs of a run stand: the machine, its cores and how they are shared out, and starting one at its place."""

from __future__ import annotations

import json
import math
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hcloud.errors import HcloudError
from hcloud.profiling.cage import GIB, Cage, own_limit
from hcloud.profiling.guard import Guard
from hcloud.profiling.programs import launcher
from hcloud.units import counted

_END_PATIENCE = 5.0
_CPU_TIMES = Path("/proc/stat")
_IDLE = slice(3, 5)  # idle, and idle while it waits for a disk
_COUNTED = 8  # user to steal; what guests use is in user, too


class TrialError(HcloudError):
    """A run of the application gave no figure: it failed, hung, printed none or went into the background."""


class TooSlowError(TrialError):
    """A run did not end within the time it was given."""


@dataclass(frozen=True, slots=True)
class ProcessPlacement:
    """A control group, cores, a priority and (by the path of its handle) a network; ``kill_first`` makes the kernel
    choose this program when memory runs out."""

    cage: Cage | None = None
    cores: tuple[int, ...] = ()
    nice: int = 0
    network: str = ""
    kill_first: bool = False

    def document(self) -> str:
        """What the launcher is told."""
        groups = list(self.cage.entrances) if self.cage is not None else []
        cores, first = list(self.cores), self.kill_first
        return json.dumps(
            {"groups": groups, "cores": cores, "nice": self.nice, "network": self.network, "kill_first": first}
        )


@dataclass(slots=True)
class RunningProgram:
    """A program that was started, and the file that gets what it prints."""

    process: subprocess.Popen[bytes]
    output: Path = field(default_factory=Path)

    def end(self) -> None:
        """Kill it with the processes of its group."""
        self.signal(signal.SIGKILL)
        self.process.wait(_END_PATIENCE)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, unless it ended."""
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    @property
    def ended(self) -> bool:
        """Whether the program is over."""
        return self.process.poll() is not None

    def printed(self) -> str:
        """What it printed until now."""
        return self.output.read_text(encoding="utf-8", errors="replace") if self.output.is_file() else ""


def start(guard: Guard, place: ProcessPlacement, command: Sequence[str], output: str = "") -> RunningProgram:
    """Start a command at its place; what it prints goes to a file of that name in the run's folder, or nowhere. Returns
    when the command itself begins: its end of a pipe closes then, and what the launcher took is none of its time."""
    path = guard.folder / output if output else Path(os.devnull)
    reading, begun = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        with os.fdopen(begun, "wb"), path.open("wb") as file:
            process = _spawn([place.document(), str(os.getpid()), str(begun), *command], guard, file, begun)
        pipe.read()
    return RunningProgram(process, path)


def _spawn(words: Sequence[str], guard: Guard, file: IO[bytes], begun: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", launcher.__file__, *words],
        stdin=subprocess.DEVNULL,
        stdout=file,
        stderr=subprocess.STDOUT,
        env=guard.environment,
        start_new_session=True,
        pass_fds=(begun,),
    )


@dataclass(frozen=True, slots=True)
class CoreLayout:
    """Which cores the application, the load on it and the stressors get; no core for stressors on a small machine."""

    app: tuple[int, ...]
    load: tuple[int, ...]
    apart: tuple[int, ...]


def layout(cores: Sequence[int], vcpus: float) -> CoreLayout:
    """Share out the cores: the application first, then stressors, then (where cores are left) the load generator."""
    wanted = max(1, -(-int(vcpus * 1000) // 1000))
    app, rest = tuple(cores[:wanted]), tuple(cores[wanted:])
    if len(rest) > 1:
        return CoreLayout(app, rest[:1], rest[1:])
    return CoreLayout(app, app, rest)


def own_cores() -> tuple[int, ...]:
    """The cores this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def busy_vcpus(cores: Sequence[int], seconds: float) -> float | None:
    """How many of some cores others use, on average over so many seconds from now; None where that is not counted."""
    before = _cpu_times(cores)
    time.sleep(seconds)
    after = _cpu_times(cores)
    return math.fsum(_busy_share(before[core], after[core]) for core in cores) if before and after else None


def _cpu_times(cores: Sequence[int]) -> dict[int, list[int]]:
    """The ticks of each core by what it did; empty where one is missing."""
    try:
        rows = dict(line.split(" ", 1) for line in _CPU_TIMES.read_text().splitlines() if " " in line)
        return {core: [int(word) for word in rows[f"cpu{core}"].split()[:_COUNTED]] for core in cores}
    except (OSError, KeyError, ValueError):
        return {}


def _busy_share(before: Sequence[int], after: Sequence[int]) -> float:
    passed = [b - a for a, b in zip(before, after, strict=True)]
    return 1 - sum(passed[_IDLE]) / sum(passed) if sum(passed) > 0 else 0.0


def memory_gib() -> float:
    """The memory of the machine, or what of it the group of this process may have where that is less."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(there, own_limit() or there) / GIB


def free_memory() -> int:
    """How many bytes programs could still take here."""
    try:
        rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        there = int(rows["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return min(there, own_limit() or there)


def machine_name() -> str:
    """The machine in a line: processor, cores, memory, system."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    processor = model or platform.processor() or platform.machine()
    cores = counted(len(own_cores()), "core")
    return f"{processor}, {cores}, {memory_gib():.0f} GiB, {platform.system()} {platform.release()}"

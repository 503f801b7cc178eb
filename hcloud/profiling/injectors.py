"""Stressors of one shared resource each, with an intensity from 0 to 100 that can be turned while they run."""

from __future__ import annotations

import shutil
import signal
import struct
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hcloud.profiling.budget import TimeBudget
from hcloud.profiling.cage import Cage
from hcloud.profiling.guard import Guard
from hcloud.profiling.place import ProcessPlacement, RunningProgram, TrialError, start
from hcloud.profiling.programs import kernels

BUILT_IN = "built-in"
STRESS_NG = "stress-ng"
OWN_DIAL = ("memcap", "network", "disk")  # these do not need the processor, so a CPU quota would not turn them down
TOUCH_SHARE = 0.1  # ours: memory is held all the time and touched seldom, so that no bandwidth is taken
MULTIPLE = {"disk": 4}  # one direct writer leaves a disk half idle
START_PATIENCE = 20.0
SETTLE = 0.05  # ours: seconds after turning the dial before anything is measured
_DUTY_PERIOD = 0.02

# ours, by what slowed which victim down on a virtual machine: the level 3 option of --cache did nothing there
_OPTIONS: dict[str, tuple[str, ...]] = {
    "l1i": ("--icache",),
    "l1d": ("--l1cache",),
    "llcbw": ("--prefetch", "--prefetch-l3-size", "32M"),
    "llc": ("--stream", "--stream-l3-size", "32M"),
    "membw": ("--memrate", "--memrate-bytes", "256M"),
    "cpu": ("--cpu", "--cpu-method", "int64"),
    "tlb": ("--tlb-shootdown",),
}


@dataclass(frozen=True, slots=True)
class Stressor:
    """Which program presses on which resource."""

    resource: str
    program: str

    @property
    def label(self) -> str:
        """What a profile names as the source of a number."""
        words = _OPTIONS[self.resource] if self.program == STRESS_NG else (self.resource,)
        return f"{self.program} {' '.join(words)}"


def stressors(resource: str) -> tuple[Stressor, ...]:
    """What can press on a resource here: the built-in one, and stress-ng where it is installed and has one."""
    found = [Stressor(resource, BUILT_IN)]
    if resource in _OPTIONS and shutil.which(STRESS_NG):
        found.append(Stressor(resource, STRESS_NG))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class StressorContext:
    """Where stressors run: their control group and the place within it, what a full footprint is in bytes, and how long
    their start may be waited for (None: as long as usual)."""

    cage: Cage
    place: ProcessPlacement
    workers: int = 1
    footprint: int = 0
    clock: TimeBudget | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What a stressor had done at a moment: steps, the seconds it did not rest, and CPU seconds where those are
    counted."""

    at: float
    steps: int
    busy_seconds: float
    cpu_seconds: float | None


class Injector:
    """One stressor, held at no intensity until it is turned up."""

    def __init__(self, guard: Guard, stressor: Stressor, ground: StressorContext) -> None:
        self.stressor, self.ground, self._guard = stressor, ground, guard
        self.intensity = 0.0
        self._running: list[RunningProgram] = []
        self._counters: list[Path] = []
        self._duty: _Duty | None = None
        if stressor.resource not in OWN_DIAL:
            self._start(1.0)
            self.turn(0.0)

    def turn(self, intensity: float) -> None:
        """Press so hard from now on; 0 rests."""
        presses_so = intensity == self.intensity and self._running and not self.broken
        self.intensity = intensity
        if self.stressor.resource in OWN_DIAL:
            if presses_so:
                return  # filling gibibytes of memory once more takes seconds
            self._end()
            if intensity > 0:
                self._start(intensity / 100)
        else:
            self._throttle(intensity / 100)
        if intensity > 0:
            time.sleep(SETTLE)

    def work(self) -> Work:
        """What was done until now, to take the difference of two moments."""
        counts = [struct.unpack("=qq", path.read_bytes()) for path in self._counters]
        steps, busy = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
        return Work(time.monotonic(), steps, busy / 1e9, self.ground.cage.cpu_seconds())

    @property
    def counts(self) -> bool:
        """Whether the steps of this stressor are counted."""
        return self.stressor.program == BUILT_IN

    @property
    def broken(self) -> bool:
        """Whether a process of it is gone although it should run."""
        return any(r.ended for r in self._running)

    def close(self) -> None:
        """End it."""
        self._end()

    def _start(self, share: float) -> None:
        if self.stressor.program == STRESS_NG:
            name, *rest = _OPTIONS[self.stressor.resource]
            words = [STRESS_NG, name, str(self.ground.workers), *rest, "--timeout", "0", "--quiet", "--temp-path"]
            self._running = [start(self._guard, self.ground.place, [*words, str(self._guard.folder)])]
            time.sleep(0.3)
            return
        count = MULTIPLE.get(self.stressor.resource, self.ground.workers)
        self._counters = [self._guard.new_file(bytes(kernels.COUNTER_BYTES)) for _ in range(count)]
        for counter in self._counters:
            self._running.append(self._kernel(counter, share, count))
        try:
            self._await_work()
        except TrialError:
            self._end()
            raise

    def _kernel(self, counter: Path, share: float, count: int) -> RunningProgram:
        words = [sys.executable, "-P", kernels.__file__, self.stressor.resource, str(counter)]
        footprint = int(self.ground.footprint * share / count)
        share = TOUCH_SHARE if self.stressor.resource == "memcap" else share
        words += ["--share", str(share), "--bytes", str(footprint), "--folder", str(Path.cwd())]
        return start(self._guard, self.ground.place, words, counter.with_suffix(".out").name)

    def _await_work(self) -> None:
        until = time.monotonic() + START_PATIENCE
        while not all(any(path.read_bytes()) for path in self._counters):
            if self.broken:
                if self.stressor.resource == "memcap":
                    return  # the kernel gave it no memory: pressure that the application did not make room for
                said = " ".join(self._running[0].printed().split()[-12:])
                raise TrialError(f"the {self.stressor.label} stressor does not run here: {said}")
            if self.ground.clock is not None:
                self.ground.clock.patience()
            if time.monotonic() > until:
                raise TrialError(f"the {self.stressor.label} stressor did not start within {START_PATIENCE:g} s")
            time.sleep(0.01)

    def _throttle(self, share: float) -> None:
        if self._duty is not None:
            self._duty.stop()
            self._duty = None
        if share <= 0:
            _signal(self._running, signal.SIGSTOP)
            return
        _signal(self._running, signal.SIGCONT)
        if self.ground.cage.hierarchy.has("cpu"):
            self.ground.cage.set_cpus(share * self.ground.workers if share < 1 else None)
        elif share < 1:
            self._duty = _Duty(self._running, share)

    def _end(self) -> None:
        if self._duty is not None:
            self._duty.stop()
            self._duty = None
        for running in self._running:
            running.end()
        self._running, self._counters = [], []
        if self.ground.cage.hierarchy.has("cpu"):
            self.ground.cage.set_cpus(None)


class _Duty:
    """Stops and continues processes in turn: the dial where no CPU quota can be set."""

    def __init__(self, running: Sequence[RunningProgram], share: float) -> None:
        self._running, self._share = running, share
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._turn, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the processes running."""
        self._over.set()
        self._thread.join()
        _signal(self._running, signal.SIGCONT)

    def _turn(self) -> None:
        while not self._over.wait(_DUTY_PERIOD * (1 - self._share)):
            _signal(self._running, signal.SIGCONT)
            self._over.wait(_DUTY_PERIOD * self._share)
            _signal(self._running, signal.SIGSTOP)


def _signal(running: Sequence[RunningProgram], number: int) -> None:
    for one in running:
        one.signal(number)

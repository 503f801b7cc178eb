"""One measurement of the application at its place: a run of a batch command, or a stretch of load on a service."""

from __future__ import annotations

import math
import re
import shutil
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from hcloud.errors import UsageError
from hcloud.model.json_text import parsed
from hcloud.model.measured.app import App, CompletionTime, HttpLoad, LoadCommand, PrintedMetric, Readiness
from hcloud.model.measured.profile import Metric
from hcloud.model.workload import JobKind
from hcloud.profiling.guard import Guard
from hcloud.profiling.place import ProcessPlacement, RunningProgram, TooSlowError, TrialError, start
from hcloud.profiling.programs import load, orphans

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?")
_LOOK_EVERY = 0.002
_READY_EVERY = 0.02
_SAID = 300


@dataclass(frozen=True, slots=True)
class BenchReading:
    """What one measurement gave: the figure in the metric's unit, the CPU seconds a unit of work took, and how many
    vCPUs the application used under load (None where they are not counted)."""

    figure: float
    cpu_cost: float | None
    used_vcpus: float | None = None

    def performance(self, metric: Metric) -> float:
        """More is better."""
        return self.figure if metric.rising else 1 / self.figure


class Bench(Protocol):
    """Something that can be measured again and again."""

    def measure(self, patience: float) -> BenchReading:
        """One measurement; raises TrialError where it gives no figure within ``patience`` seconds."""
        ...

    def close(self) -> None:
        """End what still runs."""
        ...


@dataclass(frozen=True, slots=True)
class Stand:
    """Where the application and the load on it run."""

    app: ProcessPlacement
    load: ProcessPlacement


def open_bench(guard: Guard, app: App, stand: Stand) -> Bench:
    """The application ready to be measured at a stand, warmed up."""
    require(app.command)
    if app.kind is JobKind.SERVICE:
        return ServiceBench(guard, app, stand)
    return BatchBench(guard, app, stand.app)


def require(command: Sequence[str]) -> None:
    """UsageError where the command's program is not there."""
    if shutil.which(command[0]) is None:
        raise UsageError(f"{command[0]}: no such program", hint="name the command to be measured after --")


class BatchBench:
    """A command that ends by itself."""

    def __init__(self, guard: Guard, app: App, place: ProcessPlacement) -> None:
        self._guard, self._app, self._place = guard, app, place

    def measure(self, patience: float) -> BenchReading:
        """One run from start to end."""
        cage = self._place.cage
        before = None if cage is None else cage.cpu_seconds()
        running = start(self._guard, self._place, self._app.command, "app.out")
        began = time.monotonic()
        try:
            await_end(running, self._app.command, patience)
            took = time.monotonic() - began
            left = sorted(orphans.session_members(running.process.pid) | self._strays())
        finally:
            running.end()
        if left:
            for pid in left:
                orphans.kill(pid)
            raise TrialError(
                f"{self._app.command[0]} went into the background: {len(left)} of its processes outlived it",
                hint="start it in the foreground, or describe it as a service",
            )
        after = None if cage is None else cage.cpu_seconds()
        cost = None if before is None or after is None else after - before
        return BenchReading(self._figure(took, running), cost)

    def close(self) -> None:
        """Nothing runs between runs."""

    def _strays(self) -> set[int]:
        return set() if self._place.cage is None else orphans.members(self._place.cage.groups)

    def _figure(self, took: float, running: RunningProgram) -> float:
        measure = self._app.measure
        if isinstance(measure, PrintedMetric):
            return last_number(running.printed(), measure.pattern, self._app.command)
        assert isinstance(measure, CompletionTime)
        return took


class ServiceBench:
    """A service that is started once and put under load again and again."""

    def __init__(self, guard: Guard, app: App, stand: Stand) -> None:
        self._guard, self._app, self._stand = guard, app, stand
        self._running: RunningProgram | None = None

    def measure(self, patience: float) -> BenchReading:
        """One stretch of load; the service is started (again) where it does not run."""
        if self._running is None or self._running.ended:
            self._open(patience)
        cage = self._stand.app.cage
        before, began = None if cage is None else cage.cpu_seconds(), time.monotonic()
        figure, requests = self._load(patience)
        after, took = None if cage is None else cage.cpu_seconds(), time.monotonic() - began
        if self._running is not None and self._running.ended:
            raise TrialError(f"{self._app.command[0]} ended under load: {tail(self._running)}")
        if before is None or after is None:
            return BenchReading(figure, None)
        return BenchReading(figure, (after - before) / requests, (after - before) / took)

    def close(self) -> None:
        """End the service."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def _open(self, patience: float) -> None:
        self.close()
        self._running = start(self._guard, self._stand.app, self._app.command, "app.out")
        ready = self._app.ready
        if ready is None and isinstance(self._app.measure, HttpLoad):
            ready = Readiness(url=self._app.measure.url)
        await_ready(self._guard, self._stand.load, self._running, ready, patience)
        until = time.monotonic() + self._app.warm_up
        while time.monotonic() < until:
            self._load(patience)

    def _load(self, patience: float) -> tuple[float, float]:
        """The figure, and how many requests there were (1 where the load does not say)."""
        measure = self._app.measure
        if isinstance(measure, LoadCommand):
            printed = self._run_load(measure.command, patience)
            return last_number(printed, measure.pattern, measure.command), 1.0
        assert isinstance(measure, HttpLoad)
        options = ["--connections", str(measure.connections), "--seconds", str(measure.seconds)]
        seen = parsed(self._run_load([sys.executable, "-I", "-S", load.__file__, measure.url, *options], patience))
        if not seen["requests"]:
            raise TrialError(f"{measure.url}: none of {seen['errors']} requests was answered well")
        name = "p99" if not measure.metric.rising else "throughput"
        return usable(float(seen[name]), measure.url), float(seen["requests"])

    def _run_load(self, command: Sequence[str], patience: float) -> str:
        require(command)
        running = start(self._guard, self._stand.load, command, "load.out")
        try:
            await_end(running, command, patience)
        finally:
            running.end()
        return running.printed()


def await_end(running: RunningProgram, command: Sequence[str], patience: float) -> None:
    """Wait for a command to end well."""
    until = time.monotonic() + patience
    while not running.ended:
        if time.monotonic() > until:
            raise TooSlowError(f"{command[0]} did not end within {patience:.0f} s", hint="--run-cap allows more time")
        time.sleep(_LOOK_EVERY)
    code = running.process.returncode
    if code < 0:
        raise TrialError(f"{command[0]} was killed by signal {-code}: {tail(running)}")
    if code:
        raise TrialError(f"{command[0]} failed with exit code {code}: {tail(running)}")


def await_ready(
    guard: Guard, place: ProcessPlacement, running: RunningProgram, ready: Readiness | None, patience: float
) -> None:
    """Wait until a service serves, looking from the network it is in."""
    until = time.monotonic() + patience
    while ready is not None and not _serves(guard, place, running, ready):
        if running.ended:
            raise TrialError(f"the service ended before it was ready: {tail(running)}")
        if time.monotonic() > until:
            raise TooSlowError(f"the service was not ready within {patience:.0f} s: {tail(running)}")
        time.sleep(_READY_EVERY)


def _serves(guard: Guard, place: ProcessPlacement, running: RunningProgram, ready: Readiness) -> bool:
    if ready.line is not None:
        return any(ready.line in line for line in running.printed().splitlines())
    if place.network:
        words = ["-", str(ready.port)] if ready.port is not None else [str(ready.url), "-"]
        look = start(guard, place, [sys.executable, "-I", "-S", "-c", _LOOK, *words])
        look.process.wait(2 * load.TIMEOUT)
        return look.process.returncode == 0
    if ready.port is not None:
        with socket.socket() as client:
            client.settimeout(1.0)
            return client.connect_ex(("127.0.0.1", ready.port)) == 0
    return _answers(str(ready.url))


_LOOK = """
import socket, sys, urllib.request
url, port = sys.argv[1:]
if url == "-":
    socket.create_connection(("127.0.0.1", int(port)), 1).close()
else:
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=1).close()
"""


def _answers(url: str) -> bool:
    try:
        build_opener(ProxyHandler({})).open(url, timeout=1.0).close()
    except HTTPError as error:
        return error.code < 500
    except (URLError, OSError):
        return False
    return True


def last_number(printed: str, pattern: str, command: Sequence[str]) -> float:
    """The number in the first group of the pattern's last match."""
    found = re.findall(pattern, printed)
    if not found:
        raise TrialError(f"{command[0]} printed nothing that matches {pattern!r}: {printed.strip()[-_SAID:]!r}")
    number = str(found[-1]).strip()
    try:
        return usable(float(number.replace(",", "") if _GROUPED.fullmatch(number) else number), command[0])
    except ValueError:
        hint = "write it with a decimal point, for example by 'env LC_ALL=C'" if "," in number else ""
        what = f"{command[0]} printed {number!r} where {pattern!r} looks for a number"
        raise TrialError(what, hint=hint) from None


def usable(figure: float, what: str) -> float:
    """A figure that ratios can be built from; TrialError else."""
    if not (math.isfinite(figure) and figure > 0):
        raise TrialError(f"{what}: {figure:g} is no performance; it has to be above 0")
    return figure


def tail(running: RunningProgram) -> str:
    """The end of what a program printed."""
    return running.printed().strip()[-_SAID:] or "it printed nothing"

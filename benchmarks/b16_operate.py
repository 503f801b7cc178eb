"""B16: one pass of live work (observe, decide, note, act) over many jobs and machines, and how long after a decision
its command is given: ``python -m benchmarks.b16_operate``. The whole of it beside ``xargs -P`` is B15."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import MachinePhase
from hcloud.control.sessions.session import ControlSession
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.operating.loop import OperatingLoop
from hcloud.live.operating.machines import Machines
from hcloud.live.operating.terms import Parts, Rhythm, Terms
from hcloud.live.operating.workers import AtOnce, Workers
from hcloud.live.site import WaitLimits
from hcloud.model.holdings.live import Owner
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Event
from hcloud.model.running.job import (
    EngineView,
    JobOrder,
    JobPhase,
    JobPlace,
    JobSighting,
    MachineRole,
    NewJobs,
    NodePhase,
)
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.registry import compose, rents_whole_servers
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import compiled
from hcloud.store.journals.events import coin_of
from hcloud.store.journals.live import LiveJournalFile

SIZES = ((1_000, 200), (10_000, 2_000))
"""Jobs in the queue and reserved machines, each of which runs two jobs."""
ENDING = 100
A_FEW = 5


@dataclass
class QuickEngine:
    """An engine that answers at once: what is measured is the loop."""

    jobs: dict[str, JobSighting] = field(default_factory=dict)
    nodes: dict[int, NodePhase] = field(default_factory=dict)
    orders: list[JobOrder] = field(default_factory=list)
    begun: float = 0.0
    told: dict[str, tuple[float, float]] = field(default_factory=dict)
    disk: Disk | None = None

    def joining(self, role: MachineRole) -> str:
        """It is ready at once."""
        self.nodes[role.instance] = NodePhase.READY
        return ""

    def look(self) -> EngineView:
        """All there is."""
        return EngineView(tuple(self.jobs.values()), tuple(self.nodes.items()))

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        """It runs."""
        self.told[order.id] = time.perf_counter(), self.disk.seconds if self.disk else 0.0
        self.jobs[order.id] = JobSighting(order.id, place.attempt, JobPhase.RUNNING, self.begun)

    def stop(self, job: str, attempt: int) -> None:
        """Not here."""

    def resize(self, job: str, attempt: int, cores: int) -> None:
        """Not here."""

    def warn(self, instance: int, why: str) -> None:
        """Nothing."""

    def let_go(self, instance: int) -> None:
        """Not here."""

    def forget(self, job: str) -> None:
        """It is over."""
        self.jobs.pop(job, None)

    def wait(self, seconds: float) -> None:
        """Nobody waits."""

    def new(self) -> NewJobs:
        """What was handed in since the last look."""
        orders, self.orders = self.orders, []
        return NewJobs(tuple(orders), closed=False)


def setup_of(machines: int) -> Setup:
    """SR with so many reserved machines of eight vCPUs."""
    strategy, types = load_strategy("SR"), (TypeFacts("large", 8_000, 32_768, 30.0, 9_000),)
    rules = compose(strategy, 0)
    return Setup(strategy.name, strategy.digest(), rules, rents_whole_servers(strategy), machines, None, types)


def loop_of(
    path: Path, machines: int, engine: QuickEngine, kernels: Mapping[str, Callable[..., Any]], workers: Workers
) -> OperatingLoop:
    """Live work that has just begun."""
    cloud, setup = MemoryCloud("aws"), setup_of(machines)
    cloud.world.semantics = replace(cloud.world.semantics, types=("large",))
    zones = cloud.world.semantics.zones
    terms = Terms(
        Owner("0" * 32, "bench", "0" * 12),
        price=lambda name, option: Decimal("0.10"),
        zones=lambda name: zones,
        coin=coin_of,
        rhythm=Rhythm(look=1e9),
        follow=True,
    )
    asked = Machines(cloud, cloud.clock, WaitLimits(), terms.rhythm.settled)
    parts = Parts(engine, engine, asked, LiveJournalFile(path, 0), cloud.clock, workers)
    return OperatingLoop(ControlSession(setup, kernels), Fold(setup), parts, terms)


def passes(queued: int, machines: int, folder: Path) -> str:
    """Seconds of single passes: the one in which all jobs come, one in which nothing happens, one in which jobs end."""
    engine = QuickEngine()
    loop = loop_of(folder / f"{queued}.jsonl", machines, engine, compiled(), AtOnce())
    for _ in range(4):
        loop.step()
    jobs = 2 * machines + queued
    engine.orders = [JobOrder(f"j{n}", 0.0, ("true",), 4_000, 1_024) for n in range(jobs)]
    coming = timed(loop.step)
    loop.step()
    ready = sum(m.phase is MachinePhase.READY for m in loop.fold.standing.values())
    assert (ready, len(loop.fold.queue), len(engine.jobs)) == (machines, queued, 2 * machines)
    quiet = min(timed(loop.step) for _ in range(5))
    for name in list(engine.jobs)[:ENDING]:
        engine.jobs[name] = JobSighting(name, 1, JobPhase.ENDED, 0.0, 60.0, 0)
    ending = timed(loop.step)
    assert loop.fold.results.counted["completed"] == ENDING
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    figures = f"{jobs:,} come {coming:.2f} s, quiet {quiet:.3f} s, {ENDING} end and as many begin {ending:.2f} s"
    return f"{queued:,} queued, {machines:,} machines: {figures}, at most {most} MiB"


class Disk:
    """Counts the seconds in which the disk writes what it is told to keep."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._sync = os.fsync

    def __enter__(self) -> Self:
        os.fsync = self._timed  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync = self._sync

    def _timed(self, file: Any) -> None:
        begins = time.perf_counter()
        self._sync(file)
        self.seconds += time.perf_counter() - begins


def commands(queued: int, machines: int, folder: Path) -> str:
    """Milliseconds from the decision about a job to the command that begins it, with the disk's sync between and
    without: a few jobs end in each pass, and as many from the queue begin."""
    with Disk() as disk:
        return commanded(queued, machines, folder, disk)


def commanded(queued: int, machines: int, folder: Path, disk: Disk) -> str:
    """The same, with the disk that is counted."""
    engine, decided, workers = QuickEngine(disk=disk), dict[str, tuple[float, float]](), Workers()
    loop = loop_of(folder / "commands.jsonl", machines, engine, compiled(), workers)
    handle = loop.desk.session.handle

    def stamped(event: Event) -> list[Decision]:
        made = handle(event)
        at = time.perf_counter(), disk.seconds
        decided.update((d.job, at) for d in made if d.job and d.action is DecisionAction.PLACE)
        return made

    loop.desk.session.handle = stamped  # type: ignore[method-assign]
    engine.orders = [JobOrder(f"j{n}", 0.0, ("true",), 4_000, 1_024) for n in range(2 * machines + queued)]
    while len(engine.told) < 2 * machines:
        loop.step()
    engine.told.clear()
    while loop.fold.queue:
        running = [s for s in list(engine.jobs.values()) if s.phase is JobPhase.RUNNING]
        for seen in running[:A_FEW]:
            engine.jobs[seen.job] = JobSighting(seen.job, 1, JobPhase.ENDED, 0.0, 60.0, 0)
        loop.step()
        time.sleep(0.01)
    workers.close()
    spans = [(told - decided[job][0], written - decided[job][1]) for job, (told, written) in engine.told.items()]
    whole, own = sorted(whole for whole, _ in spans), sorted(whole - kept for whole, kept in spans)
    said = f"{len(spans):,} jobs of {queued:,} queued on {machines:,} machines: {levels(whole)}"
    return f"{said}; without the disk's sync {levels(own)}"


def levels(seconds: list[float]) -> str:
    """The middle and the 99th per cent of sorted seconds."""
    middle, last = seconds[len(seconds) // 2] * 1000, seconds[len(seconds) * 99 // 100] * 1000
    return f"p50 {middle:.1f} ms, p99 {last:.1f} ms"


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    begins = time.perf_counter()
    work()
    return time.perf_counter() - begins


def main() -> int:
    """Print a line for each."""
    with tempfile.TemporaryDirectory() as name:
        print(f"b16 decision to command | {commands(*SIZES[0], Path(name))}", flush=True)
        for queued, machines in SIZES:
            print(f"b16 pass | {passes(queued, machines, Path(name))}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

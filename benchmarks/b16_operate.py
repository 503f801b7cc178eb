"""B16: one pass of live work (observe, decide, note, act) over many jobs and machines:
``python -m benchmarks.b16_operate``. The whole of it beside ``xargs -P`` is B15."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import MachinePhase
from hcloud.control.session import ControlSession
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.operating.loop import OperatingLoop
from hcloud.live.operating.machines import Machines
from hcloud.live.operating.terms import Parts, Rhythm, Terms
from hcloud.live.operating.workers import AtOnce
from hcloud.live.site import WaitLimits
from hcloud.model.holdings.live import Owner
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
from hcloud.sim.kernels.compiled import SESSION, compiled
from hcloud.store.events import coin_of
from hcloud.store.live_journal import LiveJournalFile

SIZES = ((1_000, 200), (10_000, 2_000))
"""Jobs in the queue and reserved machines, each of which runs two jobs."""
ENDING = 100


@dataclass
class QuickEngine:
    """An engine that answers at once: what is measured is the loop."""

    jobs: dict[str, JobSighting] = field(default_factory=dict)
    nodes: dict[int, NodePhase] = field(default_factory=dict)
    orders: list[JobOrder] = field(default_factory=list)
    begun: float = 0.0

    def joining(self, role: MachineRole) -> str:
        """It is ready at once."""
        self.nodes[role.instance] = NodePhase.READY
        return ""

    def look(self) -> EngineView:
        """All there is."""
        return EngineView(tuple(self.jobs.values()), tuple(self.nodes.items()))

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        """It runs."""
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


def loop_of(path: Path, machines: int, engine: QuickEngine, kernels: Mapping[str, Callable[..., Any]]) -> OperatingLoop:
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
    parts = Parts(
        engine, engine, Machines(cloud, cloud.clock, WaitLimits()), LiveJournalFile(path, 0), cloud.clock, AtOnce()
    )
    return OperatingLoop(ControlSession(setup, kernels), Fold(setup), parts, terms)


def passes(queued: int, machines: int, folder: Path) -> str:
    """Seconds of single passes: the one in which all jobs come, one in which nothing happens, one in which jobs end."""
    engine = QuickEngine()
    loop = loop_of(folder / f"{queued}.jsonl", machines, engine, compiled(SESSION))
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
    assert loop.fold.counted["completed"] == ENDING
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    figures = f"{jobs:,} come {coming:.2f} s, quiet {quiet:.3f} s, {ENDING} end and as many begin {ending:.2f} s"
    return f"{queued:,} queued, {machines:,} machines: {figures}, at most {most} MiB"


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    begins = time.perf_counter()
    work()
    return time.perf_counter() - begins


def main() -> int:
    """Print a line for each."""
    with tempfile.TemporaryDirectory() as name:
        for queued, machines in SIZES:
            print(f"b16 pass | {passes(queued, machines, Path(name))}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

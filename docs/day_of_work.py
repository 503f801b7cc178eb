"""A day of live work on the cloud in memory, in seconds: the loop of 'hcloud operate' with a clock that is put forward,
and jobs that are drawn from a seed: few at night, many in the afternoon, and a burst in the evening."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "rigs"))

from operating import FakeEngine, GivenJobs, World, setup_of

from hcloud.fake.faults import ClockPlan, FaultPlan
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.ledger import Rented
from hcloud.live.operating.terms import Rhythm
from hcloud.model.holdings.live import TAG_ADDRESS
from hcloud.model.running.job import JobOrder
from hcloud.policy.facts import TypeFacts

SEED, POOL = 7, 4
BEGIN = datetime(2026, 11, 24, tzinfo=UTC)
HOURS = 24
TYPES = (
    TypeFacts("m5.xlarge", 4_000, 16_384, 300.0, 9_000),
    TypeFacts("m5.2xlarge", 8_000, 32_768, 300.0, 9_000),
    TypeFacts("m5.4xlarge", 16_000, 65_536, 300.0, 9_000),
)
SLOWLY = Rhythm(period=30.0, look=600.0, join=600.0, settled=0.0, again=60.0)


@dataclass
class ForgetfulEngine(FakeEngine):
    """One that drops what is over, and finds machines by their number."""

    known: dict[str, Rented] = field(default_factory=dict)
    seen: int = 0

    def machine(self, instance: int) -> Rented | None:
        """The newest machine of an instance."""
        machines = list(self.cloud.ledger.machines.values())
        for made in machines[self.seen :]:
            self.known[made.tags[TAG_ADDRESS]] = made
        self.seen = len(machines)
        return self.known.get(f"operate-{instance}")

    def forget(self, job: str) -> None:
        """It is over."""
        self.ran = [r for r in self.ran if r.job != job]


def a_day(folder: Path) -> Path:
    """Run it; its journal."""
    cloud = MemoryCloud("aws", FaultPlan(clock=ClockPlan(start=BEGIN, speed=0)))
    cloud.world.semantics = replace(cloud.world.semantics, types=tuple(sorted(t.name for t in TYPES)))
    path = folder / "journal.jsonl"
    world = World(
        path, setup_of("HM", POOL, TYPES), cloud, ForgetfulEngine(cloud, join_after=300.0), GivenJobs(orders()), SLOWLY
    )
    world.probe = lambda instance: probed(world, instance)
    try:
        world.run(passes=20_000)
    finally:
        world.close()
    return path


def probed(world: World, instance: int) -> float:
    """What neighbours leave of a machine: of a small one now much, now little, of a whole server nearly all."""
    machine = world.engine.machine(instance)
    cores = next(t.cores for t in TYPES if machine is not None and t.name == machine.instance_type)
    least, most = {4_000: (0.2, 0.8), 8_000: (0.3, 0.9), 16_000: (0.9, 1.0)}[cores]
    return random.Random(f"{SEED} {instance}").uniform(least, most)


def orders() -> list[JobOrder]:
    """The jobs of the day."""
    chance = random.Random(SEED)
    made: list[JobOrder] = []
    at = 0.0
    while (at := at + chance.expovariate(per_hour(at / 3600) / 3600)) < HOURS * 3600:
        seconds, cores = min(chance.lognormvariate(math.log(420), 0.7), 3600.0), chance.choice((1, 1, 2, 2, 4, 8))
        when = BEGIN.timestamp() + at
        made.append(
            JobOrder(
                f"job-{len(made):04d}", when, ("work",), cores * 1000, cores * 2048, expect=seconds, restartable=True
            )
        )
    return made


def per_hour(hour: float) -> float:
    """How many jobs come in an hour."""
    afternoon, burst = math.exp(-(((hour - 14.5) / 3.5) ** 2)), 300.0 if 20.0 <= hour < 20.6 else 0.0
    return 60.0 + 210.0 * afternoon + burst

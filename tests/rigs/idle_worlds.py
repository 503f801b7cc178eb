"""Worlds in which services use what they are told, and batch runs on what they leave; judged pass by pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from operating import FakeEngine, GivenJobs, Ran, World, job

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.harvested import HarvestRecord
from hcloud.harvest.policy import HarvestPolicy
from hcloud.live.harvesting.terms import HarvestTerms
from hcloud.model.running.job import JobOrder, JobPlace
from hcloud.model.running.note import Note
from hcloud.model.workload import JobKind
from hcloud.readers.harvest.policy import load_harvest
from hcloud.store.journals.journal import read_journal

TICK, STEP = 3, 10.0
POLICY = replace(load_harvest(), live_window=9)
CORES, MEMORY = 8.0, 32768
STAYING = replace(POLICY, most_kills=0, moves_on_slip=False)
RESERVE = 2.7  # a third of 8 vCPUs in tenths
MOST = 0.98 * CORES


@dataclass
class SharedEngine(FakeEngine):
    """The same, in which services use as many vCPUs as they are told in each step of their run, and others run
    beside them."""

    levels: dict[str, list[float]] = field(default_factory=dict)
    killed: list[tuple[str, int]] = field(default_factory=list)

    def used(self, ran: Ran, now: float) -> float:
        """Seconds of processors until now."""
        levels, left, total = self.levels.get(ran.job, [0.0]), now - ran.began, 0.0
        for at in range(math.ceil(left / STEP)):
            total += levels[at % len(levels)] * min(STEP, left - at * STEP)
        return total

    def used_seconds(self) -> Mapping[tuple[str, int], float]:
        now = self._now()
        return {(r.job, r.attempt): self.used(r, now) for r in self.ran if r.stopped is None and now < self._end(r)}

    def begin_beside(self, order: JobOrder, place: JobPlace) -> None:
        self.begin(order, place)

    def kill(self, job: str, attempt: int) -> None:
        self.killed.append((job, attempt))
        self.stop(job, attempt)


def world_of(path: Path, levels: list[list[float]], batch: list[JobOrder], policy: HarvestPolicy = POLICY) -> World:
    """A service of nearly a whole machine on each machine of the reserve, and batch beside them."""
    services = [job(f"s{n}", cores=MOST, seconds=400.0, kind=JobKind.SERVICE) for n in range(len(levels))]
    services = [replace(s, kind=JobKind.BATCH) for s in services]
    world = World.of(path, services, "SR", len(levels))
    world.rhythm = replace(world.rhythm, period=1.0)  # tasks take seconds
    world.engine = SharedEngine(world.cloud, levels={f"s{n}": own for n, own in enumerate(levels)})
    begins = world.cloud.clock.now()
    source = GivenJobs([replace(o, submit=begins + o.submit) for o in batch])
    world.harvest = HarvestTerms(source, world.engine, policy)
    return world


def held_by(fold: Fold, instance: int) -> list[HarvestRecord]:
    """What stays on a machine, the oldest first."""
    return [one for one in fold.harvested.running if one.on == instance and not one.yields]


def check_pass(world: World, before: list[HarvestRecord]) -> None:
    """After a pass: nothing more stays where the reserve is broken by what was measured at the last tick; who goes
    for that is younger than all who stay."""
    loop = world.loop
    assert loop is not None
    assert loop.harvester is not None
    fold = loop.fold
    for machine in fold.standing.values():
        staying = held_by(fold, machine.instance)
        used = [
            loop.harvester._gauge.used((j.order.id, j.attempt))
            for j in fold.active.values()
            if j.on == machine.instance
        ]
        if staying and None not in used:
            whole = math.ceil(round(sum(one or 0.0 for one in used) * 10, 3) - 0.001) / 10
            assert whole + RESERVE + sum(one.order.cores for one in staying) / 1000 <= CORES + 1e-6
        going = [one for one in before if one.on == machine.instance and one.yields]
        assert all(one.turn > two.turn for one in going for two in staying if two.turn <= max(o.turn for o in before))


def run(world: World, passes: int = 4000) -> None:
    loop = world.start()
    for _ in range(passes):
        before = loop.fold.harvested.running
        more = loop.step()
        check_pass(world, before)
        if not more:
            loop.finish()
            return
        loop.wait()
    raise AssertionError(f"not done: {loop.desk.troubles}, {loop.fold.harvested.open}")


def others(path: Path) -> list[object]:
    """The lines of a journal that are not about idle capacity, without the ends of machines and passes."""
    kept = [e for e in read_journal(path).lines if not isinstance(e, Note)]
    return [replace(e, at=0.0) for e in kept]


def lines(world: World) -> list[object]:
    return list(read_journal(world.path).lines)

"""One scenario through the simulator's engine and through the live loop on fakes: the same decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import pytest
from simulating import changed, excerpt, setting_of, tasks_in

from hcloud.control.operating.fold import Fold
from hcloud.control.sessions.session import ControlSession
from hcloud.fake.clock import FakeClock
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.operating.loop import OperatingLoop
from hcloud.live.operating.machines import Machines
from hcloud.live.operating.terms import Parts, Rhythm, Terms
from hcloud.live.operating.workers import AtOnce
from hcloud.live.site import WaitLimits
from hcloud.model.holdings.live import Owner
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.decision import Decision, Entry
from hcloud.model.running.event import Arrival, Completion, Ready
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
from hcloud.policy.facts import Setup
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import plain
from hcloud.sim.run import run
from hcloud.store.journals.live import LiveJournalFile
from hcloud.usecases.studies.journal import journal_entries, setup_of_run, told


@dataclass
class Exact:
    """A clock that is set."""

    at: float = 0.0

    def now(self) -> float:
        return self.at

    def passed(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody waits here")


@dataclass
class Replayed:
    """An engine and a source that tell what a simulated run told, each thing at its time."""

    clock: Exact
    arrivals: dict[str, Arrival]
    ready: dict[int, float]
    ends: dict[str, Completion]
    placed: dict[str, int] = field(default_factory=dict)
    began: dict[str, float] = field(default_factory=dict)

    def new(self) -> NewJobs:
        orders = [_order(a) for a in self.arrivals.values() if a.at <= self.clock.at]
        return NewJobs(tuple(orders), closed=False)

    def joining(self, role: MachineRole) -> str:
        self.ready.setdefault(role.instance, self.clock.at) if role.reserved else None
        return ""

    def look(self) -> EngineView:
        now = self.clock.at
        nodes = tuple((n, NodePhase.READY if at <= now else NodePhase.JOINING) for n, at in self.ready.items())
        return EngineView(tuple(self._sighting(name, now) for name in self.began), nodes)

    def _sighting(self, name: str, now: float) -> JobSighting:
        end = self.ends.get(name)
        if end is not None and end.at <= now:
            return JobSighting(name, 1, JobPhase.ENDED, self.began[name], end.at, 0)
        return JobSighting(name, 1, JobPhase.RUNNING, self.began[name])

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        self.began.setdefault(order.id, self.clock.at)

    def stop(self, job: str, attempt: int) -> None:
        raise AssertionError(f"{job} was stopped")

    def resize(self, job: str, attempt: int, cores: int) -> None:
        pass

    def warn(self, instance: int, why: str) -> None:
        pass

    def let_go(self, instance: int) -> None:
        pass

    def forget(self, job: str) -> None:
        pass

    def wait(self, seconds: float) -> None:
        pass


def _order(a: Arrival) -> JobOrder:
    return JobOrder(a.job, a.at, ("true",), a.ask, a.memory, restartable=a.restartable)


def calm(cloud: CloudModel) -> CloudModel:
    """The same cloud with nobody else in it."""
    alone = tuple(
        replace(p, value=0.0) if p.key in ("mean_load", "amplitude") else p for p in cloud.sections["neighbours"]
    )
    return replace(cloud, sections={**cloud.sections, "neighbours": alone})


def live(entries: Sequence[Entry], setup: Setup, path: Path) -> list[Decision]:
    """What the live loop decides where jobs, machines and ends come as they came in a run."""
    clock = Exact()
    events = [e for e in entries if not isinstance(e, Decision)]
    world = Replayed(
        clock,
        {e.job: e for e in events if isinstance(e, Arrival)},
        {e.instance: e.at for e in events if isinstance(e, Ready)},
        {e.job: e for e in events if isinstance(e, Completion)},
    )
    cloud = MemoryCloud("aws", clock=FakeClock(0.0, speed=0.0))
    types = tuple(t.name for t in setup.types)
    cloud.world.semantics = replace(cloud.world.semantics, types=tuple(sorted(types)))
    zones = cloud.world.semantics.zones
    terms = Terms(
        Owner("0" * 32, "test", "0" * 12),
        price=lambda name, option: Decimal("0.10"),
        zones=lambda name: zones,
        coin=lambda name: world.arrivals[name].coin,
        rhythm=Rhythm(look=1e12, join=1e12, settled=0.0, again=0.0),
        vector=lambda order: world.arrivals[order.id].vector,
        probe=lambda instance: 1.0,
        follow=True,
    )
    journal = LiveJournalFile(path, 0)
    machines = Machines(cloud, clock, WaitLimits(), 0.0)
    parts = Parts(world, world, machines, journal, clock, AtOnce())
    loop = OperatingLoop(ControlSession(setup, plain()), Fold(setup), parts, terms)
    loop.step()
    loop.step()
    for at in sorted({e.at for e in events}):
        clock.at = at
        loop.step()
        loop.step()
    journal.close()
    return loop.desk.made


@pytest.mark.parametrize(("strategy", "pool"), [("SR", 8), ("OdF", 0), ("OdM", 0), ("HF", 4), ("HM", 4)])
def test_the_loop_decides_as_the_engine_does(tmp_path: Path, strategy: str, pool: int) -> None:
    chosen = load_strategy(strategy)
    if chosen.follows("monitoring"):
        chosen = changed(chosen, "monitoring", patience_seconds=86400.0)
    setting = setting_of(chosen, pool)
    setting = replace(setting, cloud=calm(setting.cloud))
    outcome = run(setting, tasks_in(setting, excerpt(80, each=2)), journal=True)
    setup = setup_of_run(outcome)
    entries = list(journal_entries(outcome, setup))
    decided = [told(e) for e in entries if isinstance(e, Decision)]
    found = [told(d) for d in live(entries, setup, tmp_path / "j")]
    assert len(decided) >= 80
    assert found == decided

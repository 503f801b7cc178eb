"""A world for live work that tests turn by hand: a cloud in memory, an engine whose jobs take as long as they are told,
and a controller that can be killed at any point and begun again. What really happened is in the two ledgers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.wanted import SpendingLimits
from hcloud.control.sessions.session import ControlSession
from hcloud.errors import Call, UnavailableError
from hcloud.fake.faults import FaultPlan
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.ledger import Rented
from hcloud.live.harvesting.terms import HarvestTerms
from hcloud.live.operating import crash_points
from hcloud.live.operating.agents import Agents
from hcloud.live.operating.loop import OperatingLoop
from hcloud.live.operating.machines import Machines
from hcloud.live.operating.terms import Line, Parts, Rhythm, Teachable, Terms
from hcloud.live.operating.workers import AtOnce
from hcloud.live.site import WaitLimits
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import TAG_ADDRESS, Owner
from hcloud.model.running.job import (
    EngineView,
    JobOrder,
    JobPhase,
    JobPlace,
    JobSighting,
    MachineRole,
    NewJobs,
    NodePhase,
    ServiceTarget,
)
from hcloud.model.running.note import Asked, CommitmentsAdvised
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.registry import compose, rents_whole_servers
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.events import coin_of
from hcloud.store.journals.journal import Before, LiveOrigin, entry_line, header_line, read_journal
from hcloud.store.journals.live import LONG, LiveJournalFile
from hcloud.usecases.live.decide import replay
from hcloud.usecases.live.operating.operate import fold_of

LINEAGE = "0123456789abcdef0123456789abcdef"
ORIGIN = LiveOrigin(LINEAGE, "aws", "test", "here", "fake")
TYPES = (TypeFacts("small", 2000, 8192, 30.0, 9000), TypeFacts("large", 8000, 32768, 30.0, 9000))


class Killed(BaseException):
    """The controller's process is gone."""


@dataclass(slots=True)
class Ran:
    """An attempt that really began: on which machine of the cloud, when, and when and how it ended."""

    job: str
    attempt: int
    instance: int
    machine: str
    began: float
    seconds: float
    code: int = 0
    stopped: float | None = None


@dataclass
class FakeEngine:
    """Runs jobs on the machines that a cloud really has. It outlives every controller; ``ran`` is its ledger."""

    cloud: MemoryCloud
    seconds: dict[str, float] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    join_after: float = 5.0
    ran: list[Ran] = field(default_factory=list)
    never_join: set[str] = field(default_factory=set)
    unavailable: bool = False
    progress: Callable[[Ran, float], float | None] = field(default=lambda ran, now: None)
    leaving: set[int] = field(default_factory=set)
    resized: list[tuple[str, int]] = field(default_factory=list)

    def _now(self) -> float:
        return self.cloud.clock.now()

    def machine(self, instance: int) -> Rented | None:
        """The newest machine of an instance."""
        named = [m for m in self.cloud.ledger.machines.values() if m.tags.get(TAG_ADDRESS) == f"operate-{instance}"]
        return max(named, key=lambda m: m.made_at, default=None)

    def joining(self, role: MachineRole) -> str:
        return f"join {role.instance}"

    def look(self) -> EngineView:
        if self.unavailable:
            raise UnavailableError("the engine does not answer", Call("fake", "here", "look"))
        now = self._now()
        self.cloud.world.settle()
        newest: dict[int, Rented] = {}
        for machine in self.cloud.ledger.machines.values():
            instance = int(machine.tags.get(TAG_ADDRESS, "").rpartition("-")[2])
            if instance not in newest or machine.made_at > newest[instance].made_at:
                newest[instance] = machine
        nodes = [(instance, self._phase(instance, machine, now)) for instance, machine in newest.items()]
        return EngineView(tuple(self._sighting(r, now) for r in self.ran), tuple(sorted(nodes)))

    def _phase(self, instance: int, machine: Rented, now: float) -> NodePhase:
        if machine.asked_to_end is not None:
            return NodePhase.GONE
        if machine.id in self.never_join or now < machine.made_at + self.join_after:
            return NodePhase.JOINING
        return NodePhase.LEAVING if instance in self.leaving else NodePhase.READY

    def _sighting(self, ran: Ran, now: float) -> JobSighting:
        end = ran.began + ran.seconds
        gone = self.cloud.ledger.machines[ran.machine].asked_to_end
        stopped = min((t for t in (ran.stopped, gone) if t is not None), default=None)
        if stopped is not None and stopped < end:
            told = JobPhase.ENDED if ran.stopped is not None else JobPhase.LOST
            if stopped > now:
                return JobSighting(ran.job, ran.attempt, JobPhase.RUNNING, ran.began, progress=self.progress(ran, now))
            code = 143 if told is JobPhase.ENDED else None
            return JobSighting(ran.job, ran.attempt, told, ran.began, stopped, code)
        if now >= end:
            return JobSighting(ran.job, ran.attempt, JobPhase.ENDED, ran.began, end, ran.code)
        return JobSighting(ran.job, ran.attempt, JobPhase.RUNNING, ran.began, progress=self.progress(ran, now))

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        if any((r.job, r.attempt) == (order.id, place.attempt) for r in self.ran):
            return
        machine = self.machine(place.instance)
        if machine is None or self._phase(place.instance, machine, self._now()) is not NodePhase.READY:
            return
        seconds = self.seconds.get(order.id, order.expect or 60.0)
        code = self.codes.get(order.id, 0)
        self.ran.append(Ran(order.id, place.attempt, place.instance, machine.id, self._now(), seconds, code))

    def stop(self, job: str, attempt: int) -> None:
        for ran in self.ran:
            if (ran.job, ran.attempt) == (job, attempt) and ran.stopped is None:
                ran.stopped = self._now()

    def resize(self, job: str, attempt: int, cores: int) -> None:
        self.resized.append((job, cores))

    def warn(self, instance: int, why: str) -> None:
        self.leaving.add(instance)

    def let_go(self, instance: int) -> None:
        pass

    def forget(self, job: str) -> None:
        pass

    def wait(self, seconds: float) -> None:
        self.cloud.clock.advance(max(seconds, 0.001))

    def worst_overlap(self) -> int:
        """How many attempts of one job ever ran at the same time."""
        most = 0
        for _, group in itertools.groupby(sorted(self.ran, key=lambda r: r.job), key=lambda r: r.job):
            spans = [(r.began, self._end(r)) for r in group]
            most = max(most, *(sum(a < e and s < b for s, e in spans) for a, b in spans))
        return most

    def _end(self, ran: Ran) -> float:
        gone = self.cloud.ledger.machines[ran.machine].asked_to_end
        return min(t for t in (ran.began + ran.seconds, ran.stopped, gone) if t is not None)

    def ends_well(self) -> Counter[str]:
        """How often each job ran to its end."""
        return Counter(r.job for r in self.ran if self._end(r) == r.began + r.seconds)


@dataclass
class GivenJobs:
    """Jobs that were handed in; more may be added."""

    orders: list[JobOrder] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    closed: bool = True

    def new(self) -> NewJobs:
        gone, self.cancelled = tuple(self.cancelled), []
        return NewJobs(tuple(self.orders), gone, self.closed)


def setup_of(strategy: str, pool: int, types: tuple[TypeFacts, ...] = TYPES) -> Setup:
    """A controller's setup over two types."""
    loaded = load_strategy(strategy)
    large = len(types) - 1
    rules = compose(loaded, large)
    return Setup(loaded.name, loaded.digest(), rules, rents_whole_servers(loaded), pool, None, types)


def job(name: str, cores: float = 1.0, seconds: float | None = None, submit: float = 0.0, **more: object) -> JobOrder:
    """A job of a test."""
    made = JobOrder(name, submit, ("true",), int(cores * 1000), 512, expect=seconds)
    return replace(made, **more)  # type: ignore[arg-type]


class TornJournal(LiveJournalFile):
    """A journal whose writer may be killed after half of what it writes."""

    def __init__(self, path: Path, whole: int, crash: Callable[[str], None], long: int) -> None:
        super().__init__(path, whole, long)
        self._crash, self._at = crash, path

    def append(self, lines: Iterable[Line]) -> None:
        """Add lines; half of them are there where the writer is killed meanwhile."""
        try:
            self._crash("journal.begun")
        except Killed:
            text = "".join(map(entry_line, lines)).encode()
            with self._at.open("ab") as file:
                file.write(text[: len(text) // 2])
            raise
        super().append(lines)
        self._crash("journal.lasting")


@dataclass
class World:
    """Everything around a controller, and the controller."""

    path: Path
    setup: Setup
    cloud: MemoryCloud
    engine: FakeEngine
    source: GivenJobs
    rhythm: Rhythm = field(default_factory=lambda: Rhythm(period=2.5, look=5.0, join=120.0, settled=0.0, again=2.0))
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    follow: bool = False
    probe: Callable[[int], float | None] | None = None
    measure: Callable[[ServiceTarget], float] | None = None
    used: Callable[[], Mapping[tuple[str, int], float]] | None = None
    known: Teachable | None = None
    replan: Callable[[float], CommitmentsAdvised] | None = None
    replan_every: float = math.inf
    asked: list[Asked] = field(default_factory=list)
    loop: OperatingLoop | None = None
    _file: LiveJournalFile | None = None
    points: Counter[str] = field(default_factory=Counter)
    kill_at: tuple[str, int] | None = None
    kill_number: int = 0
    long: int = LONG
    course: list[str] = field(default_factory=list)
    away: float = 0.0
    origin: LiveOrigin = ORIGIN
    price: Callable[[str, PurchaseOption], Decimal] = field(default=lambda name, option: Decimal("0.10"))
    agents: Callable[[ControlSession], Agents] | None = None
    harvest: HarvestTerms | None = None

    @classmethod
    def of(
        cls,
        path: Path,
        orders: Iterable[JobOrder] = (),
        strategy: str = "SR",
        pool: int = 1,
        *,
        semantics: str = "aws",
        plan: FaultPlan | None = None,
    ) -> World:
        """A world in which nothing has happened yet; submissions count from its beginning."""
        cloud = MemoryCloud(semantics, plan)
        cloud.world.semantics = replace(cloud.world.semantics, types=("large", "small"))
        begins = cloud.clock.now()
        given = [replace(o, submit=begins + o.submit) for o in orders]
        return cls(path, setup_of(strategy, pool), cloud, FakeEngine(cloud), GivenJobs(given))

    def close(self) -> None:
        """Let go of the journal and end the agents."""
        if self.loop is not None and self.loop.desk.parts.agents is not None:
            self.loop.desk.parts.agents.close()
        if self._file is not None:
            self._file.close()

    def crash(self, point: str) -> None:
        """A named point: killed here the so-manieth time, where that was asked for."""
        self.points[point] += 1
        self.course.append(point)
        if len(self.course) == self.kill_number:
            raise Killed(point)
        if self.kill_at == (point, self.points[point]):
            self.kill_at = None
            raise Killed(point)

    def start(self) -> OperatingLoop:
        """A controller, new or after the last one."""
        self.close()
        known = read_journal(self.path) if self.path.exists() and self.path.stat().st_size else None
        fold = Fold(self.setup, self.cloud.clock.now()) if known is None else fold_of(known)
        if known is None:
            session = ControlSession(self.setup, plain())
            self._file = TornJournal(self.path, 0, self.crash, self.long)
            self._file.append_text(header_line(self.setup, self.origin))
        else:
            session, decided = replay(known, plain())
            assert tuple(decided[: len(known.decisions)]) == known.decisions
            self._file = TornJournal(self.path, known.whole_bytes, self.crash, self.long)
            self._file.append_text("".join(map(entry_line, decided[len(known.decisions) :])))
        zones = self.cloud.world.semantics.zones
        terms = Terms(
            Owner(LINEAGE, "test", "0" * 12),
            price=self.price,
            zones=lambda name: zones,
            coin=coin_of,
            limits=self.limits,
            rhythm=self.rhythm,
            probe=self.probe,
            measure=self.measure,
            known=self.known,
            replan=self.replan,
            replan_every=self.replan_every,
            follow=self.follow,
            harvest=self.harvest,
            used=self.used,
        )
        machines = Machines(self.cloud, self.cloud.clock, WaitLimits(ended=30.0, first_poll=0.5), self.rhythm.settled)
        there = self.engine, self.source, machines, self._file, self.cloud.clock, AtOnce()
        agents = None if self.agents is None else self.agents(session)
        parts = Parts(*there, self._requests, self._renew, crash=self.crash, agents=agents)
        self.loop = OperatingLoop(session, fold, parts, terms)
        return self.loop

    def _renew(self, session: ControlSession, fold: Fold) -> None:
        """Begin the journal anew; killed before, within or after."""
        assert self._file is not None
        self.crash("journal.renewing")
        self._file.renew(header_line(self.setup, self.origin), Before(session.snapshot(), fold.image()), fold.last)
        self.crash("journal.renewed")

    def _requests(self) -> list[Asked]:
        found, self.asked = self.asked, []
        return found

    def run(self, passes: int = 5000, until: Callable[[OperatingLoop], bool] | None = None) -> OperatingLoop:
        """Pass after pass until nothing is left to do; a killed controller is begun again."""
        loop = self.loop or self.start()
        for _ in range(passes):
            try:
                if not loop.step():
                    loop.finish()
                    return loop
                if until is not None and until(loop):
                    return loop
                loop.wait()
            except Killed:
                self.cloud.clock.advance(self.away)
                loop = self.start()
        raise AssertionError(f"not done after {passes} passes: {loop.desk.troubles}, {list(loop.fold.active)}")

    @property
    def now(self) -> float:
        """The world's time."""
        return self.cloud.clock.now()

    def standing(self) -> list[str]:
        """The machines that the cloud charges for now."""
        return [m.id for m in self.cloud.ledger.live(self.now)]

    def launched(self) -> Counter[str]:
        """How many machines the cloud ever made for each key."""
        return Counter(m.token for m in self.cloud.ledger.machines.values())

    def check(self, *, completed: int | None = None) -> None:
        """Judge by the ledgers: nothing left, nothing twice, nothing lost."""
        assert self.loop is not None
        fold = self.loop.fold
        assert self.standing() == []
        assert all(count == 1 for count in self.launched().values())
        assert self.engine.worst_overlap() <= 1
        done = self.engine.ends_well()
        for name, record in fold.jobs.items():
            assert record.is_over, name
            if record.result == "completed":
                assert done[name] == 1, (name, done[name])
        if completed is not None:
            assert fold.results.counted.get("completed", 0) == completed, (fold.results.counted, fold.jobs)
        known = read_journal(self.path)
        assert tuple(replay(known, plain())[1]) == known.decisions


def moments(course: Sequence[str]) -> list[int]:
    """The points of a run, by number, at which a killed controller leaves what it did not at the point before: what is
    in the journal is noted, and a pass that brings nothing and does nothing leaves all as it was."""
    both = enumerate(zip(["", *course], course, strict=False), 1)
    same = {(before, crash_points.NOTED) for before in (crash_points.NOTED, "journal.lasting")}
    return [number for number, pair in both if pair not in same]


@contextmanager
def closed_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every world that was begun go of its journal."""
    made: list[World] = []
    start = World.start

    def started(world: World) -> OperatingLoop:
        made.append(world)
        return start(world)

    monkeypatch.setattr(World, "start", started)
    yield
    for world in made:
        world.close()

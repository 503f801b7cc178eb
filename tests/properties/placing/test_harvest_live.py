"""Batch on idle capacity of live work, tick by tick and whatever services use, judged by the ledger of an engine and by
arithmetic of its own; with controllers that are killed anywhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from operating import FakeEngine, GivenJobs, Ran, World, closed_after, job

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.harvested import HarvestRecord
from hcloud.harvest.hosts import IdleHost, class_of, classes_for
from hcloud.harvest.policy import HarvestPolicy
from hcloud.live.harvesting.terms import HarvestTerms, settings_of
from hcloud.model.running.harvest_note import (
    HarvestClass,
    HarvestClasses,
    HarvestNote,
    HarvestOver,
    HarvestYielding,
    Yielded,
)
from hcloud.model.running.job import JobOrder, JobPlace
from hcloud.model.running.note import JobTaken, Note
from hcloud.model.workload import JobKind
from hcloud.readers.harvest.policy import load_harvest
from hcloud.store.journals.journal import read_journal

TICK, STEP = 3, 10.0
POLICY = replace(load_harvest(), live_window=9)
CORES, MEMORY = 8.0, 32768
STAYING = replace(POLICY, most_kills=0, moves_on_slip=False)
RESERVE = 2.7  # a third of 8 vCPUs in tenths
MOST = 0.98 * CORES


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


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
    world.engine = SharedEngine(world.cloud, levels={f"s{n}": own for n, own in enumerate(levels)})
    begins = world.cloud.clock.now()
    source = GivenJobs([replace(o, submit=begins + o.submit) for o in batch])
    world.harvest = HarvestTerms(source, world.engine, policy)
    return world


levels_of = st.lists(st.sampled_from([0.0, 0.2, 1.0, 3.1, 5.5, 7.8]), min_size=2, max_size=8)
batches = st.lists(
    st.tuples(st.sampled_from([0.5, 1.0, 2.0, 5.0]), st.integers(2, 90), st.integers(0, 120)), min_size=1, max_size=12
)


def orders_of(rows: list[tuple[float, int, int]]) -> list[JobOrder]:
    return [
        job(f"b{n}", cores=cores, seconds=float(seconds), submit=float(at))
        for n, (cores, seconds, at) in enumerate(rows)
    ]


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


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(levels_of, min_size=1, max_size=2), batches)
def test_services_come_first(levels: list[list[float]], rows: list[tuple[float, int, int]]) -> None:
    with TemporaryDirectory() as folder:
        world = world_of(Path(folder) / "with.jsonl", levels, orders_of(rows), STAYING)
        run(world)
        assert world.loop is not None
        ledger = world.loop.fold.harvested
        world.check(completed=len(levels))
        assert ledger.counted == {"completed": len(rows)}
        done = world.engine.ends_well()
        assert all(done[f"b{n}"] == 1 for n in range(len(rows))), "each is done once"
        assert ledger.kills == sum(isinstance(e, HarvestOver) and e.result is Yielded.KILLED for e in lines(world))
        spent = sum(
            (world.engine._end(r) - r.began) * rows[int(r.job[1:])][0] for r in world.engine.ran if r.job[0] == "b"
        )
        assert ledger.done + ledger.in_vain == pytest.approx(spent), "the ledger has all that ran"
        alone = world_of(Path(folder) / "without.jsonl", levels, [])
        alone.harvest = None
        alone.run()
        served = [[(r.job, r.instance, r.seconds) for r in w.engine.ran if r.job[0] == "s"] for w in (world, alone)]
        assert served[0] == served[1], "services run as without batch"
        assert others(world.path) == others(alone.path), "and their controller decides the same"


def lines(world: World) -> list[object]:
    return list(read_journal(world.path).lines)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(levels_of, batches, st.integers(3, 400))
def test_a_controller_that_is_killed_anywhere_is_taken_up(
    levels: list[float], rows: list[tuple[float, int, int]], kill: int
) -> None:
    """With jobs that move to machines of their own, where they wait as any other."""
    with TemporaryDirectory() as folder:
        world = world_of(Path(folder) / "journal.jsonl", [levels], orders_of(rows), replace(POLICY, spin_up=20.0))
        world.kill_number = kill
        world.run()
        assert world.loop is not None
        ledger = world.loop.fold.harvested
        moved = ledger.counted.get("moved", 0)
        assert ledger.counted.get("completed", 0) + moved == len(rows)
        taken = [e.order.id for e in lines(world) if isinstance(e, JobTaken)]
        assert sorted(taken) == sorted(["s0", *(n for n, j in ledger.jobs.items() if j.result == "moved")])
        world.check(completed=1 + moved)
        assert all(count == 1 for count in world.engine.ends_well().values()), "nothing is done twice"
        assert max(Counter((r.job, r.attempt) for r in world.engine.ran).values()) == 1


def test_a_job_that_gave_way_too_often_moves_and_keeps_its_count_of_attempts(tmp_path: Path) -> None:
    quiet_and_busy = [0.0, 0.0, 7.0, 0.0]
    world = world_of(tmp_path / "journal.jsonl", [quiet_and_busy], [job("b0", cores=5.0, seconds=35.0)])
    world.run()
    assert world.loop is not None
    notes = [e for e in lines(world) if isinstance(e, HarvestNote)]
    assert sum(isinstance(e, HarvestYielding) for e in notes) == POLICY.most_kills
    assert world.loop.fold.harvested.jobs["b0"].why == "it gave way 3 times"
    taken = next(e for e in lines(world) if isinstance(e, JobTaken) and e.order.id == "b0")
    assert taken.attempt == POLICY.most_kills
    ran = [r for r in world.engine.ran if r.job == "b0"]
    assert [r.attempt for r in ran] == [1, 2, 3, 4]
    world.check(completed=2)


def test_nobody_is_killed_or_begins_while_use_cannot_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hcloud.errors import Call, UnavailableError

    world = world_of(tmp_path / "journal.jsonl", [[0.0, 7.8]], [job("b0", cores=2.0, seconds=300.0)])
    engine = world.engine
    assert isinstance(engine, SharedEngine)
    world.run(until=lambda loop: bool(loop.fold.harvested.running))

    def silent() -> Mapping[tuple[str, int], float]:
        raise UnavailableError("no answer", Call("fake", "here", "seconds"))

    monkeypatch.setattr(engine, "used_seconds", silent)
    for _ in range(40):
        world.run(passes=2, until=lambda loop: True)
        world.engine.wait(1.0)
    assert world.loop is not None
    assert not engine.killed
    assert "use of machines" in world.loop.desk.troubles


def test_a_snapshot_keeps_the_ledger(tmp_path: Path) -> None:
    rows = [(1.0, 30, 10 * n) for n in range(8)]
    world = world_of(tmp_path / "journal.jsonl", [[0.0, 5.5]], orders_of(rows))
    world.long = 1 << 12
    world.kill_number = 90
    world.run()
    assert world.points["journal.renewed"] > 2
    assert world.loop is not None
    ledger = world.loop.fold.harvested
    assert ledger.counted.get("completed", 0) + ledger.counted.get("moved", 0) == len(rows)
    assert Counter(r.job for r in world.engine.ran if world.engine._end(r) == r.began + r.seconds) == Counter(
        {"s0": 1, **{f"b{n}": 1 for n in range(8)}}
    )


CLASSES = HarvestClasses(
    0.0,
    short=20.0,
    long=60.0,
    classes=(
        HarvestClass("constant-1", 0.1, 0.12, (1.0, 2.0, 3.0), ("s0",)),
        HarvestClass("unpredictable-1", 0.1, 0.9, (3.0, 1.0, 1.0), ("s1",)),
    ),
)


def test_long_jobs_are_put_where_capacity_lasts(tmp_path: Path) -> None:
    """Of two services one is steady and one not; long jobs have room only where the peak leaves it."""
    rows = [job(f"b{n}", cores=0.5, seconds=90.0 if n % 2 else 10.0, submit=15.0) for n in range(8)]
    world = world_of(tmp_path / "journal.jsonl", [[0.5], [0.5]], rows, STAYING)
    assert world.harvest is not None
    world.harvest = replace(world.harvest, classes=CLASSES)
    world.kill_number = 60
    world.run()
    assert world.loop is not None
    ledger = world.loop.fold.harvested
    assert ledger.classes is not None
    assert ledger.counted == {"completed": 8}
    machine = {r.job: r.instance for r in world.engine.ran}
    long, short = ([j for n, j in ledger.jobs.items() if (int(n[1:]) % 2 == 1) is is_long] for is_long in (True, False))
    assert {j.classes for j in long} == {("constant-1",)}
    assert {machine[j.order.id] for j in long} == {machine["s0"]}
    assert all(len(j.classes) == 1 for j in short)
    assert {c for j in short for c in j.classes} <= {"constant-1", "unpredictable-1"}
    of = {"constant-1": machine["s0"], "unpredictable-1": machine["s1"]}
    assert all(machine[j.order.id] == of[j.classes[0]] for j in short)


def test_who_has_no_room_anywhere_gets_no_class_and_any_machine() -> None:
    rules = settings_of(POLICY, 0.0)
    busy = IdleHost(0, 8000, MEMORY, 0.1, 0.1, 512, (), ("s1",))
    empty = IdleHost(1, 8000, MEMORY, 0.0, 0.0, 0)
    mixed = IdleHost(2, 8000, MEMORY, 0.1, 0.1, 512, (), ("s0", "s1"))
    assert [class_of(host, CLASSES) for host in (busy, empty, mixed)] == ["unpredictable-1", "no service", "unknown"]
    by = (rules, [123, 456])
    assert classes_for((500, 64), 100.0, [busy], CLASSES, by) == (), "its peak leaves nothing to a long job"
    assert classes_for((500, 64), 10.0, [busy], CLASSES, by) == ("unpredictable-1",)
    assert classes_for((6000, 64), 10.0, [busy, empty], CLASSES, by) == (), "6 vCPUs are not there beside a reserve"
    chance = np.random.default_rng(0).integers(1, 2_000_000_000, (899, 2)).tolist()
    drawn = Counter(classes_for((500, 64), 10.0, [busy, empty], CLASSES, (rules, one))[0] for one in chance)
    room = {"unpredictable-1": 3 * ((8000 - 2700 - 800) // 500), "no service": (8000 - 2700) // 500}
    for name, weight in room.items():
        assert drawn[name] / 899 == pytest.approx(weight / sum(room.values()), abs=0.06)


def test_a_job_whose_class_is_gone_may_have_any_machine(tmp_path: Path) -> None:
    rows = [job(f"b{n}", cores=4.0, seconds=90.0, submit=10.0) for n in range(2)]
    world = world_of(tmp_path / "journal.jsonl", [[0.5]], rows, STAYING)
    assert world.harvest is not None
    world.harvest = replace(world.harvest, classes=CLASSES)
    world.engine.seconds["s0"] = 60.0
    world.run()
    assert world.loop is not None
    found = world.loop.fold.harvested
    assert {one.classes for one in found.jobs.values()} == {("constant-1",)}
    assert found.counted == {"completed": 2}, "the second begins when the first ends, after the service did"

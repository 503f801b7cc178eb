"""Batch on idle capacity of live work, tick by tick and whatever services use, judged by the ledger of an engine and by
arithmetic of its own; with controllers that are killed anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from idle_worlds import MEMORY, POLICY, STAYING, SharedEngine, lines, others, run, world_of
from operating import closed_after, job

from hcloud.harvest.hosts import IdleHost, class_of, classes_for
from hcloud.live.harvesting.terms import settings_of
from hcloud.model.running.harvest_note import (
    HarvestClass,
    HarvestClasses,
    HarvestNote,
    HarvestOver,
    HarvestYielding,
    Yielded,
)
from hcloud.model.running.job import JobOrder
from hcloud.model.running.note import Asked, JobTaken


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


levels_of = st.lists(st.sampled_from([0.0, 0.2, 1.0, 3.1, 5.5, 7.8]), min_size=2, max_size=8)
batches = st.lists(
    st.tuples(st.sampled_from([0.5, 1.0, 2.0, 5.0]), st.integers(2, 90), st.integers(0, 120)), min_size=1, max_size=12
)


def orders_of(rows: list[tuple[float, int, int]]) -> list[JobOrder]:
    return [
        job(f"b{n}", cores=cores, seconds=float(seconds), submit=float(at))
        for n, (cores, seconds, at) in enumerate(rows)
    ]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    gave = [e for e in notes if isinstance(e, HarvestYielding)]
    assert len(gave) == POLICY.most_kills
    assert all(e.why.startswith(f"services use {e.use:.2f} and batch 5.00 of 8 vCPUs") for e in gave)
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


@pytest.mark.parametrize("is_forced", [False, True])
def test_an_engine_that_does_not_answer_ends_no_job(tmp_path: Path, is_forced: bool) -> None:
    """To a controller that began meanwhile no machine was ready: all jobs gave way and counted as lost, what had ended
    began again, and what ran was stopped."""
    world = world_of(tmp_path / "j", [[0.0]], [job("short", 2.0, 10.0), job("long", 2.0, 120.0)])
    world.run(until=lambda loop: len(world.engine.ran) == 3)
    world.engine.unavailable = True
    loop, until = world.start(), world.now + 30.0
    world.run(until=lambda loop: world.now > until)
    assert len(loop.fold.harvested.running) == 2
    if is_forced:
        world.asked.append(Asked(0.0, "stop --force"))
        world.run()  # which waits for no engine
        assert not world.standing()
        return
    world.engine.unavailable = False
    world.run()
    assert world.engine.ends_well() == {"s0": 1, "short": 1, "long": 1}
    assert len(world.engine.ran) == 3


def test_a_job_that_gives_way_is_not_over_while_its_engine_does_not_answer(tmp_path: Path) -> None:
    """Who goes on sees nothing of it, though it may run, or have ended."""
    world = world_of(tmp_path / "j", [[0.0]], [job("long", 2.0, 120.0)])
    world.run(until=lambda loop: len(world.engine.ran) == 2)
    world.asked.append(Asked(0.0, "cancel", "long"))
    loop = world.run(until=lambda loop: any(one.yields for one in loop.fold.harvested.running))
    world.engine.unavailable = True
    loop, until = world.start(), world.now + 30.0
    world.run(until=lambda loop: world.now > until)
    assert len(loop.fold.harvested.running) == 1
    world.engine.unavailable = False
    world.run()
    assert not world.standing()


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
    assert classes_for((1, 500, 64), 100.0, [busy], CLASSES, by) == (), "its peak leaves nothing to a long job"
    assert classes_for((1, 500, 64), 10.0, [busy], CLASSES, by) == ("unpredictable-1",)
    assert classes_for((1, 6000, 64), 10.0, [busy, empty], CLASSES, by) == (), "6 vCPUs are not there beside a reserve"
    chance = np.random.default_rng(0).integers(1, 2_000_000_000, (899, 2)).tolist()
    drawn = Counter(classes_for((1, 500, 64), 10.0, [busy, empty], CLASSES, (rules, one))[0] for one in chance)
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

"""The loop of live work where two things go wrong together: judged by what the cloud and the engine really did."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from operating import Killed, World, closed_after, job, setup_of

from benchmarks.b24_live_kills import memory
from hcloud.control.operating.wanted import SpendingLimits, reserve_beyond
from hcloud.errors import Call, EvidenceError, FileError, HcloudError, UnavailableError
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule
from hcloud.live.operating.terms import Line
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.job import EngineView, JobPhase
from hcloud.model.running.note import Asked


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


@pytest.mark.parametrize("what", ["stop", "cancel"])
def test_a_job_that_never_began_can_be_ended(tmp_path: Path, what: str) -> None:
    """Killed when its begin was noted and not yet said, and ended by the first request to the next controller."""
    world = World.of(tmp_path / "j", [job("one", seconds=50.0)], "SR", 1)
    world.kill_at = ("operate.begin", 1)
    loop = world.start()
    with suppress(Killed):
        while loop.step():
            loop.wait()
    assert not world.engine.ran
    world.asked.append(Asked(0.0, what, "one"))
    world.start()
    loop = world.run(passes=300)
    world.check()
    assert loop.fold.jobs["one"].result == "cancelled"
    assert not world.engine.ran


@pytest.mark.parametrize("again", [FaultKind.NO_CAPACITY, FaultKind.DENIED, FaultKind.QUOTA])
def test_a_machine_launched_without_an_answer_and_then_refused_is_ended(tmp_path: Path, again: FaultKind) -> None:
    rules = (
        FaultRule(on="launch", answer=FaultKind.DROPPED_AFTER, calls=(1,)),
        FaultRule(on="launch", answer=again, from_call=2),
    )
    world = World.of(tmp_path / "j", [job("one", seconds=50.0)], "OdF", 0, plan=FaultPlan(rules=rules))
    world.start()
    for _ in range(3):
        assert world.loop is not None
        world.loop.step()
        world.loop.wait()
    world.asked.append(Asked(0.0, "stop"))
    world.run(passes=300)
    world.check()


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_a_job_that_ended_before_its_machine_did_is_not_lost(tmp_path: Path, again: bool) -> None:
    """The engine does not answer in the minute in which the job ends, and then its machine."""
    orders = [job("one", seconds=50.0, restartable=again), job("two", seconds=400.0)]
    world = World.of(tmp_path / "j", orders, "SR", 1)
    world.run(until=lambda loop: len(world.engine.ran) == 2)
    world.engine.unavailable = True
    ended = world.now + 60.0
    world.run(until=lambda loop: world.now > ended)
    for machine in list(world.cloud.ledger.machines.values()):
        world.cloud.world.end(machine)
    world.run(until=lambda loop: world.now > ended + 60.0)
    world.engine.unavailable = False
    loop = world.run(passes=1000)
    world.check()
    assert loop.fold.jobs["one"].result == "completed"
    assert loop.fold.jobs["two"].result == "lost"
    assert len(world.engine.ran) == 2


def test_a_job_of_which_something_still_runs_is_not_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine is gone, and the engine cannot say for a minute whether its processes are."""
    world = World.of(tmp_path / "j", [job("one", seconds=50.0, restartable=True)], "OdF", 0)
    world.run(until=lambda loop: len(world.engine.ran) == 1)
    look, since = world.engine.look, world.now + 60.0

    def unsure() -> EngineView:
        view = look()
        if world.now >= since:
            return view
        jobs = (replace(s, phase=JobPhase.UNKNOWN) if s.phase is JobPhase.LOST else s for s in view.jobs)
        return EngineView(tuple(jobs), view.nodes)

    monkeypatch.setattr(world.engine, "look", unsure)
    for machine in list(world.cloud.ledger.machines.values()):
        world.cloud.world.end(machine)
    world.run(passes=1000)
    world.check(completed=1)
    assert [ran.began >= since for ran in world.engine.ran] == [False, True]


def test_an_engine_that_cannot_let_a_machine_go_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World.of(tmp_path / "j", [job("one", seconds=5.0)], "OdF", 0)
    asked: list[int] = []

    def full(instance: int) -> None:
        asked.append(instance)
        if len(asked) < 4:
            raise FileError("no room")

    def forget(job: str) -> None:
        if len(asked) < 4:
            raise UnavailableError("not now", Call("fake", "here", "forget"))

    monkeypatch.setattr(world.engine, "let_go", full)
    monkeypatch.setattr(world.engine, "forget", forget)
    world.run(passes=1000)
    world.check(completed=1)
    assert len(asked) == 4


@pytest.mark.parametrize("at", range(1, 40, 6))
def test_the_journal_takes_nothing_for_half_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    orders = [job(f"j{n}", seconds=20.0 + n, submit=4.0 * n, restartable=n % 2 == 0) for n in range(6)]
    world = World.of(tmp_path / "j", orders, "HM", 1)
    world.start()
    assert world._file is not None
    append, calls = world._file.append, itertools.count()

    def full(lines: Iterable[Line]) -> None:
        if at <= next(calls) < at + 30:
            raise HcloudError("no room")
        append(lines)

    monkeypatch.setattr(world._file, "append", full)
    world.run()
    world.check(completed=6)


def test_a_full_journal_brings_no_new_jobs_and_does_not_open_what_was_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a machine of the reserve that ends meanwhile would be replaced. And what it is asked for stays asked for
    until it has noted that: it was forgotten at the next pass, and gone when the controller was killed."""
    world = World.of(tmp_path / "j", [job("one", seconds=5.0)], "SR", 2)
    loop = world.run(until=lambda loop: loop.desk.finishing)
    heard = list[int]()
    monkeypatch.setattr(loop.desk.parts, "requests", lambda: heard.append(1) or ())  # type: ignore[func-returns-value]

    def full(lines: object) -> None:
        raise HcloudError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(world._file, "append", full)
        loop.step()
        loop.step()
        assert loop.desk.finishing
        assert len(heard) == 1
    world.run(passes=300)
    world.check(completed=1)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (SpendingLimits(machines=2, hourly=Decimal("0.20")), ""),
        (SpendingLimits(machines=1), "--max-machines 1: the reserve alone is 2 machines"),
        (SpendingLimits(hourly=Decimal("0.19")), "--max-hourly 0.19: the reserve alone is $0.2000/h"),
    ],
)
def test_limits_hold_the_reserve(limits: SpendingLimits, why: str) -> None:
    assert reserve_beyond(setup_of("HM", 2), lambda name, option: Decimal("0.10"), limits) == why


def test_work_whose_machines_are_kept_is_not_finished(tmp_path: Path) -> None:
    """The next controller has them, and ends them when it is asked to."""
    world = World.of(tmp_path / "j", [job("one", seconds=500.0)], "SR", 2)
    world.run(until=lambda loop: bool(world.engine.ran))
    world.asked.append(Asked(0.0, "stop --keep-machines"))
    loop = world.run(passes=300)
    assert len(world.standing()) == 2
    assert not loop.fold.is_finished
    world.asked.append(Asked(0.0, "stop"))
    world.start()
    assert world.run(passes=300).fold.is_finished
    world.check()


def test_a_price_that_went_missing_holds_launches_and_ends_nothing(tmp_path: Path) -> None:
    """Work that goes on after the price book changed: what runs goes on, the rest waits, and says why."""
    world = World.of(tmp_path / "j", [job("one", seconds=50.0), job("two", seconds=5.0, submit=20.0)], "OdF", 0)
    loop = world.run(until=lambda loop: bool(world.engine.ran))

    def missing(name: str, option: PurchaseOption) -> Decimal:
        raise EvidenceError(f"{name}: the price book has no such price")

    world.price = missing
    loop = world.start()
    loop = world.run(until=lambda loop: any("no such price" in m.why for m in loop.fold.standing.values()))
    assert len(world.launched()) == 1
    loop = world.run(until=lambda loop: loop.fold.results.counted.get("completed") == 1)
    assert loop.fold.jobs["one"].result == "completed"
    world.asked.append(Asked(0.0, "stop"))
    world.run()
    world.check()
    assert len(world.launched()) == 1


def test_a_machine_that_is_ready_at_the_very_end_of_a_control_period(tmp_path: Path) -> None:
    """What comes before it in the order of one moment also does so when the journal is gone through again. The seed is
    one of which a machine became ready so, with half of all launches refused."""
    rules = (FaultRule(on="launch", answer=FaultKind.NO_CAPACITY, probability=0.5),)
    orders = [job(f"j{n}", 1 + n % 2, 40.0 + n, 5.0 * n, restartable=n % 3 == 0) for n in range(12)]
    world = World.of(tmp_path / "j", orders, "HM", 1, plan=FaultPlan(rules=rules, seed=83))
    world.run()
    world.check(completed=12)


def test_a_controller_that_is_killed_at_random_loses_and_doubles_nothing() -> None:
    """As B24 has it, which could not be run any more."""
    assert all(found.kills and not found.wrong for _, found in memory(1, 1))

"""Jobs whose estimate was wrong: it is fitted anew with what was seen, they are placed anew, and later jobs know it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from operating import World, closed_after, job

from hcloud.errors import InputError
from hcloud.live.operating.loop import OperatingLoop
from hcloud.model.measured.seen import FittedVector, SeenRun
from hcloud.model.running.event import UNKNOWN, Arrival, BelowQos, Reclassified
from hcloud.model.running.job import JobOrder, ServiceTarget, TargetKind
from hcloud.model.running.note import EstimateFitted
from hcloud.model.workload import JobKind
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.operating.operate import fold_of

TARGET = ServiceTarget(TargetKind.COMMAND, "latency", 100.0)
SENSITIVE = (95, *(20,) * 9)


@dataclass
class Taught:
    """What is known of applications, and what was asked of it."""

    vector: tuple[int, ...] | None = SENSITIVE
    seen: list[SeenRun] = field(default_factory=list)
    recorded: list[SeenRun] = field(default_factory=list)

    def refit(self, seen: SeenRun) -> FittedVector | None:
        self.seen.append(seen)
        return None if self.vector is None else FittedVector(self.vector, "seen")

    def record(self, runs: Sequence[SeenRun]) -> None:
        self.recorded += runs


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


def web(name: str, submit: float = 0.0, **more: object) -> JobOrder:
    """A service that needs a quiet machine, of which nothing is known."""
    about = {"kind": JobKind.SERVICE, "target": TARGET, "restartable": True, "app": "web", **more}
    return job(name, cores=2, seconds=100.0, submit=submit, **about)


def noisy(path: Path, orders: Sequence[JobOrder], known: Taught | None, quality: float = 0.8) -> World:
    """Services go to small rented machines with neighbours; they only keep their target on large and reserved ones."""
    filler = job("filler", cores=7, seconds=200.0, submit=-1.0)
    world = World.of(path, [filler, *orders], "HM", 1)
    world.known, world.probe = known, lambda instance: quality
    world.measure = lambda target: 400.0 if on_small(world) else 50.0
    return world


def on_small(world: World) -> bool:
    """Whether the last attempt of a service runs on a small machine."""
    runs = [r for r in world.engine.ran if r.job.startswith("w")]
    return world.cloud.ledger.machines[runs[-1].machine].instance_type == "small"


def troubles_of(world: World) -> set[str]:
    """All that could not be done while it ran."""
    said: set[str] = set()

    def hear(loop: OperatingLoop) -> bool:
        said.update(loop.desk.troubles.values())
        return False

    world.run(until=hear)
    return said


@pytest.mark.slow
def test_a_misclassified_service_is_placed_anew_by_its_corrected_estimate(tmp_path: Path) -> None:
    known = Taught()
    world = noisy(tmp_path / "j", [web("w1"), web("w2", 90.0)], known)
    loop = world.run()
    world.check(completed=3)
    types = [(r.job, world.cloud.ledger.machines[r.machine].instance_type) for r in world.engine.ran]
    assert types == [("filler", "large"), ("w1", "small"), ("w1", "small"), ("w1", "large"), ("w2", "large")]
    assert [(s.app, s.type_name, s.quality, s.share) for s in known.seen] == [("web", "small", 0.8, 0.25)]
    assert known.seen[0].pressure == pytest.approx((19.8,) * 10)
    lines = read_journal(tmp_path / "j").lines
    assert [(e.job, e.estimate) for e in lines if isinstance(e, Reclassified)] == [("w1", SENSITIVE)]
    assert [a.vector for a in lines if isinstance(a, Arrival)] == [UNKNOWN, UNKNOWN, SENSITIVE]
    assert loop.desk.troubles == {}


@pytest.mark.slow
def test_what_was_learnt_outlives_the_controller_and_its_snapshots(tmp_path: Path) -> None:
    world = noisy(tmp_path / "j", [web("w1"), web("w2", 90.0)], Taught())
    world.run(until=lambda loop: bool(loop.fold.fitted))
    world.known, world.long = Taught(vector=None), 12_000
    world.start()
    world.run()
    world.check(completed=3)
    assert world.points["journal.renewed"] > 0
    assert fold_of(read_journal(tmp_path / "j")).fitted["web"].vector == SENSITIVE
    last = world.engine.ran[-1]
    assert (last.job, world.cloud.ledger.machines[last.machine].instance_type) == ("w2", "large")


@pytest.mark.slow
def test_jobs_that_have_not_begun_are_told_and_those_that_keep_their_target_are_left(tmp_path: Path) -> None:
    known = Taught()
    later = [web("late", 58.0, restartable=False), web("good", target=None), web("waits", 85.0, target=None)]
    world = noisy(tmp_path / "j", [web("w1"), *later], known)
    world.engine.join_after = 25.0
    world.run()
    world.check(completed=5)
    told = [(e.job, e.performance) for e in read_journal(tmp_path / "j").lines if isinstance(e, Reclassified)]
    assert told == [("w1", 0.25), ("waits", 1.0), ("late", 0.25)], "late ran already, and needed no fit of its own"
    assert len(known.seen) == 1


def test_a_miss_that_the_estimate_foretold_corrects_nothing(tmp_path: Path) -> None:
    known = Taught()
    world = noisy(tmp_path / "j", [web("w1")], known, quality=0.3)
    loop = world.run()
    world.check(completed=2)
    events = read_journal(tmp_path / "j").events
    assert any(isinstance(e, BelowQos) for e in events)
    assert known.seen == []
    assert not any(isinstance(e, Reclassified) for e in events)
    assert loop.fold.fitted == {}


def test_where_nothing_presses_the_size_or_the_target_is_said_to_be_wrong(tmp_path: Path) -> None:
    known = Taught()
    world = noisy(tmp_path / "j", [web("w1")], known, quality=1.0)
    said = troubles_of(world)
    assert known.seen == []
    assert said == {"w1 misses its target, and nothing presses on it there: its size or its target is wrong"}
    assert world.loop is not None
    assert world.loop.desk.troubles == {}, "it is over"
    assert vars(vars(world.loop)["_learner"])["_looks"] == {}


@pytest.mark.slow
def test_what_was_measured_is_not_taken_for_wrong(tmp_path: Path) -> None:
    known = Taught(vector=None)
    world = noisy(tmp_path / "j", [web("w1")], known)
    said = troubles_of(world)
    assert len(known.seen) == 1, "asked once"
    assert said == {"w1 misses its target, and what it tolerates was measured: its size or its target is wrong"}


@pytest.mark.slow
def test_a_change_of_phase_is_told_as_one(tmp_path: Path) -> None:
    known = Taught()
    world = noisy(tmp_path / "j", [web("w1")], known)
    begins = world.now
    world.measure = lambda target: 400.0 if on_small(world) and world.now > begins + 50.0 else 50.0
    world.run()
    world.check(completed=2)
    assert [s.phase for s in known.seen] == [True]


@pytest.mark.slow
def test_runs_are_recorded_by_type_and_quality_when_they_end(tmp_path: Path) -> None:
    known = Taught()
    slow = [job(f"b{n}", seconds=40.0, submit=90.0 * n, app="etl") for n in range(2)]
    limit = job("z", seconds=40.0, app="etl", is_limit=True)
    other = [job("x", seconds=40.0), job("y", app="etl"), limit]
    world = noisy(tmp_path / "j", [*slow, *other, web("w1", restartable=False)], known)
    world.engine.seconds.update(b0=80.0, b1=20.0)
    world.run()
    world.check(completed=7)
    told = {(r.app, r.kind, round(r.share, 2)) for r in known.recorded}
    assert told == {("etl", JobKind.BATCH, 0.5), ("etl", JobKind.BATCH, 2.0), ("web", JobKind.SERVICE, 0.25)}
    assert {r.quality for r in known.recorded if r.app == "web"} == {0.8}


@pytest.mark.parametrize("mended", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_profiles_that_cannot_be_written_stop_nothing(tmp_path: Path, mended: bool) -> None:
    class Broken(Taught):
        def record(self, runs: Sequence[SeenRun]) -> None:
            if not mended:
                raise InputError("web.profile.yaml: damaged")

        def refit(self, seen: SeenRun) -> FittedVector | None:
            raise InputError("web.profile.yaml: damaged")

    world = noisy(tmp_path / "j", [web("w1")], Broken())
    loop = world.run()
    world.check(completed=2)
    assert loop.desk.troubles.get("profiles", "") == ("" if mended else "web.profile.yaml: damaged")


def test_the_journal_says_why_an_estimate_changed(tmp_path: Path) -> None:
    world = noisy(tmp_path / "j", [web("w1")], Taught())
    world.run()
    notes = [line for line in read_journal(tmp_path / "j").lines if isinstance(line, EstimateFitted)]
    assert [(n.app, n.vector, n.why) for n in notes] == [("web", SENSITIVE, "seen")]

"""Reports of the journal of live work: quality by what jobs are, waits as they were, and what was expected of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from operating import World, closed_after, job

from hcloud.cli.main import run as cli
from hcloud.control.sessions.story import Story
from hcloud.model.running.job import JobOrder, ServiceTarget, TargetKind
from hcloud.model.running.note import Asked
from hcloud.model.workload import JobKind
from hcloud.planning.reports.journeys import journeys_of
from hcloud.planning.reports.quality import GroupQuality
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.live import read_whole
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.reports.accuracy import estimates_of
from hcloud.usecases.reports.quality import report_quality


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


TARGET = ServiceTarget(TargetKind.COMMAND, "latency", 100.0)


def service(name: str) -> JobOrder:
    return job(name, kind=JobKind.SERVICE, target=TARGET)


def groups(path: Path) -> dict[str, GroupQuality]:
    return {g.group: g for g in report_quality(path).groups}


@pytest.mark.slow
def test_what_may_not_begin_anew_is_no_service(tmp_path: Path) -> None:
    """Batch is judged by the seconds that were expected, a service by its latency, and the rest not at all."""
    orders = [
        *(job(f"good-{n}", seconds=60.0, app="etl") for n in range(3)),
        job("slow", seconds=60.0, app="etl"),
        job("silent"),
        service("web"),
    ]
    world = World.of(tmp_path / "j", orders, "SR", 4)
    world.engine.seconds = {"slow": 120.0, "web": 90.0}
    world.measure = lambda target: 200.0 if world.now % 20 < 10 else 50.0
    world.rhythm = replace(world.rhythm, measure=1.0)
    world.run()
    found = groups(world.path)
    assert (found["batch"].jobs, found["batch"].judged, found["service"].jobs) == (5, 4, 1)
    assert found["etl/"].jobs == 4
    assert found["batch"].p5 == pytest.approx(0.5, abs=0.1), "the slow one"
    kept = found["service"].median
    assert kept is not None
    assert 0.5 < kept < 1.0, "half of its looks were at half of its target"
    assert found["service"].judged == 1
    assert "1 job not judged" in " ".join(report_quality(world.path).notes)


def test_jobs_that_failed_were_cancelled_or_lost_are_counted_apart(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", [job(f"j{n}", cores=2, seconds=100.0) for n in range(8)], "SR", 2)
    world.source.orders[5] = replace(world.source.orders[5], expect=None)
    world.engine.seconds = {"j5": 100.0}
    world.engine.codes = {"j0": 1, "j1": 3}
    world.source.closed = False
    world.run(until=lambda loop: len(world.engine.ran) >= 8)
    world.source.cancelled, world.source.closed = ["j3"], True
    lost = world.engine.machine(1)
    assert lost is not None
    world.cloud.world.end(lost)
    loop = world.run()
    assert (loop.fold.jobs["j5"].result, loop.fold.jobs["j5"].order.expect) == ("lost", None)
    assert "not judged" not in " ".join(report_quality(world.path).notes), "it counts as a miss"
    whole = groups(world.path)["all jobs"]
    counted = {name: getattr(whole, name) for name in ("failed", "cancelled", "lost")}
    assert counted == {name: loop.fold.results.counted[name] for name in counted}
    assert whole.judged == 8 - whole.failed - whole.cancelled
    assert whole.kept is not None
    assert whole.kept <= (whole.judged - whole.lost) / whole.judged


def test_a_service_that_was_stopped_is_judged_until_then(tmp_path: Path) -> None:
    """The screen and the report say the same of it, while it runs and afterwards."""
    world = World.of(tmp_path / "j", [service("one"), service("other")], "SR", 2)
    world.engine.seconds = {"one": 1e6, "other": 1e6}
    world.measure, world.rhythm = lambda target: 50.0, replace(world.rhythm, measure=5.0)
    world.run(until=lambda loop: world.now > loop.fold.began + 100)
    assert world.loop is not None
    assert world.loop.fold.kept_so_far() == (2, 2)
    world.measure = None
    world.asked.append(Asked(0.0, "stop"))
    loop = world.run()
    assert loop.fold.kept_so_far() == (2, 2)
    whole = groups(world.path)["all jobs"]
    assert (whole.kept, whole.judged, whole.cancelled) == (1.0, 2, 2)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["SR", "HM"])
def test_waits_are_those_of_the_engine(tmp_path: Path, strategy: str) -> None:
    """Seconds from the submission to when the engine began the first attempt, also where it began anew."""
    orders = [job(f"j{n}", cores=3, seconds=50.0, submit=7.0 * n, restartable=True) for n in range(10)]
    world = World.of(tmp_path / "j", orders, strategy, 1)
    world.run(until=lambda loop: len(world.engine.ran) >= 3)
    running = next(r for r in world.engine.ran if world.now < r.began + r.seconds)
    world.cloud.world.end(world.cloud.ledger.machines[running.machine])
    world.run()
    world.check(completed=10)
    first = {r.job: r.began for r in reversed(world.engine.ran)}
    last = {r.job: r for r in world.engine.ran}
    for one in journeys_of(read_whole(world.path).lines):
        assert one.order is not None
        assert one.waited == pytest.approx(first[one.job] - one.order.submit, abs=1e-6)
        assert one.ran == pytest.approx(last[one.job].seconds, abs=1e-6)
        assert one.ended == pytest.approx(last[one.job].began + last[one.job].seconds, abs=1e-6)


@pytest.mark.slow
def test_parts_that_were_put_aside_count(tmp_path: Path) -> None:
    """Of a journal that began anew every report tells all, and of its first part what was so far."""
    orders = [job(f"j{n}", cores=1 + n % 2, seconds=40.0 + n, submit=5.0 * n) for n in range(12)]
    found = []
    for name, long in (("once", 1 << 30), ("anew", 4_000)):
        world = World.of(tmp_path / name / "journal.jsonl", orders, "HM", 1)
        world.path.parent.mkdir()
        world.long = long
        world.cloud.clock.advance(1_800_000_000.0 - world.now)
        world.source.orders = [replace(o, submit=world.now + o.submit - orders[0].submit) for o in orders]
        world.run()
        found.append(replace(report_quality(world.path), name=""))
    assert len(list(world.path.parent.glob("journal.*.jsonl"))) >= 3
    assert found[0] == found[1]
    assert report_quality(world.path.with_name("journal.2.jsonl")).groups[0].jobs <= 12
    story = explain_job(world.path, "j0")
    assert isinstance(story, Story)
    assert story.arrival.job == "j0", "it came in the first part"
    world.path.with_name("journal.1.jsonl").unlink()
    assert cli(["report", "quality", str(world.path)]) == 1


@pytest.mark.slow
def test_what_was_expected_is_held_against_what_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Machines are probed at 0.5, start in 5 s where 30 are expected, and jobs take twice as long as was said."""
    orders = [job(f"j{n}", cores=2, seconds=40.0, submit=3.0 * n) for n in range(12)]
    world = World.of(tmp_path / "j", orders, "HM", 1)
    world.engine.seconds = {o.id: 80.0 for o in orders}
    world.probe = lambda instance: 0.50049
    world.run()
    figures = {f.name.partition(" of ")[0]: f for f in estimates_of(read_whole(world.path), plain()).figures}
    launched = next(f for f in estimates_of(read_whole(world.path), plain()).figures if "launched" in f.name)
    assert float(launched.predicted or 0) == 30.0
    assert 5.0 <= float(launched.actual or 0) <= 10.0
    assert float(figures["quality"].actual or 0) == 0.50049
    assert (float(figures["run"].predicted or 0), float(figures["run"].actual or 0)) == (40.0, 80.0)
    assert cli(["report", "accuracy", "--journal", str(world.path)]) == 0
    shown = next(line for line in capsys.readouterr().out.splitlines() if "quality of" in line)
    assert " 50.0 " in shown, "rounded once: by way of four digits it would be 50.1"

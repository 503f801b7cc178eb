"""A live machine of the reserve gets no other job while one of its jobs is below its target, where a strategy has it
so; ``explain`` says why a job waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from operating import World, closed_after, job

from hcloud.control.operating.records import MachinePhase
from hcloud.control.sessions.story import Story
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Closing
from hcloud.model.running.job import ServiceTarget, TargetKind
from hcloud.model.running.note import Asked
from hcloud.model.workload import JobKind
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.views.live.operating import Moment, held_line, operating_screen

WATCHING = Path(__file__).parents[3] / "policies" / "watchings" / "reactive.yaml"
TARGET = ServiceTarget(TargetKind.COMMAND, "true", 100.0)
RECOVERS, ENDS = 40.0, 80.0
"""Seconds after its begin."""


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


def test_whoever_looks_is_told_of_a_machine_that_its_engine_drains(tmp_path: Path) -> None:
    """Jobs waited for a reserved node that somebody had drained, and nobody said why; until it is opened again."""
    world = World.of(tmp_path / "j", [job("a", seconds=30.0), job("later", seconds=5.0, submit=20.0)], "SR", 1)
    loop = world.run(until=lambda loop: bool(world.engine.ran))
    world.engine.leaving.add(0)
    world.run(until=lambda loop: bool(loop.fold.queue))
    (held,) = loop.newly_held()
    assert "machine 0 (large) is drained in its engine" in held_line(held, world.now)
    assert not loop.newly_held()
    assert any("machine 0: drained" in str(line) for line in operating_screen(loop.fold, Moment(world.now)))
    world.start()
    world.engine.leaving.clear()
    world.run(until=lambda loop: len(world.engine.ran) == 2)
    assert not world.start().fold.machines[0].why
    world.run()
    world.check(completed=2)


@pytest.mark.parametrize("asked", ["", "stop", "gone"])
def test_a_machine_that_was_drained_and_ends_is_not_said_to_wait_for_somebody(tmp_path: Path, asked: str) -> None:
    world = World.of(tmp_path / "j", [job("a", seconds=30.0), job("b", seconds=200.0)], "OdM", 0)
    loop = world.run(until=lambda loop: len(world.engine.ran) == 2)
    world.engine.leaving.add(drained := loop.fold.jobs["a"].on or 0)
    world.run(until=lambda loop: bool(loop.newly_held()))
    if asked == "gone":
        world.cloud.terminate([loop.fold.machines[drained].id])
    world.asked = [Asked(0.0, asked)] if asked == "stop" else []
    loop = world.run(until=lambda loop: loop.fold.machines[drained].phase is not MachinePhase.READY)
    assert asked != "gone" or loop.fold.machines[drained].why == "it does not run jobs any more"
    for known in (loop, world.start()):
        assert "drained" not in known.fold.machines[drained].why
    world.run()
    world.check()


@pytest.mark.parametrize("recovers", [True, False])
def test_a_machine_is_closed_until_its_service_is_back_or_has_ended(tmp_path: Path, *, recovers: bool) -> None:
    stated = WATCHING.read_text(encoding="utf-8").replace(
        "closes_server:\n      value: false", "closes_server:\n      value: true"
    )
    watching = tmp_path / "closing.yaml"
    watching.write_text(stated, encoding="utf-8")
    web = job("web", cores=2.0, seconds=ENDS, kind=JobKind.SERVICE, target=TARGET)
    world = World.of(tmp_path / "j", [web, job("later", seconds=5.0, submit=20.0)], f"SR+{watching}", 1)
    began = world.now
    world.measure = lambda _: 10.0 if recovers and world.now - began > RECOVERS else 500.0
    world.run()
    world.check(completed=2)
    lines = read_journal(world.path).lines
    first, last = [e for e in lines if isinstance(e, Closing)]
    assert (first.instance, first.over, first.suffers) == (0, False, "web")
    assert (last.instance, last.over) == (0, True)
    assert first.at - began < 20.0
    assert (last.at - began < ENDS) is recovers
    (placed,) = (e for e in lines if isinstance(e, Decision) and e.job == "later" and e.action is DecisionAction.PLACE)
    assert placed.at >= last.at
    story = explain_job(world.path, "later")
    assert isinstance(story, Story)
    assert story.considered is not None
    (why,) = (one.reason for one in story.considered.refused if one.option == "reserved pool")
    assert why.endswith("1 reserved server closed to other jobs: a job there is below target")

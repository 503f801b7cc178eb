"""Graphs of tasks on idle capacity of live work: what comes after what, judged by the ledger of an engine; with
controllers that are killed anywhere, and tasks that move to machines of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from idle_worlds import CORES, POLICY, STAYING, run, world_of
from operating import World, closed_after

from hcloud.control.operating.harvested import HarvestLedger, HarvestStory
from hcloud.control.sessions.story import Story
from hcloud.harvest.hosts import IdleHost, classes_for
from hcloud.harvest.tasks.dags import dag_of, largest_of, slip_of
from hcloud.live.harvesting.terms import settings_of
from hcloud.model.running.harvest_note import HarvestClass, HarvestClasses
from hcloud.model.running.job_graph import GraphVertex, JobGraph
from hcloud.model.running.note import Asked
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.views.explanations.job import explain_story

BUSY = [0.98 * CORES]


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


def vertex(
    name: str, tasks: int = 1, seconds: float = 10.0, cores: float = 1.0, after: tuple[str, ...] = ()
) -> GraphVertex:
    return GraphVertex(name, tasks, seconds, int(cores * 1000), 512, ("true",), after)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[JobGraph, ...]:
    made = []
    for at in range(draw(st.integers(1, 2))):
        names = [f"v{n}" for n in range(draw(st.integers(1, 4)))]
        vertices = [
            vertex(
                name,
                draw(st.integers(1, 3)),
                float(draw(st.integers(2, 50))),
                draw(st.sampled_from([0.5, 1.0, 5.0])),
                tuple(before for before in names[:n] if draw(st.booleans())),
            )
            for n, name in enumerate(names)
        ]
        made.append(JobGraph(f"g{at}", float(draw(st.integers(0, 60))), tuple(vertices)))
    return tuple(made)


def world_with(path: Path, levels: list[list[float]], found: tuple[JobGraph, ...], policy: object = POLICY) -> World:
    world = world_of(path, levels, [], policy)  # type: ignore[arg-type]
    begins = world.cloud.clock.now()
    assert world.harvest is not None
    coming = tuple(replace(graph, submit=begins + graph.submit) for graph in found)
    world.harvest = replace(world.harvest, graphs=coming)
    return world


def ledger_of(world: World) -> HarvestLedger:
    assert world.loop is not None
    return world.loop.fold.harvested


def check_order(world: World, found: tuple[JobGraph, ...]) -> None:
    """Every task was done once, and none began before all those it comes after were done."""
    began: dict[str, list[float]] = {}
    ended: dict[str, list[float]] = {}
    done = world.engine.ends_well()
    for ran in world.engine.ran:
        began.setdefault(ran.job, []).append(ran.began)
        ended.setdefault(ran.job, []).append(world.engine._end(ran))
    for graph in found:
        tasks: dict[str, list[str]] = {}
        for of, order in graph.orders():
            tasks.setdefault(of, []).append(order.id)
            assert done[order.id] == 1, order.id
        for one in graph.vertices:
            for before in one.after:
                assert min(began[task][0] for task in tasks[one.name]) >= max(ended[task][-1] for task in tasks[before])


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([0.0, 0.2, 3.1, 5.5, 7.8]), min_size=2, max_size=6), graphs())
def test_tasks_begin_when_those_before_them_are_done(levels: list[float], found: tuple[JobGraph, ...]) -> None:
    with TemporaryDirectory() as folder:
        world = world_with(Path(folder) / "journal.jsonl", [levels, [0.1]], found, STAYING)
        run(world)
        world.check(completed=2)
        check_order(world, found)
        ledger = ledger_of(world)
        assert ledger.counted == {"completed": len(found)}, "a graph counts once"
        assert sum(graph.kills for graph in ledger.graphs.values()) == ledger.kills


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([0.0, 3.1, 7.8]), min_size=2, max_size=6), graphs(), st.integers(3, 500), st.booleans())
def test_a_controller_that_is_killed_anywhere_goes_on_with_them(
    levels: list[float], found: tuple[JobGraph, ...], kill: int, has_snapshots: bool
) -> None:
    """With tasks that move to machines of their own, whose followers wait for them there, and move as well."""
    with TemporaryDirectory() as folder:
        world = world_with(Path(folder) / "journal.jsonl", [levels], found, replace(POLICY, spin_up=20.0))
        world.kill_number = kill
        world.long = 1 << 12 if has_snapshots else world.long
        world.run()
        check_order(world, found)
        assert max(Counter((r.job, r.attempt) for r in world.engine.ran).values()) == 1
        counted = ledger_of(world).counted
        assert set(counted) <= {"completed", "moved"}
        assert sum(counted.values()) == len(found)
        if not has_snapshots:
            world.check()


CHAIN = (JobGraph("g", 0.0, (vertex("a", 2), vertex("b", 1, after=("a",)))),)


@pytest.mark.parametrize("level", [[0.2], BUSY])
def test_a_task_that_fails_ends_its_graph(level: list[float], tmp_path: Path) -> None:
    """Where the service leaves no room its tasks fail on machines of their own."""
    world = world_with(tmp_path / "journal.jsonl", [level], CHAIN)
    world.engine.codes["g.a.1"] = 3
    world.engine.seconds["g.a.2"] = 100.0
    world.run()
    ledger = ledger_of(world)
    assert ledger.counted == {"failed": 1}
    assert "g.a.1 failed" in ledger.graphs["g"].why
    ran = {r.job: world.engine._end(r) - r.began for r in world.engine.ran}
    assert "g.b.1" not in ran
    assert ran["g.a.2"] < 30.0, "nobody wants the others any more"


@pytest.mark.parametrize("name", ["g", "g.b.1"])
def test_a_graph_is_cancelled_as_a_whole(name: str, tmp_path: Path) -> None:
    world = world_with(tmp_path / "journal.jsonl", [[0.2]], CHAIN)
    world.run(until=lambda loop: bool(loop.fold.harvested.running))
    world.asked.append(Asked(world.now, "cancel", name))
    world.run()
    assert ledger_of(world).counted == {"cancelled": 1}
    assert not set(world.engine.ends_well()) - {"s0"}


def test_a_graph_without_room_moves_task_by_task(tmp_path: Path) -> None:
    world = world_with(tmp_path / "journal.jsonl", [BUSY], CHAIN)
    world.run()
    ledger = ledger_of(world)
    assert ledger.counted == {"moved": 1}
    assert "has lost" in ledger.graphs["g"].why
    check_order(world, CHAIN)
    world.check(completed=4)
    ends = max(world.engine._end(ran) for ran in world.engine.ran if ran.job != "s0")
    assert ledger.last["g"] == pytest.approx(ends - ledger.graphs["g"].came, abs=5.0), "a run of it took so long"
    graph, task = explain_job(world.path, "g"), explain_job(world.path, "g.a.1")
    assert isinstance(graph, HarvestStory)
    assert (graph.record.state, len(graph.tasks)) == ("moved", 3)
    assert isinstance(task, Story)
    assert "has lost" in task.moved
    assert any("it left idle capacity: it has lost" in line.text for line in explain_story(task).said)


def test_a_graph_asks_for_as_many_containers_as_run_at_once() -> None:
    """OSDI'16 section 4.1: the largest sum of tasks over one depth."""
    wide = JobGraph("w", 0.0, (vertex("a", 3), vertex("b", 2, 20.0), vertex("c", 4, 5.0, 2.0, ("a", "b"))))
    assert (dag_of(wide).concurrency, *largest_of(wide)) == (5, 2000, 512)
    assert slip_of(wide, {"a": 0, "b": 1, "c": 4}, 60.0) == (60.0, 25.0), "nothing of the longest chain is done"
    assert slip_of(wide, {"a": 0, "b": 0, "c": 1}, 60.0) == (40.0, 5.0)
    one = HarvestClass("constant-1", 0.1, 0.1, (1.0, 2.0, 3.0), ("s0",))
    two = HarvestClass("periodic-1", 0.1, 0.1, (2.0, 3.0, 2.0), ("s1",))
    known = HarvestClasses(0.0, 20.0, 60.0, (one, two))
    hosts = [IdleHost(n, 16000, 1 << 20, 0.1, 0.1, 512, (), (f"s{n}",)) for n in range(2)]
    by = (settings_of(POLICY, 0.0), [123, 456])
    room = (16000 - 5400 - 1600) // 2000
    assert room == 4
    found = {needed: classes_for((needed, 2000, 512), 10.0, hosts, known, by) for needed in (4, 5, 8, 9)}
    assert {needed: len(got) for needed, got in found.items()} == {4: 1, 5: 2, 8: 2, 9: 0}


def test_each_graph_of_a_journal_is_put_on_classes_by_its_concurrency(tmp_path: Path) -> None:
    service = HarvestClass("constant-1", 0.06, 0.06, (1.0, 2.0, 3.0), ("s0",))
    graphs_of = tuple(JobGraph(f"g{n}", 20.0, (vertex("a", n, 5.0), vertex("b", 1, 5.0, after=("a",)))) for n in (4, 5))
    world = world_with(tmp_path / "journal.jsonl", [[0.5]], graphs_of, STAYING)
    assert world.harvest is not None
    world.harvest = replace(world.harvest, classes=HarvestClasses(0.0, 20.0, 60.0, (service,)))
    world.run()
    ledger = ledger_of(world)
    assert {name: graph.classes for name, graph in ledger.graphs.items()} == {"g4": ("constant-1",), "g5": ()}
    check_order(world, graphs_of)

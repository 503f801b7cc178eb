"""Live services kept at their targets: more where load rises, less where it falls, and no change for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from operating import World, closed_after, job, setup_of
from rich.console import Console

from hcloud.control.operating.reached import rate_of, unreachable
from hcloud.control.sessions.story import Story
from hcloud.errors import UsageError
from hcloud.live.operating.crash_points import NOTED
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import BelowQos
from hcloud.model.running.job import ServiceTarget, TargetKind
from hcloud.model.running.note import Sized
from hcloud.model.workload import JobKind
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.live.decide import replay
from hcloud.usecases.live.operating.engine import check_sizes
from hcloud.usecases.live.operating.operate import fold_of
from hcloud.usecases.live.operating.setup import strategy_with
from hcloud.views.explanations.job import explain_story
from hcloud.views.live.operating import Moment, operating_screen

TARGET = ServiceTarget(TargetKind.COMMAND, "true", 100.0)
IDLE = 20.0
"""Milliseconds of the tail of a service that is alone."""
RISES, FALLS, ENDS = 60.0, 130.0, 190.0
"""Seconds after its begin."""


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


@dataclass
class Service:
    """A service with so many vCPUs of load at a time: its tail is as long as its queue, and grows without end where the
    load is more than it has."""

    world: World
    load: Callable[[float], float]
    asked: float = 0.9
    began: float = 0.0
    told: float = 0.0
    seconds: float = 0.0
    kept: list[tuple[float, bool]] = field(default_factory=list)

    @property
    def has(self) -> float:
        """vCPUs, as the engine was told last."""
        return next((cores / 1000 for name, cores in reversed(self.world.engine.resized) if name == "web"), self.asked)

    def measure(self, _target: ServiceTarget) -> float:
        share = min(self.load(self.world.now - self.began) / self.has, 0.999)
        p99 = IDLE / (1 - share)
        self.kept.append((self.world.now - self.began, p99 <= TARGET.milliseconds))
        return p99

    def used(self) -> Mapping[tuple[str, int], float]:
        now = self.world.now
        self.seconds += min(self.load(now - self.began), self.has) * (now - self.told)
        self.told = now
        return {("web", attempt): self.seconds for attempt in range(1, 9)}


def pressed(path: Path, load: Callable[[float], float], seconds: float = ENDS, *, gauged: bool = True) -> Service:
    """A world with one reserved machine of eight vCPUs and a service on it that asks for almost one."""
    order = job("web", cores=0.9, seconds=seconds, kind=JobKind.SERVICE, target=TARGET)
    world = World.of(path, [order], "SR+adjust-to-target", 1)
    service = Service(world, load)
    service.began = service.told = world.now
    world.measure, world.used = service.measure, service.used if gauged else None
    return service


def sizes(world: World) -> list[tuple[float, int]]:
    return [(e.at, e.cores) for e in read_journal(world.path).lines if isinstance(e, Sized)]


def rises_and_falls(seconds: float) -> float:
    return 2.4 if RISES <= seconds < FALLS else 0.7


@pytest.mark.slow
def test_more_when_load_rises_and_less_when_it_falls(tmp_path: Path) -> None:
    service = pressed(tmp_path / "j", rises_and_falls)
    world = service.world
    world.run()
    world.check(completed=1)
    found = [(at - service.began, cores) for at, cores in sizes(world)]
    first = min(at for at, _ in found)
    assert RISES < first < RISES + 30
    assert next(at for at, cores in found if cores < max(c for _, c in found)) < FALLS + 30, "taken back within 30 s"
    assert all(ok for at, ok in service.kept if not RISES <= at < RISES + 30), "kept, and kept again within 30 s"
    assert min(cores for _, cores in found) >= 700, "never less than it uses"
    decisions = [e for e in read_journal(world.path).lines if isinstance(e, Decision) and e.job == "web"]
    assert {d.action for d in decisions} == {DecisionAction.PLACE, DecisionAction.ENLARGE, DecisionAction.SHRINK}
    story = explain_job(world.path, "web")
    assert isinstance(story, Story)
    (told,) = (line.clauses for line in explain_story(story).lines if line.about == "adjusted")
    assert len(told) == len(decisions) - 1
    assert all(" of server 0; it " in step and " of its target, " in step for step in told)


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.4, 2.0])
def test_a_constant_load_is_left_alone(tmp_path: Path, load: float) -> None:
    service = pressed(tmp_path / "j", lambda seconds: load, 500.0)
    service.world.run()
    late = [cores for at, cores in sizes(service.world) if at - service.began > 150]
    assert not late
    assert service.has >= load


def test_nothing_is_taken_back_where_nobody_knows_what_is_used(tmp_path: Path) -> None:
    service = pressed(tmp_path / "j", rises_and_falls, gauged=False)
    service.world.run()
    found = [cores for _, cores in sizes(service.world)]
    assert found == sorted(found)
    assert found[-1] >= 2400


@pytest.mark.slow
def test_it_moves_where_its_machine_has_no_more(tmp_path: Path) -> None:
    """A neighbour has the rest of the machine; the service may begin anew, and does on the other one, with what it
    needs."""
    service = pressed(tmp_path / "j", lambda seconds: 2.4 if seconds >= RISES else 0.7)
    world = service.world
    web = replace(world.source.orders[0], restartable=True)
    world.source.orders[:] = [web, job("full", cores=7.0, seconds=ENDS)]
    world.setup = setup_of("SR+adjust-to-target", 2)
    world.run()
    world.check(completed=2)
    first, second = (ran for ran in world.engine.ran if ran.job == "web")
    assert (first.instance, second.instance) == (0, 1)
    assert RISES < second.began - service.began < RISES + 30
    known = read_journal(world.path)
    (moved,) = (d for d in known.decisions if d.action is DecisionAction.MOVE)
    assert "worth the move" in moved.why
    assert tuple(replay(known, plain())[1]) == known.decisions


@pytest.mark.slow
def test_it_runs_on_until_its_next_machine_is_ready(tmp_path: Path) -> None:
    """Nothing that is launched helps it: it is down for restarts, not for launches."""
    service = pressed(tmp_path / "j", lambda seconds: 2.4 if seconds >= RISES else 0.7)
    world = service.world
    world.source.orders[:] = [replace(world.source.orders[0], restartable=True), job("full", cores=7.0, seconds=ENDS)]
    world.setup = setup_of("HM+adjust-to-target", 1)
    world.engine.join_after = 45.0
    world.run()
    world.check(completed=2)
    ran = [ran for ran in world.engine.ran if ran.job == "web"]
    assert len(ran) > 1
    for before, after in pairwise(ran):
        there = world.cloud.ledger.machines[after.machine]
        assert before.stopped is not None
        assert there.running_at is not None
        assert before.stopped >= there.running_at + 45.0
        assert after.began < before.stopped + 10.0


@pytest.mark.slow
@pytest.mark.parametrize("kill", ["decided", "noted", "said"])
def test_what_was_decided_is_so_in_the_end_whenever_the_controller_is_killed(tmp_path: Path, kill: str) -> None:
    """Killed before a size is noted, after that and before the engine knows it, and right after."""
    service = pressed(tmp_path / "j", rises_and_falls)
    world = service.world
    if kill == "decided":
        world.run(until=lambda loop: bool(sizes(world)))
        world.kill_at = (NOTED, world.points[NOTED] + 1)
    elif kill == "noted":
        world.engine.resize = lambda *_: None  # type: ignore[method-assign]
        world.run(until=lambda loop: bool(sizes(world)))
        del world.engine.resize
        world.start()
    else:
        world.run(until=lambda loop: bool(world.engine.resized))
        world.start()
    world.run()
    world.check(completed=1)
    known = read_journal(world.path)
    assert world.engine.resized[-1] == ("web", sizes(world)[-1][1])
    assert tuple(replay(known, plain())[1]) == known.decisions


def test_the_screen_shows_what_it_has_and_why(tmp_path: Path) -> None:
    service = pressed(tmp_path / "j", rises_and_falls)
    world = service.world
    world.run(until=lambda loop: world.now > service.began + RISES + 30)
    fold = fold_of(read_journal(world.path))
    console = Console(width=100, record=True)
    with console.capture() as shown:
        for part in operating_screen(fold, Moment(world.now)):
            console.print(part)
    assert service.has > 2
    text = " ".join(shown.get().split())
    assert "more of reserved server 0" in text
    assert "cannot keep" not in text


def test_a_target_that_nothing_reaches_is_told_with_the_best_that_is(tmp_path: Path) -> None:
    """Ten vCPUs of load where the machine has eight: it stays on all of it, and is asked about ever more rarely. When
    the load falls nobody says so any more."""
    service = pressed(tmp_path / "j", lambda seconds: 10.0 if seconds < 200 else 0.7, 260.0)
    world = service.world
    world.run(until=lambda loop: world.now > service.began + 190)
    fold = fold_of(read_journal(world.path))
    told = unreachable(fold.jobs["web"])
    assert world.loop is not None
    assert world.loop.desk.troubles["target of web"] == told
    assert told is not None
    assert "web cannot keep 100 ms on any server at hand. Its best is 20,000.0 ms with 8 vCPU" in told
    shown = Console(width=500, record=True)
    with shown.capture() as screen:
        for part in operating_screen(fold, Moment(world.now)):
            shown.print(part)
    assert f"{told}." in screen.get()
    known = read_journal(world.path)
    below = [e.at for e in known.lines if isinstance(e, BelowQos)]
    assert len(below) < 16
    assert tuple(replay(known, plain())[1]) == known.decisions
    world.run()
    assert "target of web" not in world.loop.desk.troubles
    assert min(cores for _, cores in sizes(world)) < 8000


@pytest.mark.slow
@pytest.mark.parametrize(("least", "load", "moves"), [(500.0, 0.5, 1), (0.0, 3.0, 2)])
def test_it_moves_once_more_only_where_a_move_gained_something(
    tmp_path: Path, least: float, load: float, moves: int
) -> None:
    """Where 500 ms pass whatever it has it lacks no vCPUs: it stays where it went, and that is told. One that uses all
    that it has goes on to the machine that keeps its target, though its latency does not fall before."""
    service = pressed(tmp_path / "j", lambda seconds: load)
    world = service.world
    world.measure = lambda target: max(service.measure(target), least)
    world.source.orders[:] = [replace(world.source.orders[0], restartable=True), job("full", cores=7.0, seconds=ENDS)]
    world.setup = setup_of("HM+adjust-to-target", 1)
    world.run(until=lambda loop: world.now > service.began + 120)
    known = read_journal(world.path)
    assert sum(d.action is DecisionAction.MOVE and d.job == "web" for d in known.decisions) == moves
    told = unreachable(fold_of(known).jobs["web"])
    assert ("since it moved its best is 500.0 ms" in (told or "")) == (moves == 1)
    assert moves == 1 or all(ok for at, ok in service.kept if at > 100)
    assert tuple(replay(known, plain())[1]) == known.decisions


@pytest.mark.slow
@given(st.floats(1, 1e4), st.floats(0.1, 1e5), st.floats(0, 70), st.floats(0, 70), st.floats(0.05, 64))
def test_who_uses_less_and_answers_sooner_could_bear_more(
    target: float, p99: float, used: float, more: float, cores: float
) -> None:
    """Within what can be said: at least the whole where the target is kept, below where it is not."""
    rate = rate_of(target, p99, used, cores)
    assert rate is not None
    assert rate >= 1.0 if p99 <= target else rate <= 1.0
    assert 0.5 <= rate <= 100
    slower = rate_of(target, p99 * 1.5, used, cores)
    assert slower is not None
    assert slower <= rate
    if p99 <= target:
        busier = rate_of(target, p99, used + more, cores)
        assert busier is not None
        assert busier <= rate * (1 + 1e-9)
    assert (rate_of(target, p99, None, cores) is None) == (p99 <= target)


def test_an_engine_that_cannot_change_what_a_job_has_is_refused() -> None:
    adjusting = setup_of("SR+adjust-to-target", 1).rules
    with pytest.raises(UsageError, match="Slurm gives a running job no more"):
        check_sizes("slurm", adjusting)
    check_sizes("none", adjusting)
    check_sizes("slurm", setup_of("HM", 1).rules)


def test_a_way_to_watch_that_there_is_not_is_named() -> None:
    assert strategy_with(None, "tarcil", "adjust-to-target") == "HM+tarcil+adjust-to-target"
    assert strategy_with("SR", None, None) == "SR"
    with pytest.raises(UsageError, match="no watching 'adjust'"):
        strategy_with("SR", None, "adjust")

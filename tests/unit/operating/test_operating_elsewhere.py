"""``--engine none``: somebody else runs the jobs, tells of them in one file and is told what to do in another."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from operating import World, closed_after, moments

from hcloud.control.sessions.story import Story
from hcloud.errors import InputError, UsageError
from hcloud.fake.clock import FakeClock
from hcloud.live.operating.desk import FORCED
from hcloud.live.operating.loop import OperatingLoop
from hcloud.model.running.event import Latency, Quality
from hcloud.model.running.job import JobPhase
from hcloud.model.running.note import Asked
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.exchange import JobExchange
from hcloud.store.journals.journal import read_journal
from hcloud.store.journals.line_schemas import order_schema
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.live.decide import replay
from hcloud.views.live.operating import Moment, operating_screen

ORDERS = Draft202012Validator(order_schema())


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


def arrival(name: str, cores: float = 1.0, **more: object) -> dict[str, object]:
    return {"event": "arrival", "job": name, "cores": cores, "memory_gib": 1, **more}


@dataclass
class Outsider:
    """Runs jobs by the orders it reads, and tells of them. ``begun`` and ``ended`` are its ledger: of each attempt, on
    which machine of the cloud it began, and how it ended."""

    folder: Path
    seconds: dict[str, float] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    deaf: bool = False
    slow: float = 0.0
    begun: dict[tuple[str, int], tuple[str, float]] = field(default_factory=dict)
    ended: dict[tuple[str, int], str] = field(default_factory=dict)
    orders: list[dict[str, Any]] = field(default_factory=list)
    stopping: dict[tuple[str, int], float] = field(default_factory=dict)

    @property
    def events(self) -> Path:
        return self.folder / "events.jsonl"

    def tell(self, *documents: dict[str, object]) -> None:
        with self.events.open("a") as file:
            file.writelines(json.dumps(d) + "\n" for d in documents)

    def turn(self, now: float, standing: set[str]) -> None:
        """Read the orders, and tell what came of them."""
        path = self.folder / "orders.jsonl"
        lines = path.read_text().splitlines()[len(self.orders) :] if path.exists() and not self.deaf else []
        for order in map(json.loads, lines):
            self.orders.append(order)
            attempt = order.get("job", ""), order.get("attempt", 0)
            if order["order"] == "begin":
                assert attempt not in self.begun, "ordered twice"
                assert order["machine"] in standing, "begun on a machine that is not there"
                self.begun[attempt] = order["machine"], now
            elif order["order"] == "stop":
                self.stopping[attempt] = now + self.slow
        for attempt, at in list(self.stopping.items()):
            if now >= at and attempt not in self.ended and self.begun[attempt][0] in standing:
                self.ended[attempt] = "stopped"
                self.tell({"event": "stopped", "job": attempt[0], "attempt": attempt[1]})
        for (name, number), (machine, began) in self.begun.items():
            if (name, number) in self.ended:
                continue
            if machine not in standing:
                self.ended[name, number] = "lost"
            elif now >= began + self.seconds.get(name, 30.0):
                code = self.codes.get(name, 0)
                self.ended[name, number] = "failed" if code else "completed"
                how = {"event": "failed", "code": code} if code else {"event": "completion", "performance": 0.8}
                self.tell({"at": now, "job": name, **how})

    def worst(self) -> int:
        """The most attempts of one job of which nobody knows that they ended."""
        return max(Counter(n for n, a in self.begun if (n, a) not in self.ended).values(), default=0)


class WorldElsewhere(World):
    """The same world with somebody else's jobs."""

    outsider: Outsider

    def start(self) -> OperatingLoop:
        goes_on = self.path.exists()
        there = JobExchange(self.outsider.events, self.path.parent / "orders.jsonl", self.cloud.clock, goes_on)
        self.engine = self.source = there  # type: ignore[assignment]
        loop = super().start()
        loop.desk.parts.shown = there.shown
        wait = loop.wait

        def waited() -> None:
            wait()
            self.outsider.turn(self.now, set(self.standing()))

        loop.wait = waited  # type: ignore[method-assign]
        return loop


def world_of(tmp_path: Path, *told: dict[str, object], strategy: str = "SR", pool: int = 1) -> WorldElsewhere:
    made = WorldElsewhere.of(tmp_path / "journal.jsonl", (), strategy, pool)
    assert isinstance(made, WorldElsewhere)
    made.outsider = Outsider(tmp_path)
    made.rhythm = replace(made.rhythm, join=600.0)
    made.outsider.events.touch()
    made.outsider.tell(*told)
    return made


def judged(world: WorldElsewhere, jobs: int) -> None:
    """By what the outsider and the cloud wrote down."""
    ended = Counter(how for how in world.outsider.ended.values())
    assert ended["completed"] + ended["failed"] == jobs
    assert world.outsider.worst() <= 1
    assert set(world.outsider.begun) == set(world.outsider.ended)
    assert world.standing() == []
    assert all(count == 1 for count in world.launched().values())
    for order in world.outsider.orders:
        ORDERS.validate(order)
    known = read_journal(world.path)
    assert tuple(replay(known, plain())[1]) == known.decisions


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["SR", "OdF", "HM"])
def test_machines_are_kept_for_jobs_that_somebody_else_runs(tmp_path: Path, strategy: str) -> None:
    pool = 0 if strategy == "OdF" else 1
    world = world_of(tmp_path, *(arrival(f"j{n}", 1 + n % 3) for n in range(9)), strategy=strategy, pool=pool)
    world.outsider.codes["j4"] = 3
    loop = world.run()
    judged(world, 9)
    assert loop.fold.results.counted == {"completed": 8, "failed": 1}
    assert {j.performance for j in loop.fold.jobs.values()} == {0.8, None}
    begins = [order for order in world.outsider.orders if order["order"] == "begin"]
    assert {order["machine"] for order in begins} <= {m.id for m in world.cloud.ledger.machines.values()}
    assert {(o["job"], o["memory_gib"]) for o in begins} == {(f"j{n}", 1) for n in range(9)}
    assert all(o["cores"] >= 1 + int(o["job"][1:]) % 3 for o in begins)


def test_the_quality_of_a_job_whose_seconds_are_told_is_judged(tmp_path: Path) -> None:
    world = world_of(tmp_path, arrival("a", expected=30.0), arrival("b"))
    loop = world.run()
    judged(world, 2)
    assert loop.fold.jobs["a"].order.expect == 30.0
    assert loop.fold.jobs["a"].reached is not None
    assert loop.fold.jobs["b"].reached is None
    there = vars(loop.desk.parts.engine)
    assert not loop.desk.parts.engine.look().jobs, "a pass costs as much as what runs, not as all that ever ran"
    kept = [there[name] for name in ("arrivals", "_attempts", "_watched", "_progress")] + [
        vars(there["_past"])["_told"]
    ]
    assert kept == [{}] * 5, "and so does the room it takes"
    world.outsider.tell({"event": "completion", "job": "a"}, {"event": "stopped", "job": "b", "attempt": 1})
    assert loop.desk.parts.source.new().orders == (), "what is told again of jobs that are over is no mistake"


@pytest.mark.slow
def test_a_controller_that_is_killed_anywhere_orders_nothing_twice(tmp_path: Path) -> None:
    kills = [0]
    for kill in kills:
        folder = tmp_path / str(kill)
        folder.mkdir()
        told = (arrival(f"j{n}", 2, restartable=n % 2 == 0) for n in range(4))
        world = world_of(folder, *told, strategy="HM")
        world.kill_number = kill
        world.run()
        judged(world, 4)
        world.close()
        kills += () if kill else moments(world.course)[::4]
    assert len(kills) > 5


@pytest.mark.parametrize("unheard", [False, True], ids=["heard", "told-while-no-controller-runs"])
def test_a_job_is_cancelled_where_it_waits_and_where_it_runs(tmp_path: Path, unheard: bool) -> None:
    world = world_of(tmp_path, arrival("runs", 8), arrival("waits", 8))
    world.run(until=lambda loop: ("runs", 1) in world.outsider.begun)
    world.outsider.ended["runs", 1] = "cancelled"
    world.outsider.tell({"event": "cancelled", "job": "runs"}, {"event": "cancelled", "job": "waits"})
    if unheard:  # whoever goes on reads all of the file before the first pass
        world.start().expect(world.source.new(), world.now)
    loop = world.run()
    assert loop.fold.results.counted == {"cancelled": 2}
    assert world.standing() == []


def test_a_job_that_is_cancelled_before_it_came_is_never_ordered(tmp_path: Path) -> None:
    """Both were told while no controller read them: it began what nobody wanted any more."""
    cancelled: dict[str, object] = {"event": "cancelled", "job": "a"}
    world = world_of(tmp_path, arrival("a"), arrival("b"), cancelled)
    loop = world.run()
    assert [order["job"] for order in world.outsider.orders if order["order"] == "begin"] == ["b"]
    assert loop.fold.results.counted == {"completed": 1}


def test_who_asks_hcloud_to_cancel_is_obeyed_once_it_is_told_that_the_job_stopped(tmp_path: Path) -> None:
    world = world_of(tmp_path, arrival("a", 8))
    world.outsider.seconds["a"] = 1e6
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    world.asked.append(Asked(0.0, "cancel", "a"))
    loop = world.run()
    assert [o["order"] for o in world.outsider.orders if o["order"] != "hear"] == ["begin", "stop", "leave"]
    assert loop.fold.results.counted == {"cancelled": 1}
    assert world.standing() == []


@pytest.mark.parametrize("late", ["b", "c"])
def test_a_cancelled_job_keeps_its_place_until_it_has_stopped(tmp_path: Path, late: str) -> None:
    """One that needs the room begins after it, and one that finds room beside it does not wait."""
    world = world_of(tmp_path, arrival("a", 6))
    world.outsider.seconds["a"], world.outsider.slow = 1e6, 200.0
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    world.outsider.tell(arrival(late, 8 if late == "b" else 2))
    world.asked.append(Asked(0.0, "cancel", "a"))
    loop = world.run(until=lambda loop: loop.fold.jobs["a"].is_over and len(loop.fold.jobs) == 2)
    assert any("a is cancelled, but has not stopped" in str(line) for line in operating_screen(loop.fold, Moment(0.0)))
    loop = world.run()
    assert loop.fold.results.counted == {"cancelled": 1, "completed": 1}
    began, asked = world.outsider.begun[late, 1][1], world.outsider.stopping["a", 1] - 200.0
    assert began >= asked + 200.0 if late == "b" else began < asked + 100.0


@pytest.mark.parametrize(
    ("slow", "said"), [(5.0, ()), (1e9, ("nobody reported its exit code: it ran until its machine",))]
)
def test_a_cancelled_job_that_never_says_that_it_stopped_is_told_of(
    tmp_path: Path, slow: float, said: tuple[str, ...]
) -> None:
    """Its machine is terminated in the end, and is paid for until then; explain said "cancelled" and no more."""
    world = world_of(tmp_path, arrival("a", 2), strategy="OdF", pool=0)
    world.outsider.seconds["a"], world.outsider.slow = 1e6, slow
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    world.asked.append(Asked(0.0, "cancel", "a"))
    world.run(until=lambda loop: loop.fold.jobs["a"].is_over)
    story = explain_job(world.path, "a")
    assert isinstance(story, Story)
    assert story.now == ("has not stopped on machine 0 yet: it keeps its place",)
    loop = world.run()
    story = explain_job(world.path, "a")
    assert isinstance(story, Story)
    assert len(story.now) == len(said)
    assert all(now.startswith(one) for now, one in zip(story.now, said, strict=True))
    (machine,) = world.cloud.ledger.machines.values()
    (rental,) = loop.fold.rented
    assert rental.end == pytest.approx(machine.ended_at, abs=1.0)


def test_new_work_takes_no_end_for_its_own_that_was_told_of_finished_work(tmp_path: Path) -> None:
    """A machine was rented for each job of the file again; none got an order, and all counted as completed."""
    world = world_of(tmp_path, arrival("a", 2))
    world.run()
    judged(world, 1)
    assert (tmp_path / "orders.jsonl").exists()
    anew = JobExchange(world.outsider.events, tmp_path / "orders.jsonl", world.cloud.clock)
    with pytest.raises(InputError, match="1 line cannot be used") as refused:
        anew.new()
    assert "job: a was not begun by an order" in str(refused.value)
    assert "new work has a file of events of its own" in str(refused.value)


def test_an_end_that_was_told_before_the_order_of_an_attempt_is_never_its_end(tmp_path: Path) -> None:
    """It was skipped with a warning, and ended the job, that still ran, when the events were read again."""
    world = world_of(tmp_path, arrival("a"), {"event": "completion", "job": "a"})
    world.run(until=lambda loop: bool(world.outsider.begun))
    world.start()
    loop = world.run(until=lambda loop: loop.fold.results.counted != {})
    assert world.outsider.ended == {("a", 1): "completed"}
    assert loop.fold.results.counted == {"completed": 1}


def test_work_goes_on_after_a_job_that_no_machine_holds(tmp_path: Path) -> None:
    """It is refused, and its line still stands in the file of events when the next controller reads that."""
    world = world_of(tmp_path, arrival("a", 2), arrival("big", 999))
    world.outsider.seconds["a"] = 500.0
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    loop = world.run()
    assert loop.fold.results.counted == {"completed": 1, "refused": 1}
    assert world.standing() == []


@pytest.mark.slow
@pytest.mark.parametrize("asked", [Asked(0.0, "cancel", "a"), Asked(0.0, "stop")])
def test_a_machine_stays_until_what_runs_there_has_said_that_it_stopped(tmp_path: Path, asked: Asked) -> None:
    """Longer than an idle machine is kept: it may be writing what it has reached."""
    world = world_of(tmp_path, arrival("a", 2), strategy="OdF", pool=0)
    world.outsider.seconds["a"], world.outsider.slow = 1e6, 400.0
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    world.asked.append(asked)
    world.run()
    assert world.outsider.ended == {("a", 1): "stopped"}
    assert world.standing() == []


@pytest.mark.slow
def test_a_machine_does_not_wait_for_ever_for_what_was_cancelled_there(tmp_path: Path) -> None:
    world = world_of(tmp_path, arrival("a", 2), strategy="OdF", pool=0)
    world.outsider.seconds["a"], world.outsider.slow = 1e6, 1e6
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    world.asked.append(Asked(0.0, "cancel", "a"))
    world.run()
    assert world.standing() == []


@pytest.mark.parametrize("by", ["terminate", "stop"])
def test_a_machine_that_is_lost_takes_its_job_with_it_and_a_restartable_one_is_ordered_anew(
    tmp_path: Path, by: str
) -> None:
    """A job waited for ever for a machine that was only stopped."""
    world = world_of(tmp_path, arrival("a", 8, restartable=True), strategy="OdF", pool=0)
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    world.outsider.turn(world.now, set(world.standing()))
    world.outsider.seconds["a"] = 600.0
    world.cloud.edit({by: world.standing()[0]})
    world.run(until=lambda loop: not world.standing())
    world.outsider.turn(world.now, set())
    loop = world.run()
    assert [(o["job"], o["attempt"]) for o in world.outsider.orders if o["order"] == "begin"] == [("a", 1), ("a", 2)]
    assert world.outsider.ended == {("a", 1): "lost", ("a", 2): "completed"}
    assert loop.fold.results.counted == {"completed": 1}


def test_what_is_measured_elsewhere_reaches_the_policy(tmp_path: Path) -> None:
    world = world_of(tmp_path, arrival("a", 2), strategy="HM")
    world.outsider.seconds["a"] = 60.0
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    number = world.loop.fold.jobs["a"].on if world.loop is not None else None
    world.outsider.tell(
        {"event": "latency", "job": "a", "p99": 12.5},
        {"event": "quality", "instance": number, "score": 0.75},
        {"event": "below-qos", "job": "a", "performance": 0.4},
        {"event": "quality", "instance": 77, "score": 0.75},
    )
    loop = world.run()
    events = read_journal(world.path).events
    assert [e.p99 for e in events if isinstance(e, Latency)] == [12.5]
    assert [(e.instance, e.score) for e in events if isinstance(e, Quality)] == [(number, 0.75)]
    assert any(o["order"] == "resize" and o["cores"] > 2 for o in world.outsider.orders)
    assert loop.fold.results.counted == {"completed": 1}


def test_an_outsider_that_does_not_answer_cannot_keep_machines_from_being_ended_by_force(tmp_path: Path) -> None:
    world = world_of(tmp_path, arrival("a", 8))
    world.outsider.seconds["a"] = 1e6
    world.run(until=lambda loop: bool(loop.fold.jobs) and loop.fold.jobs["a"].on is not None)
    world.outsider.deaf = True
    world.asked.append(Asked(0.0, "stop"))
    with pytest.raises(AssertionError, match=r"not done.*waits for 1 job that did not end yet: a; .*stop --force"):
        world.run(passes=200)
    world.asked.append(Asked(0.0, FORCED))
    loop = world.run(passes=200)
    assert world.standing() == []
    assert "stop" not in loop.desk.troubles


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ('{"event":"arrival","job":"a","cores":NaN}', "an object as 'hcloud decide --help' shows"),
        ('{"event":"arival","job":"a","cores":1}', "did you mean arrival"),
        ('{"event":"nothing","job":"a"}', "one of arrival, completion, failed, cancelled, stopped"),
        ('{"event":"arrival","job":"a","cores":-1}', "cores"),
        ('{"event":"arrival","job":"a","cores":1,"at":12}', "seconds since 1970"),
        ('{"event":"completion","job":"z"}', "never arrived"),
        ('{"event":"completion","job":"a"}', "was not begun"),
        ('{"event":"ready","instance":0}', "asks the cloud itself"),
        ('{"event":"stopped","job":"a","attempt":1}', "name a job and an attempt"),
        ('{"event":"arrival","job":"c","cores":2,"pieces":3}', "each piece arrives as a job"),
        ('{"event":"arrival","job":"c","cores":2,"after":"a"}', "arrives when what it waits for has ended"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_the_others_count(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "events").write_text(json.dumps(arrival("a")) + "\n" + line + "\n" + json.dumps(arrival("b")) + "\n")
    there = JobExchange(tmp_path / "events", tmp_path / "orders", FakeClock(2e9, 0.0))
    with pytest.raises(InputError) as caught:
        there.new()
    told = " ".join(map(str, caught.value.problems))
    assert says in told
    assert "line 2" in told
    assert [order.id for order in there.new().orders] == ["a", "b"]


def test_files_that_are_not_there_shortened_half_written_or_damaged(tmp_path: Path) -> None:
    clock, events, orders = FakeClock(2e9, 0.0), tmp_path / "events", tmp_path / "orders"
    with pytest.raises(UsageError, match="no such file"):
        JobExchange(events, orders, clock)
    events.write_text(json.dumps(arrival("a")) + "\n" + '{"event":"arr')
    there = JobExchange(events, orders, clock)
    assert [order.id for order in there.new().orders] == ["a"]
    assert there.new().orders == ()
    with events.open("a") as file:
        file.write('ival","job":"b","cores":1}\n')
    assert [order.id for order in there.new().orders] == ["b"]
    for text in ("", events.read_text().replace('"b"', '"d"') + json.dumps(arrival("c")) + "\n"):  # read on in between
        events.write_text(text)
        with pytest.raises(InputError, match="shortened"):
            there.new()
    there.look()
    with orders.open("a") as file:
        file.write('{"at":2e9,"order":"begin","job":"a","attempt":1,"instance":0}\n{"at":2e9,"ord')
    again = JobExchange(None, orders, clock, goes_on=True)
    assert again.events == events
    assert [(seen.job, seen.phase) for seen in again.look().jobs] == [("a", JobPhase.RUNNING)]
    assert orders.read_text().endswith("}\n"), "the torn line is taken away"
    orders.write_text('{"order":\n')
    with pytest.raises(InputError, match="damaged"):
        JobExchange(None, orders, clock, goes_on=True)

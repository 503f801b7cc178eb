"""The loop of live work on a cloud in memory: judged by what the cloud and the engine really did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from operating import World, closed_after, job

from hcloud.cli.main import run as cli
from hcloud.control.operating.fold import Fold
from hcloud.control.operating.wanted import SpendingLimits
from hcloud.control.sessions.story import Story
from hcloud.errors import FileError, UsageError
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule
from hcloud.live.operating import crash_points
from hcloud.live.operating.loop import OperatingLoop
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import BelowQos, Completion, Latency, LaunchFailed, Lost
from hcloud.model.running.job import NewJobs, ServiceTarget, TargetKind
from hcloud.model.running.note import KEEPING, Asked, ControllerStarted, Ended, JobTaken
from hcloud.model.workload import JobKind
from hcloud.readers.jobs import JobsFile
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.live.operate_requests import Requests
from hcloud.usecases.live.operating.jobs_file import check_takes, keep
from hcloud.usecases.live.operating.operate import FAKE_RHYTHM, fold_of, kept_limits
from hcloud.views.live.operating import outcome_lines


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


TWELVE = [job(f"j{n}", cores=1 + n % 2, seconds=40.0 + n, submit=5.0 * n, restartable=n % 3 == 0) for n in range(12)]


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "pool"), [("SR", 2), ("OdF", 0), ("OdM", 0), ("HF", 1), ("HM", 1)])
def test_every_job_runs_once_and_no_machine_is_left(tmp_path: Path, strategy: str, pool: int) -> None:
    world = World.of(tmp_path / "j", TWELVE, strategy, pool)
    world.run()
    world.check(completed=12)


@pytest.mark.slow
@pytest.mark.parametrize("point", sorted(crash_points.NAMES))
@pytest.mark.parametrize("time", [1, 5])
def test_a_controller_killed_at_a_point_is_taken_up(tmp_path: Path, point: str, time: int) -> None:
    world = World.of(tmp_path / "j", TWELVE, "HM", 1)
    world.kill_at = (point, time)
    world.run()
    assert world.points[point] >= time, "it came to that point"
    world.check(completed=12)


@pytest.mark.parametrize("what", ["drain", "stop", "stop --force"])
def test_what_a_controller_was_asked_for_outlasts_it(tmp_path: Path, what: str) -> None:
    """Whoever asked was told that the controller has it; the next one followed on, with its machines, for ever."""
    world = World.of(tmp_path / "j", [job("a", seconds=40.0)], "SR", 1)
    world.follow = True
    world.run(until=lambda loop: bool(world.engine.ran))
    world.asked.append(Asked(0.0, what))
    world.kill_at = ("operate.noted", world.points["operate.noted"] + 1)
    world.run(passes=300)
    world.check()


def test_work_that_a_run_of_an_earlier_version_went_on_with_after_a_drain_is_not_drained(tmp_path: Path) -> None:
    """There a controller that was begun anew undid it, and took jobs."""
    world = World.of(tmp_path / "j", [], "SR", 1)
    fold = Fold(world.setup)
    fold.take([Asked(1.0, "drain"), ControllerStarted(2.0, "0.1.0"), JobTaken(3.0, job("a"))])
    assert fold.asked == ""


def test_a_file_of_other_jobs_is_refused_while_a_drain_is_not_over(tmp_path: Path) -> None:
    """None of its jobs ran, and the work ended as if they had; the file that the work began with ends it."""
    known, other = job("a"), job("b")
    fold = Fold(World.of(tmp_path / "j", [], "SR", 1).setup)
    fold.take([JobTaken(1.0, known)])
    mine, theirs = JobsFile(tmp_path / "mine.csv"), JobsFile(tmp_path / "theirs.csv")
    mine.path.touch()
    keep(mine, tmp_path)
    check_takes(theirs, tmp_path, fold, NewJobs((other,)))
    fold.take([Asked(2.0, "drain"), ControllerStarted(3.0, "0.1.0")])
    check_takes(mine, tmp_path, fold, NewJobs((other,)))
    check_takes(theirs, tmp_path, fold, NewJobs((other, known)))
    check_takes(None, tmp_path, fold, NewJobs((other,)))
    with pytest.raises(UsageError, match="takes no more jobs"):
        check_takes(theirs, tmp_path, fold, NewJobs((other,)))


@pytest.mark.parametrize("what", ["drain", "stop", KEEPING])
def test_a_file_of_other_jobs_is_refused_where_nobody_has_read_yet_that_the_work_is_to_end(
    tmp_path: Path, what: str
) -> None:
    """Asked for while no controller worked: the next one took the file, read that first, and ran none of its jobs."""
    fold = Fold(World.of(tmp_path / "j", [], "SR", 1).setup)
    fold.take([JobTaken(1.0, job("a"))])
    theirs, asked = JobsFile(tmp_path / "theirs.csv"), Requests(tmp_path / "requests")
    asked.put("cancel", "a")
    check_takes(theirs, tmp_path, fold, NewJobs((job("b"),)))
    asked.put(what)
    with pytest.raises(UsageError, match=f"takes no more jobs \\({what} was asked for\\)"):
        check_takes(theirs, tmp_path, fold, NewJobs((job("b"),)))
    assert [one.what for one in asked.new()] == ["cancel", what]


@pytest.mark.parametrize("kill", [0, 60, 140])
def test_a_journal_begins_anew_with_a_snapshot(tmp_path: Path, kill: int) -> None:
    """What is decided is the same however often that happens, and whatever moment the controller is killed at."""
    world = World.of(tmp_path / "journal.jsonl", TWELVE, "HM", 1)
    world.long, world.kill_number = 4_000, kill
    loop = world.run()
    world.check(completed=12)
    assert len(list(tmp_path.glob("journal.*.jsonl"))) >= 3
    if not kill:
        plain = World.of(tmp_path / "plain" / "journal.jsonl", TWELVE, "HM", 1)
        plain.path.parent.mkdir()
        plain.run()
        assert decided(tmp_path) == decided(plain.path.parent)
    assert loop.fold.spent(world.now) > 0
    assert f"{len(world.cloud.ledger.machines)} machines launched" in " ".join(map(str, outcome_lines(loop.fold, 0.0)))


def test_a_controller_that_runs_for_months_remembers_nothing_that_is_over(tmp_path: Path) -> None:
    """Each job and each machine left some hundred bytes in a dozen places."""
    orders = [job(f"{n}", cores=8, seconds=20.0, app="a") for n in range(5)]
    world = World.of(tmp_path / "journal.jsonl", orders, "OdM", 0)
    world.probe, world.engine.progress = (lambda number: 0.9), (lambda ran, now: (now - ran.began) / ran.seconds)
    world.source.closed, world.rhythm = False, replace(world.rhythm, period=20.0)
    loop = world.run(until=lambda loop: len(loop.fold.rented) == 5 and not loop.fold.standing)
    world.cloud.clock.advance(600.0)
    loop.step()
    loop._renew()
    desk, judge = loop.desk, loop._judge
    parts = [loop, desk, desk.fold, desk.parts.machines, judge, judge._adjuster, judge._learner]
    held = {name: held for part in parts for name, held in vars(part).items() if isinstance(held, dict | set | list)}
    of_others = {"nodes", "sightings", "made", "decisions"}  # engines forget, screens empty it, and it is the last few
    needed = {"known", "_known"}
    assert not [name for name in held.keys() - of_others - needed if len(held[name]) >= len(orders)]


@pytest.mark.slow
def test_a_journal_that_began_anew_is_added_up_alike_however_often(tmp_path: Path) -> None:
    """Whoever goes on adds it up twice: to see whether it is finished, and to work with it."""
    world = World.of(tmp_path / "journal.jsonl", TWELVE, "HM", 1)
    world.long = 4_000

    def goes_on_from_a_snapshot(_loop: object) -> bool:
        known = read_journal(world.path)
        return known.before is not None and any(isinstance(line, Completion) for line in known.lines)

    loop = world.run(until=goes_on_from_a_snapshot)
    known = read_journal(world.path)
    first, second = fold_of(known), fold_of(known)
    assert first.image() == second.image()
    assert first.results.counted == loop.fold.results.counted


def decided(folder: Path) -> list[Decision]:
    """What the journals of a folder decided, in order."""
    paths = sorted(folder.glob("journal*.jsonl"), key=lambda p: int(p.stem.partition(".")[2] or 1_000))
    return [d for path in paths for d in read_journal(path).decisions]


def test_time_that_passes_before_the_first_job_moves_no_period(tmp_path: Path) -> None:
    """Periods count from the first event that is noted: who reads the journal knows of nothing before it."""
    world = World.of(tmp_path / "j", [job(f"j{at:g}", seconds=60.0, submit=at) for at in (7.3, 12.0, 31.0)], "HM", 2)
    world.run()
    world.check(completed=3)  # it replays


@pytest.mark.slow
def test_many_jobs_in_a_second(tmp_path: Path) -> None:
    """All at once, to a reserve that has room for a part of them, and the controller killed while it takes them."""
    many = [job(f"j{n}", cores=0.5, seconds=5.0 + n % 7, submit=n / 60) for n in range(60)]
    world = World.of(tmp_path / "j", many, "SR", 3)
    world.kill_number = 3
    world.run()
    world.check(completed=60)


def test_a_launch_whose_answer_is_lost_is_made_once(tmp_path: Path) -> None:
    plan = FaultPlan(rules=(FaultRule(on="launch", answer=FaultKind.DROPPED_AFTER, calls=(1, 3)),))
    world = World.of(tmp_path / "j", TWELVE, "OdF", 0, plan=plan)
    world.run()
    world.check(completed=12)


def test_half_of_all_launches_refused(tmp_path: Path) -> None:
    plan = FaultPlan(rules=(FaultRule(on="launch", answer=FaultKind.NO_CAPACITY, probability=0.5),))
    world = World.of(tmp_path / "j", TWELVE, "OdF", 0, plan=plan)
    world.run()
    world.check(completed=12)


@pytest.mark.slow
def test_the_cloud_is_unreachable_for_ten_minutes(tmp_path: Path) -> None:
    plan = FaultPlan(rules=(FaultRule(answer=FaultKind.UNAVAILABLE, after=20.0, until=620.0),))
    world = World.of(tmp_path / "j", TWELVE, "HM", 1, plan=plan)
    world.rhythm = replace(world.rhythm, period=10.0, look=20.0)
    world.run()
    world.check(completed=12)


def test_a_machine_that_never_joins_is_given_back(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", TWELVE[:2], "OdF", 0)
    world.start()
    world.run(until=lambda loop: bool(world.standing()))
    world.engine.never_join |= set(world.standing())
    world.run()
    world.check(completed=2)


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "pool"), [("SR", 2), ("OdF", 0), ("HM", 1)])
def test_a_machine_lost_while_jobs_run(tmp_path: Path, strategy: str, pool: int) -> None:
    world = World.of(tmp_path / "j", TWELVE, strategy, pool)
    world.run(until=lambda loop: len(world.engine.ran) >= 3)
    on = {r.machine for r in world.engine.ran if world.now < r.began + r.seconds}
    gone = world.cloud.ledger.machines[sorted(on)[0]]
    world.cloud.world.end(gone)
    loop = world.run()
    world.check()
    results = loop.fold.results.counted
    assert results["completed"] + results.get("lost", 0) == 12
    for name, record in loop.fold.jobs.items():
        assert record.result == "completed" or not record.order.restartable, name


def test_a_machine_that_its_cloud_does_not_show_yet_is_not_lost(tmp_path: Path) -> None:
    """EC2 knows an instance only some seconds after its launch, in lists and by its id; rehearsals have that too."""
    world = World.of(tmp_path / "j", TWELVE, "HM", 1, plan=FaultPlan(visibility_delay=12.0))
    world.rhythm = FAKE_RHYTHM
    world.engine.join_after = 90.0  # as long as machines of clouds may take: a rehearsal launched them for ever
    world.run()
    assert not any(isinstance(line, Lost | LaunchFailed) for line in read_journal(world.path).lines)
    world.check(completed=12)


def test_stop_ends_jobs_and_machines(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", TWELVE, "HM", 1)
    world.run(until=lambda loop: len(world.engine.ran) >= 3)
    world.asked.append(Asked(0.0, "stop"))
    loop = world.run()
    world.check()
    assert loop.fold.results.counted["cancelled"] >= 1


def test_limits_hold_launches_back_and_say_why(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", TWELVE, "OdF", 0)
    world.limits = SpendingLimits(hourly=Decimal("0.20"))
    most = 0
    why: set[str] = set()
    told: list[tuple[int, str]] = []
    waits: list[str] = []

    def watch(loop: OperatingLoop) -> bool:
        nonlocal most
        most = max(most, len(world.standing()))
        for machine in loop.newly_held():
            told.append((machine.instance, machine.why))
            story = explain_job(world.path, next(iter(machine.jobs)))
            assert isinstance(story, Story)
            waits.append(story.waits)
        why.update(m.why for m in world.loop.fold.standing.values() if m.why)  # type: ignore[union-attr]
        return False

    world.run(until=watch)
    world.check(completed=12)
    assert most == 2
    assert any(line.startswith("machine 2 is wanted: it would raise the cost") for line in waits)
    assert any(one == "it would raise the cost of machines to $0.3000/h, above the limit of $0.2000/h" for one in why)
    assert {one for _, one in told} == why, "a pipe is told, too"
    assert len(told) < 40, "and not at every pass"


def test_an_end_that_is_noted_twice_is_paid_for_once(tmp_path: Path) -> None:
    """As where a machine is ended by somebody else while it is ended here."""
    world = World.of(tmp_path / "j", TWELVE, "OdF", 0)
    fold = world.run().fold
    spent, rented = fold.spent(world.now), len(fold.rented)
    ends = [line for line in read_journal(world.path).lines if isinstance(line, Ended)]
    fold.take([replace(one, at=world.now + 9.0) for one in ends])
    assert (fold.spent(world.now), len(fold.rented)) == (spent, rented)
    assert rented > 0


def test_what_had_not_come_when_a_drain_ended_the_work_is_known(tmp_path: Path) -> None:
    world = World.of(
        tmp_path / "j", [job("a", seconds=20.0), job("late", submit=900.0), job("later", submit=950.0)], "SR", 1
    )
    world.run(until=lambda loop: bool(loop.fold.jobs))
    world.asked.append(Asked(world.now, "drain"))
    assert world.run().not_come == ["late", "later"]


def test_of_jobs_that_come_together_services_are_first_the_largest_before_the_others(tmp_path: Path) -> None:
    sizes = [("batch", 8.0, JobKind.BATCH), ("small", 1.0, JobKind.SERVICE), ("large", 2.0, JobKind.SERVICE)]
    together = [job(name, cores, submit=900.0, kind=kind) for name, cores, kind in sizes]
    world = World.of(tmp_path / "j", [job("a", seconds=20.0), *together], "SR", 1)
    world.run(until=lambda loop: bool(loop.fold.jobs))
    world.asked.append(Asked(world.now, "drain"))
    assert world.run().not_come == ["large", "small", "batch"]


def test_limits_hold_for_whoever_goes_on(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", TWELVE, "OdF", 0)
    world.limits = SpendingLimits(hourly=Decimal("0.30"), machines=9)
    world.run(until=lambda loop: len(world.engine.ran) >= 2)
    known = fold_of(read_journal(tmp_path / "j")).limits
    assert known is not None
    assert kept_limits(SpendingLimits(), known) == world.limits
    assert kept_limits(SpendingLimits(machines=3), known) == replace(world.limits, machines=3)


def test_a_cancelled_job_ends_wherever_it_is(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", TWELVE, "SR", 1)
    world.run(until=lambda loop: len(world.engine.ran) >= 2)
    world.source.cancelled += ["j0", "j11"]
    loop = world.run()
    world.check()
    assert loop.fold.jobs["j0"].result == "cancelled"


def test_jobs_that_wait_for_a_launch_take_what_becomes_free(tmp_path: Path) -> None:
    """No launch beyond the reserve ever succeeds: the reserve runs all jobs, one after the other."""
    plan = FaultPlan(rules=(FaultRule(on="launch", answer=FaultKind.NO_CAPACITY, from_call=2),))
    world = World.of(tmp_path / "j", [job(f"j{n}", cores=6, seconds=30.0) for n in range(6)], "HM", 1, plan=plan)
    world.rhythm = replace(world.rhythm, first_backoff=600.0)
    loop = world.run()
    world.check(completed=6)
    began = sorted(r.began for r in world.engine.ran)
    assert began[-1] - began[0] < 6 * 35.0
    assert loop.fold.spent(world.now) < Decimal("0.02")


@pytest.mark.slow
@pytest.mark.parametrize("semantics", ["aws", "gcp", "azure"])
def test_rentals_are_what_the_cloud_charges_for(tmp_path: Path, semantics: str) -> None:
    world = World.of(tmp_path / "j", TWELVE, "HM", 1, semantics=semantics)
    loop = world.run()
    world.check(completed=12)
    told = {r.resource: (r.instance_type, r.start, r.end) for r in loop.fold.rented}
    there = world.cloud.ledger.machines.values()
    assert told == {m.id: (m.instance_type, int(m.made_at), int(m.asked_to_end or 0)) for m in there}


def test_a_service_that_misses_its_target_gets_more_then_another_machine(tmp_path: Path) -> None:
    target = ServiceTarget(TargetKind.COMMAND, "latency", 100.0)
    service = job("web", cores=2, seconds=200.0, kind=JobKind.SERVICE, target=target, restartable=True)
    world = World.of(tmp_path / "j", [service], "HF", 2)
    asked: list[ServiceTarget] = []
    world.measure = lambda of: asked.append(of) or 400.0 if len(world.engine.ran) == 1 else 50.0  # type: ignore[func-returns-value]
    loop = world.run()
    world.check(completed=1)
    assert world.engine.resized == [("web", 3000)], "first more of its machine"
    assert [r.attempt for r in world.engine.ran] == [1, 2], "then another machine"
    assert asked[0] == target
    seen = read_journal(tmp_path / "j").events
    assert next(e.p99 for e in seen if isinstance(e, Latency)) == 400.0
    assert loop.desk.troubles == {}


def test_a_slow_batch_job_that_may_not_begin_anew_stays(tmp_path: Path) -> None:
    slow = job("slow", cores=8, seconds=20.0)
    world = World.of(tmp_path / "j", [slow], "HF", 2)
    world.engine.seconds["slow"] = 100.0
    world.run()
    world.check(completed=1)
    assert len(world.engine.ran) == 1
    shares = [e.performance for e in read_journal(tmp_path / "j").events if isinstance(e, BelowQos)]
    assert shares
    assert shares[-1] < 0.95


def test_explain_says_of_a_running_job_what_status_says_and_of_one_to_come_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How it is doing now was left out, and times were seconds since 1970."""
    world = World.of(tmp_path / "journal.jsonl", [job("web", cores=2, seconds=400.0)], "OdF", 0)
    world.probe = lambda instance: 0.875
    world.cloud.clock.advance(1_800_000_000.0 - world.now)
    world.source.orders = [replace(one, submit=world.now) for one in world.source.orders]
    path = str(world.path)
    (tmp_path / "jobs.csv").write_text("id,command,cores,submit\nweb,x,2,0\nlate,x,1,7200\n")
    (tmp_path / "jobs.from").write_text(str(tmp_path / "jobs.csv"))
    told: list[str] = []

    def watch(loop: OperatingLoop) -> bool:
        record = next(iter(loop.fold.jobs.values()), None)
        if record is None or record.on is None or told:
            return bool(told)
        assert cli(["explain", "--job", "web", path]) == 0
        assert cli(["explain", "--job", "late", path]) == cli(["explain", "--job", "wep", path]) == 64
        told.extend(" ".join(part.split()) for part in capsys.readouterr())
        return True

    world.run(until=watch)
    out, err = told
    assert re.search(r"job web waited .*; it runs on a new on-demand ", out)
    assert "at 2027-01-15 08:00:0" in out
    assert re.search(r"now running on machine 0 \(.* on demand, \$.*/h\); quality 0.88 measured on the machine", out)
    assert "job late has not come yet: its submit is 2027-01-15 10:00:0" in err
    assert "no job wep came in it; did you mean web? hint: jobs that came: web;" in err


def test_explain_says_how_a_job_ended_that_did_not_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World.of(tmp_path / "j", [job("bad", cores=2, seconds=40.0)], "OdF", 0)
    world.engine.codes = {"bad": 3}
    world.run()
    assert cli(["explain", "--job", "bad", str(world.path)]) == 0
    assert "and failed with exit code 3" in " ".join(capsys.readouterr().out.split())


def test_jobs_that_could_be_forgotten_are_not_begun(tmp_path: Path) -> None:
    """A full disk kept the name of their file from being noted, and nobody heard of it."""
    with pytest.raises(FileError, match=r"jobs\.from: cannot be written"):
        keep(JobsFile(tmp_path / "jobs.csv"), tmp_path / "is not there")

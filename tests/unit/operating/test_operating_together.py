"""Live jobs of several servers, judged by what the engine really ran: pieces begin together and end with the slowest,
whatever is lost, cancelled or killed meanwhile."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from operating import Ran, World, closed_after, job, setup_of

from hcloud.control.operating.happened import taken
from hcloud.control.operating.records import JobRecord
from hcloud.control.operating.results import Results, jobs_in
from hcloud.control.operating.wanted import SpendingLimits
from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.event import UNKNOWN, Arrival, Completion, Failed
from hcloud.model.running.job import JobOrder, in_pieces
from hcloud.model.running.note import Asked
from hcloud.model.workload import JobKind
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.operating.setup import servers_that_fit


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


def several(
    name: str, servers: int, cores: float, seconds: float, submit: float = 0.0, *, restartable: bool = False
) -> tuple[JobOrder, ...]:
    return in_pieces(job(name, cores, seconds, submit, restartable=restartable), servers)


def mixed(*, restartable: bool) -> list[JobOrder]:
    """Jobs of one and of several servers that have to wait for each other on two servers of eight vCPUs."""
    made: list[JobOrder] = []
    for n in range(4):
        made += several(f"g{n}", 2 + n, 8.0, 30.0 + n, submit=9.0 * n, restartable=restartable)
        made.append(job(f"s{n}", cores=2.0, seconds=20.0, submit=7.0 * n, restartable=True))
    return made


def of_job(world: World, name: str) -> list[list[Ran]]:
    """The attempts of all pieces of a job, those that began at one time together."""
    mine = [ran for ran in world.engine.ran if ran.job.startswith(f"{name}.")]
    return [[r for r in mine if r.began == began] for began in sorted({r.began for r in mine})]


def records(world: World, name: str) -> list[JobRecord]:
    assert world.loop is not None
    return [r for n, r in world.loop.fold.jobs.items() if n.startswith(f"{name}.")]


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "pool"), [("SR", 2), ("HM", 1), ("OdF", 0), ("SR+tarcil", 2)])
def test_pieces_begin_together_and_end_with_the_slowest(tmp_path: Path, strategy: str, pool: int) -> None:
    world = World.of(tmp_path / "j", mixed(restartable=False), strategy, pool)
    world.engine.seconds = {"g1.2": 70.0, "g3.4": 50.0}
    world.run()
    world.check(completed=8)
    told = {e.job: e.at for e in read_journal(world.path).events if isinstance(e, Completion)}
    for n, servers in enumerate((2, 3, 4, 5)):
        (began,) = of_job(world, f"g{n}")
        assert len(began) == servers
        last = max(r.began + r.seconds for r in began)
        assert {told[r.job] for r in began} == {told[began[0].job]}
        assert 0 <= told[began[0].job] - last <= 2 * world.rhythm.period


def test_pieces_begin_one_by_one_where_the_placement_says_so(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", several("g", 4, 16.0, 30.0), "SR", 1)
    world.setup = replace(setup_of("SR", 1), rules=setup_of("SR", 1).rules._replace(gang=0))
    world.run()
    world.check(completed=1)
    assert [len(group) for group in of_job(world, "g")] == [2, 2], "four pieces of four vCPUs on one server of eight"


@pytest.mark.parametrize("who", ["g", "g.2"])
@pytest.mark.parametrize("when", ["coming", "waiting", "running", "resting"])
def test_who_cancels_a_job_or_a_piece_cancels_all_of_it(tmp_path: Path, who: str, when: str) -> None:
    submit = 40.0 if when == "coming" else 5.0
    orders = [job("before", cores=8.0, seconds=60.0), *several("g", 2, 8.0, 60.0, submit=submit)]
    world = World.of(tmp_path / "j", orders, "SR", 1)
    world.engine.seconds = {"before": 60.0 if when == "waiting" else 3.0, "g.1": 1.0 if when == "resting" else 60.0}

    def is_time(_loop: object) -> bool:
        mine = records(world, "g")
        states = {record.state for record in mine}
        return {
            "coming": len(world.engine.ran) == 1,
            "waiting": states == {"queued"},
            "running": bool(mine) and all(r.on is not None for r in mine),
            "resting": any(r.rests for r in mine),
        }[when]

    world.run(until=is_time)
    world.asked.append(Asked(0.0, "cancel", who))
    loop = world.run()
    world.check(completed=1)
    assert loop.fold.results.counted.get("cancelled", 0) == (0 if when == "coming" else 1)
    assert not any(r.job.startswith("g") for r in world.engine.ran) or when in ("running", "resting")


def test_a_piece_that_fails_ends_the_others(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", [*several("g", 4, 8.0, 60.0), job("next", cores=8.0, seconds=5.0)], "SR", 1)
    world.engine.seconds = {"g.1": 5.0, "g.3": 20.0}
    world.engine.codes = {"g.3": 3}
    loop = world.run()
    world.check(completed=1)
    assert loop.fold.results.counted == {"failed": 1, "completed": 1}
    told = [e for e in read_journal(world.path).events if isinstance(e, Failed)]
    assert {(e.job, e.code) for e in told} == {(f"g.{n}", 3) for n in range(1, 5)}
    assert all(ran.stopped is not None for ran in world.engine.ran if ran.job in ("g.2", "g.4"))


@pytest.mark.slow
@pytest.mark.parametrize("restartable", [True, False])
@pytest.mark.parametrize(("strategy", "pool"), [("SR", 3), ("HM", 1)])
def test_a_lost_machine_takes_all_pieces_along(tmp_path: Path, strategy: str, pool: int, *, restartable: bool) -> None:
    """Those that may begin anew all do, together; of others the job has ended."""
    orders = several("g", 3, 24.0, 60.0, restartable=restartable)
    world = World.of(tmp_path / "j", orders, strategy, pool)
    world.run(until=lambda loop: len(world.engine.ran) == 3)
    lost = next(r.machine for r in world.engine.ran if r.job == "g.2")
    world.cloud.world.end(world.cloud.ledger.machines[lost])
    loop = world.run()
    world.check()
    first, *later = of_job(world, "g")
    assert len(first) == 3
    if restartable:
        assert [len(group) for group in later] == [3]
        assert loop.fold.results.counted == {"completed": 1}
    else:
        assert not later
        assert loop.fold.results.counted == {"lost": 1}


def test_a_piece_that_did_its_work_is_done_when_its_machine_goes(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", several("g", 2, 16.0, 60.0, restartable=True), "SR", 2)
    world.engine.seconds = {"g.1": 5.0}
    world.run(until=lambda loop: any(r.rests for r in records(world, "g")))
    world.cloud.world.end(world.cloud.ledger.machines[next(r.machine for r in world.engine.ran if r.job == "g.1")])
    world.run()
    world.check(completed=1)
    assert len(world.engine.ran) == 2


def test_pieces_of_a_service_are_replicas(tmp_path: Path) -> None:
    """They begin together; one that is lost begins anew alone where it may, and each ends by itself."""
    order = job("w", cores=16.0, kind=JobKind.SERVICE)
    world = World.of(tmp_path / "j", in_pieces(order, 2), "SR", 2)
    world.engine.seconds = {"w.1": 30.0, "w.2": 300.0}
    world.run()
    world.check(completed=1)
    ends = {e.job: e.at for e in read_journal(world.path).events if isinstance(e, Completion)}
    assert ends["w.2"] - ends["w.1"] > 200


def test_an_agent_proposes_for_all_pieces_and_the_controller_takes_what_has_room() -> None:
    """The best first, as many pieces on each as it holds; what is gone by then is passed over."""
    setup = setup_of("SR+tarcil", 4)
    agent, session = ControlSession(setup, plain()), ControlSession(setup, plain())
    came = [taken(order, UNKNOWN, 0.5, 10.0, linked=True)[1] for order in several("g", 3, 12.0, 60.0)]
    ranked = agent.proposal(came[0])
    assert sorted(ranked) == sorted(set(ranked))
    assert len(ranked) >= 2
    full = taken(job("full", cores=8.0), UNKNOWN, 0.5, 5.0)[1]
    (placed,) = session.handle(replace(full, agent=0, ranked=(ranked[0],)))
    assert placed.instance == ranked[0]
    made = [
        d for one in (*came[:2], replace(came[2], agent=1, copy_age=0.1, ranked=ranked)) for d in session.handle(one)
    ]
    assert {d.job for d in made} == {"g.1", "g.2", "g.3"}
    assert Counter(d.instance for d in made)[ranked[1]] == 2, "two of four vCPUs on the best that has room"
    assert int(session.tables.control.desk.conflicts) == 1


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kill=st.integers(1, 120),
    lose=st.none() | st.integers(1, 10),
    strategy=st.sampled_from([("SR", 2), ("HM", 1)]),
    restartable=st.booleans(),
)
def test_nothing_is_lost_or_begun_twice_whatever_is_killed(
    tmp_path_factory: pytest.TempPathFactory, kill: int, lose: int | None, strategy: tuple[str, int], restartable: bool
) -> None:
    """A controller killed at any point, a machine lost at any time: every job ends, no attempt overlaps another of the
    same piece, and whenever pieces of a job begin anew all that are not done do."""
    world = World.of(tmp_path_factory.mktemp("w") / "j", mixed(restartable=restartable), *strategy)
    world.kill_number = kill
    if lose is not None:
        world.run(until=lambda loop: len(world.engine.ran) >= lose)
        running = [r for r in world.engine.ran if world.now < r.began + r.seconds]
        for ran in running[:1]:
            world.cloud.world.end(world.cloud.ledger.machines[ran.machine])
    loop = world.run()
    assert world.standing() == []
    assert world.engine.worst_overlap() <= 1
    assert all(record.is_over for record in loop.fold.jobs.values())
    results = {name: {r.result for r in records(world, name)} for name in ("g0", "g1", "g2", "g3")}
    for name, found in results.items():
        assert found == {"completed"} or (not restartable and "lost" in found), (name, found)
        assert found <= {"completed", "failed", "lost"}
        for record in records(world, name):
            if record.result == "completed":
                assert world.engine.ends_well()[record.order.id] >= 1
    arrived = [e for e in read_journal(world.path).events if isinstance(e, Arrival)]
    assert len(arrived) == len({e.job for e in arrived})


def test_a_job_of_several_servers_counts_once_and_by_its_worst_piece() -> None:
    """Also where the journal began anew while some of its pieces were over, and whatever their order."""
    pieces = [JobRecord(order, 0.0) for order in several("g", 3, 8.0, 60.0)]
    for ends, result in (
        (("completed",) * 3, "completed"),
        (("failed", "cancelled", "failed"), "failed"),
        (("failed", "lost", "completed"), "lost"),
        (("completed", "cancelled", "completed"), "cancelled"),
    ):
        results = Results({"completed": 5})
        results.count(JobRecord(job("alone"), 0.0, result="completed"))
        for record, end in zip(pieces, ends, strict=True):
            assert sum(results.counted.values()) == 6
            record.result = end
            results.count(record)
            results = Results(results.counted, [(name, *said) for name, said in results.open.items()])
        assert results.open == {}
        assert sum(results.counted.values()) == 7
        assert results.counted[result] == 1 + 6 * (result == "completed")
    assert jobs_in([*pieces, JobRecord(job("alone"), 0.0)]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "pool", "cores", "limits", "most"),
    [
        ("SR", 2, 5, SpendingLimits(), 2),
        ("OdM", 0, 2, SpendingLimits(cores=20_000), 10),
        ("OdM", 0, 2, SpendingLimits(cores=20_000, machines=3), 3),
        ("OdF", 0, 4, SpendingLimits(cores=20_000), 4),
        ("HM", 1, 5, SpendingLimits(cores=20_000), 2),
        ("HM", 1, 5, SpendingLimits(machines=1), 1),
        ("HM", 1, 5, SpendingLimits(), 10_000),
    ],
)
def test_pieces_that_never_have_room_at_once_are_refused(
    strategy: str, pool: int, cores: int, limits: SpendingLimits, most: int
) -> None:
    """A small machine has 2 vCPUs and is never shared, a large one has 8: OdF shares it."""
    allowed = servers_that_fit(setup_of(strategy, pool), limits)
    for servers in (most, most + 1):
        said = allowed(job("g", cores=cores * servers, memory=1024 * servers), servers)
        assert bool(said) == (servers > most != 10_000), said


def crowd(chance: random.Random, strategy: str, pool: int, limits: SpendingLimits) -> list[JobOrder]:
    """Up to six jobs, each of as many servers as there can be at once, three at most."""
    allowed, made = servers_that_fit(setup_of(strategy, pool), limits), list[JobOrder]()
    for number in range(chance.choice((2, 4, 6))):
        servers, cores = chance.choice((1, 2, 2, 3)), chance.choice((1.0, 2.0, 4.0, 5.0))
        while servers > 1 and allowed(job("g", cores=cores * servers), servers):
            servers -= 1
        seconds, submit = chance.choice((5.0, 20.0, 60.0)), chance.choice((0.0, 0.0, 10.0, 30.0))
        made += several(f"g{number}", servers, cores * servers, seconds, submit, restartable=chance.random() < 0.5)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 14, 15, 19, 52, 58])
def test_jobs_that_hold_what_others_lack_do_not_wait_for_each_other_for_ever(tmp_path: Path, seed: int) -> None:
    """As many machines as there may be are held by pieces of several jobs, none of which has all of its own."""
    chance = random.Random(seed)
    strategy = chance.choice(("OdF", "OdM", "HM", "HF"))
    pool, limits = int(strategy in ("HM", "HF")), SpendingLimits(cores=chance.choice((16_000, 24_000)))
    orders = crowd(chance, strategy, pool, limits)
    world = World.of(tmp_path / "j", orders, strategy, pool)
    world.limits = limits
    world.run()
    world.check(completed=len({order.piece.of if order.piece else order.id for order in orders}))

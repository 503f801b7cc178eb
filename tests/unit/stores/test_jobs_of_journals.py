"""A journal as a workload: the same jobs come at the same times, with the work that they did."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from living import came, session, setup_of
from operating import World, job
from pieces import several
from simulating import excerpt, setting_of, tasks_in, with_spot

import hcloud
from hcloud.cli.main import run as cli
from hcloud.errors import InputError
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Cancelled, ClockTick, Completion, Event, Failed, Ready
from hcloud.model.running.job import ServiceTarget, TargetKind
from hcloud.model.workload import JobKind, Jobs
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.variation import parse_axis, varied_cloud
from hcloud.store.journals.entries import entries_of
from hcloud.store.journals.journal import LiveOrigin, entry_line, header_line, save_journal
from hcloud.store.journals.live import read_whole
from hcloud.usecases.studies.journal import job_names, write_journal
from hcloud.usecases.workloads.journals import read_trace

POOLS = {"SR": 15, "OdM": 0, "HM": 6, "spot": 3}


def outcome(name: str, *faults: str) -> RunOutcome:
    strategy = with_spot(load_strategy("HM"), 0.6) if name == "spot" else load_strategy(name)
    setting = setting_of(strategy, POOLS[name])
    changes = [change for fault in faults for change in parse_axis(f"cloud.faults.{fault}")]
    setting = replace(setting, cloud=varied_cloud(load_cloud("paper"), changes))
    return run(setting, tasks_in(setting, excerpt(150)), journal=True)


def jobs(path: Path) -> Jobs:
    made = read_trace(path, "auto", WorkloadOptions())
    assert isinstance(made, Jobs)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "faults"), [("HM", ()), *((name, ("lost_per_hour=1", "failed_launches=0.3")) for name in POOLS)]
)
def test_what_was_simulated_comes_back(name: str, faults: tuple[str, ...], tmp_path: Path) -> None:
    made, path = outcome(name, *faults), tmp_path / "run.journal"
    write_journal(made, path)
    assert tuple(entries_of(path, 1 << 14)) == read_whole(path).lines, "as columns and line by line"
    found, tasks = jobs(path), made.tasks
    assert found.ids is not None
    rows = {task.encode(): row for row, task in enumerate(job_names(made)) if made.of_tasks("ended")[row] >= 0}
    mine = np.array([name in rows for name in found.ids.tolist()])
    known = [rows[name] for name in found.ids[mine].tolist()]
    assert sorted(known) == sorted(rows.values())
    assert found.submit[mine] == pytest.approx(tasks.submit[known], abs=1e-9)
    assert found.duration[mine] == pytest.approx(tasks.work[known], rel=1e-6)
    assert found.cores[mine] == pytest.approx(tasks.ask[known] / 1000)
    assert found.memory[mine] == pytest.approx(tasks.memory[known] / 1024)
    assert found.kind[mine].tolist() == tasks.service[known].tolist()


@pytest.mark.slow
def test_pieces_of_a_job_come_back_as_one_job(tmp_path: Path) -> None:
    setting, path = setting_of("SR+tarcil", 15), tmp_path / "run.journal"
    told = several(60)
    made = run(setting, tasks_in(setting, told), journal=True)
    write_journal(made, path)
    found = jobs(path)
    assert found.ids is not None
    assert found.servers is not None
    assert told.servers is not None
    rows = {name.decode(): row for row, name in enumerate(found.ids.tolist())}
    assert len(rows) == len(found) == 60
    named = zip(job_names(made), made.tasks.job, strict=True)
    rows_of = {int(one): rows[name if told.servers[one] == 1 else name.rpartition(".")[0]] for name, one in named}
    for one, row in rows_of.items():
        mine = made.tasks.job == one
        assert found.servers[row] == told.servers[one]
        assert found.cores[row] == pytest.approx(made.tasks.ask[mine].sum() / 1000)


def without_sums(path: Path) -> str:
    """A journal that may be changed by hand."""
    return re.sub(',"sum":"[0-9a-f]*"', "", path.read_text())


def lived(path: Path, *events: Event) -> Path:
    live = session("OdM")
    entries: list[Event | Decision] = [entry for event in events for entry in (event, *live.handle(event))]
    save_journal(setup_of("OdM"), entries, path)
    return path


def test_jobs_of_life(tmp_path: Path) -> None:
    """What failed ran as long as it did; what never began or has not ended is left out and counted."""
    etl = replace(came("etl/1", 0.0, restartable=True), vector=(7,) * 10)
    path = lived(
        tmp_path / "live.journal", etl, Ready(20.0, 0), came("web", 30.0, cores=4), Ready(50.0, 1),
        Completion(120.0, "etl/1", 0.5), Failed(170.0, "web", 1), came("never", 180.0, cores=8),
        Cancelled(181.0, "never"), came("still", 190.0, cores=16), Ready(210.0, 3), came("waiting", 220.0, cores=8),
        ClockTick(230.0),
    )  # fmt: skip
    found = jobs(path)
    assert found.ids is not None
    assert list(zip(found.ids.tolist(), found.submit.tolist(), found.duration.tolist(), strict=True)) == [
        (b"etl/1", 0.0, 50.0),
        (b"web", 30.0, 120.0),
    ]
    assert (found.apps, found.app.tolist(), found.vectors) == (("etl",), [0, -1], {"etl": (7,) * 10})
    assert found.provenance.rows == 5
    assert sorted(found.provenance.left_out.values()) == [1, 2]


def test_it_is_said_that_jobs_got_more_or_fewer_vcpus_while_they_ran(tmp_path: Path) -> None:
    """They come again with what they asked for, and nobody was told."""
    entries: list[Event | Decision] = [
        came("web", 0.0, cores=4), Ready(20.0, 0),
        *(Decision(at, action, "web", 0, "server 0", "below-target", None, "", "it misses its target")
          for at, action in ((40.0, DecisionAction.ENLARGE), (60.0, DecisionAction.SHRINK))),
    ]  # fmt: skip
    live = session("OdM")
    entries[1:1] = live.handle(came("web", 0.0, cores=4))
    path = tmp_path / "live.journal"
    save_journal(setup_of("OdM"), [*entries, came("other", 70.0), Completion(120.0, "web", 1.0)], path)
    found = jobs(path)
    assert found.cores.tolist() == [4.0]
    told = [m.rule for m in found.provenance.modelled if m.column == "cores"]
    assert told == ["what each asked for when it came; 1 job got more or fewer while running"]


def test_jobs_of_live_work_have_the_kind_and_application_of_their_orders(tmp_path: Path) -> None:
    """Live work tells of restarts, of which the last attempt did the work."""
    orders = [job(f"j{n}", seconds=40.0 + n, submit=5.0 * n, restartable=n % 2 == 0) for n in range(6)]
    orders = [replace(order, app=f"app{n % 3}", kind=JobKind(n % 2)) for n, order in enumerate(orders)]
    world = World.of(tmp_path / "j", orders, "HM", 1)
    try:
        world.run()
    finally:
        world.close()
    found = jobs(world.path)
    assert found.ids is not None
    assert sorted(found.ids.tolist()) == [f"j{n}".encode() for n in range(6)]
    for name, kind, app, took in zip(found.ids, found.kind, found.app, found.duration, strict=True):
        number = int(name.decode()[1:])
        assert (kind, found.apps[app]) == (number % 2, f"app{number % 3}")
        assert took == pytest.approx(40.0 + number, abs=5.0)


def test_a_journal_without_a_job_that_ended_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no usable job in 1 row"):
        jobs(lived(tmp_path / "live.journal", came("a"), ClockTick(10.0)))
    empty = tmp_path / "empty.journal"
    save_journal(setup_of("OdM"), (), empty)
    with pytest.raises(InputError, match="holds no job: nothing follows its header"):
        jobs(empty)


@pytest.mark.slow
def test_other_strategies_run_the_jobs_of_a_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events: list[Event] = []
    for number in range(12):
        at = 30.0 * number
        events += [came(f"etl/{number}", at), Ready(at + 10, number), ClockTick(at + 29)]
    events += [Completion(400.0 + number, f"etl/{number}", 1.0) for number in range(12)]
    path = lived(tmp_path / "live.journal", *events)
    assert cli(["simulate", str(path), "-s", "SR", "-s", "OdF", "--now", "2026-11-20", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["jobs"] == 12
    assert {s["name"] for s in document["strategies"]} == {"SR", "OdF"}
    assert cli(["workload", "show", str(path)]) == 0
    assert "journal" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('"coin":2.0', "line 4 is damaged: coin: 2.0; a number from 0 to 1"),
        ('"coin":0.5,"color":"red"', "line 4 is damaged: color: unknown key"),
        ('"coin":0.5,"agent":-1', "line 4 is damaged: agent: -1; a whole number"),
    ],
)
def test_what_is_no_event_is_refused_with_its_line(change: str, said: str, tmp_path: Path) -> None:
    path = lived(tmp_path / "live.journal", came("a"), Ready(20.0, 0))
    text = header_line(setup_of("OdM")) + "".join(map(entry_line, read_whole(path).lines[:2]))
    bad = entry_line(came("b", 30.0)).replace('"coin":0.5', change)
    assert change in bad
    path.write_text(text + bad)
    with pytest.raises(InputError, match=re.escape(said)):
        jobs(path)


def lived_in(folder: Path, cloud: str, region: str) -> Path:
    """The journal of three jobs in a cloud."""
    world = World.of(folder / cloud, [job(f"j{n}", seconds=40.0, submit=5.0 * n) for n in range(3)], "HM", 1)
    world.origin = LiveOrigin("0" * 32, cloud, "test", region, "fake")
    try:
        world.run()
    finally:
        world.close()
    text = without_sums(world.path).replace('"name":"small"', '"name":"m5.large"')
    world.path.write_text(text.replace('"name":"large"', '"name":"m5.2xlarge"'))
    return world.path


@pytest.mark.slow
def test_a_journal_of_a_local_machine_says_whose_prices_these_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Region and types of a cloud's journal are its own; this machine has no prices."""
    said = {}
    for cloud, region in (("local", "here"), ("aws", "eu-west-1")):
        path = lived_in(tmp_path, cloud, region)
        assert cli(["simulate", str(path), "-s", "OdF", "--now", "2026-11-20"]) == 0
        said[cloud] = " ".join(capsys.readouterr().out.split())
    assert "machines on this computer have no price: types, prices and cloud are those of the HCloud" in said["local"]
    assert "with servers of 8 vCPUs as in the journal" in said["local"]
    assert "n1-standard-8, nothing reserved" in said["local"]
    assert "region and types are those of the journal: aws eu-west-1, m5.large, m5.2xlarge" in said["aws"]
    assert "cloud measured-aws · aws eu-west-1, m5.2xlarge, nothing reserved" in said["aws"]
    own = "the run reserved 1 x m5.2xlarge; here a strategy sizes its own reserve for these jobs (--pool 1: as many)"
    assert own in said["local"]
    assert own in said["aws"]
    assert cli(["simulate", str(path), "-s", "HM", "--pool", "1", "--now", "2026-11-20"]) == 0
    assert "sizes its own reserve" not in " ".join(capsys.readouterr().out.split())
    swept = ["sweep", str(path), "--strategy", "HM", "--vary", "pool=1,2", "--workers", "1"]
    assert cli([*swept, "--now", "2026-11-20"]) == 0
    assert "aws eu-west-1, m5.2xlarge reserved" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize(("cloud", "region"), [("local", "here"), ("aws", "eu-west-1")])
def test_a_notebook_simulates_a_journal_in_its_market_as_the_verb_does(
    cloud: str, region: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It took the machines and prices of the study, whichever cloud the journal is of."""
    path, stated = lived_in(tmp_path, cloud, region), tmp_path / "own.yaml"
    stated.write_text(f"workload: {{path: {path}}}\n", encoding="utf-8")
    assert cli(["simulate", str(path), "-s", "OdF", "--now", "2026-11-20", "-o", "json"]) == 0
    told = capsys.readouterr().out
    assert cli(["simulate", "--file", str(stated), "-s", "OdF", "--now", "2026-11-20", "-o", "json"]) == 0
    assert capsys.readouterr().out == told
    for demand in (path, str(path), hcloud.read(path)):
        assert hcloud.simulate(demand, "OdF", now="2026-11-20").to_json() == told
    assert hcloud.simulate(config=stated, strategies="OdF", now="2026-11-20").to_json() == told
    assert cli(["simulate", str(path), "-s", "OdF", "--cloud-model", "paper", "--now", "2026-11-20", "-o", "json"]) == 0
    told = capsys.readouterr().out
    assert hcloud.simulate(path, "OdF", cloud_model="paper", now="2026-11-20").to_json() == told


@pytest.mark.slow
def test_a_reserve_of_small_servers_is_what_the_jobs_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not so many as one server of sixteen vCPUs would be; and what is over in seconds counts by the second: three jobs
    of two vCPUs at once, with 15 % on top, take one server of eight, and none of them is hidden in a minute's mean."""
    orders = [job(f"j{n}", cores=2, seconds=15.0) for n in range(3)]
    world = World.of(tmp_path / "j", orders, "HM", 1)
    world.origin = LiveOrigin("0" * 32, "local", "test", "here", "local")
    world.run()
    world.close()
    for cores, servers in ((2, 4), (4, 2), (8, 1)):
        text = without_sums(world.path).replace('"name":"large","cores":8000', f'"name":"large","cores":{cores}000')
        (tmp_path / f"{cores}").write_text(text)
        assert cli(["simulate", str(tmp_path / f"{cores}"), "-s", "SR", "--now", "2026-11-20", "-o", "json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["strategies"]
        assert found["runs"][0]["reserved_servers"] == servers, cores


def test_a_service_that_was_moved_counts_on_every_machine(tmp_path: Path) -> None:
    target = ServiceTarget(TargetKind.COMMAND, "latency", 100.0)
    service = job("web", cores=2, seconds=100.0, kind=JobKind.SERVICE, target=target, restartable=True)
    world = World.of(tmp_path / "j", [service], "HF", 2)
    world.measure = lambda of: 400.0 if len(world.engine.ran) == 1 else 50.0
    world.run()
    world.check(completed=1)
    first, last = world.engine.ran
    assert first.stopped is not None
    (served,) = jobs(tmp_path / "j").duration.tolist()
    assert served == pytest.approx((first.stopped - first.began) + last.seconds, abs=2.5)
    assert served > last.seconds + 10
    world.close()

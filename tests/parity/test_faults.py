"""Failed launches, lost machines and cancelled jobs: in the engine, its journal, and a controller that replays it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from from_the_front import refusing
from simulating import Row, excerpt, jobs_of, setting_of, tasks_in, was_roomy, with_spot, world_of

from hcloud.cli.main import run as cli
from hcloud.errors import UsageError
from hcloud.model.running.event import Cancelled, LaunchFailed, Lost, Pool, Ready
from hcloud.planning.reports.journeys import journeys_of
from hcloud.policy.codes import LOST
from hcloud.readers.bundle import bundled
from hcloud.readers.clouds import load_cloud, parse_cloud
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import SIMULATE, compiled, plain
from hcloud.sim.machine_code.objects import as_objects, write_back
from hcloud.sim.outcomes.measure import RunFaults, measure
from hcloud.sim.run import RunOutcome, charges, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.variation import parse_axis, varied_cloud
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.decide import replay
from hcloud.usecases.reports.rented import rented_in
from hcloud.usecases.studies.journal import journal_entries, setup_of_run, write_journal

FAILED, LOSSES, CANCELS = "failed_launches=0.5", "lost_per_hour=1", "cancelled=0.3"
ALL = (FAILED, LOSSES, CANCELS)
POOLS = {"SR": 15, "OdF": 0, "OdM": 0, "HF": 6, "HM": 6, "spot": 3}
JOBS = 160


def faulty(name: str, *faults: str) -> Setting:
    strategy = with_spot(load_strategy("HM"), 0.6) if name == "spot" else load_strategy(name)
    changes = [change for fault in faults for change in parse_axis(f"cloud.faults.{fault}")]
    return replace(setting_of(strategy, POOLS[name]), cloud=varied_cloud(load_cloud("paper"), changes))


@cache
def outcome(name: str, *faults: str) -> RunOutcome:
    setting = faulty(name, *faults)
    return run(setting, tasks_in(setting, excerpt(JOBS)), journal=True)


@pytest.mark.parametrize(
    ("name", "faults"),
    [*((name, ALL) for name in POOLS), ("OdM", (FAILED,)), ("spot", (LOSSES,)), ("HM", (CANCELS,))],
    ids=lambda found: found if isinstance(found, str) else "+".join(found),
)
def test_a_controller_that_is_told_the_events_decides_as_the_engine_did(
    name: str, faults: tuple[str, ...], tmp_path: Path
) -> None:
    """Writing the journal compares every decision of a fresh controller with the engine's; reading it back and
    replaying gives them once more."""
    made, path = outcome(name, *faults), tmp_path / "run.journal"
    write_journal(made, path)
    read = read_journal(path)
    _, decided = replay(read, plain() if faults == ALL else compiled())
    assert tuple(decided) == read.decisions
    kinds, told = Counter(type(e) for e in read.events), measure(made).faults
    assert (kinds[LaunchFailed], kinds[Lost], kinds[Cancelled]) == (
        told.failed_launches, told.lost_machines, told.cancelled_jobs,
    )  # fmt: skip
    assert kinds[Pool] <= kinds[Lost]
    for fault, count in zip(ALL, (told.failed_launches, told.lost_machines, told.cancelled_jobs), strict=True):
        assert (count > 0) == (fault in faults and not (name == "SR" and fault == FAILED))


@pytest.mark.parametrize("name", POOLS)
def test_every_job_ends_once(name: str) -> None:
    """Completed, cancelled, or ended with its machine: nothing is forgotten, and only what may begin anew does."""
    made = outcome(name, *ALL)
    figures, over = measure(made), np.asarray(made.of_tasks("over"))
    use, faults = figures.use, figures.faults
    assert over.all()
    done = int((np.asarray(made.of_tasks("ended")) >= 0).sum())
    assert done + use.refused + faults.lost_jobs + faults.cancelled_jobs == JOBS
    assert use.unfinished == 0
    ran = np.asarray(made.of_tasks("ended")) - np.asarray(made.of_tasks("began"))
    assert (ran[made.of_tasks("ended") >= 0] >= made.tasks.work[made.of_tasks("ended") >= 0] - 1e-6).all()


@pytest.mark.parametrize("name", ["SR", "HM", "OdF", "spot"])
def test_compiled_and_plain_write_the_same_with_faults(name: str) -> None:
    setting = faulty(name, *ALL)
    tasks = tasks_in(setting, excerpt(120))
    worlds = [world_of(setting, tasks) for _ in range(2)]
    assert compiled()[SIMULATE](worlds[0], len(tasks) + 1)
    objects = refusing(as_objects(worlds[1]))
    assert plain()[SIMULATE](objects, len(tasks) + 1)
    write_back(objects, worlds[1])
    assert all(map(was_roomy, worlds))
    for table in ("tasks", "rentals", "lines", "hosts", "events"):
        mine, other = (np.asarray(getattr(world, table)).tobytes() for world in worlds)
        assert mine == other, table
    assert np.array(worlds[0].tally).tobytes() == np.array(worlds[1].tally).tobytes()


def test_strategies_are_compared_on_the_same_luck() -> None:
    """The same jobs are cancelled, at the same moments of their lives, whatever the strategy and the other faults."""
    one, other = outcome("SR", CANCELS), outcome("OdM", *ALL)
    when = [np.asarray(made.of_tasks("cancelled")) for made in (one, other)]
    assert when[0].tolist() == when[1].tolist()
    assert int((when[0] >= 0).sum()) == pytest.approx(0.3 * JOBS, abs=17)


def test_a_launch_that_failed_is_not_paid_and_a_lost_reserve_is() -> None:
    calm, failing = outcome("OdM"), outcome("OdM", FAILED)
    assert (np.asarray(failing.of_rentals("ready")) >= np.asarray(failing.of_rentals("launched"))).all()
    assert (np.asarray(failing.of_rentals("released")) > np.asarray(failing.of_rentals("launched"))).all()
    assert measure(calm).faults == RunFaults()
    reserved = [measure(outcome("SR", *faults)).cost.reserved for faults in ((), (LOSSES,))]
    assert reserved[0] == reserved[1]


@pytest.mark.parametrize("fault", [FAILED, LOSSES])
@pytest.mark.parametrize("name", ["OdM", "HM", "spot"])
def test_the_report_of_a_journal_charges_what_the_simulator_does(name: str, fault: str) -> None:
    """Launches that failed, that were held back until their type was tried again, and machines that were lost."""
    made = outcome(name, fault)
    entries = tuple(journal_entries(made, setup_of_run(made)))
    held = [e for e in entries if isinstance(e, Ready) and e.spin_up is not None]
    assert bool(held) == (fault == FAILED)
    rented = rented_in(setup_of_run(made), entries, 0).rented
    seconds = sum((rental.end or 0) - rental.start for rental in rented if rental.address != "reserved")
    assert seconds == sum(charge.seconds for charge in charges(made))


def test_what_was_lost_is_rented_until_then() -> None:
    made = outcome("OdM", LOSSES)
    assert int((np.asarray(made.of_rentals("reason")) == LOST).sum()) == measure(made).faults.lost_machines


def test_a_job_too_long_for_its_machines_is_given_up_in_the_end() -> None:
    """An hour is all that a machine lasts, and the job takes a week: it would begin anew for ever."""
    rows: list[Row] = [(0.0, 7 * 86_400.0, 1.0, 1.0, 0), (10.0, 60.0, 1.0, 1.0, 0)]
    for name in ("OdM", "SR"):
        setting = faulty(name, LOSSES)
        made = run(setting, tasks_in(setting, jobs_of(rows)), journal=True)
        figures = measure(made)
        assert (figures.faults.cancelled_jobs, figures.use.unfinished) == (1, 0)
        assert figures.faults.lost_machines >= 16


def test_a_run_ends_with_its_last_job_though_reserved_machines_go_on_being_lost() -> None:
    setting = faulty("SR", LOSSES)
    made = run(setting, tasks_in(setting, jobs_of([(0.0, 60.0, 1.0, 1.0, 0)])))
    assert made.world.tally.now <= 3 * 3600


def test_the_report_of_a_journal_counts_what_ended_otherwise(tmp_path: Path) -> None:
    made = outcome("OdM", *ALL)
    write_journal(made, tmp_path / "run.journal")
    journeys = journeys_of(read_journal(tmp_path / "run.journal").entries)
    faults = measure(made).faults
    assert sum(j.cancelled for j in journeys) == faults.cancelled_jobs
    assert sum(j.lost for j in journeys) == faults.lost_jobs
    assert all(j.ended is not None for j in journeys if not j.refused)


def test_the_screen_and_the_document_tell_what_went_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (bundled("policies") / "clouds/paper.yaml").read_text(encoding="utf-8")
    faults = text.index("  faults:")
    stated = text[:faults] + text[faults:].replace("value: 0\n", "value: 0.3\n", 1)
    (tmp_path / "short.yaml").write_text(stated.replace("name: paper", "name: short"), encoding="utf-8")
    rows = [f"{i},{90 + 13 * (i % 5)},{(1, 2, 8)[i % 3]},2,batch\n" for i in range(40)]
    (tmp_path / "jobs.csv").write_text("submit,duration,cores,memory,kind\n" + "".join(rows), encoding="utf-8")
    words = ["simulate", str(tmp_path / "jobs.csv"), "-s", "OdM", "--now", "2026-11-20"]
    cloud = ["--cloud-model", str(tmp_path / "short.yaml")]
    assert cli([*words, *cloud]) == 0
    assert re.search(r"OdM: \d+ launches failed\n", capsys.readouterr().out)
    assert cli([*words, *cloud, "--json"]) == 0
    (run_,) = json.loads(capsys.readouterr().out)["strategies"][0]["runs"]
    assert run_["faults"]["failed_launches"] > 0
    assert run_["faults"]["lost_machines"] == 0
    assert cli([*words, "--json"]) == 0
    assert "faults" not in json.loads(capsys.readouterr().out)["strategies"][0]["runs"][0]


@pytest.mark.parametrize("text", ["failed_launches=0.95", "lost_per_hour=2", "cancelled=-1"])
def test_shares_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=text.partition("=")[0]):
        faulty("HM", text)


def test_a_cloud_that_states_no_faults_has_none() -> None:
    document = load_yaml((bundled("policies") / "clouds/paper.yaml").read_text(encoding="utf-8"), "paper.yaml")
    assert isinstance(document, dict)
    del document["sections"]["faults"]
    assert parse_cloud(document, "mine").number("faults", "lost_per_hour") == 0

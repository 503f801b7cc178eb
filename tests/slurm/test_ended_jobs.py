"""How a job ended, also when slurmctld does not keep it any more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from slurm_cluster import Cluster, cluster, wait_for

from hcloud.model.running.job import JobPhase
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.completed import FILETXT, CompletedJobs, completed
from hcloud.providers.slurm.ledger import Begin
from slurm.machines import engine_of, launch, orders, place, wait_phase


@pytest.fixture
def forgetful(home: Path) -> Iterator[Cluster]:
    """slurmctld keeps ended jobs for two seconds."""
    with cluster(home, keep=2) as found:
        yield found


@pytest.fixture(params=["UTC", "America/St_Johns", "Pacific/Apia"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ours; slurmctld's is UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_an_end_is_found_whatever_the_zones_of_slurmctld_and_of_hcloud_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "jobcomp.log"
    times = "SubmitTime=2026-11-23T03:48:35 StartTime=2026-11-23T03:49:05 EndTime=2026-11-23T03:49:07"
    log.write_text(f"JobId=2 JobState=COMPLETED Partition=hc {times} NodeList=hc-small-0 ExitCode=7:0\n")
    submit = datetime(2026, 11, 23, 3, 48, 35, tzinfo=UTC).timestamp()
    monkeypatch.setattr(SlurmCommands, "settings", lambda _: {"jobcomptype": FILETXT, "jobcomploc": str(log)})
    jobs, begin = CompletedJobs(SlurmCommands(None)), Begin("2", 1, "hc-small-0", 0, submit=submit)
    found = jobs.find(begin)
    assert found is not None
    assert (found.code, found.start - submit, found.end - submit) == (7, 30, 32)
    for later in (400, 27 * 3600):
        assert jobs.find(replace(begin, submit=submit + later)) is None, "another of the same number"


@pytest.mark.long
def test_the_end_is_read_from_jobcomp_when_slurmctld_forgot_it(forgetful: Cluster) -> None:
    engine = engine_of(forgetful)
    launch(forgetful, engine, 1)
    job = forgetful.submit("exit 7", "--mem=100")
    array = forgetful.submit("exit $SLURM_ARRAY_TASK_ID", "--array=5-6", "--mem=100")
    for order in orders(engine, 3):
        engine.begin(order, place(1))
    known = {job, f"{array}_5", f"{array}_6"}
    wait_for(lambda: known.isdisjoint({found.id for found in forgetful.commands.jobs()}), "slurmctld keeps them")
    for asked in (engine, engine_of(forgetful)):
        seen = {s.job: (s.phase, s.code) for s in asked.look().jobs}
        assert seen == {name: (JobPhase.ENDED, code) for name, code in zip(sorted(known), (7, 5, 6), strict=True)}


def test_a_signal_is_told_as_a_shell_tells_it(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    job = slurm.submit("kill -9 $$", "--mem=100")
    engine.begin(orders(engine, 1)[0], place(1))
    assert wait_phase(engine, job, JobPhase.ENDED).code == 137


def test_lines_of_jobcomp_are_read_and_others_left() -> None:
    line = (
        "JobId=2 UserId=root(0) Name=wrap JobState=TIMEOUT Partition=hc TimeLimit=1 "
        "StartTime=2026-11-23T03:49:05 EndTime=2026-11-23T03:49:07 NodeList=hc-small-0 WorkDir=/tmp "
        "SubmitTime=2026-11-23T03:48:35 ExitCode=0:15"
    )
    found = completed(line)
    assert found is not None
    assert (found.id, found.state, found.signal, found.nodes) == ("2", "TIMEOUT", 15, "hc-small-0")
    assert found.end - found.start == 2
    assert completed("") is None
    assert completed("JobId=2 EndTime=Unknown") is None

"""slurmctld is killed before, during and after a placement; what began is judged by what the jobs themselves wrote."""

from __future__ import annotations

import shutil
import time

import pytest
from slurm_cluster import SEARCHED, Cluster, wait_for

from hcloud.errors import UnavailableError, UnknownOutcomeError
from hcloud.model.running.job import JobOrder, JobPhase, NodePhase
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.engine import SlurmEngine
from slurm.machines import engine_of, launch, orders, phases, place, sighting, wait_phase

TICKS = "echo begun $SLURM_RESTART_COUNT; for i in $(seq 300); do echo tick; sleep 0.1; done; echo ended"


def _saved(slurm: Cluster, since: float) -> None:
    """Wait until slurmctld wrote its jobs; what follows within some seconds is forgotten when it is killed."""
    file = slurm.home / "state" / "job_state"
    wait_for(lambda: file.exists() and file.stat().st_mtime > since, "slurmctld writes no state")


def _restart(slurm: Cluster) -> None:
    slurm.kill_controller()
    slurm.start_controller()


def _out(slurm: Cluster, job: str) -> list[str]:
    path = slurm.home / f"out.{job}"
    return path.read_text().split() if path.exists() else []


def _held(slurm: Cluster, engine: SlurmEngine, *options: str, command: str = TICKS) -> tuple[str, JobOrder]:
    """A job that waits, and that slurmctld will still know."""
    launch(slurm, engine, 1)
    since = time.time()
    job = slurm.submit(command, "--mem=100", "--open-mode=append", *options)
    _saved(slurm, since)
    return job, next(order for order in orders(engine, 1) if order.id == job)


def test_killed_before_a_placement(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    job, order = _held(slurm, engine, command="echo begun")
    _restart(slurm)
    engine.begin(order, place(1))
    assert wait_phase(engine, job, JobPhase.ENDED).code == 0
    assert _out(slurm, job) == ["begun"]


def test_killed_between_release_and_begin(slurm: Cluster) -> None:
    """The release is forgotten, and nothing ran: the job waits, and the same begin again lets it run, once."""
    engine = engine_of(slurm)
    job, order = _held(slurm, engine, command="echo begun")
    slurm.run("scontrol", "update", "partitionname=hc", "state=down")
    engine.begin(order, place(1))
    _restart(slurm)
    slurm.run("scontrol", "update", "partitionname=hc", "state=up")
    assert sighting(engine, job).phase is JobPhase.WAITING
    fresh = engine_of(slurm)
    fresh.look()
    fresh.begin(order, place(1))
    assert wait_phase(fresh, job, JobPhase.ENDED).code == 0
    assert _out(slurm, job) == ["begun"]


@pytest.mark.long
def test_killed_after_a_begin_the_job_is_unknown_then_lost_and_never_begun_twice(slurm: Cluster) -> None:
    """slurmctld forgot that the job runs and shows it as held: it is told as unknown, and as lost only when slurmctld
    has ended it, because its node told of it."""
    engine = engine_of(slurm, grace=8.0)
    job, order = _held(slurm, engine)
    engine.begin(order, place(1))
    wait_for(lambda: "tick" in _out(slurm, job), "it does not run")
    _restart(slurm)
    assert slurm.job(job).state == "PENDING"
    assert sighting(engine, job).phase is JobPhase.UNKNOWN
    engine.begin(order, place(1))
    assert engine.new().orders == ()
    assert wait_phase(engine, job, JobPhase.LOST).attempt == 1
    before = _out(slurm, job)
    time.sleep(0.5)
    assert _out(slurm, job) == before, "it is told as lost and runs on"
    assert (before.count("begun"), before.count("ended")) == (1, 0)
    engine.forget(job)
    left = slurm.job(job)
    assert (left.state, left.held, left.admin_comment) == ("PENDING", True, "hcloud:over"), "its user decides"
    assert engine_of(slurm).new().orders == ()


@pytest.mark.long
def test_a_restartable_job_begins_anew_only_after_its_end(slurm: Cluster) -> None:
    engine = engine_of(slurm, grace=8.0)
    job, order = _held(slurm, engine, "--requeue")
    engine.begin(order, place(1))
    wait_for(lambda: "tick" in _out(slurm, job), "it does not run")
    _restart(slurm)
    wait_phase(engine, job, JobPhase.LOST)
    before = _out(slurm, job)
    time.sleep(0.5)
    assert _out(slurm, job) == before
    engine.begin(order, place(1, 2))
    assert wait_phase(engine, job, JobPhase.RUNNING).attempt == 2
    wait_for(lambda: _out(slurm, job).count("begun") == 2, "it does not begin anew")


def test_slurm_itself_cannot_begin_a_job_again_that_it_forgot(slurm: Cluster) -> None:
    """Its user releases the job that shows as held; the prolog finds no ticket and refuses."""
    engine = engine_of(slurm)
    job, order = _held(slurm, engine, command="echo begun; sleep 60")
    engine.begin(order, place(1))
    wait_for(lambda: "begun" in _out(slurm, job), "it does not run")
    _restart(slurm)
    slurm.run("scontrol", "release", job)
    wait_for(lambda: f"prolog_slurmctld JobId={job} prolog exit status 1:0" in slurm.log(), "it is not refused")
    time.sleep(0.5)
    assert _out(slurm, job).count("begun") == 1


def test_nothing_follows_while_slurmctld_is_gone(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    job, order = _held(slurm, engine, command="echo begun")
    slurm.kill_controller()
    deaf = SlurmEngine(slurm.site, SlurmCommands(slurm.conf, SEARCHED, seconds=0.5), engine._clock)
    for ask in (deaf.look, deaf.new):
        with pytest.raises(UnavailableError):
            ask()
    with pytest.raises((UnavailableError, UnknownOutcomeError)):
        deaf.begin(order, place(1))
    deaf.let_go(4711)
    deaf.wait(0.01)
    slurm.start_controller()
    engine.begin(order, place(1))
    assert wait_phase(engine, job, JobPhase.ENDED).code == 0
    assert _out(slurm, job) == ["begun"]


def test_a_node_that_slurmctld_forgot_joins_again_and_is_not_given_up(slurm: Cluster) -> None:
    """Killed while a machine joins: slurmctld counts the node as off though its slurmd runs."""
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    _restart(slurm)

    def is_back() -> bool:
        assert phases(engine)[1] is not NodePhase.GONE
        return _is_up(slurm, "hc-small-1")

    wait_for(is_back, "it does not join again")
    job = slurm.submit("true", "--mem=100")
    engine.begin(next(order for order in orders(engine, 1) if order.id == job), place(1))
    wait_phase(engine, job, JobPhase.ENDED)


def _is_up(slurm: Cluster, name: str) -> bool:
    node = next(found for found in slurm.commands.nodes() if found.name == name)
    return not node.flags & {"POWERED_DOWN", "POWERING_UP", "NOT_RESPONDING", "DRAIN"}


def test_a_job_that_slurm_does_not_know_any_more_is_unknown_and_then_lost(slurm: Cluster) -> None:
    """All state of slurmctld is gone: numbers begin anew, and another job of the same number is not taken for it."""
    engine = engine_of(slurm, grace=3.0)
    job, order = _held(slurm, engine, command="echo begun; sleep 0.1")
    engine.begin(order, place(1))
    slurm.kill_controller()
    shutil.rmtree(slurm.home / "state")
    (slurm.home / "state").mkdir()
    (slurm.home / "jobcomp.log").unlink(missing_ok=True)
    time.sleep(3.0)
    slurm.start_controller()
    assert sighting(engine, job).phase is JobPhase.UNKNOWN
    assert slurm.submit("true") == job
    assert sighting(engine, job).phase is JobPhase.UNKNOWN
    assert wait_phase(engine, job, JobPhase.LOST).code is None

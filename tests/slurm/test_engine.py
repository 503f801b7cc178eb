"""Slurm as an engine, judged by what a real slurmctld and its jobs say."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from slurm_cluster import SEARCHED, Cluster, cluster, wait_for
from waiting import PATIENCE

from hcloud.errors import NoCapacityError, UnknownOutcomeError
from hcloud.live.clock import SystemClock
from hcloud.model.running.job import JobPhase, MachineRole, NewJobs, NodePhase
from hcloud.model.workload import JobKind
from hcloud.providers.slurm import config
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.engine import SlurmEngine
from hcloud.providers.slurm.ledger import NodeLedger
from slurm.machines import engine_of, launch, orders, phases, place, sighting, terminate, wait_phase


def test_held_jobs_are_told_as_orders_in_slurms_own_order(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    nicer = slurm.submit("true", "--nice=100")
    first = slurm.submit("true", "-c2", "--mem=300", "-t3", "--requeue", "--comment=app=web kind=service")
    array = slurm.submit("true", "--array=1-2", "--comment=expect=7.5,restartable=no")
    slurm.submit("true", partition="")
    found = engine.new()
    assert [order.id for order in found.orders] == [first, f"{array}_1", f"{array}_2", nicer]
    order, task, *_ = found.orders
    assert (order.cores, order.memory, order.expect, order.restartable) == (2000, 300, 180.0, True)
    assert (order.app, order.kind, task.kind) == ("web", JobKind.SERVICE, JobKind.BATCH)
    assert (task.expect, task.restartable, task.memory) == (7.5, False, 1024)
    assert engine.new().orders == ()
    assert len(engine_of(slurm).new().orders) == 4, "after a restart they are told again"


BY_SIZE = """\
PriorityType=priority/multifactor
PriorityWeightJobSize=10000
PriorityFlags=ACCRUE_ALWAYS
"""


@pytest.mark.slow
def test_jobs_are_taken_by_the_priority_that_slurmctld_reckons(home: Path) -> None:
    """Its weights put the wider job first, which a user's nice takes back. Nothing begins before it is let."""
    with cluster(home, more=BY_SIZE) as slurm:
        engine = engine_of(slurm)
        launch(slurm, engine, 1)
        narrow, wide = slurm.submit("true", "--mem=64"), slurm.submit("true", "-c2", "--mem=64")
        nicer, later = slurm.submit("true", "-c2", "--nice=9000"), slurm.submit("true", "--begin=now+1hour")
        after = slurm.submit("true", "--mem=64", "-d", f"afterok:{narrow}")
        ranked = [slurm.job(job).priority for job in (wide, narrow, nicer)]
        assert ranked == sorted(ranked, reverse=True)
        assert ranked[-1] > 0
        found = orders(engine, 3)
        assert [order.id for order in found] == [wide, narrow, nicer]
        time.sleep(1.5)
        assert {slurm.job(job).state for job in (wide, narrow, nicer, later, after)} == {"PENDING"}
        assert engine.new() == NewJobs((), ()), "what waits was not cancelled"
        engine.begin(found[1], place(1))
        wait_phase(engine, narrow, JobPhase.ENDED)
        assert slurm.job(narrow).nodes == slurm.site.names("small", reserved=False)[1]
        (freed,) = orders(engine, 1)
        assert freed.id == after
        slurm.run("scontrol", "update", f"jobid={nicer}", "starttime=now")
        wait_for(lambda: nicer in engine.new().cancelled, "who lets it begin takes it from hcloud")


def test_a_job_runs_on_the_node_that_was_chosen(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    launch(slurm, engine, 2)
    job = slurm.submit("echo $SLURMD_NODENAME; exit 3", "--mem=100")
    (order,) = orders(engine, 1)
    engine.begin(order, place(2))
    wait_phase(engine, job, JobPhase.ENDED)
    seen = sighting(engine, job)
    assert (seen.attempt, seen.code) == (1, 3)
    assert (slurm.home / f"out.{job}").read_text().strip() == slurm.site.names("small", reserved=False)[2]
    engine.begin(order, place(2))
    assert slurm.job(job).restarts == 0
    engine.forget(job)
    assert engine.look().jobs == ()
    assert engine.new().orders == ()


def test_a_begin_is_begun_once_however_often_it_is_said(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    job = slurm.submit(f"echo begun >> {slurm.home}/count; sleep 1", "--mem=100")
    (order,) = orders(engine, 1)
    for _ in range(3):
        for one in (engine, engine_of(slurm)):
            with suppress(UnknownOutcomeError):  # it has just begun
                one.begin(order, place(1))
    wait_phase(engine, job, JobPhase.ENDED)
    engine_of(slurm).begin(order, place(1))
    assert (slurm.home / "count").read_text().split() == ["begun"]


class Overtaken(SlurmCommands):
    """Of an engine that is busy between its look at the queue and what it says of a job."""

    def update_job(self, job: str, **values: str) -> None:
        wait_for((self.conf or Path()).with_name("begun").exists, "the job does not begin")
        super().update_job(job, **values)


@pytest.mark.parametrize("more", ["", BY_SIZE], ids=["held", "parked"])
def test_a_begin_that_is_said_again_of_a_job_that_has_just_begun_does_not_lose_it(home: Path, more: str) -> None:
    """slurmctld refuses it, or has no answer for five seconds and asks to be asked again."""
    with cluster(home, more=more) as slurm:
        engine = engine_of(slurm)
        launch(slurm, engine, 1)
        job = slurm.submit(f"touch {slurm.home}/begun; sleep 8", "--mem=100")
        busy = SlurmEngine(slurm.site, Overtaken(slurm.conf, SEARCHED, seconds=PATIENCE), SystemClock())
        (order,) = orders(busy, 1)
        with ThreadPoolExecutor(1) as pool:
            said = pool.submit(busy.begin, order, place(1))
            wait_for((slurm.site.tickets / job).exists, "it is not permitted")
            engine.begin(order, place(1))
            assert said.exception() is None or isinstance(said.exception(), UnknownOutcomeError)
        assert sighting(busy, job).phase is JobPhase.RUNNING
        assert slurm.job(job).admin_comment == "hcloud"


def test_a_task_of_an_array_runs_alone(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    array = slurm.submit("exit $SLURM_ARRAY_TASK_ID", "--array=4-5", "--mem=100")
    told = {order.id: order for order in orders(engine, 2)}
    engine.begin(told[f"{array}_5"], place(1))
    assert wait_phase(engine, f"{array}_5", JobPhase.ENDED).code == 5
    assert (slurm.site.begun / f"{array}_5").exists()
    assert slurm.job(f"{array}_4").held


def test_cancelled_and_released_jobs_do_not_wait_any_more(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    cancelled, released = slurm.submit(), slurm.submit("sleep 30", "--mem=100")
    assert len(orders(engine, 2)) == 2
    slurm.run("scancel", cancelled)
    slurm.run("scontrol", "release", released)
    wait_for(lambda: engine.look().external, "an external placement is not told")
    assert engine.new().cancelled == tuple(sorted([cancelled, released]))
    assert engine.new().cancelled == (cancelled,)
    assert vars(engine)["_cancelled"] == {cancelled}, "what Slurm shows no more is not remembered"
    (seen,) = engine.look().external
    assert (seen.job, seen.instance, seen.cores, seen.memory) == (released, 1, 1000, 100)
    assert cancelled in engine_of(slurm).new().cancelled


def test_a_running_job_that_its_user_cancels_is_told_as_cancelled_before_it_is_told_as_ended(slurm: Cluster) -> None:
    """Else it counts as failed, with the exit code of the signal that ended it."""
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    job = slurm.submit("sleep 30", "--mem=100")
    engine.begin(orders(engine, 1)[0], place(1))
    wait_phase(engine, job, JobPhase.RUNNING)
    slurm.run("scancel", job)
    wait_for(lambda: slurm.job(job).state == "CANCELLED", "it is not cancelled")
    assert sighting(engine, job).phase is JobPhase.RUNNING
    assert engine.new().cancelled == (job,)
    assert sighting(engine, job).phase is JobPhase.ENDED


def test_a_job_over_two_nodes_passes_unsteered_and_is_counted(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    launch(slurm, engine, 2)
    job = slurm.submit("sleep 2", "-N2", "--mem=100")
    wait_for(lambda: engine.new().orders == () and engine.passed_by == (job,), "it is not passed by")
    wait_for(lambda: slurm.job(job).state == "COMPLETED", "it does not run")
    assert engine.look().jobs == ()


def test_unsteered_jobs_bring_up_no_node(slurm: Cluster) -> None:
    """Nodes without a machine are drained: only hcloud asks for machines."""
    engine = engine_of(slurm)
    engine.look()
    job = slurm.submit("true", "-N2")
    engine.new()
    time.sleep(2.5)
    assert slurm.job(job).state == "PENDING"
    assert all("POWERED_DOWN" in n.flags for n in slurm.commands.nodes() if n.name.startswith("hc"))


def test_stop_ends_a_job_and_a_restartable_one_waits_for_its_next_attempt(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    launch(slurm, engine, 2)
    moved = slurm.submit("echo $SLURMD_NODENAME; sleep $SLURM_RESTART_COUNT; sleep 20", "--mem=100", "--requeue")
    ended = slurm.submit("sleep 60", "--mem=100")
    first, second = orders(engine, 2)
    engine.begin(first, place(1))
    engine.begin(second, place(2))
    wait_phase(engine, moved, JobPhase.RUNNING)
    wait_phase(engine, ended, JobPhase.RUNNING)
    engine.stop(moved, 2)
    engine.stop(moved, 1)
    engine.stop(ended, 1)
    assert wait_phase(engine, moved, JobPhase.LOST).attempt == 1
    assert wait_phase(engine, ended, JobPhase.ENDED).code == 143
    engine.begin(first, place(2, 2))
    wait_phase(engine, moved, JobPhase.RUNNING)
    assert sighting(engine, moved).attempt == 2
    assert slurm.job(moved).nodes == slurm.site.names("small", reserved=False)[2]
    engine.stop(moved, 2)
    wait_phase(engine, moved, JobPhase.LOST)
    engine.forget(moved)
    assert slurm.job(moved).state == "CANCELLED"


def test_a_waiting_attempt_is_taken_back(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    running, waiting = slurm.submit("sleep 30", "--mem=100"), slurm.submit("true", "--mem=100", "--requeue")
    first, second = orders(engine, 2)
    engine.begin(first, place(1))
    wait_phase(engine, running, JobPhase.RUNNING)
    engine.begin(second, place(1))
    assert sighting(engine, waiting).phase is JobPhase.WAITING
    engine.stop(waiting, 1)
    assert sighting(engine, waiting).phase is JobPhase.LOST
    assert slurm.job(waiting).held
    engine.begin(second, place(1, 2))
    assert sighting(engine, waiting) == sighting(engine_of(slurm), waiting)
    assert sighting(engine, waiting).phase is JobPhase.WAITING


def test_a_node_name_is_clean_for_its_next_machine(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    names = slurm.site.names("small", reserved=True)
    assert len(names) == 1
    launch(slurm, engine, 0, reserved=True)
    job = slurm.submit("sleep 60", "--mem=100")
    engine.begin(orders(engine, 1)[0], place(0))
    wait_phase(engine, job, JobPhase.RUNNING)
    terminate(slurm, engine, 0)
    assert wait_phase(engine, job, JobPhase.LOST).attempt == 1
    node = next(n for n in slurm.commands.nodes() if n.name == names[0])
    assert {"POWERED_DOWN", "DRAIN"} <= node.flags
    launch(slurm, engine_of(slurm), 7, reserved=True)
    again = slurm.submit("true", "--mem=100")
    fresh = engine_of(slurm)
    fresh.begin(next(o for o in fresh.new().orders if o.id == again), place(7))
    assert wait_phase(fresh, again, JobPhase.ENDED).code == 0


def test_names_are_kept_through_restarts_and_run_out_with_a_word(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    roles = [MachineRole(number, "small", reserved=False) for number in (5, 6, 7, 8)]
    scripts = [engine.joining(role) for role in roles[:3]]
    assert len(set(scripts)) == 3
    assert [engine_of(slurm).joining(role) for role in roles[:3]] == scripts
    with pytest.raises(NoCapacityError, match="3 on-demand nodes"):
        engine.joining(roles[3])
    assert set(phases(engine).values()) == {NodePhase.JOINING}


@pytest.mark.long
def test_a_machine_that_dies_is_gone_and_its_job_lost(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    job = slurm.submit("sleep 60", "--mem=100", "--requeue")
    engine.begin(orders(engine, 1)[0], place(1))
    wait_phase(engine, job, JobPhase.RUNNING)
    slurm.end("machine-1")
    wait_for(lambda: phases(engine)[1] is NodePhase.GONE, "a dead machine is not told as gone")
    assert sighting(engine, job).phase in (JobPhase.RUNNING, JobPhase.UNKNOWN)
    engine.let_go(1)
    wait_phase(engine, job, JobPhase.LOST)
    wait_for(lambda: engine.look() and slurm.job(job).held, "Slurm would start it by itself")


def test_the_files_of_a_site_are_read_again(slurm: Cluster) -> None:
    from hcloud.providers.slurm.site import FILE_NAME, load_site

    assert load_site(slurm.home / FILE_NAME) == slurm.site
    assert set(config.files(slurm.site, "/x")) <= {path.name for path in slurm.home.iterdir()}


class KilledError(BaseException):
    """The process of the engine is gone."""


def killed(does: Callable[[], object], owner: type, step: str, *, done: bool) -> None:
    """Do it, and be killed before a step of it, or when that is done."""
    whole = getattr(owner, step)

    def dies(self: object, *what: object, **more: object) -> None:
        if done:
            whole(self, *what, **more)
        raise KilledError(step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, step, dies)
        with pytest.raises(KilledError):
            does()


STEPS = [(NodeLedger, "permit", True), (SlurmCommands, "update_job", True), (SlurmCommands, "release", True)]


@pytest.mark.slow
def test_an_engine_that_is_killed_at_any_step_is_taken_up(slurm: Cluster) -> None:
    """While it claims a name, lets a job begin, and lets a machine go: the next one says the same again, and each job
    begins once."""
    for done in (False, True):
        claim = partial(engine_of(slurm).joining, MachineRole(1, "small", reserved=False))
        killed(claim, NodeLedger, "note", done=done)
    launch(slurm, engine_of(slurm), 1)
    assert [claim.instance for claim in NodeLedger(slurm.site).claims()] == [1]
    for owner, step, done in STEPS:
        job, engine = slurm.submit("echo begun", "--mem=64"), engine_of(slurm)
        order = next(order for order in orders(engine, 1) if order.id == job)
        killed(partial(engine.begin, order, place(1)), owner, step, done=done)
        after = engine_of(slurm)
        after.look()
        after.begin(order, place(1))
        assert wait_phase(after, job, JobPhase.ENDED).code == 0, step
        assert (slurm.home / f"out.{job}").read_text().split() == ["begun"], step
    for owner, step in ((NodeLedger, "note"), (SlurmCommands, "update_node")):
        killed(partial(engine_of(slurm).let_go, 1), owner, step, done=False)
    terminate(slurm, engine_of(slurm), 1)
    assert not NodeLedger(slurm.site).claims()

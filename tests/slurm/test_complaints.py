"""What users of the clouds' own integrations with Slurm complain about, each by its thread; none of it happens here.

Two more are in test_power_programs: weights that were ignored (aws-parallelcluster-cookbook 1490,
aws-eda-slurm-cluster 78), and machines left while Slurm said idle~ (cyclecloud-slurm 267).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time

from slurm_cluster import Cluster, wait_for

from hcloud.model.running.job import JobPhase, MachineRole, NodePhase
from hcloud.providers.slurm.answers import SlurmNode
from slurm.machines import engine_of, launch, orders, phases, place, sighting, wait_phase


def _node(slurm: Cluster, name: str) -> SlurmNode:
    return next(found for found in slurm.commands.nodes() if found.name == name)


def test_a_launch_without_capacity_leaves_the_job_held_for_another_type(slurm: Cluster) -> None:
    """aws-parallelcluster 4030: a job was bound to nodes that could not be launched, and waited there."""
    engine = engine_of(slurm)
    job = slurm.submit("true", "--mem=100")
    (order,) = orders(engine, 1)
    engine.joining(MachineRole(1, "small", reserved=False))
    assert phases(engine)[1] is NodePhase.JOINING
    engine.let_go(1)  # the cloud had none
    held = slurm.job(job)
    assert (held.held, held.required, held.nodes) == (True, "", "")
    launch(slurm, engine, 2, kind="medium")
    engine.begin(order, place(2))
    assert wait_phase(engine, job, JobPhase.ENDED).code == 0
    assert slurm.job(job).restarts == 0
    wait_for(lambda: 1 not in phases(engine), "the node name of the launch that failed is not free again")


def test_a_restartable_job_begins_anew_when_its_spot_machine_was_taken(slurm: Cluster) -> None:
    """aws-parallelcluster 6641: jobs of spot nodes were not started again."""
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    launch(slurm, engine, 2)
    job = slurm.submit("echo begun; [ ${SLURM_RESTART_COUNT:-0} -gt 0 ] || sleep 60", "--mem=100", "--requeue",
                       "--open-mode=append")  # fmt: skip
    (order,) = orders(engine, 1)
    assert order.restartable
    engine.begin(order, place(1))
    wait_phase(engine, job, JobPhase.RUNNING)
    engine.let_go(1)
    slurm.end("machine-1")
    assert wait_phase(engine, job, JobPhase.LOST).attempt == 1
    engine.begin(order, place(2, 2))
    assert wait_phase(engine, job, JobPhase.ENDED).code == 0
    assert sighting(engine, job).attempt == 2
    assert slurm.job(job).nodes == "hc-small-2"
    assert (slurm.home / f"out.{job}").read_text().split() == ["begun", "begun"]


def test_a_node_that_was_given_up_is_not_asked_up_again_and_again(slurm: Cluster) -> None:
    """cluster-toolkit 3225: machines were created and deleted in a loop while a quota was used up."""
    engine = engine_of(slurm)
    engine.joining(MachineRole(1, "small", reserved=False))
    engine.look()
    log = slurm.site.folder / "power.log"
    wait_for(log.exists, "the resume program is not called")
    slurm.commands.update_node("hc-small-1", state="down", reason="ResumeTimeout reached")
    slurm.commands.update_node("hc-small-1", state="power_down_force")
    until = time.monotonic() + 6
    while time.monotonic() < until:
        assert phases(engine)[1] in (NodePhase.GONE, NodePhase.JOINING)
        time.sleep(0.2)
    assert phases(engine)[1] is NodePhase.GONE
    assert log.read_text().count("its machine is being launched") == 1
    engine.let_go(1)
    wait_for(lambda: 1 not in phases(engine), "its name is not free again")
    assert _node(slurm, "hc-small-1").state == "IDLE"


def test_a_resume_program_returns_at_once_though_slurmctld_hangs(slurm: Cluster) -> None:
    """cyclecloud-slurm 301: a slow resume program kept slurmctld from all else."""
    hung = slurm.daemons["slurmctld"].pid
    os.kill(hung, signal.SIGSTOP)
    try:
        subprocess.run([slurm.home / "hcloud-resume", "hc-small-[0-2]"], env={}, check=True, timeout=60)
    finally:
        os.kill(hung, signal.SIGCONT)


def test_reserved_nodes_that_idle_are_not_powered_down(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 0, reserved=True)
    wait_for(lambda: _node(slurm, "hcr-small-0").flags == {"CLOUD"}, "slurmctld does not take it for up")
    time.sleep(3.0)
    assert _node(slurm, "hcr-small-0").flags == {"CLOUD"}
    assert phases(engine)[0] is NodePhase.READY


def test_a_node_that_an_administrator_drains_takes_no_new_job(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    slurm.run("scontrol", "update", "nodename=hc-small-1", "state=drain", "reason=disk")
    assert phases(engine)[1] is NodePhase.LEAVING
    assert "DRAIN" in _node(slurm, "hc-small-1").flags
    slurm.run("scontrol", "update", "nodename=hc-small-1", "state=undrain")
    assert phases(engine)[1] is NodePhase.READY


def test_a_job_that_cannot_run_on_the_chosen_node_is_left_to_slurm(slurm: Cluster) -> None:
    """It asks for a feature that the node has not."""
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    job = slurm.submit("true", "--mem=100", "-C", "reserved")
    (order,) = orders(engine, 1)
    engine.begin(order, place(1))
    wait_for(lambda: engine.look() and job in engine.new().cancelled, "it is not given back")
    assert engine.passed_by == (job,)
    assert engine.look().jobs == ()

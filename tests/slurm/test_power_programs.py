"""The programs that slurmctld's power saving calls: without PATH and HOME, with signals blocked, again and again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_cluster import Cluster, cluster, wait_for

from hcloud.model.running.job import JobPhase, MachineRole, NodePhase
from hcloud.providers.slurm import power
from hcloud.providers.slurm.answers import SlurmNode
from hcloud.providers.slurm.site import FILE_NAME
from slurm.machines import engine_of, launch, orders, phases, place, sighting

ON_DEMAND, RESERVED = "hc-small-1", "hcr-small-0"


def node(slurm: Cluster, name: str) -> SlurmNode:
    return next(found for found in slurm.commands.nodes() if found.name == name)


def _flags(slurm: Cluster, name: str) -> frozenset[str]:
    return node(slurm, name).flags


@pytest.fixture
def patient(home: Path) -> Iterator[Cluster]:
    """A cluster that gives up a node only after an hour."""
    with cluster(home, join=3600) as found:
        yield found


def test_a_node_that_hcloud_did_not_ask_up_is_powered_down_at_once(patient: Cluster) -> None:
    """Somebody releases a job before hcloud ever looked: slurmctld asks for a machine, and there is none."""
    job = patient.submit("true", "-w", ON_DEMAND, "--mem=100", "--requeue")
    patient.run("scontrol", "release", job)
    log = patient.site.folder / "power.log"
    wait_for(lambda: log.exists() and "launches no machine" in log.read_text(), "the resume program is not called")
    wait_for(lambda: patient.job(job).state == "PENDING", "its job does not wait again")
    engine = engine_of(patient)
    wait_for(lambda: engine.look() and {"POWERED_DOWN", "DRAIN"} <= _flags(patient, ON_DEMAND), "it does not rest")
    assert node(patient, ON_DEMAND).state == "IDLE"


def test_a_resume_for_a_node_whose_machine_is_launched_changes_nothing(slurm: Cluster) -> None:
    engine = engine_of(slurm)
    engine.joining(MachineRole(1, "small", reserved=False))
    before = node(slurm, ON_DEMAND)
    for _ in range(2):  # slurmctld calls it again after it was started anew
        assert power.resume(slurm.site, slurm.commands, [ON_DEMAND]) == (f"{ON_DEMAND}: its machine is being launched",)
    assert node(slurm, ON_DEMAND) == before
    assert phases(engine)[1] is NodePhase.JOINING


def test_nodes_of_several_kinds_come_in_one_word(slurm: Cluster) -> None:
    """A list without brackets was taken for one node that no machine had, and two machines were powered down."""
    engine = engine_of(slurm)
    engine.joining(MachineRole(1, "small", reserved=False))
    engine.joining(MachineRole(0, "small", reserved=True))
    told = power.resume(slurm.site, slurm.commands, [f"{ON_DEMAND},{RESERVED}"])
    assert told == tuple(f"{name}: its machine is being launched" for name in (ON_DEMAND, RESERVED))
    assert power.names_of(slurm.commands, ["a-[0-1],b-2", "c"]) == ("a-0", "a-1", "b-2", "c")


def test_the_programs_need_no_path_no_home_and_no_signals(slurm: Cluster) -> None:
    """As slurmctld calls them: an empty environment, and all signals blocked."""
    program = slurm.home / "hcloud-resume-failed"
    slurm.commands.update_node(ON_DEMAND, state="power_up")
    slurm.commands.update_node(ON_DEMAND, state="down", reason="test")
    slurm.daemons["slurmctld"].send_signal(signal.SIGSTOP)  # so that a program which waited for its work would not end
    try:
        done = subprocess.run(
            [program, f"{ON_DEMAND[:-1]}[1-2]", "other-0"],
            env={},
            capture_output=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals()) and None,
            check=False,
            timeout=60,
        )
    finally:
        slurm.daemons["slurmctld"].send_signal(signal.SIGCONT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    log = slurm.site.folder / "power.log"
    wait_for(lambda: log.exists() and log.read_text().count("set to resume") >= 1, "nothing was done")
    wait_for(lambda: node(slurm, ON_DEMAND).state == "IDLE", "the node is not set right")
    assert "other-0" not in log.read_text(), "a node of somebody else's"


def test_signals_are_unblocked_for_what_a_program_starts() -> None:
    code = "import signal; from hcloud.providers.slurm.power import unblocked; unblocked(); "
    code += "print(len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))"
    blocked = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD}); "
    blocked += f"os.execv(sys.executable, [sys.executable, '-c', {code!r}])"
    assert subprocess.run([sys.executable, "-c", blocked], capture_output=True, check=True).stdout == b"0\n"


def test_a_node_that_never_registers_does_not_stay_down_for_ever(slurm: Cluster) -> None:
    """cyclecloud-slurm 51 and cluster-toolkit 4940: after a stock-out nodes stayed down~ until somebody came."""
    engine = engine_of(slurm)
    engine.joining(MachineRole(1, "small", reserved=False))
    engine.look()
    slurm.commands.update_node(ON_DEMAND, state="down", reason="ResumeTimeout reached")
    wait_for(lambda: phases(engine)[1] is NodePhase.GONE, "a machine that never came is not given up")
    engine.let_go(1)
    wait_for(lambda: 1 not in phases(engine), "its name is not free again")
    assert node(slurm, ON_DEMAND).state == "IDLE"
    launch(slurm, engine, 4)
    assert engine.look().nodes == ((4, NodePhase.READY),), "the name works for the next machine"


def test_a_machine_whose_node_somebody_powered_down_is_ended(slurm: Cluster) -> None:
    """cyclecloud-slurm 267: machines were left running while Slurm said idle~."""
    engine = engine_of(slurm)
    launch(slurm, engine, 1)
    engine.look()
    slurm.commands.update_node(ON_DEMAND, state="power_down_force")
    wait_for(lambda: phases(engine)[1] is NodePhase.GONE, "hcloud goes on paying")


def test_reserved_nodes_are_never_suspended_and_weigh_least(slurm: Cluster) -> None:
    """aws-parallelcluster-cookbook 1490: weights order nodes that are up; hcloud names the node of every job itself."""
    assert slurm.commands.settings()["suspendexcnodes"] == "hcr-small-[0-0],hcr-medium-[0-0]"
    shown = json.loads(slurm.run("sinfo", "--json"))
    weights = {row["name"]: row["weight"] for row in shown["nodes"] if "weight" in row}
    assert weights[RESERVED] < weights[ON_DEMAND]


def test_a_job_goes_to_the_node_that_was_chosen_though_lighter_ones_idle(slurm: Cluster) -> None:
    """aws-eda-slurm-cluster 78: weights were ignored, heavy nodes were taken while reserved ones idled."""
    engine = engine_of(slurm)
    launch(slurm, engine, 0, reserved=True)
    launch(slurm, engine, 1)
    slurm.kill_controller()
    slurm.start_controller()
    job = slurm.submit("true", "--mem=100")
    (order,) = orders(engine, 1)
    wait_for(lambda: phases(engine) == {0: NodePhase.READY, 1: NodePhase.READY}, "nodes do not come back")

    def ended() -> bool:
        engine.begin(order, place(0))  # said again, as the loop does: slurmctld has just begun anew
        return sighting(engine, job).phase is JobPhase.ENDED

    wait_for(ended, "the job does not end")
    assert slurm.job(job).nodes == RESERVED


def test_the_site_file_is_what_the_programs_read(slurm: Cluster) -> None:
    assert f"--site {slurm.home}/{FILE_NAME}" in (slurm.home / "hcloud-resume").read_text()

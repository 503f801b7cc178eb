"""What Slurm's commands answer, asked of a real slurmctld, and what it means when it does not answer."""

from __future__ import annotations

import pytest
from slurm_cluster import SEARCHED, Cluster, wait_for

from hcloud.errors import NotFoundError, RefusedError, UnavailableError, UnknownOutcomeError
from hcloud.providers.slurm.answers import SlurmNode
from hcloud.providers.slurm.client import SlurmCommands


def test_a_held_job_is_pinned_and_released_and_its_end_is_told(slurm: Cluster) -> None:
    job = slurm.submit("exit 3", "--mem=100", "--comment=expect=5", "-t", "2", "--requeue", "--nice=7")
    held = slurm.job(job)
    assert (held.state, held.held, held.partition, held.admin_comment) == ("PENDING", True, "hc", "hcloud")
    assert (held.cpus, held.memory, held.minutes, held.nice, held.requeue) == (1, 100, 2, 7, True)
    node = "hc-small-1"
    slurm.commands.update_node(node, state="power_up")
    slurm.start_node(node)
    wait_for(lambda: "POWERED_DOWN" not in _node(slurm, node).flags, "the node does not join")
    slurm.commands.update_job(job, reqnodelist=node)
    slurm.commands.release(job)
    wait_for(lambda: slurm.job(job).state == "FAILED", "the job does not end")
    ended = slurm.job(job)
    assert (ended.code, ended.nodes, ended.end >= ended.start > 0) == (3, node, True)


def _node(slurm: Cluster, name: str) -> SlurmNode:
    return next(node for node in slurm.commands.nodes() if node.name == name)


def test_tasks_of_an_array_are_jobs_of_their_own(slurm: Cluster) -> None:
    array = slurm.submit("true", "--array=0-2,7%2")
    slurm.commands.update_job(f"{array}_1", reqnodelist="hc-small-0")
    slurm.commands.release(f"{array}_1")
    found = {job.id: job.held for job in slurm.commands.jobs()}
    assert found == {f"{array}_0": True, f"{array}_1": False, f"{array}_2": True, f"{array}_7": True}


def test_a_job_of_another_partition_is_left_alone(slurm: Cluster) -> None:
    slurm.start_node("other-0")
    job = slurm.submit("true", partition="")
    assert slurm.job(job).admin_comment == ""
    wait_for(lambda: slurm.job(job).state == "COMPLETED", "a foreign job does not run")


def test_a_slurmctld_that_is_gone_is_no_empty_queue(slurm: Cluster) -> None:
    """squeue of 22.05 ends with 0 and no jobs then, after nine seconds and more."""
    slurm.submit()
    slurm.kill_controller()
    asked = SlurmCommands(slurm.conf, SEARCHED, seconds=1.0)
    for ask in (asked.jobs, asked.nodes, asked.settings):
        with pytest.raises(UnavailableError, match="within 1 s"):
            ask()
    with pytest.raises(UnknownOutcomeError, match="may have been done"):
        asked.release("1")


def test_what_slurm_refuses_is_told_in_its_words(slurm: Cluster) -> None:
    with pytest.raises(NotFoundError, match="Invalid job id"):
        slurm.commands.release("4711")
    with pytest.raises(RefusedError):
        slurm.commands.update_node("hc-small-1", state="nonsense")
    with pytest.raises(UnavailableError, match="not installed"):
        SlurmCommands(slurm.conf, "/nowhere").jobs()


def test_settings_and_version_are_told(slurm: Cluster) -> None:
    assert slurm.commands.version >= (21, 8)
    assert slurm.commands.settings()["privatedata"] == "cloud"
    assert slurm.commands.partition("hc")["PartitionName"] == "hc"
    assert slurm.commands.partition("nowhere") == {}

"""``hcloud operate --engine slurm --cloud local``: the whole of it, judged by what the jobs wrote and what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_cluster import SEARCHED, Cluster, cluster, wait_for

from hcloud.profiling.local.machines import ProcessHost
from hcloud.providers.slurm.site import NodeGroup

GROUPS = (NodeGroup("small", 1, 1024, 2, 3), NodeGroup("medium", 2, 2048, 1, 2), NodeGroup("large", 4, 4096, 1, 1))
BY_SIZE = "PriorityType=priority/multifactor\nPriorityWeightJobSize=10000\n"
"""Jobs of one size have one priority, less what their users' nice takes from it."""
RUN = ("run", "--engine", "slurm", "--cloud", "local", "--plain", "--no-probe", "--pool", "1")


@pytest.fixture
def grid(home: Path) -> Iterator[Cluster]:
    with cluster(home, GROUPS) as found:
        yield found
        host = ProcessHost(home / ".hcloud" / "local" / "running")
        host.end(host.alive())


def controller(grid: Cluster, *words: str) -> subprocess.Popen[str]:
    """A controller in a process of its own, with this slurmctld."""
    environment = {**os.environ, "SLURM_CONF": str(grid.conf), "PATH": f"{SEARCHED}:{Path(sys.executable).parent}"}
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "hcloud", "operate", *words],
        cwd=grid.home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def submit(grid: Cluster, count: int, seconds: float) -> list[str]:
    """Jobs that note in a ledger that they begin and end."""
    path = grid.home / "ledger"
    command = f"echo begin $SLURM_JOB_ID >> {path}; sleep {seconds} && echo end $SLURM_JOB_ID >> {path}"
    return [grid.submit(command, "--mem=64", "-t", "1") for _ in range(count)]


def ledger(grid: Cluster) -> Counter[str]:
    path = grid.home / "ledger"
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def all_once(jobs: list[str]) -> Counter[str]:
    return Counter([f"{what} {job}" for job in jobs for what in ("begin", "end")])


def is_clean(grid: Cluster) -> bool:
    """No machine, no claim and no node that is up."""
    alive = ProcessHost(grid.home / ".hcloud" / "local" / "running").alive()
    up = [n for n in grid.commands.nodes() if grid.site.is_ours(n.name) and "POWERED_DOWN" not in n.flags]
    return not alive and not up


def end(running: subprocess.Popen[str], grid: Cluster, code: int = 0) -> str:
    """Ask for the end; what the controller printed."""
    done = controller(grid, "drain", "--no-wait")
    said, _ = done.communicate(timeout=60)
    assert done.returncode == 0, said
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == code, printed
    return printed


@pytest.mark.long
def test_six_jobs_come_by_sbatch_all_end_and_nothing_is_left(grid: Cluster) -> None:
    """A seventh, which no type holds, keeps none of them from running."""
    large = grid.submit("true", "--mem=100000", "-t", "1")
    jobs = submit(grid, 3, 0.3)
    running = controller(grid, *RUN)
    grid.start_node("other-0")
    foreign = grid.submit("true", partition="")
    jobs += submit(grid, 3, 0.3)
    wait_for(lambda: ledger(grid) == all_once(jobs) or running.poll(), "not all jobs ended", 90)
    wait_for(lambda: grid.job(foreign).state == "COMPLETED", "a foreign job does not run")
    printed = end(running, grid, code=1)
    assert f"job {large} refused: it asks for 1 vCPU and 97.7 GiB; no type has that" in printed
    assert ledger(grid) == all_once(jobs), printed
    wait_for(lambda: is_clean(grid), "something is left", 20)
    assert grid.job(large).state == "PENDING"
    assert {grid.job(job).state for job in jobs} == {"COMPLETED"}


def killed_after(grid: Cluster, lines: int) -> None:
    """A controller works until the ledger has so many lines, and is killed."""
    running = controller(grid, *RUN)
    wait_for(lambda: sum(ledger(grid).values()) >= lines or running.poll(), "nothing begins", 60)
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=10)


@pytest.mark.long
def test_a_controller_that_is_killed_goes_on_and_slurmctld_may_be_restarted(grid: Cluster) -> None:
    jobs = submit(grid, 5, 1.0)
    for after in (1, 4):
        killed_after(grid, after)
    grid.stop_controller()
    grid.start_controller()
    running = controller(grid, *RUN)
    wait_for(lambda: ledger(grid) == all_once(jobs) or running.poll(), "not all jobs ended", 90)
    printed = end(running, grid)
    assert ledger(grid) == all_once(jobs), printed
    wait_for(lambda: is_clean(grid), "something is left", 20)


@pytest.mark.long
def test_machines_can_be_ended_by_force_while_slurmctld_is_gone(grid: Cluster) -> None:
    submit(grid, 1, 60.0)
    killed_after(grid, 1)
    grid.kill_controller()
    forced = controller(grid, "stop", "--force")
    said, _ = forced.communicate(timeout=90)
    assert "none left standing" in said
    assert not ProcessHost(grid.home / ".hcloud" / "local" / "running").alive()


@pytest.mark.long
def test_jobs_leave_hclouds_own_queue_in_slurms_order(home: Path) -> None:
    """One reserved machine, with a job on it; two wait in hcloud's queue when a third comes that slurmctld ranks above
    them, and it begins before them."""
    with cluster(home, GROUPS[:1], more=BY_SIZE) as grid:
        ledger, go = home / "ledger", home / "go"

        def submitted(nice: int) -> str:
            command = f"echo begin $SLURM_JOB_ID >> {ledger}; until [ -e {go} ]; do sleep 0.1; done"
            return grid.submit(command, "--mem=64", "-t", "1", f"--nice={nice}")

        running = controller(grid, *RUN, "--strategy", "SR")
        jobs = [submitted(0)]
        wait_for(lambda: ledger.exists() or running.poll(), "the first does not begin", 60)
        jobs += [submitted(nice) for nice in (300, 200)]
        journal = home / ".hcloud" / "operate" / "journal.jsonl"
        wait_for(lambda: journal.read_text().count('"decision":"queue"') == 2 or running.poll(), "they do not wait", 60)
        jobs += [submitted(100)]
        ranked = [grid.job(job).priority for job in jobs[1:]]
        assert ranked == sorted(ranked)
        assert ranked[0] < ranked[-1]
        wait_for(lambda: journal.read_text().count('"decision":"queue"') == 3 or running.poll(), "it does not wait", 60)
        go.touch()
        wait_for(lambda: len(ledger.read_text().splitlines()) == 4 or running.poll(), "not all begin", 60)
        assert ledger.read_text().split()[1::2] == [jobs[0], jobs[3], jobs[2], jobs[1]]
        end(running, grid)


def test_a_job_file_and_a_cluster_of_another_kind_are_refused(grid: Cluster) -> None:
    refused = controller(grid, "jobs.csv", *RUN[1:])
    said, _ = refused.communicate(timeout=30)
    assert (refused.returncode, "sbatch" in said) == (64, True)

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

from benchmarks.children import Child
from hcloud.profiling.local.machines import ProcessHost
from hcloud.providers.slurm.site import NodeGroup
from hcloud.usecases.live.operating.asking import ask
from slurm.controllers import Controllers

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


def environment(grid: Cluster) -> dict[str, str]:
    """Of a process with this slurmctld."""
    return {**os.environ, "SLURM_CONF": str(grid.conf), "PATH": f"{SEARCHED}:{Path(sys.executable).parent}"}


def whole(grid: Cluster, *words: str) -> subprocess.Popen[str]:
    """A verb in a process that begins from its start."""
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "hcloud", "operate", *words],
        cwd=grid.home, env=environment(grid), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def controller(controllers: Controllers, grid: Cluster, *words: str) -> Child:
    """One that is forked."""
    return controllers.start(words, environment(grid), grid.home)


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


def end(running: Child, grid: Cluster) -> str:
    """Ask for the end; what the controller printed."""
    ask(str(grid.home / ".hcloud"), "drain")
    assert running.wait(60) == 0, running.said
    return running.said


@pytest.mark.long
def test_six_jobs_come_by_sbatch_all_end_and_nothing_is_left(grid: Cluster) -> None:
    """A seventh, which no type holds, keeps none of them from running. All processes begin from their start."""
    large = grid.submit("true", "--mem=100000", "-t", "1")
    jobs = submit(grid, 3, 0.3)
    running = whole(grid, *RUN)
    grid.start_node("other-0")
    foreign = grid.submit("true", partition="")
    jobs += submit(grid, 3, 0.3)
    wait_for(lambda: ledger(grid) == all_once(jobs) or running.poll(), "not all jobs ended")
    wait_for(lambda: grid.job(foreign).state == "COMPLETED", "a foreign job does not run")
    drained, _ = (asked := whole(grid, "drain", "--no-wait")).communicate(timeout=60)
    assert asked.returncode == 0, drained
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 1, printed
    assert f"job {large} refused: it asks for 1 vCPU and 97.7 GiB; no type has that" in printed
    assert ledger(grid) == all_once(jobs), printed
    wait_for(lambda: is_clean(grid), "something is left")
    assert grid.job(large).state == "PENDING"
    assert {grid.job(job).state for job in jobs} == {"COMPLETED"}


def killed_after(controllers: Controllers, grid: Cluster, lines: int) -> None:
    """A controller works until the ledger has so many lines, and is killed."""
    running = controller(controllers, grid, *RUN)
    wait_for(lambda: sum(ledger(grid).values()) >= lines or running.ended, "nothing begins")
    running.send(signal.SIGKILL)
    running.wait()


@pytest.mark.long
def test_a_controller_that_is_killed_goes_on_and_slurmctld_may_be_restarted(
    grid: Cluster, controllers: Controllers
) -> None:
    jobs = submit(grid, 5, 1.0)
    for after in (1, 4):
        killed_after(controllers, grid, after)
    grid.stop_controller()
    grid.start_controller()
    running = controller(controllers, grid, *RUN)
    wait_for(lambda: ledger(grid) == all_once(jobs) or running.ended, "not all jobs ended")
    printed = end(running, grid)
    assert ledger(grid) == all_once(jobs), printed
    wait_for(lambda: is_clean(grid), "something is left")


@pytest.mark.long
def test_machines_can_be_ended_by_force_while_slurmctld_is_gone(grid: Cluster, controllers: Controllers) -> None:
    submit(grid, 1, 60.0)
    killed_after(controllers, grid, 1)
    grid.kill_controller()
    forced = controller(controllers, grid, "stop", "--force")
    forced.wait(90)
    assert "none still running" in forced.said
    assert not ProcessHost(grid.home / ".hcloud" / "local" / "running").alive()


@pytest.mark.long
def test_jobs_leave_hclouds_own_queue_in_slurms_order(home: Path, controllers: Controllers) -> None:
    """One reserved machine, with a job on it; two wait in hcloud's queue when a third comes that slurmctld ranks above
    them, and it begins before them."""
    with cluster(home, GROUPS[:1], more=BY_SIZE) as grid:
        ledger, go = home / "ledger", home / "go"

        def submitted(nice: int) -> str:
            command = f"echo begin $SLURM_JOB_ID >> {ledger}; until [ -e {go} ]; do sleep 0.1; done"
            return grid.submit(command, "--mem=64", "-t", "1", f"--nice={nice}")

        running = controller(controllers, grid, *RUN, "--strategy", "SR")
        jobs = [submitted(0)]
        wait_for(lambda: ledger.exists() or running.ended, "the first does not begin")
        jobs += [submitted(nice) for nice in (300, 200)]
        journal = home / ".hcloud" / "operate" / "journal.jsonl"
        wait_for(lambda: journal.read_text().count('"decision":"queue"') == 2 or running.ended, "they do not wait")
        jobs += [submitted(100)]
        ranked = [grid.job(job).priority for job in jobs[1:]]
        assert ranked == sorted(ranked)
        assert ranked[0] < ranked[-1]
        wait_for(lambda: journal.read_text().count('"decision":"queue"') == 3 or running.ended, "it does not wait")
        go.touch()
        wait_for(lambda: len(ledger.read_text().splitlines()) == 4 or running.ended, "not all begin")
        assert ledger.read_text().split()[1::2] == [jobs[0], jobs[3], jobs[2], jobs[1]]
        end(running, grid)


def test_a_job_file_and_a_cluster_of_another_kind_are_refused(grid: Cluster, controllers: Controllers) -> None:
    file = grid.home / "jobs.csv"
    file.write_text("submit,duration,cores,command\n0,10,1,true\n")
    refused = controller(controllers, grid, str(file), *RUN[1:])
    assert (refused.wait(), "sbatch" in refused.said) == (64, True)

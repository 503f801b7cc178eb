"""The whole way on this machine: a machine of the local cloud runs its start-up script, and a real slurmd joins."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm_cluster import Cluster, wait_for

from hcloud.control.ports import Size
from hcloud.live.clock import SystemClock
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Launch, Owner
from hcloud.model.running.job import JobPhase, MachineRole, NodePhase
from hcloud.profiling.cage import Hierarchy, this_machine
from hcloud.profiling.local.machines import ProcessHost
from hcloud.providers.local.provider import LocalCloud
from hcloud.providers.local.settings import LocalSettings
from slurm.machines import engine_of, orders, phases, place, wait_phase

OWNER = Owner("lineage-1", "test", "plan-1")


@pytest.fixture(params=["control groups", "marks only"])
def cloud(slurm: Cluster, request: pytest.FixtureRequest) -> LocalCloud:
    folder = slurm.home / "machines"
    hierarchy = this_machine() if request.param == "control groups" else Hierarchy(0)
    host = ProcessHost(folder / "running", hierarchy)
    return LocalCloud(LocalSettings(folder, Size(64, 64.0)), SystemClock(), host)


def test_a_held_job_runs_on_the_machine_that_joined_and_ends_with_it(slurm: Cluster, cloud: LocalCloud) -> None:
    engine = engine_of(slurm)
    engine.look()
    job = slurm.submit("echo $SLURMD_NODENAME; sleep 600 & sleep 600", "--mem=100")
    (order,) = orders(engine, 1)
    script = engine.joining(MachineRole(3, "small", reserved=False))
    launch = Launch("a" * 32, "operate-3", "small", "local", 1, OWNER, PurchaseOption.ON_DEMAND, script)
    (machine,) = cloud.launch(launch).machines
    wait_for(lambda: phases(engine).get(3) is NodePhase.READY, f"it does not join: {cloud.console(machine.id)}")
    engine.begin(order, place(3))
    wait_phase(engine, job, JobPhase.RUNNING)
    wait_for(lambda: _processes(slurm), "no process of a job that runs")  # Slurm says that it runs before it does
    engine.let_go(3)
    cloud.terminate([machine.id])
    wait_for(lambda: not _processes(slurm), "processes of a job outlast its machine")
    wait_for(lambda: 3 not in phases(engine), "its node name is not free again")
    assert wait_phase(engine, job, JobPhase.LOST).attempt == 1


def _processes(slurm: Cluster) -> set[int]:
    """The processes of this cluster's jobs, wherever they are."""
    word, found = f"SLURM_SUBMIT_DIR={slurm.home}\0".encode(), set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and word in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found

"""``hcloud operate --engine slurm`` on fakes that listen: machines are launched over the wire, their user data really
runs, and their slurmd joins; judged by the ledgers of the fake and of the jobs."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from slurm_cluster import wait_for

from hcloud.model.clouds.known import CLOUDS
from slurm.fake_clouds import STRATEGY, Ground, ground

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="machines with a system of their own need root")
RUN = ("run", "--engine", "slurm", "--strategy", STRATEGY, "--plain", "--no-probe")


def _ended(here: Ground, jobs: list[str]) -> bool:
    return here.ledger() == Counter(f"{what} {job}" for job in jobs for what in ("begin", "end"))


@pytest.mark.parametrize("name", CLOUDS)
def test_jobs_come_by_sbatch_machines_join_by_user_data_and_nothing_is_left(home: Path, name: str) -> None:
    with ground(home, name) as here:
        here.fill_store()
        jobs = [here.submit(0.5) for _ in range(2)]
        running = here.controller(*RUN, "--cloud", name)
        wait_for(lambda: _ended(here, jobs) or running.poll(), "not all jobs ended", 60)
        said = here.drain(running)
        assert _ended(here, jobs), said
        assert {here.slurm.job(job).state for job in jobs} == {"COMPLETED"}
        machines = here.machines()
        assert machines
        assert not here.live(), said
        wait_for(here.is_clean, "something is left")

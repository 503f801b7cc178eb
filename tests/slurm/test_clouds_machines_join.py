"""``hcloud operate --engine slurm`` on fakes that listen: machines are launched over the wire, their user data really
runs, and their slurmd joins a real slurmctld; judged by the ledgers of the fake and of the jobs. Each cloud has a fault
of its own, so that every fault is seen once."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from slurm_cluster import wait_for

from hcloud.fake.execute import name_of
from hcloud.fake.faults import FaultPlan, Faults
from hcloud.fake.world import SPOT_NOTICE_SECONDS
from hcloud.readers.bundle import bundled
from slurm.controllers import Controllers
from slurm.fake_clouds import STRATEGY, Ground, ground

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="machines with a system of their own need root"),
]
RUN = ("run", "--engine", "slurm", "--strategy", STRATEGY, "--plain", "--no-probe")


def _count(here: Ground, what: str) -> int:
    return sum(n for line, n in here.ledger().items() if line.startswith(what))


def _once(jobs: list[str]) -> Counter[str]:
    return Counter(f"{what} {job}" for job in jobs for what in ("begin", "end"))


def _check_end(here: Ground, said: str) -> None:
    """Nothing stands, for the fake, for Slurm and among the processes here, and the secret is nowhere."""
    wait_for(here.is_clean, f"something is left: {said}")
    assert all(machine.ended_at is not None for machine in here.machines())
    assert here.secret[:20] not in said + here.slurm.log() + here.everything_told()
    kept = here.everything_kept()
    assert b"Launching" in kept or b"launch" in kept, "the journal is among it"
    assert here.secret[:20].encode() not in kept
    assert here.slurm.home.joinpath("munge.key").read_bytes()[:20] not in kept


def test_a_refused_launch_and_user_data_that_fails_keep_no_job_from_its_end(
    home: Path, controllers: Controllers
) -> None:
    """The first launch is refused. The store is empty at first: the first machine waits for the key, never registers,
    and is given up; another takes its place, and tells what it gives."""
    refused = {"on": "RunInstances", "answer": "no-capacity", "first": 1}
    with ground(home, controllers, "aws", join=7, probe=True, rules=[refused]) as here:
        jobs = [here.submit(0.5)]
        running = here.controller(*RUN[:-1], "--cloud", "aws")
        wait_for(lambda: here.machines() or running.ended, "no machine is launched")
        first = here.machines()[0]
        wait_for(lambda: first.asked_to_end is not None, "a machine that never registers is not given up")
        here.fill_store()
        wait_for(lambda: here.ledger() == _once(jobs) or running.ended, "the job does not end")
        said = here.drain(running)
        assert here.ledger() == _once(jobs), said
        assert here.slurm.job(jobs[0]).state == "COMPLETED"
        assert len(here.machines()) >= 2
        assert '"event":"quality"' in here.journal()
        _check_end(here, said)


def test_a_machine_that_hears_of_its_end_drains_its_own_node(home: Path, controllers: Controllers) -> None:
    """Google tells the machine alone: its start-up script asks the metadata server. What comes next runs elsewhere."""
    with ground(home, controllers, "gcp") as here:
        here.fill_store()
        first = here.submit(0, until="heard")
        running = here.controller(*RUN, "--cloud", "gcp")
        wait_for(lambda: here.ledger()[f"begin {first}"] or running.ended, "it does not begin")
        (machine,) = here.live()
        here.box.warn(name_of(machine))
        wait_for(lambda: "DRAIN" in here.flags_of(first), "the node does not drain")
        wait_for(lambda: '"event":"closing"' in here.journal(), "hcloud does not see it")
        second = here.submit(0)
        wait_for(lambda: here.ledger()[f"end {second}"] or running.ended, "the next one does not end")
        assert here.slurm.job(second).nodes != here.slurm.job(first).nodes
        (here.shared / "heard").touch()
        said = here.drain(running)
        assert here.ledger() == _once([first, second]), said
        _check_end(here, said)


def test_a_machine_that_is_lost_loses_one_attempt_and_no_job(home: Path, controllers: Controllers) -> None:
    """Somebody deletes the machine of a restartable job while it runs; another one is let alone."""
    with ground(home, controllers, "gcp") as here:
        here.fill_store()
        restartable, other = here.submit(2, "--requeue"), here.submit(0.5)
        running = here.controller(*RUN, "--cloud", "gcp")
        wait_for(lambda: here.ledger()[f"begin {restartable}"] or running.ended, "it does not begin")
        node = here.slurm.job(restartable).nodes
        (lost,) = (m for m in here.machines() if node in str(m.detail["start_up"]))
        here.cloud.edit({"terminate": lost.id})
        wait_for(lambda: here.ledger()[f"end {restartable}"] or running.ended, "it does not begin anew")
        wait_for(lambda: here.ledger()[f"end {other}"], "the other one does not end")
        said = here.drain(running)
        assert here.ledger() == _once([restartable, other]) + Counter([f"begin {restartable}"]), said
        assert here.slurm.job(restartable).nodes != node or len(here.machines()) >= 3
        _check_end(here, said)


def test_a_job_on_a_spot_machine_begins_anew_elsewhere_at_its_notice(home: Path, controllers: Controllers) -> None:
    """AWS marks the spot machine for termination: its restartable job is requeued before the machine is taken."""
    with ground(home, controllers, "aws") as here:
        here.fill_store()
        below = "{below_quality: {value: 1.0, unit: quality, origin: C, source: ours, why: a test}}"
        spot = f"  spot:\n    rule: tolerant-batch\n    parameters: {below}"
        text = (bundled("policies") / "OdM.yaml").read_text()
        (here.shared / "spot.yaml").write_text(text.replace("  spot:\n    rule: none", spot))
        job = here.submit(0, "--requeue", until="noticed")
        words = [str(here.shared / "spot.yaml") if word == STRATEGY else word for word in RUN]
        running = here.controller(*words, "--cloud", "aws")
        wait_for(lambda: here.ledger()[f"begin {job}"] or running.ended, "it does not begin")
        (first,) = here.live()
        with here.cloud.ledger.held():
            here.cloud.faults = Faults(FaultPlan(spot_notices=(0.0,)), here.cloud.clock.now())
        noticed = here.cloud.clock.now()
        wait_for(lambda: here.ledger()[f"begin {job}"] == 2 or running.ended, "it does not begin anew")
        (here.shared / "noticed").touch()
        wait_for(lambda: here.ledger()[f"end {job}"] or running.ended, "it does not end")
        said = here.drain(running)
        assert here.ledger() == Counter({f"begin {job}": 2, f"end {job}": 1}), said
        machines = here.machines()
        assert (machines[0].id, machines[0].spot, len({m.id for m in machines}) >= 2) == (first.id, True, True)
        assert machines[0].asked_to_end is not None
        assert machines[0].asked_to_end < noticed + SPOT_NOTICE_SECONDS, "it leaves before it is taken"
        assert '"event":"interruption"' in here.journal()
        _check_end(here, said)


def test_jobs_leave_a_machine_whose_host_is_maintained(home: Path, controllers: Controllers) -> None:
    """One may not begin anew: it ends where it is. One may: it begins anew elsewhere, long before the machine ends."""
    with ground(home, controllers, "azure") as here:
        here.fill_store()
        stays, leaves = here.submit(0, until="drained"), here.submit(5, "--requeue")
        running = here.controller(*RUN, "--cloud", "azure")
        wait_for(lambda: _count(here, "begin") == 2 or running.ended, "not both begin")
        before = {m.id for m in here.live()}
        with here.cloud.ledger.held():
            here.cloud.faults = Faults(FaultPlan(maintenance=(0.0,)), here.cloud.clock.now())
        wait_for(lambda: "DRAIN" in here.flags_of(stays), "the node does not drain")
        assert here.ledger()[f"end {stays}"] == 0, "what runs goes on"
        (here.shared / "drained").touch()
        wait_for(lambda: here.ledger()[f"begin {leaves}"] == 2 or running.ended, "it does not leave")
        wait_for(lambda: _count(here, "end") == 2 or running.ended, "not both end")
        said = here.drain(running)
        assert here.ledger() == _once([stays, leaves]) + Counter([f"begin {leaves}"]), said
        assert "its cloud takes it away: Azure maintains its host" in here.journal()
        assert "Azure maintains its host from" in said
        assert {m.id for m in here.machines()} - before, "its second attempt is on another machine"
        _check_end(here, said)

"""Rented machines measure themselves before they join Slurm; what they gave comes back with their node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slurm_cluster import SEARCHED, Cluster, cluster, wait_for

from hcloud.live.clock import SystemClock
from hcloud.model.running.event import Quality, Ready
from hcloud.profiling.local.launch_probe import measured_with
from hcloud.profiling.local.machines import ProcessHost
from hcloud.providers.slurm.engine import SlurmEngine
from hcloud.providers.slurm.probing import telling
from hcloud.store.journals.journal import read_journal
from slurm.controllers import Controllers
from slurm.machines import engine_of, launch, terminate
from slurm.test_operate_with_slurm import GROUPS, controller, end


def probing(slurm: Cluster) -> SlurmEngine:
    return SlurmEngine(slurm.site, slurm.commands, SystemClock(), probe=measured_with())


def test_a_rented_machine_tells_what_it_gives_and_users_see_nothing_of_it(slurm: Cluster) -> None:
    engine = probing(slurm)
    launch(slurm, engine, 3)
    found = engine.measured(3)
    assert found is not None
    assert (found.method, found.vcpus) == ("python", 1), "no more than the node has, whatever the machine has"
    assert found.cpu > 100
    assert found.memory > 10
    assert engine.type_of(3) == "small"
    assert slurm.commands.jobs() == (), "nothing was ever in the queue"
    terminate(slurm, engine, 3)
    assert engine.measured(3) is None, "the node's name may be another machine's by now"


def test_a_reserved_machine_is_not_measured_nor_any_where_the_site_says_so(slurm: Cluster) -> None:
    launch(slurm, probing(slurm), 0, reserved=True)
    launch(slurm, engine_of(slurm), 1)
    assert all(node.comment == "" for node in slurm.commands.nodes())


def test_it_is_told_although_slurmctld_was_away(slurm: Cluster) -> None:
    script = f"#!/bin/sh\nPATH={SEARCHED}\nexport PATH SLURM_CONF={slurm.conf}\nmeasured=python:1:2.0:3.0\n"
    slurm.stop_controller()
    slurm.start_script("teller", script + telling("hc-small-0", 7) + "wait\n")
    slurm.start_controller()

    def comment() -> str:
        return next(n.comment for n in slurm.commands.nodes() if n.name == "hc-small-0")

    wait_for(lambda: comment() == "hcloud-probe:7:python:1:2.0:3.0", "it does not tell")


@pytest.mark.long
def test_what_a_machine_told_is_its_quality_in_live_work(home: Path, controllers: Controllers) -> None:
    with cluster(home, GROUPS, probe=True) as grid:
        try:
            job = grid.submit("true", "--mem=64", "-t", "1")
            words = ("run", "--engine", "slurm", "--cloud", "local", "--plain", "--strategy", "OdM")
            running = controller(controllers, grid, *words)
            wait_for(lambda: grid.job(job).state == "COMPLETED" or running.ended, "the job does not end")
            printed = end(running, grid)
        finally:
            host = ProcessHost(home / ".hcloud" / "local" / "running")
            host.end(host.alive())
        known = read_journal(next((home / ".hcloud" / "operate").glob("journal*.jsonl")))
        scores = {e.instance: e.score for e in known.events if isinstance(e, Quality)}
        ready = [e.instance for e in known.events if isinstance(e, Ready)]
        assert list(scores) == ready[:1], printed
        assert all(0 < score <= 1 for score in scores.values())
        assert json.loads((grid.site.folder / "best.json").read_text())

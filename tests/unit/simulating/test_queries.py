"""Queries of several stages: each waits for the one before, the first is bound to three servers that can hold it."""

from __future__ import annotations

import numpy as np

from hcloud.model.requirement import requirement_of
from hcloud.planning.forecasting.following import waits_of
from hcloud.readers.clouds import CLUSTERS, load_cloud
from hcloud.readers.clusters import load_clusters
from hcloud.sim.setup.clustered.clusters import cluster_scenario

NAME = "tarcil-110-mixed-queries-residents"


def test_empty_servers_hold_nobody_but_queries() -> None:
    found = cluster_scenario("tarcil-110-queries", load_clusters().clusters["tarcil-110"], load_cloud(CLUSTERS))
    assert all(check.holds for check in found.checks)
    assert len(found.checks) >= 5
    assert found.jobs.ids is not None
    assert not any(name.startswith(b"resident") for name in found.jobs.ids.tolist())


def test_stages_wait_and_data_lies_on_servers_that_residents_leave_room_on() -> None:
    cluster = load_clusters().clusters["tarcil-110-mixed"]
    found = cluster_scenario(NAME, cluster, load_cloud(CLUSTERS), seed=3)
    jobs = found.jobs
    assert all(check.holds for check in found.checks)
    assert found.window is not None
    assert (found.window.start, found.window.end) == (600.0, 1800.0)
    assert jobs.ids is not None
    assert jobs.requires is not None
    names = [name.decode() for name in jobs.ids.tolist()]
    waits = waits_of(jobs)
    later, before = waits.T
    assert np.array_equal(jobs.submit[later], jobs.submit[before] + jobs.duration[before])
    pairs = {(names[job], names[before]) for job, before in waits[:500].tolist()}
    assert pairs == {(name, f"{name[:-1]}{int(name[-1]) - 1}") for name, _ in pairs}
    assert len(waits) == sum(not name.startswith("resident") and not name.endswith("-1") for name in names)

    sizes = [float(cluster.largest.vcpus)] * cluster.largest.servers
    sizes += [float(t.vcpus) for t in cluster.types if t is not cluster.largest for _ in range(t.servers)]
    free = np.array(sizes)
    resident = [row for row, name in enumerate(names) if name.startswith("resident")]
    for row in resident:
        (server,) = _servers(jobs.requirements[jobs.requires[row]])
        free[server] -= jobs.cores[row]
    assert free.min() >= 0
    assert abs(1 - free.sum() / cluster.vcpus - 0.4) < 0.01
    stage = [0 if name.startswith("resident") else int(name.rsplit("-", 1)[1]) for name in names]
    homes = {int(code) for code, at in zip(jobs.requires, stage, strict=True) if at == 1}
    assert len(homes) == 100
    for code in homes:
        servers = _servers(jobs.requirements[code])
        assert len(servers) == 3
        assert free[list(servers)].min() >= 1
    assert {int(code) for code, at in zip(jobs.requires, stage, strict=True) if at > 1} == {-1}


def _servers(text: str) -> tuple[int, ...]:
    found = requirement_of(text)
    assert found is not None
    return found.servers

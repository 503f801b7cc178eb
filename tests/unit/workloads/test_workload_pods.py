"""Kubernetes' list of pods as a workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hcloud.errors import InputError
from hcloud.model.workload import JobKind, Jobs
from hcloud.readers.workloads.entry import read_workload

DAY = "2026-11-01T"


def pod(name: str, owner: str = "", start: str = "08:00:00Z", end: str = "", **more: Any) -> dict[str, Any]:
    """A pod that asks for half a CPU and 512 MiB; with an end it succeeded then."""
    asks = more.get("asks", [{"requests": {"cpu": "500m", "memory": "512Mi"}}])
    state = {"terminated": {"finishedAt": DAY + end}} if end else {"running": {"startedAt": DAY + start}}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "creationTimestamp": DAY + "07:59:00Z",
            "labels": {"app": name.rstrip("0123456789")},
            **({"ownerReferences": [{"kind": owner}]} if owner else {}),
        },
        "spec": {"containers": [{"name": "main", "resources": r} for r in asks], **more.get("spec", {})},
        "status": {
            "phase": "Succeeded" if end else "Running",
            "qosClass": "Burstable",
            **({"startTime": DAY + start} if start else {}),
            "containerStatuses": [{"state": state}],
        },
    }


def jobs(folder: Path, *pods: dict[str, Any]) -> Jobs:
    path = folder / "pods.json"
    path.write_text(json.dumps({"apiVersion": "v1", "items": pods, "kind": "List"}))
    found = read_workload(path)
    assert isinstance(found, Jobs)
    return found


def test_pods_are_jobs_with_what_they_request(tmp_path: Path) -> None:
    before = {"initContainers": [{"resources": {"requests": {"cpu": "3"}}}], "overhead": {"cpu": "250m"}}
    two = [{"requests": {"cpu": "1", "memory": "1Gi"}}, {"limits": {"cpu": "1500m", "memory": "1e9"}}]
    found = jobs(
        tmp_path,
        pod("train1", "Job", end="09:00:00Z"),
        pod("web1", "ReplicaSet", asks=two, spec=before),
        pod("gpu1", "Job", end="10:00:00Z", asks=[{"requests": {"cpu": 4, "nvidia.com/gpu": "2"}}]),
        pod("log1", "DaemonSet"),
        pod("wait1", start=""),
        pod("tiny1", asks=[{}]),
    )
    assert found.ids is not None
    rows = {i.decode(): at for at, i in enumerate(found.ids)}
    train, web, gpu = (rows[f"shop/{name}1"] for name in ("train", "web", "gpu"))
    assert (found.duration[train], found.cores[train], found.memory[train]) == (3600, 0.5, 0.5)
    assert (found.cores[web], found.memory[web]) == (3.25, 1 + 1e9 / 2**30)
    assert found.duration[web] == 7200, "it runs until the newest time in the list"
    assert found.gpus[gpu] == 2
    assert [JobKind(found.kind[row]).name for row in (train, web, gpu)] == ["BATCH", "SERVICE", "BATCH"]
    assert found.apps[found.app[train]] == "train"
    assert found.provenance.left_out == {
        "runs on every node (DaemonSet)": 1,
        "never began": 1,
        "asks for no CPU": 1,
    }


@pytest.mark.parametrize(
    ("asks", "says"),
    [({"cpu": "half"}, "item 1, column requests.cpu"), ({"cpu": "1", "memory": "-2Gi"}, "requests.memory")],
)
def test_a_quantity_that_is_none_is_named(tmp_path: Path, asks: dict[str, str], says: str) -> None:
    with pytest.raises(InputError) as caught:
        jobs(tmp_path, pod("a", asks=[{"requests": asks}]))
    assert says in str(caught.value.problems[0])


def test_other_lists_and_broken_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    node = {"kind": "Node"}
    path.write_text(json.dumps({"apiVersion": "v1", "items": [pod("a"), node]}))
    with pytest.raises(InputError, match="is no list of pods"):
        read_workload(path)
    path.write_text(json.dumps({"apiVersion": "v1", "items": [], "kind": "List"}))
    with pytest.raises(InputError, match="holds no job"):
        read_workload(path)
    bare = {key: value for key, value in pod("a", end="09:00:00Z").items() if key != "kind"}
    path.write_text(json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [bare]}))
    assert len(read_workload(path)) == 1
    text = json.dumps({"apiVersion": "v1", "items": [pod("a")]})
    for length in range(1, len(text), 11):
        path.write_text(text[:length])
        with pytest.raises(InputError):
            read_workload(path)

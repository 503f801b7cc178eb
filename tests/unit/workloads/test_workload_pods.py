"""Kubernetes' list of pods, Jobs and Workflows as a workload."""

from __future__ import annotations

import base64
import gzip
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


def job(name: str, end: str = "", *, how: str = "Complete", **more: Any) -> dict[str, Any]:
    """A Job of pods with two CPUs since 08:00."""
    ended = {"type": how, "status": "True", "lastTransitionTime": DAY + end}
    asks = {"containers": [{"resources": {"requests": {"cpu": "2", "memory": "1073741824000m"}}}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "shop", "creationTimestamp": DAY + "07:00:00Z"},
        "spec": {"template": {"spec": asks}, **more},
        "status": {"startTime": DAY + "08:00:00Z", "conditions": [ended] if end else [], **more.get("status", {})},
    }


def jobs(folder: Path, *pods: dict[str, Any]) -> Jobs:
    path = folder / "pods.json"
    path.write_text(json.dumps({"apiVersion": "v1", "items": pods, "kind": "List"}))
    found = read_workload(path)
    assert isinstance(found, Jobs)
    return found


def test_pods_are_jobs_with_what_they_request(tmp_path: Path) -> None:
    mesh = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "250m", "memory": "128Mi"}}}
    first = {"resources": {"requests": {"cpu": "3"}}}
    before = {"initContainers": [mesh, first], "overhead": {"cpu": "250m"}}
    evicted = pod("old1", "ReplicaSet")
    evicted["status"] |= {"phase": "Failed", "reason": "Evicted", "containerStatuses": []}
    two = [{"requests": {"cpu": "1", "memory": "1Gi"}}, {"limits": {"cpu": "1500m", "memory": "1e9"}}]
    found = jobs(
        tmp_path,
        pod("train1", "Job", end="09:00:00Z"),
        pod("web1", "ReplicaSet", asks=two, spec=before),
        pod("gpu1", "Job", end="10:00:00Z", asks=[{"requests": {"cpu": 4, "nvidia.com/gpu": "2"}}]),
        pod("log1", "DaemonSet"),
        pod("wait1", start=""),
        pod("tiny1", asks=[{}]),
        pod("proxy1", "Node"),
        pod("tpu1", "Job", end="10:00:00Z", asks=[{"limits": {"cpu": "1", "google.com/tpu": "4"}}]),
        pod("all1", asks=[{}], spec={"resources": {"requests": {"cpu": "2", "memory": "6Gi"}}}),
        pod("mesh1", spec={"initContainers": [mesh]}),
        evicted,
    )
    assert found.ids is not None
    rows = {i.decode(): at for at, i in enumerate(found.ids)}
    train, web, gpu = (rows[f"shop/{name}1"] for name in ("train", "web", "gpu"))
    assert (found.duration[train], found.cores[train], found.memory[train]) == (3600, 0.5, 0.5)
    assert (found.cores[web], found.memory[web]) == (3.5, 1.125 + 1e9 / 2**30)
    assert found.duration[web] == 7200, "it runs until the newest time in the list"
    assert (found.gpus[gpu], found.gpus[rows["shop/tpu1"]]) == (2, 4)
    whole, mesh_of = rows["shop/all1"], rows["shop/mesh1"]
    assert (found.cores[whole], found.memory[whole]) == (2, 6), "what a pod as a whole requests goes before"
    assert (found.cores[mesh_of], found.memory[mesh_of]) == (0.75, 0.625), "sidecars run beside"
    assert [JobKind(found.kind[row]).name for row in (train, web, gpu)] == ["BATCH", "SERVICE", "BATCH"]
    assert found.apps[found.app[train]] == "train"
    assert found.provenance.left_out == {
        "runs on every node (DaemonSet, static pod)": 2,
        "never began": 1,
        "asks for no CPU": 1,
        "is over, and does not say since when": 1,
    }


def hours(found: Jobs) -> dict[str, tuple[float, float]]:
    """When each job began, in hours of the day, and how many it ran."""
    assert found.ids is not None
    start = found.submit if found.start is None else found.start
    spans = zip((start / 3600 % 24).tolist(), (found.duration / 3600).tolist(), strict=True)
    return dict(zip((name.decode().removeprefix("shop/") for name in found.ids), spans, strict=True))


def test_jobs_are_as_many_pods_as_run_at_once(tmp_path: Path) -> None:
    """They were refused: ten completions, three at once, take four rounds."""
    found = jobs(
        tmp_path,
        job("one", "09:00:00Z"),
        job("ten", "12:00:00Z", parallelism=3, completions=10),
        job("few", "09:00:00Z", parallelism=9, completions=2),
        job("queue", "09:00:00Z", parallelism=2),
        job("bad", "10:00:00Z", how="Failed", parallelism=1, completions=5),
        job("runs", parallelism=1, completions=4),
        job("waits", status={"startTime": None}),
        job("none", "09:00:00Z", parallelism=0),
        {"kind": "Service", "metadata": {}},
    )
    two = {f"{name}-{slot}": (8, 1) for name in ("few", "queue") for slot in range(2)}
    ten = {"ten-0": (8, 4), "ten-1": (8, 3), "ten-2": (8, 3)}
    assert hours(found) == {"one": (8, 1), **ten, **two, "bad": (8, 2), "runs": (8, 4)}
    assert (set(found.cores), set(found.memory), set(found.kind)) == ({2}, {1}, {int(JobKind.BATCH)})
    assert found.provenance.left_out == {"never began": 2, "of other kinds than Pod, Job and Workflow": 1}
    assert "parallelism" in found.provenance.modelled[-1].rule
    for wrong in (job("a", parallelism="3"), job("a", parallelism=10**6, completions=10**6)):
        with pytest.raises(InputError, match=r"item 1, column spec\.parallelism"):
            jobs(tmp_path, wrong)


def test_a_job_and_its_pods_count_once(tmp_path: Path) -> None:
    def of(name: str, number: int, end: str) -> dict[str, Any]:
        found = pod(f"{name}{number}", "Job", end=end)
        found["metadata"]["ownerReferences"][0]["name"] = name
        return found

    found = jobs(
        tmp_path,
        of("all", 1, "09:00:00Z"),
        job("all", "11:00:00Z", completions=2, status={"succeeded": 1, "failed": 1}),
        of("all", 2, "10:00:00Z"),
        job("gone", "11:00:00Z", status={"succeeded": 2}),
        of("gone", 1, "10:00:00Z"),
        of("removed", 1, "10:00:00Z"),
        of("usual", 1, "10:00:00Z"),
        job("usual", "11:00:00Z", completions=None, template={}, status={"succeeded": 2}),
    )
    assert hours(found) == {"all1": (8, 1), "all2": (8, 2), "gone": (8, 3), "removed1": (8, 2), "usual1": (8, 2)}
    assert found.provenance.left_out == {}


def test_a_workflow_counts_by_its_pods_where_all_are_there(tmp_path: Path) -> None:
    """Its templates do not say what a patch or a namespace's default made of a step."""
    mine = pod("n-1", "Workflow", end="10:00:00Z")
    mine["metadata"]["ownerReferences"][0]["name"] = "n"
    step = {"type": "Pod", "startedAt": DAY + "08:00:00Z", "finishedAt": DAY + "09:00:00Z", "templateName": "a"}
    template = {"name": "a", "container": {"resources": {"requests": {"cpu": "100m"}}}}
    flow = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "n", "namespace": "shop"},
        "spec": {"templates": [template]},
        "status": {"nodes": {"n": {"type": "DAG"}, "n-1": step}, "startedAt": DAY + "08:00:00Z"},
    }
    found = jobs(tmp_path, mine, flow)
    assert (hours(found), found.cores.tolist()) == ({"n-1": (8, 2)}, [0.5])
    (tmp_path / "one.json").write_text(json.dumps(flow))
    alone = read_workload(tmp_path / "one.json")
    assert isinstance(alone, Jobs)
    assert (hours(alone), alone.cores.tolist()) == ({"n-1": (8, 1)}, [0.1])


def test_devices_are_counted_and_not_what_is_said_of_them(tmp_path: Path) -> None:
    intel = {"gpu.intel.com/i915": "1", "gpu.intel.com/millicores": "500", "gpu.intel.com/memory.max": "4Gi"}
    others: list[dict[str, str]] = [{"nvidia.com/gpu": "2"}, {"google.com/tpu": "4"}, {"nvidia.com/mig-1g.5gb": "3"}]
    asked = [{"cpu": "1", **devices} for devices in (intel, *others)]
    found = jobs(tmp_path, *(pod(f"p{n}", end="09:00:00Z", asks=[{"limits": one}]) for n, one in enumerate(asked)))
    assert found.gpus.tolist() == [1, 2, 4, 3]


@pytest.mark.parametrize("form", ["kubectl", "argo list", "packed"])
def test_steps_of_argo_workflows_are_jobs(tmp_path: Path, form: str) -> None:
    """They were refused; the list of 'argo list -o json' says no kinds, and large ones pack their nodes."""
    templates = [
        {"name": "prep", "script": {"resources": {"limits": {"cpu": "500m"}}}},
        {"name": "train", "container": {"resources": {"requests": {"cpu": "4", "memory": "8Gi"}}}, "sidecars": [{}]},
    ]
    step = {"type": "Pod", "startedAt": DAY + "08:00:00Z"}
    nodes = {
        "n": {"type": "DAG", "startedAt": DAY + "08:00:00Z"},
        "n-1": {**step, "templateName": "prep", "finishedAt": DAY + "09:00:00Z"},
        "n-2": {**step, "templateRef": {"name": "lib", "template": "train"}, "finishedAt": None},
        "n-3": {**step, "templateName": "lost"},
    }
    packed = base64.b64encode(gzip.compress(json.dumps(nodes).encode())).decode()
    flow = {
        "metadata": {"name": "n", "namespace": "shop", "labels": {"workflows.argoproj.io/phase": "Running"}},
        "spec": {"templates": templates[:1]},
        "status": {
            **({"compressedNodes": packed} if form == "packed" else {"nodes": nodes}),
            "startedAt": DAY + "08:00:00Z",
            "finishedAt": DAY + "11:00:00Z",
            "storedTemplates": {"namespaced/lib/train": templates[1]},
        },
    }
    mine = pod("n-1", "Workflow", end="09:00:00Z")
    mine["metadata"]["ownerReferences"][0]["name"] = "n"
    if form == "argo list":
        path = tmp_path / "flows.json"
        path.write_text(json.dumps([flow]))
        found = read_workload(path)
        assert isinstance(found, Jobs)
    else:
        found = jobs(tmp_path, mine, {"kind": "Workflow", **flow})
    assert hours(found) == {"n-1": (8, 1), "n-2": (8, 3)}
    assert found.cores.tolist() == [0.5, 4]
    assert found.provenance.left_out == {"step of a Workflow whose template the list does not hold": 1}


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
    path.write_text(json.dumps({"apiVersion": "v1", "items": [{"kind": "Node"}]}))
    with pytest.raises(InputError, match="is no list of pods, Jobs or Workflows: item 1 is 'Node'"):
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
        with pytest.raises(InputError) as caught:
            read_workload(path)
        assert caught.value.hint

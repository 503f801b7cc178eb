"""Kubernetes' pods as ``kubectl get pods -A -o json`` lists them: requests of CPU and memory from start to end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.model.workload import JobKind, Jobs
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats.jobs.recorded import (
    NOT_BEGUN,
    CellError,
    RecordedJob,
    Recorder,
    seconds_of,
)
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import cpus_of, memory_of
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress

FORMAT = "pods"
NO_CPU, EVERYWHERE = "asks for no CPU", "runs on every node (DaemonSet)"
_STILL = "still running: counted up to the newest time in the list"
_COMMAND = "kubectl get pods -A -o json > pods.json"
_GIB = 2.0**30
_OF_BATCH = ("Job", "CronJob", "Workflow", "PyTorchJob", "TFJob", "MPIJob", "RayJob", "SparkApplication")


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Pods as jobs with what they request; those of Jobs are batch, others services."""
    items, recorder = _items(source), Recorder(source, FORMAT, options)
    newest = max((_newest(item) for item in items), default=0.0)
    for number, item in enumerate(items, 1):
        if progress is not None:
            progress(number / len(items))
        recorder.take(f"item {number}", _pod(item, newest, recorder))
    return recorder.jobs()


def _items(source: TraceFile) -> list[Mapping[str, Any]]:
    try:
        with source.open() as file:
            document = parsed(file.readall() or b"")
    except ValueError as error:
        raise InputError(f"{source.name}: is no whole list of pods: {error}") from error
    found = document.get("items") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise InputError(f"{source.name}: is no list of pods", hint=_COMMAND)
    usual = "Pod" if document.get("kind") == "PodList" else ""  # the API leaves it out of each
    for number, one in enumerate(found, 1):
        kind = one.get("kind", usual) if isinstance(one, dict) else type(one).__name__
        if kind != "Pod":
            raise InputError(f"{source.name}: is no list of pods: item {number} is {shown(str(kind))}", hint=_COMMAND)
    return found


def _newest(item: Mapping[str, Any]) -> float:
    """The newest time that a pod's status tells."""
    status = _of(item, "status")
    times = [status.get("startTime"), _of(item, "metadata").get("creationTimestamp")]
    times += [one.get("lastTransitionTime") for one in _list(status, "conditions")]
    times += [_of(_of(one, "state"), which).get(at) for one in _list(status, "containerStatuses") for which, at in _AT]
    found = 0.0
    for value in times:
        with suppress(CellError):  # one that matters is named with its pod
            moment = _time("status", value)
            found = found if math.isnan(moment) else max(found, moment)
    return found


_AT = (("terminated", "finishedAt"), ("terminated", "startedAt"), ("running", "startedAt"))


def _pod(item: Mapping[str, Any], newest: float, recorder: Recorder) -> Iterator[RecordedJob | str]:
    metadata, status, spec = _of(item, "metadata"), _of(item, "status"), _of(item, "spec")
    owner = next((str(one.get("kind")) for one in _list(metadata, "ownerReferences")), "")
    start = _time("status.startTime", status.get("startTime"))
    cores, memory, gpus = (_asked(spec, what) for what in ("cpu", "memory", "nvidia.com/gpu"))
    why = EVERYWHERE if owner == "DaemonSet" else NOT_BEGUN if math.isnan(start) else NO_CPU if cores <= 0 else ""
    if why:
        yield why
        return
    end = _end(status)
    if math.isnan(end):
        recorder.repair(_STILL)
        end = max(newest, start)
    created = _time("metadata.creationTimestamp", metadata.get("creationTimestamp"))
    yield RecordedJob(
        f"{metadata.get('namespace', 'default')}/{metadata.get('name', '')}",
        start if math.isnan(created) else min(created, start),
        start,
        max(end - start, 0.0),
        cores,
        memory / _GIB if memory > 0 else math.nan,
        gpus,
        _app(metadata),
        str(status.get("qosClass") or ""),
        JobKind.BATCH if owner in _OF_BATCH else JobKind.SERVICE,
    )


def _end(status: Mapping[str, Any]) -> float:
    """When the last container of a pod that is over ended; NaN while one runs."""
    if status.get("phase") not in ("Succeeded", "Failed"):
        return math.nan
    ends = [_of(_of(one, "state"), "terminated").get("finishedAt") for one in _list(status, "containerStatuses")]
    known = [_time("finishedAt", value) for value in ends if value]
    if known:
        return max(known)
    moved = [_time("lastTransitionTime", one.get("lastTransitionTime")) for one in _list(status, "conditions")]
    return max((moment for moment in moved if not math.isnan(moment)), default=math.nan)


def _asked(spec: Mapping[str, Any], what: str) -> float:
    """What a pod takes of a resource: all containers together, or the largest that runs before them, and overhead."""
    always = sum(_request(one, what) for one in _list(spec, "containers"))
    before = [_request(one, what) for one in _list(spec, "initContainers")]
    return max(always, *before, 0.0) + _quantity(f"overhead.{what}", _of(spec, "overhead").get(what))


def _request(container: Mapping[str, Any], what: str) -> float:
    """A container's request; where it has none its limit is (Kubernetes sets it so)."""
    resources = _of(container, "resources")
    asked = _of(resources, "requests").get(what)
    return _quantity(f"requests.{what}", asked if asked is not None else _of(resources, "limits").get(what))


def _quantity(column: str, value: object) -> float:
    """A quantity of Kubernetes: 500m CPUs, 2Gi or 1e9 bytes; 0 where there is none."""
    if value is None or value == "":
        return 0.0
    found = memory_of(str(value), _GIB, kubernetes=True) if column.endswith(".memory") else cpus_of(str(value))
    if found is None:
        raise CellError(column, str(value), "a quantity as 500m, 2 or 2Gi")
    return found


def _app(metadata: Mapping[str, Any]) -> str:
    labels = _of(metadata, "labels")
    named = (labels.get(key) for key in ("app.kubernetes.io/name", "app", "job-name"))
    return str(next((name for name in named if name), ""))


def _time(column: str, value: object) -> float:
    return seconds_of(column, str(value)) if value else math.nan


def _of(item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = item.get(key)
    return found if isinstance(found, dict) else {}


def _list(item: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = item.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

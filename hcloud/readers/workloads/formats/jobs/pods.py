"""Kubernetes' pods, Jobs and Argo's Workflows as ``kubectl get ... -A -o json`` lists them: requests of CPU and memory
from start to end."""

from __future__ import annotations

import math
import re
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.model.workload import JobKind, Jobs, Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats.jobs.recorded import (
    NOT_BEGUN,
    CellError,
    RecordedJob,
    Recorder,
    seconds_of,
)
from hcloud.readers.workloads.formats.json_parts import object_in, objects_in
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import cpus_of, memory_of
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress

FORMAT = "pods"
COMMAND = "kubectl get pods,jobs -A -o json > pods.json"
"""What to ask Kubernetes for."""
NO_CPU, EVERYWHERE = "asks for no CPU", "runs on every node (DaemonSet, static pod)"
_STILL = "still running: counted up to the newest time in the list"
_NO_END = "is over, and does not say since when"
_NO_NODES = "Workflow without its nodes, which its database holds"
_NO_TEMPLATE = "step of a Workflow whose template the list does not hold"
_PATCHED = "podSpecPatch of a step is not read: its template's requests"
_AT_ONCE = (
    "by their pods where the list has all of them; else as many pods at once as parallelism says, one after another,"
    " from startTime to completionTime"
)
_GIB = 2.0**30
_OF_BATCH = ("Job", "CronJob", "Workflow", "PyTorchJob", "TFJob", "MPIJob", "RayJob", "SparkApplication")
_READ = frozenset(("Pod", "Job", "Workflow"))
_LIST = "list of pods, Jobs or Workflows"
_OTHER = "of other kinds than Pod, Job and Workflow"
_OF_NODES = ("DaemonSet", "Node")
_CPU, _MEMORY = re.compile("cpu"), re.compile("memory")
_DEVICES = re.compile(r"gpu\.intel\.com/(i915|xe)|[^/]+/(gpu(\.shared)?|tpu|neuron\w*|mig-.*)")
_TIMES = ("startTime", "completionTime", "lastTransitionTime", "startedAt", "finishedAt")
_MOST = 1 << 28  # ours: bytes of the nodes of a Workflow


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Pods as jobs with what they request, those of Jobs and Workflows batch and others services; Jobs and Workflows
    for the pods that the list does not hold."""
    items, recorder = _items(source), Recorder(source, FORMAT, options)
    recorder.newest = max((_newest(item) for _, item in items), default=0.0)
    listed = Counter(_owner(item) for kind, item in items if kind == "Pod")
    whole = {name for kind, item in items if listed[name := (kind, *_name(item))] < _ran(kind, item)}
    if any(kind == "Job" for kind, *_ in whole):
        recorder.assume(Modelled("Jobs", _AT_ONCE, "fixed"))
    for number, (kind, item) in enumerate(items, 1):
        if progress is not None:
            progress(number / len(items))
        recorder.take(f"item {number}", _runs(kind, item, whole, recorder))
    return recorder.jobs()


def _items(source: TraceFile) -> list[tuple[str, Mapping[str, Any]]]:
    """What the list holds, with the kind of each."""
    try:
        with source.open() as file:
            document = parsed(file.readall() or b"")
    except ValueError as error:
        raise InputError(f"{source.name}: is no whole {_LIST}: {error}", hint=COMMAND) from error
    found = document.get("items") if isinstance(document, dict) else document
    if isinstance(document, dict) and document.get("kind") in _READ:
        found = [document]
    if not isinstance(found, list):
        raise InputError(f"{source.name}: is no {_LIST}", hint=COMMAND)
    # The API leaves the kind out of each, and 'argo list' writes a bare list
    usual = str(document.get("kind")).removesuffix("List") if isinstance(document, dict) else "Workflow"
    for number, one in enumerate(found, 1):
        if not isinstance(one, dict):
            raise InputError(f"{source.name}: is no {_LIST}: item {number} is {type(one).__name__}", hint=COMMAND)
    kinds = [str(one.get("kind", usual)) for one in found]
    if kinds and not _READ & set(kinds):
        raise InputError(f"{source.name}: is no {_LIST}: item 1 is {shown(kinds[0])}", hint=COMMAND)
    return list(zip(kinds, found, strict=True))


def _newest(item: Mapping[str, Any]) -> float:
    """The newest time that the status of an item tells, or when it was made."""
    found, held = [object_in(item, "metadata").get("creationTimestamp")], [object_in(item, "status")]
    while held:
        one = held.pop()
        found += [value for key, value in one.items() if key in _TIMES]
        lists = [value for value in one.values() if isinstance(value, list)]
        held += [value for value in chain(one.values(), *lists) if isinstance(value, dict)]
    newest = 0.0
    for value in filter(None, found):
        with suppress(CellError):  # one that matters is named with its item
            newest = max(newest, _time("status", value))
    return newest


def _name(item: Mapping[str, Any]) -> tuple[str, str]:
    metadata = object_in(item, "metadata")
    return str(metadata.get("namespace", "default")), str(metadata.get("name", ""))


def _owner(item: Mapping[str, Any]) -> tuple[str, str, str]:
    """The kind, namespace and name of what an item belongs to."""
    one = next(iter(objects_in(object_in(item, "metadata"), "ownerReferences")), {})
    return str(one.get("kind", "")), _name(item)[0], str(one.get("name", ""))


def _ran(kind: str, item: Mapping[str, Any]) -> float:
    """How many pods of a Job or Workflow have to be in the list for them to count in its place; one is enough where
    its template asks for no CPU: a default of the namespace, which only pods have, may be all there is."""
    status = object_in(item, "status")
    if kind == "Workflow":
        pods = sum(isinstance(node, dict) and node.get("type") == "Pod" for node in object_in(status, "nodes").values())
        return math.inf if status.get("compressedNodes") else max(pods, 1)
    if kind != "Job":
        return 0
    with suppress(CellError):  # which is named with its item
        if not _asked(object_in(object_in(object_in(item, "spec"), "template"), "spec"), _CPU):
            return 1
    counts = (status.get(key) for key in ("succeeded", "failed", "active"))
    return max(sum(one for one in counts if isinstance(one, int)), 1)


def _runs(
    kind: str, item: Mapping[str, Any], whole: Set[tuple[str, str, str]], recorder: Recorder
) -> Iterator[RecordedJob | str]:
    """The runs of an item, or why it is left out; a Job and its pods count once."""
    if kind not in _READ:
        yield _OTHER
    elif kind == "Pod" and _owner(item) not in whole:
        yield _pod(item, recorder)
    elif (kind, *_name(item)) in whole:
        yield from (_job if kind == "Job" else _workflow)(item, recorder)


def _pod(item: Mapping[str, Any], recorder: Recorder) -> RecordedJob | str:
    status, owner = object_in(item, "status"), _owner(item)[0]
    if owner in _OF_NODES:
        return EVERYWHERE
    end = _end(status) if status.get("phase") in ("Succeeded", "Failed") else None
    run = _run(object_in(item, "spec"), status.get("startTime"), end, recorder)
    kind = JobKind.BATCH if owner in _OF_BATCH else JobKind.SERVICE
    return run if isinstance(run, str) else replace(_of_item(run, item), kind=kind)


def _end(status: Mapping[str, Any]) -> str:
    """When the last container of a pod that is over ended; nothing where that is not said."""
    known = [one for key in ("initContainerStatuses", "containerStatuses") for one in objects_in(status, key)]
    ended = _latest(object_in(object_in(one, "state"), "terminated").get("finishedAt") for one in known)
    return ended or _latest(one.get("lastTransitionTime") for one in objects_in(status, "conditions"))


def _job(item: Mapping[str, Any], recorder: Recorder) -> Iterator[RecordedJob | str]:
    """The pods of a Job of which the list does not hold all: so many at once, one after another for its completions."""
    spec, status = object_in(item, "spec"), object_in(item, "status")
    parallel = _count(spec, "parallelism", 1)
    completions = _count(spec, "completions", parallel)
    at_once = min(parallel, completions)
    if at_once > limits.SERVERS:
        raise CellError("spec.parallelism", str(parallel), f"at most {limits.SERVERS:,}")
    ends = {str(one.get("type")): one for one in objects_in(status, "conditions") if one.get("status") == "True"}
    end = next((str(ends[one].get("lastTransitionTime") or "") for one in ("Complete", "Failed") if one in ends), None)
    end = status.get("completionTime") or end
    run = _run(object_in(object_in(spec, "template"), "spec"), status.get("startTime"), end, recorder)
    if isinstance(run, str) or not at_once:
        yield run if isinstance(run, str) else NOT_BEGUN
        return
    run = _of_item(run, item)
    run = replace(run, app=run.app or _owner(item)[2] or _name(item)[1])
    rounds = -(-completions // at_once) if end and "Failed" not in ends else 1
    for slot in range(at_once):
        done = len(range(slot, completions, at_once)) if rounds > 1 else 1
        name = f"{run.id}-{slot}" if at_once > 1 else run.id
        yield replace(run, id=name, duration=run.duration * done / rounds)


def _workflow(item: Mapping[str, Any], recorder: Recorder) -> Iterator[RecordedJob | str]:
    """The pods of an Argo Workflow: its status has each one's times, its templates what they ask for."""
    metadata, spec, status = object_in(item, "metadata"), object_in(item, "spec"), object_in(item, "status")
    nodes = object_in(status, "nodes") or _unpacked(status.get("compressedNodes"))
    if not nodes:
        yield _NO_NODES if status.get("startedAt") else NOT_BEGUN
    templates = _templates(spec, status)
    app = _app(metadata) or str(metadata.get("generateName") or metadata.get("name") or "").rstrip("-")
    for key, node in nodes.items():
        if not isinstance(node, dict) or node.get("type") != "Pod":
            continue
        named = object_in(node, "templateRef")
        name = f"{named.get('name')}/{named.get('template')}" if named else str(node.get("templateName"))
        template = templates.get(name) or templates.get(f"{str(node.get('templateScope')).partition('/')[2]}/{name}")
        if not isinstance(template, dict):
            yield _NO_TEMPLATE
            continue
        recorder.repair(_PATCHED, int("podSpecPatch" in template or "podSpecPatch" in spec))
        run = _run(_of_template(template), node.get("startedAt"), node.get("finishedAt"), recorder)
        yield run if isinstance(run, str) else replace(run, id=f"{_name(item)[0]}/{key}", app=app)


def _templates(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The templates of a Workflow by their names, those of others by theirs before."""
    listed = [*objects_in(object_in(status, "storedWorkflowTemplateSpec"), "templates"), *objects_in(spec, "templates")]
    stored = {key.partition("/")[2]: one for key, one in object_in(status, "storedTemplates").items()}
    return {str(one.get("name")): one for one in listed} | stored


def _of_template(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The containers of a step as those of a pod."""
    main = [object_in(template, key) for key in ("container", "script")]
    more = [*objects_in(object_in(template, "containerSet"), "containers"), *objects_in(template, "sidecars")]
    return {"containers": [*main, *more], "initContainers": template.get("initContainers")}


def _unpacked(packed: object) -> Mapping[str, Any]:
    """The nodes of a large Workflow: JSON in gzip in base64."""
    try:
        found = parsed(zlib.decompressobj(31).decompress(b64decode(str(packed)), _MOST)) if packed else None
    except (ValueError, zlib.error):
        raise CellError("status.compressedNodes", str(packed), "JSON in gzip in base64") from None
    return found if isinstance(found, dict) else {}


def _run(spec: Mapping[str, Any], began: object, ended: object, recorder: Recorder) -> RecordedJob | str:
    """A pod's run, to the newest time in the list where it has no end, or why it is left out."""
    start = _time("startTime", began)
    cores, memory, devices = (_asked(spec, what) for what in (_CPU, _MEMORY, _DEVICES))
    why = NOT_BEGUN if math.isnan(start) else NO_CPU if cores <= 0 else _NO_END if ended == "" else ""
    if why:
        return why
    recorder.repair(_STILL, int(ended is None))
    end = max(recorder.newest, start) if ended is None else _time("finishedAt", ended)
    gib = memory / _GIB if memory > 0 else math.nan
    return RecordedJob("", start, start, max(end - start, 0.0), cores, gib, devices)


def _of_item(run: RecordedJob, item: Mapping[str, Any]) -> RecordedJob:
    """A run with what an item says of itself."""
    metadata = object_in(item, "metadata")
    created = _time("metadata.creationTimestamp", metadata.get("creationTimestamp"))
    submit = run.start if math.isnan(created) else min(created, run.start)
    qos = str(object_in(item, "status").get("qosClass") or "")
    return replace(run, id="/".join(_name(item)), submit=submit, app=_app(metadata), qos=qos)


def _asked(spec: Mapping[str, Any], what: re.Pattern[str]) -> float:
    """What a pod takes of a resource: what it says itself, else the more of its containers with sidecars, and of one
    that runs before them with the sidecars that began before it; and overhead."""
    beside, before = 0.0, 0.0
    for one in objects_in(spec, "initContainers"):
        asked = _request(one, what)
        before = max(before, beside + asked)
        beside += asked if one.get("restartPolicy") == "Always" else 0.0
    together = beside + sum(_request(one, what) for one in objects_in(spec, "containers"))
    return (_request(spec, what) or max(together, before)) + _total("overhead", object_in(spec, "overhead"), what)


def _request(container: Mapping[str, Any], what: re.Pattern[str]) -> float:
    """A container's request; where it has none its limit is (Kubernetes sets it so)."""
    resources = object_in(container, "resources")
    asked = {name: value for name, value in object_in(resources, "requests").items() if value is not None}
    return _total("requests", {**object_in(resources, "limits"), **asked}, what)


def _total(column: str, amounts: Mapping[str, Any], what: re.Pattern[str]) -> float:
    return sum(_quantity(f"{column}.{name}", value) for name, value in amounts.items() if what.fullmatch(name))


def _quantity(column: str, value: object) -> float:
    """A quantity of Kubernetes: 500m CPUs, 2Gi or 1e9 bytes; 0 where there is none."""
    if value is None or value == "":
        return 0.0
    found = memory_of(str(value), _GIB, kubernetes=True) if column.endswith(".memory") else cpus_of(str(value))
    if found is None:
        raise CellError(column, str(value), "a quantity as 500m, 2 or 2Gi")
    return found


def _count(spec: Mapping[str, Any], name: str, usual: int) -> int:
    value = usual if (stated := spec.get(name)) is None else stated
    if type(value) is not int or value < 0:
        raise CellError(f"spec.{name}", str(value), "a whole number from 0 on")
    return value


def _app(metadata: Mapping[str, Any]) -> str:
    labels = object_in(metadata, "labels")
    named = (labels.get(key) for key in ("app.kubernetes.io/name", "app", "job-name"))
    return str(next((name for name in named if name), ""))


def _latest(times: Iterable[object]) -> str:
    return max((str(one) for one in times if one), key=lambda one: _time("finishedAt", one), default="")


def _time(column: str, value: object) -> float:
    return seconds_of(column, str(value)) if value else math.nan

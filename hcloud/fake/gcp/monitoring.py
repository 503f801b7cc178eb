"""Cloud Monitoring of the fake Google: the vCPUs and the utilisation of its machines, ended ones included."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from hcloud.fake.gcp.wire.refusals import invalid
from hcloud.fake.gcp.world import LARGEST_POINTS, GcpRequest, GcpWorld
from hcloud.fake.ledger import Rented
from hcloud.fake.world import LoadSamples

LONGEST_FILTER = 2048
_METRIC = re.compile(r'metric\.type = "compute\.googleapis\.com/instance/cpu/(utilization|reserved_cores)"')
_NUMBERS = re.compile(r" AND resource\.labels\.instance_id = one_of\(((?:\"\d+\",?)+)\)")
_SECONDS = re.compile(r"(\d+)s")


def time_series(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Means of a metric by machine, the newest first, as many values a page as are asked for."""
    asked = call.query
    metric, numbers = _wanted(asked.get("filter", ""))
    period = _SECONDS.fullmatch(asked.get("aggregation.alignmentPeriod", ""))
    if period is None or int(period[1]) < 60 or asked.get("aggregation.perSeriesAligner") != "ALIGN_MEAN":
        raise invalid("aggregation", str(period), "This fake aligns means over a minute or more.")
    start, end = (int(_moment(asked.get(f"interval.{name}Time", ""))) for name in ("start", "end"))
    points = [
        (machine, time, value)
        for _, machine in sorted(world.ledger.machines.items())
        if not numbers or str(machine.detail["number"]) in numbers
        for time, value in reversed(_values(world, machine, metric, (start, end, int(period[1]))))
    ]
    first = int(asked.get("pageToken") or 0)
    after = first + min(int(asked.get("pageSize") or LARGEST_POINTS), LARGEST_POINTS, world.largest_points)
    series: dict[str, dict[str, object]] = {}
    for machine, time, value in points[first:after]:
        told = series.setdefault(machine.id, _series(world, machine, metric))
        told["points"].append(_point(time, value))  # type: ignore[attr-defined]
    return {"timeSeries": list(series.values()), **({"nextPageToken": str(after)} if after < len(points) else {})}


def _wanted(text: str) -> tuple[str, set[str]]:
    metric = _METRIC.match(text)
    rest = text[metric.end() :] if metric else text
    numbers = _NUMBERS.fullmatch(rest)
    if metric is None or (rest and numbers is None) or len(text) > LONGEST_FILTER:
        raise invalid("filter", text[:200], "This fake knows no such filter.")
    return metric[1], {n.strip('"') for n in numbers[1].split(",")} if numbers else set()


def _values(world: GcpWorld, machine: Rented, metric: str, span: tuple[int, int, int]) -> list[tuple[int, float]]:
    start, end, seconds = span
    samples = LoadSamples(machine, world.load_of(machine), start, min(end, int(world.now)), seconds)
    if metric == "reserved_cores":
        shape = world.shape_of(machine.instance_type)
        return [(time + seconds, float(shape.vcpus if shape else 0)) for time, _ in samples]
    return [(time + seconds, load / 100) for time, load in samples]


def _series(world: GcpWorld, machine: Rented, metric: str) -> dict[str, object]:
    labels = {"project_id": world.place.project, "zone": machine.zone, "instance_id": str(machine.detail["number"])}
    return {
        "metric": {
            "type": f"compute.googleapis.com/instance/cpu/{metric}",
            "labels": {"instance_name": str(machine.detail["name"])},
        },
        "resource": {"type": "gce_instance", "labels": labels},
        "metricKind": "GAUGE",
        "valueType": "DOUBLE",
        "points": [],
    }


def _point(time: int, value: float) -> dict[str, object]:
    at = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"interval": {"startTime": at, "endTime": at}, "value": {"doubleValue": value}}


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise invalid("interval", text, "It must be a time.") from None

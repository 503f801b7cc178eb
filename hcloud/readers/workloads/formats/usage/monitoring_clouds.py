"""Google's ``timeSeries.list``, Azure's ``az monitor metrics list`` and Datadog's queries as series of one machine
each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.formats.json_parts import object_in, objects_in
from hcloud.readers.workloads.formats.usage.measured import MeasuredSeries
from hcloud.readers.workloads.formats.usage.samples import TimeColumn, sampled

_BURST = 16.0
"""Ours: a machine with a shared core reports up to so much of the part that is its own."""
_STATISTICS = ("average", "maximum", "minimum", "total")
_CPU = "Percentage CPU"
_RATE = "a rate of vCPUs: ask for perSeriesAligner ALIGN_RATE"
_OTHER = f"metrics other than {_CPU}"
_EMPTY = "samples without a value"
NOT_IN_USE = re.compile(r"[._](idle|iowait|stolen|limits|requests|num_cores|capacity)\b", re.IGNORECASE)
"""In the name of a metric of CPUs: those that no machine uses, or all it may."""


def of_google(document: Mapping[str, Any], findings: Findings) -> Iterator[MeasuredSeries]:
    """Each of ``timeSeries``: utilisation is a fraction, seconds of use are vCPUs over the seconds of a point."""
    for at, one in enumerate(objects_in(document, "timeSeries"), 1):
        where, metric = f"timeSeries {at}", object_in(one, "metric")
        kind, name = str(metric.get("type", "")), _labelled(metric, object_in(one, "resource"))
        unit = str(one.get("unit") or document.get("unit") or "")
        points = objects_in(one, "points")
        ends = [object_in(point, "interval").get("endTime") for point in points]
        values = [_value(point) for point in points]
        used = kind.endswith(("usage_time", "core_usage_time"))
        if used and one.get("metricKind") == "CUMULATIVE":
            findings.add(where, f"{kind} since the machine began", _RATE)
            continue
        if used and one.get("metricKind") == "DELTA":
            values = _per_second(where, points, values, findings)
        fraction = unit.startswith("10^2") or (not unit and kind.endswith("utilization"))
        said = "" if "cpu" not in kind else "fraction" if fraction else "percent" if unit == "%" else ""
        said = "cores" if used else said
        series = sampled(where, name, list(zip(ends, values, strict=True)), findings, unit=said)
        yield replace(series, highest=_BURST) if said == "fraction" else series


def _per_second(
    where: str, points: Sequence[Mapping[str, Any]], values: Sequence[Any], findings: Findings
) -> list[Any]:
    """Seconds of use as vCPUs: divided by the length of each point's interval."""
    rates = list[Any]()
    for at, (point, value) in enumerate(zip(points, values, strict=True), 1):
        interval = object_in(point, "interval")
        try:
            length = TimeColumn().seconds(str(interval.get("endTime"))) - TimeColumn().seconds(
                str(interval.get("startTime"))
            )
            rates.append(float(value) / length)
        except (TypeError, ValueError, ZeroDivisionError):
            findings.add(f"{where}, sample {at}", "no value over a time", "startTime before endTime, and doubleValue")
    return rates if len(rates) == len(values) else list(values)


def _value(point: Mapping[str, Any]) -> object:
    value = object_in(point, "value")
    return value.get("doubleValue", value.get("int64Value"))


def _labelled(metric: Mapping[str, Any], resource: Mapping[str, Any]) -> str:
    """The labels that tell a series from the others."""
    labels = {**object_in(resource, "labels"), **object_in(metric, "labels")}
    return ",".join([str(metric.get("type", "")), *(f"{key}={value}" for key, value in sorted(labels.items()))])


def of_azure(document: Mapping[str, Any], findings: Findings, left_out: dict[str, int]) -> Iterator[MeasuredSeries]:
    """Each series of each metric of CPUs; answers for several machines have them in ``values``."""
    answers = objects_in(document, "values") or [document]
    metrics = [(one, metric) for one in answers for metric in objects_in(one, "value") if "timeseries" in metric]
    ours = [pair for pair in metrics if _named(pair[1]) == _CPU] or metrics
    if len(ours) < len(metrics):
        left_out[_OTHER] = len(metrics) - len(ours)
    for at, (answer, metric) in enumerate(ours, 1):
        machine = str(metric.get("id") or answer.get("resourceid") or "")
        percent = metric.get("unit") == "Percent" and _named(metric) == _CPU
        for number, one in enumerate(objects_in(metric, "timeseries"), 1):
            words = [f"{_named(word)}={word.get('value')}" for word in objects_in(one, "metadatavalues")]
            where = f"value {at}, timeseries {number}"
            name = ",".join([machine or _named(metric), *words])
            yield sampled(where, name, _points(one, left_out), findings, unit="percent" if percent else "")


def _points(one: Mapping[str, Any], left_out: dict[str, int]) -> list[Sequence[Any]]:
    """Times and values of one statistic; minutes without one are counted."""
    data = objects_in(one, "data")
    which = next((name for name in _STATISTICS if any(name in point for point in data)), "average")
    return _filled([(point.get("timeStamp"), point.get(which)) for point in data], left_out)


def _filled(pairs: Sequence[Sequence[Any]], left_out: dict[str, int]) -> list[Sequence[Any]]:
    """The pairs that have a value; the others are counted."""
    filled = [pair for pair in pairs if pair[-1] is not None]
    if len(filled) < len(pairs):
        left_out[_EMPTY] = left_out.get(_EMPTY, 0) + len(pairs) - len(filled)
    return filled


def of_datadog(document: Mapping[str, Any], findings: Findings, left_out: dict[str, int]) -> Iterator[MeasuredSeries]:
    """Each series of an answer of version 1, with its metric and its points, or of 2, where the times are of all."""
    answer = object_in(object_in(document, "data"), "attributes") or document
    asked = [(str(one.get("group_tags")), str(one.get("query_index"))) for one in objects_in(answer, "series")]
    if "times" in answer and len({machine for machine, _ in asked}) < len(set(asked)):
        findings.add("series", "a machine in several queries", "one query, of its use of CPUs: no metric is named here")
        return
    for at, one in enumerate(objects_in(answer, "series"), 1):
        unit, metric = next(iter(objects_in(one, "unit")), {}), str(one.get("metric", ""))
        is_use = NOT_IN_USE.search(metric) is None
        percent = "percent" if is_use and "cpu" in metric and unit.get("name") == "percent" else ""
        in_cores = is_use and unit.get("family") == "cpu"
        try:
            pairs = (
                one["pointlist"] if "pointlist" in one else zip(answer["times"], answer["values"][at - 1], strict=True)
            )
            scale = float(unit["scale_factor"]) if in_cores else 1
            pairs = [(time, value * scale) for time, value in _filled(list(pairs), left_out)]
            tags = one.get("scope") or " ".join(one.get("group_tags") or ())
        except (LookupError, TypeError, ValueError):
            findings.add(f"series {at}", "no value for each time", "pairs of a time and a number, in a known unit")
            continue
        name = ",".join(filter(None, (metric, str(tags))))
        yield sampled(f"series {at}", name, pairs, findings, unit="cores" if in_cores else percent)


def _named(metric: Mapping[str, Any]) -> str:
    return str(object_in(metric, "name").get("value", ""))

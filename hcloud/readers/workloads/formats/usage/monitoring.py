"""Answers of monitoring as JSON: CloudWatch's ``get-metric-statistics`` and ``get-metric-data``, Prometheus' range
queries, Google's ``timeSeries.list``, Azure's ``az monitor metrics list`` and Datadog's queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.model.workload import Demand
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.formats.json_parts import object_in, objects_in
from hcloud.readers.workloads.formats.usage.measured import MeasuredSeries, MeasuredUse, refuse_counters
from hcloud.readers.workloads.formats.usage.monitoring_clouds import NOT_IN_USE, of_azure, of_datadog, of_google
from hcloud.readers.workloads.formats.usage.samples import sampled
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress

FORMAT = "monitoring"
_STATISTICS = ("Average", "Sum", "Maximum", "Minimum")
_CPU = "cpuutilization"
_NOT_OF_CPUS = re.compile(r"(?i)network|disk|mem(ory)?(_|u|\b)|bytes|latency|iops|statuscheck|credit")
_ASK = (
    "ask for the use of CPUs alone: CPUUtilization of CloudWatch, rate(node_cpu_seconds_total[5m]) of Prometheus; if it"
    " is that, say --set series_value=percent"
)
_PARTIAL = "PartialData"
_PART = "answers that CloudWatch calls PartialData: samples are missing from them"
_OTHER = "metrics other than of CPUs"
_PAGED = {
    "NextToken": "let the AWS CLI page, or ask for a shorter time",
    "nextPageToken": "ask for the other pages too and put all timeSeries into one list, or ask for a shorter time",
}


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """The sum of all series of an answer, step by step; each counts from its first to its last sample."""
    return measured(source, options, progress).demand(options)


def measured(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> MeasuredUse:
    """Every series of an answer by itself."""
    document, findings, left_out = _document(source), Findings(source.name), dict[str, int]()
    repaired = dict[str, int]()
    if progress is not None:
        progress(0.5)
    found = list(_series(document, findings, left_out, repaired))
    refuse_counters(source.name, found)
    if options.series_value == "auto":
        _refuse_others(source.name, found)
    rows = sum(len(series.times) for series in found)
    sums = len(found) == 1 and not found[0].name
    use = MeasuredUse(source, FORMAT, found, rows, repaired, left_out, of_all=sums)
    use.findings = findings
    return use


def _document(source: TraceFile) -> Mapping[str, Any]:
    try:
        with source.open() as file:
            document = parsed(file.readall() or b"")
    except ValueError as error:
        raise InputError(f"{source.name}: is no whole answer: {error}") from error
    if isinstance(document, list):  # as 'gcloud monitoring' prints it
        document = {"timeSeries": document}
    if not isinstance(document, dict):
        raise InputError(f"{source.name}: is no answer of CloudWatch, Prometheus, Google, Azure Monitor or Datadog")
    if document.get("status") == "error":
        raise InputError(f"{source.name}: Prometheus refused the query: {document.get('error')}")
    for key, advice in _PAGED.items():
        if document.get(key):
            raise InputError(f"{source.name}: is a part of an answer ({key})", hint=advice)
    return document


def _series(
    document: Mapping[str, Any], findings: Findings, left_out: dict[str, int], repaired: dict[str, int]
) -> Iterator[MeasuredSeries]:
    if "Datapoints" in document:
        yield _of_statistics(document, findings, repaired)
    yield from _of_metric_data(document, findings, left_out)
    yield from _of_prometheus(document, findings)
    yield from of_google(document, findings)
    yield from of_azure(document, findings, left_out)
    yield from of_datadog(document, findings, left_out)


def _of_metric_data(
    document: Mapping[str, Any], findings: Findings, left_out: dict[str, int]
) -> Iterator[MeasuredSeries]:
    results = [(_label(one, at), at, one) for at, one in enumerate(objects_in(document, "MetricDataResults"), 1)]
    whole = {str(one.get("Id")) for _, _, one in results if one.get("StatusCode") != _PARTIAL}
    _count(left_out, _PART, sum(str(one.get("Id")) not in whole for _, _, one in results))
    ours = [found for found in results if _CPU in found[0].lower()]
    if not ours or not all(_is_other(label) for label, at, _ in results if _CPU not in label.lower()):
        ours = results
    _count(left_out, _OTHER, len(results) - len(ours))
    for label, at, one in ours:
        where = f"MetricDataResults {at}"
        times, values = _list_of(one.get("Timestamps")), _list_of(one.get("Values"))
        if len(times) != len(values):
            findings.add(where, "not as many values as times", "a value a time")
        name = f"{one['Id']} {label}" if one.get("Id") else label
        percent = _CPU in label.lower()
        pairs = list(zip(times, values, strict=False))
        yield sampled(where, name, pairs, findings, unit="percent" if percent else "")


def _of_prometheus(document: Mapping[str, Any], findings: Findings) -> Iterator[MeasuredSeries]:
    for at, one in enumerate(objects_in(object_in(document, "data"), "result"), 1):
        labels = one.get("metric")
        named = ",".join(f"{k}={v}" for k, v in labels.items()) if isinstance(labels, dict) else ""
        pairs = [pair for pair in _list_of(one.get("values")) if isinstance(pair, list) and len(pair) == 2]
        if len(pairs) != len(_list_of(one.get("values"))):
            findings.add(f"result {at}", "a sample that is no pair", "[time, value]")
        yield sampled(f"result {at}", named, pairs, findings)


def _label(one: Mapping[str, Any], at: int) -> str:
    return str(one.get("Label") or one.get("Id") or at)


def _is_other(name: str) -> bool:
    """Whether a series is of another metric than the use of CPUs, by the name of its metric where that is told."""
    metric = name.split(",", 1)[0].removeprefix("__name__=")
    other = NOT_IN_USE if "cpu" in metric.lower() else _NOT_OF_CPUS
    return "=" not in metric and other.search(metric) is not None


def _refuse_others(file: str, found: Sequence[MeasuredSeries]) -> None:
    other = next((series for series in found if not series.unit and _is_other(series.name)), None)
    if other is not None:
        raise InputError(f"{file}: {other.named} is not CPU use, by its name", hint=_ASK)


def _count(reasons: dict[str, int], reason: str, count: int) -> None:
    if count:
        reasons[reason] = count


def _of_statistics(document: Mapping[str, Any], findings: Findings, repaired: dict[str, int]) -> MeasuredSeries:
    points = objects_in(document, "Datapoints")
    which = next((name for name in _STATISTICS if points and name in points[0]), "Average")
    pairs: list[Sequence[Any]] = [(point.get("Timestamp"), point.get(which)) for point in points]
    if which != "Average":
        repaired[f"{which} of each period in place of Average, which the answer lacks"] = len(points)
    name = str(document.get("Label", ""))
    percent = bool(points) and points[0].get("Unit") == "Percent" and "cpu" in name.lower()
    return sampled("Datapoints", name, pairs, findings, unit="percent" if percent else "")


def _list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

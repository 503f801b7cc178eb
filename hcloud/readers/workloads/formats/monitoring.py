"""Answers of monitoring as JSON: CloudWatch's ``get-metric-statistics`` and ``get-metric-data``, Prometheus' range
queries, Google's ``timeSeries.list`` and Azure's ``az monitor metrics list``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.model.workload import Demand
from hcloud.readers.workloads.delimited import Progress
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.formats.measured import Measured, MeasuredSeries, objects
from hcloud.readers.workloads.formats.monitoring_clouds import of_azure, of_google
from hcloud.readers.workloads.formats.samples import sampled
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile

FORMAT = "monitoring"
_STATISTICS = ("Average", "Sum", "Maximum", "Minimum")
_PAGED = {
    "NextToken": "let the AWS CLI page, or ask for a shorter time",
    "nextPageToken": "ask for the other pages too and put all timeSeries into one list, or ask for a shorter time",
}


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """The sum of all series of an answer, step by step; each counts from its first to its last sample."""
    document, findings, left_out = _document(source), Findings(source.name), dict[str, int]()
    if progress is not None:
        progress(0.5)
    found = list(_series(document, findings, left_out))
    if findings.problems:
        raise findings.error()
    rows = sum(len(series.times) for series in found)
    return Measured(source, FORMAT, found, rows, left_out=left_out).demand(options)


def _document(source: TraceFile) -> Mapping[str, Any]:
    try:
        with source.open() as file:
            document = parsed(file.readall() or b"")
    except ValueError as error:
        raise InputError(f"{source.name}: is no whole answer: {error}") from error
    if isinstance(document, list):  # as 'gcloud monitoring' prints it
        document = {"timeSeries": document}
    if not isinstance(document, dict):
        raise InputError(f"{source.name}: is no answer of CloudWatch, Prometheus, Google or Azure Monitor")
    if document.get("status") == "error":
        raise InputError(f"{source.name}: Prometheus refused the query: {document.get('error')}")
    for key, advice in _PAGED.items():
        if document.get(key):
            raise InputError(f"{source.name}: is a part of an answer ({key})", hint=advice)
    return document


def _series(document: Mapping[str, Any], findings: Findings, left_out: dict[str, int]) -> Iterator[MeasuredSeries]:
    if "Datapoints" in document:
        yield _of_statistics(document, findings)
    yield from _of_metric_data(document, findings)
    yield from _of_prometheus(document, findings)
    yield from of_google(document, findings)
    yield from of_azure(document, findings, left_out)


def _of_metric_data(document: Mapping[str, Any], findings: Findings) -> Iterator[MeasuredSeries]:
    for at, one in enumerate(objects(document, "MetricDataResults"), 1):
        where, label = f"MetricDataResults {at}", str(one.get("Label") or one.get("Id") or at)
        times, values = _list_of(one.get("Timestamps")), _list_of(one.get("Values"))
        if len(times) != len(values):
            findings.add(where, "not as many values as times", "a value a time")
        name = f"{one['Id']} {label}" if one.get("Id") else label
        percent = "cpuutilization" in label.lower()
        pairs = list(zip(times, values, strict=False))
        yield sampled(where, name, pairs, findings, unit="percent" if percent else "")


def _of_prometheus(document: Mapping[str, Any], findings: Findings) -> Iterator[MeasuredSeries]:
    data = document.get("data")
    for at, one in enumerate(objects(data, "result") if isinstance(data, dict) else (), 1):
        labels = one.get("metric")
        named = ",".join(f"{k}={v}" for k, v in labels.items()) if isinstance(labels, dict) else ""
        pairs = [pair for pair in _list_of(one.get("values")) if isinstance(pair, list) and len(pair) == 2]
        if len(pairs) != len(_list_of(one.get("values"))):
            findings.add(f"result {at}", "a sample that is no pair", "[time, value]")
        yield sampled(f"result {at}", named, pairs, findings)


def _of_statistics(document: Mapping[str, Any], findings: Findings) -> MeasuredSeries:
    points = list(objects(document, "Datapoints"))
    which = next((name for name in _STATISTICS if points and name in points[0]), "Average")
    pairs: list[Sequence[Any]] = [(point.get("Timestamp"), point.get(which)) for point in points]
    name = str(document.get("Label", ""))
    percent = bool(points) and points[0].get("Unit") == "Percent" and "cpu" in name.lower()
    return sampled("Datapoints", name, pairs, findings, unit="percent" if percent else "")


def _list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

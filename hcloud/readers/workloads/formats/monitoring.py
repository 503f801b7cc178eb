"""Answers of monitoring: CloudWatch's ``get-metric-statistics`` and ``get-metric-data``, Prometheus' range queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.model.workload import Demand, Modelled, Provenance
from hcloud.planning.forecasting.demand import TimeGrid
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.delimited import Progress
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.series import demand, in_cores
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

FORMAT = "monitoring"
_STATISTICS = ("Average", "Sum", "Maximum", "Minimum")
_HIGHEST = {"percent": 100.0, "cores": limits.CORES, "requests": limits.REQUESTS}
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class MeasuredSeries:
    """One series of an answer: where it stands there, its name, its times in Unix seconds and its values, whether the
    answer says that they are percent, and whether it is of a service that measures much else than CPUs."""

    where: str
    name: str
    times: Floats
    values: Floats
    percent: bool
    of_any_metric: bool = True


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """The sum of all series of an answer, step by step; each counts from its first to its last sample."""
    document, findings = _document(source), Findings(source.name)
    if progress is not None:
        progress(0.5)
    found = [series for series in _series(document, findings) if len(series.times)]
    if findings.problems:
        raise findings.error()
    if not found:
        raise InputError(f"{source.name}: the answer holds no sample", hint="ask for another time range or metric")
    value, rules = _meaning(source.name, found, options)
    _check(source.name, found, value)
    repaired: dict[str, int] = {}
    grid, total = _added(source.name, found, options, repaired)
    cores = in_cores(total, value, grid.step, options)
    rows = sum(len(series.times) for series in found)
    provenance = Provenance(source.name, FORMAT, source.digest(), rows, repaired, {}, tuple(rules))
    return demand(grid, cores, provenance, options)


def _document(source: TraceFile) -> Mapping[str, Any]:
    try:
        with source.open() as file:
            document = parsed(file.readall() or b"")
    except ValueError as error:
        raise InputError(f"{source.name}: is no whole answer: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"{source.name}: is no answer of CloudWatch or Prometheus")
    if document.get("status") == "error":
        raise InputError(f"{source.name}: Prometheus refused the query: {document.get('error')}")
    if document.get("NextToken"):
        raise InputError(
            f"{source.name}: is a part of an answer (NextToken)", hint="let the AWS CLI page, or ask for a shorter time"
        )
    return document


def _series(document: Mapping[str, Any], findings: Findings) -> Iterator[MeasuredSeries]:
    if "Datapoints" in document:
        yield _of_statistics(document, findings)
    for at, one in enumerate(_list(document, "MetricDataResults"), 1):
        where, name = f"MetricDataResults {at}", str(one.get("Label") or one.get("Id") or at)
        pairs: list[Sequence[Any]] = list(
            zip(_list_of(one.get("Timestamps")), _list_of(one.get("Values")), strict=False)
        )
        if len(_list_of(one.get("Timestamps"))) != len(_list_of(one.get("Values"))):
            findings.add(where, "not as many values as times", "a value a time")
        yield _one(where, name, pairs, findings, percent="cpuutilization" in name.lower())
    data = document.get("data")
    for at, one in enumerate(_list(data, "result") if isinstance(data, dict) else (), 1):
        labels = one.get("metric")
        named = ",".join(f"{k}={v}" for k, v in labels.items()) if isinstance(labels, dict) else ""
        pairs = [pair for pair in _list_of(one.get("values")) if isinstance(pair, list) and len(pair) == 2]
        if len(pairs) != len(_list_of(one.get("values"))):
            findings.add(f"result {at}", "a sample that is no pair", "[time, value]")
        yield replace(_one(f"result {at}", named, pairs, findings, percent=False), of_any_metric=False)


def _of_statistics(document: Mapping[str, Any], findings: Findings) -> MeasuredSeries:
    points = _list(document, "Datapoints")
    which = next((name for name in _STATISTICS if points and name in points[0]), "Average")
    pairs = [(point.get("Timestamp"), point.get(which)) for point in points]
    percent = bool(points) and points[0].get("Unit") == "Percent"
    return _one("Datapoints", str(document.get("Label", "")), pairs, findings, percent=percent)


def _list(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [one for one in _list_of(document.get(key)) if isinstance(one, dict)]


def _list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _one(where: str, name: str, pairs: Sequence[Sequence[Any]], findings: Findings, *, percent: bool) -> MeasuredSeries:
    """A series with its samples in order; one that cannot be is noted."""
    times, values = np.empty(len(pairs)), np.empty(len(pairs))
    for at, (time, value) in enumerate(pairs):
        try:
            times[at], values[at] = _moment(time), float(value)
        except (TypeError, ValueError, OverflowError):
            findings.add(f"{where}, sample {at + 1}", shown(f"{time} {value}"), "a time and a number")
            times[at] = values[at] = 0.0
    order = np.argsort(times, kind="stable")
    return MeasuredSeries(where, name, times[order], values[order], percent)


def _moment(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    moment = datetime.fromisoformat(str(value))
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _meaning(file: str, found: Sequence[MeasuredSeries], options: WorkloadOptions) -> tuple[str, list[Modelled]]:
    """What the values are: as asked, as the answer says, else vCPUs."""
    percent = all(series.percent for series in found)
    other = next((s for s in found if s.of_any_metric and not s.percent), None)
    if options.series_value == "auto" and other is not None:
        raise InputError(
            f"{file}: {other.where} ({other.name}) is no use of CPUs in percent",
            hint="ask for CPUUtilization, or say what the values are: --set series_value=cores (or percent, requests)",
        )
    value = options.series_value if options.series_value != "auto" else "percent" if percent else "cores"
    why = "as asked" if options.series_value != "auto" else "as the answer says" if percent else "nothing else known"
    rules = [Modelled("cores", f"a value is {value} ({why})", "fixed" if why.startswith("as the") else "series_value")]
    if value == "percent":
        rules.append(Modelled("cores", f"100 % of a series is {options.series_cores:g} vCPUs", "series_cores"))
    if value == "requests":
        rate = f"{options.requests_per_core_second:g} requests per core-second"
        rules.append(Modelled("cores", rate, "requests_per_core_second"))
    return value, rules


def _check(file: str, found: Sequence[MeasuredSeries], value: str) -> None:
    findings, most = Findings(file), _HIGHEST[value]
    for series in found:
        bad = np.flatnonzero(~((series.values >= -_ROUNDING) & (series.values <= most * (1 + _ROUNDING))))
        for at in bad[:5].tolist():
            named = f" ({series.name})" if series.name else ""
            what = f"{series.values[at]:g} at {series.times[at]:.0f}"
            findings.add(f"{series.where}{named}", what, f"{value}: a number from 0 to {most:g}")
        if ((series.times < 0) | (series.times > limits.SUBMIT_SECONDS)).any():
            findings.add(series.where, "a time that is not in seconds", "Unix seconds or ISO 8601")
    if findings.problems:
        raise findings.error()


def _added(
    file: str, found: Sequence[MeasuredSeries], options: WorkloadOptions, repaired: dict[str, int]
) -> tuple[TimeGrid, Floats]:
    """The sum of all series on steps of the commonest length. A gap of at most ``max_gap_seconds`` within one holds
    the value before it; through a longer one its machine was off."""
    gaps = np.concatenate([np.diff(series.times) for series in found] or [np.empty(0)])
    lengths, counts = np.unique(np.round(gaps[gaps > 0]), return_counts=True)
    if not len(lengths):
        raise InputError(f"{file}: a series needs at least two samples")
    step = max(int(lengths[np.argmax(counts)]), 1)
    first = min(series.times[0] for series in found)
    last = max(series.times[-1] for series in found)
    slots = int((last - first) // step) + 1
    if slots > options.max_rows:
        raise InputError(f"{file}: {slots:,} steps of {step} s, more than {options.max_rows:,} (max_rows)")
    grid, total = TimeGrid(float(first), step, slots), np.zeros(slots)
    for series in found:
        total += _on_steps(series, grid, options.max_gap_seconds, repaired)
    return grid, total


def _on_steps(series: MeasuredSeries, grid: TimeGrid, longest: int, repaired: dict[str, int]) -> Floats:
    """The mean of a series' samples in each step; 0 where it is not there."""
    slots, step = grid.count, grid.step
    at = ((series.times - grid.start) // step).astype(np.int64)
    sums, counts = np.bincount(at, series.values, slots), np.bincount(at, minlength=slots)
    values: Floats = np.divide(np.maximum(sums, 0.0), counts, out=np.zeros(slots), where=counts > 0)
    there = np.flatnonzero(counts)
    missing = np.diff(there) - 1
    for before, length in zip(there[:-1][missing > 0].tolist(), missing[missing > 0].tolist(), strict=True):
        held = (length + 1) * step <= longest
        reason = "missing samples: the value before held" if held else "missing for long: counted as switched off"
        repaired[reason] = repaired.get(reason, 0) + length
        if held:
            values[before + 1 : before + 1 + length] = values[before]
    return values

"""Recorded CPU and memory use of one application: CSV, JSON, Prometheus range answers, CloudWatch metric data."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.model.files import none_such
from hcloud.model.json_text import parsed

LARGEST = 64 * 1024 * 1024
GIB = float(1 << 30)
COLUMNS = ("timestamp", "cpu_cores", "cpu_percent", "memory_gib", "memory_bytes", "memory_percent")


@dataclass(frozen=True, slots=True)
class UtilisationBase:
    """What percentages are of; None where that was not stated."""

    vcpus: float | None = None
    memory_gib: float | None = None


@dataclass(frozen=True, slots=True)
class UtilisationSamples:
    """Cores and GiB in use, sample by sample (each series by itself), and when the last sample was taken."""

    cores: tuple[float, ...]
    memory_gib: tuple[float, ...]
    last: datetime


Sample = tuple[str, datetime, float]
"""The name of a series as in COLUMNS, a time, and a value."""


def _why_not(error: Exception) -> str:
    if isinstance(error, ValueError | csv.Error):
        return str(error)
    return f"{error} is missing" if isinstance(error, KeyError) else "its structure is another one"


def load_use(path: Path, name: str, machine: UtilisationBase) -> UtilisationSamples:
    """The use recorded in a file of a named format; raises InputError with the place of what cannot be used."""
    if name not in FORMATS:
        raise UsageError(
            f"--format {name}: no such format{did_you_mean(name, FORMATS)}", hint=f"known: {', '.join(FORMATS)}"
        )
    if not path.is_file():
        raise UsageError(none_such(path), hint="check the name; relative names start in the current directory")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than {LARGEST} bytes; record with a longer step")
    try:
        text = path.read_text(encoding="utf-8-sig")
        samples = list(FORMATS[name](text))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, csv.Error) as error:
        raise InputError(f"{path}: not usable as {name}: {_why_not(error)}") from None
    return _use(samples, machine, path)


def _use(samples: list[Sample], machine: UtilisationBase, path: Path) -> UtilisationSamples:
    cores: list[float] = []
    memory: list[float] = []
    for number, (series, _, value) in enumerate(samples, start=1):
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{path}: sample {number} of {series}: {value} (a finite number from 0)")
        if series.startswith("cpu"):
            cores.append(_scaled(series, value, machine.vcpus, "--vcpus"))
        else:
            memory.append(_scaled(series, value, machine.memory_gib, "--memory-gib"))
    if not cores or not memory:
        raise InputError(
            f"{path}: holds no {'CPU' if not cores else 'memory'} series",
            hint=f"series are known by their names: {', '.join(COLUMNS[1:])}, or what the format calls them",
        )
    return UtilisationSamples(tuple(cores), tuple(memory), max(at for _, at, _ in samples))


def _scaled(series: str, value: float, whole: float | None, flag: str) -> float:
    if series.endswith("_bytes"):
        return value / GIB
    if not series.endswith("_percent"):
        return value
    if whole is None:
        raise UsageError(f"{series} is a share", hint=f"say of how much with {flag}")
    return value / 100 * whole


def _csv(text: str) -> Iterator[Sample]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    _check_columns(rows.fieldnames or ())
    for row in rows:
        if None in row or None in row.values():
            raise ValueError(f"line {rows.line_num} has another number of cells than the header")
        yield from _row(row)


def _json(text: str) -> Iterator[Sample]:
    for row in parsed(text):
        _check_columns(row)
        yield from _row(row)


def _row(row: Mapping[str, object]) -> Iterator[Sample]:
    at = _moment(row["timestamp"])
    for series in COLUMNS[1:]:
        if series in row and row[series] not in ("", None):
            yield series, at, float(str(row[series]))


def _check_columns(names: Iterable[str]) -> None:
    if unknown := [n for n in names if n not in COLUMNS]:
        raise ValueError(f"unknown column {unknown[0]!r}; known are {', '.join(COLUMNS)}")


def _prometheus(text: str) -> Iterator[Sample]:
    answer = parsed(text)
    if answer["status"] != "success" or answer["data"]["resultType"] != "matrix":
        raise ValueError("not the successful answer of a range query")
    for series in answer["data"]["result"]:
        name = _prometheus_series(series["metric"])
        for at, value in series["values"]:
            yield name, _moment(at), float(value)


def _prometheus_series(labels: Mapping[str, str]) -> str:
    """CPU in cores (the rate of CPU seconds) or memory in bytes, by the metric's name or a label ``series``."""
    name = labels.get("__name__") or labels.get("series", "")
    if "cpu" in name:
        return "cpu_cores"
    if "mem" in name:
        return "memory_bytes"
    raise ValueError(f"series {name!r} is neither CPU nor memory; set the label 'series' to cpu or memory")


def _cloudwatch(text: str) -> Iterator[Sample]:
    known = {
        "CPUUtilization": "cpu_percent",
        "mem_used_percent": "memory_percent",
        "MemoryUtilization": "memory_percent",
        "mem_used": "memory_bytes",
    }
    for series in parsed(text)["MetricDataResults"]:
        if series["Label"] not in known:
            raise ValueError(f"label {series['Label']!r}; known are {', '.join(known)}")
        for at, value in zip(series["Timestamps"], series["Values"], strict=True):
            yield known[series["Label"]], _moment(at), float(value)


def _moment(value: object) -> datetime:
    try:
        return datetime.fromtimestamp(float(str(value)), UTC)
    except ValueError:
        at = datetime.fromisoformat(str(value))
    except (OverflowError, OSError):
        raise ValueError(f"{value!r} is no time") from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


FORMATS: Mapping[str, Callable[[str], Iterator[Sample]]] = {
    "csv": _csv,
    "json": _json,
    "prometheus": _prometheus,
    "cloudwatch": _cloudwatch,
}

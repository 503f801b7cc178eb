"""The measured cloud models against the published measurements they were taken from; skipped where those are absent.

Every quantile of ``policies/clouds/measured-*.yaml`` that is not a choice of ours is computed here again.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from hcloud.model.running.cloud import Quantiles, SizeModel
from hcloud.readers.clouds import load_cloud

GRID = (0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
TUNA_GRID = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
TUNA_COLUMNS = ("p1", "p1", "p5", "p25", "p50", "p75", "p95", "p99", "p99")
CLIP = 1.5
"""Larger ratios between launches of one type are taken for another mode of the benchmark (README of the data)."""
LAUNCHES = ("2025-11-25_run1", "2025-12-04_run2", "2026-07")
CPU = (("Stress-NG", "Test:_CPU_Stress"), ("Stress-NG", "Test:_Matrix_Math"))
MEMORY = (
    ("Intel_Memory_Latency_Checker", "Test:_Max_Bandwidth_-_Stream-Triad_Like"),
    ("Sysbench", "Test:_RAM__Memory"),
)
MEAN_LOAD = 0.25
SATURATED_QPS = 55_000
SIZES = (1, 2, 4, 8, 16)

Values = tuple[float, ...]


def size_of(cloud: str, number: int) -> SizeModel:
    return next(s for s in load_cloud(cloud).sizes if s.vcpus == number)


def agrees(stated: Quantiles, probabilities: Values, values: Iterable[float], tolerance: float) -> None:
    assert stated.probabilities == probabilities
    assert stated.values == pytest.approx(list(values), abs=tolerance)


AWS_VCPUS = {"medium": 1, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16}
VCPUS: Mapping[str, Callable[[str], int | None]] = {
    "aws": lambda name: None if name[0] in "gp" else AWS_VCPUS.get(name.partition(".")[2]),
    "gcp": lambda name: None if re.match(r"a[234]|g[24]-", name) else _number(r"-(\d+)(?:-lssd)?$", name),
    "azure": lambda name: _number(r"(?:Standard|Basic)_(?!N)[A-Z]+(\d+)(?![-\d])", name),
}
"""vCPUs of a type by its name; None for accelerators, for fewer vCPUs on a larger shape, and where no name tells."""


def _number(pattern: str, name: str) -> int | None:
    found = re.search(pattern, name)
    return int(found[1]) if found else None


def boots(data: Path, vendor: str, sizes: tuple[int, ...]) -> list[float]:
    with (data / "performance" / "cc-by-sa" / "spinup.csv").open(encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["vendor"] == vendor and r["ready_s"]]
    return [float(r["ready_s"]) for r in rows if VCPUS[vendor](r["instance"]) in sizes]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("vendor", "by_size"), [("aws", False), ("gcp", False), ("azure", True)])
def test_start_up(vendor: str, by_size: bool, size: int, shared_data: Path) -> None:
    seen = boots(shared_data, vendor, (size,) if by_size else SIZES)
    assert len(seen) >= 15
    agrees(size_of(f"measured-{vendor}", size).spin_up, GRID, np.quantile(seen, GRID), 0.06)


def launches(data: Path) -> list[dict[str, Any]]:
    paths = (data / "performance" / f"ec2_coremark_ffmpeg_{when}.json" for when in LAUNCHES)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def seconds(measured: Mapping[str, Any], size: int) -> float | None:
    """FFmpeg where it has the memory to run; at 1 vCPU CoreMark, which elsewhere used one thread in two launches
    and all threads in the third."""
    if size == 1:
        return 1 / measured["coremark"]["iterations_second"] if measured["coremark"] else None
    return float(measured["ffmpeg"]["elapsed_time_seconds"]) if measured["ffmpeg"] else None


def relative_times(data: Path, size: int) -> list[float]:
    """Times of each launch relative to the median of the launches of its type."""
    runs, found = launches(data), []
    for name in sorted(set.intersection(*map(set, runs))):
        if runs[0][name]["cpu"]["threads"] == size:
            times = [t for t in (seconds(run[name], size) for run in runs) if t]
            if len(times) == len(runs):
                found += [min(t / float(np.median(times)), CLIP) for t in times]
    return found


@pytest.mark.parametrize("size", SIZES)
def test_slowness_on_aws(size: int, shared_data: Path) -> None:
    seen = relative_times(shared_data, size)
    assert len(seen) >= 99
    agrees(size_of("measured-aws", size).slowness, GRID, np.quantile(seen, GRID), 0.0006)


class Cell(NamedTuple):
    """One benchmark in one region: times relative to the median, and what share of it is not over time."""

    times: Values
    lasting: float


def cells(data: Path, sku: str, tests: tuple[tuple[str, str], ...]) -> Iterator[Cell]:
    rows: dict[tuple[str, ...], dict[str, dict[str, str]]] = defaultdict(dict)
    with (data / "performance" / "vm_noise_quantiles.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["sku"] == sku and (row["suite"], row["test"]) in tests:
                rows[row["suite"], row["test"], row["region"]][row["lifespan"]] = row
    for pair in rows.values():
        fresh = pair["short"]
        # These are rates: the smallest is the longest time.
        times = tuple(float(fresh["p50"]) / float(fresh[c]) for c in reversed(TUNA_COLUMNS))
        over_time = float(pair["long"]["cv_within"]) / float(fresh["cv"])
        yield Cell(times, max(0.0, 1 - over_time**2) ** 0.5)


def tuna_slowness(data: Path, sku: str) -> Values:
    """Mean quantiles of the CPU tests, less what one VM varies by over time (as deviations that add up by squares)."""
    shrunk = [[1 + c.lasting * (t - 1) for t in c.times] for c in cells(data, sku, CPU)]
    assert len(shrunk) == 4
    return tuple(map(float, np.mean(shrunk, axis=0)))


def tuna_spread(data: Path) -> Values:
    """The time the memory tests lose against the fastest VMs, relative to its median, where all of the loss is put
    down to neighbours; at most what a wholly busy server would give, and 1 in the mean."""
    lost = [
        [min(1 + c.lasting * (t - 1) / (1 - c.times[0]), 1 / MEAN_LOAD) for t in c.times]
        for c in cells(data, "D8s_v5", MEMORY)
    ]
    assert len(lost) == 4
    mean = np.mean(lost, axis=0)
    return tuple(map(float, mean / np.trapezoid(mean, TUNA_GRID)))


@pytest.mark.parametrize("size", SIZES)
def test_slowness_on_azure(size: int, shared_data: Path) -> None:
    seen = tuna_slowness(shared_data, "B8ms" if size == 1 else "D8s_v5")
    agrees(size_of("measured-azure", size).slowness, TUNA_GRID, seen, 0.0006)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_neighbours_on_azure(size: int, shared_data: Path) -> None:
    agrees(size_of("measured-azure", size).spread, TUNA_GRID, tuna_spread(shared_data), 0.006)


def memcached_times(data: Path) -> list[float]:
    """Median latencies relative to the median run at the same load, below saturation."""
    by_load = defaultdict(list)
    for run in (1, 2, 3):
        path = data / "performance" / f"memcached_ibench_nointerference-{run}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                by_load[int(row["target"])].append(float(row["p50"]))
    assert all(len(times) == 3 for times in by_load.values())
    return [t / float(np.median(ts)) for load, ts in by_load.items() if load < SATURATED_QPS for t in ts]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_slowness_on_google(size: int, shared_data: Path) -> None:
    agrees(size_of("measured-gcp", size).slowness, GRID, np.quantile(memcached_times(shared_data), GRID), 0.0006)


@pytest.mark.parametrize("size", [8, 16])
def test_what_google_borrows_is_what_aws_has(size: int) -> None:
    assert size_of("measured-gcp", size).slowness == size_of("measured-aws", size).slowness

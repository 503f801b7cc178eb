"""The two small maps beside Azure's VM bins: flavour letters to sizes, lifetime bins to seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.siblings import sibling, text_lines
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.units import parse_decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Flags = NDArray[np.bool_]

NO_TOKEN = -1


@dataclass(frozen=True, slots=True)
class Maps:
    """Flavours by code (vCPUs, GiB) and lifetimes by code (seconds, still running, shorter than the recording step)."""

    flavour_codes: dict[str, int]
    flavours: tuple[str, ...]
    cores: Floats
    memory: Floats
    lifetime_codes: dict[str, int]
    seconds: Floats
    censored: Flags
    instant: Flags


def read_maps(beside: TraceFile, options: WorkloadOptions) -> Maps:
    """Both maps, found beside a file or passed by key."""
    prefix = beside.path.name.partition("_")[0]
    sizes = _flavours(beside, prefix, options)
    highest = _bins(beside, prefix, options)
    codes: dict[str, int] = {}
    seconds: list[float] = []
    numbers = sorted(highest)
    for low_bin, number in zip([None, *numbers], numbers, strict=False):
        low = 0.0 if low_bin is None else highest[low_bin]
        for mark, point in (("U", options.azure_lifetime), ("C", options.azure_censored)):
            codes[f"{mark}{number}"] = len(seconds)
            seconds.append(_point(low, highest[number], point))
    lifetimes = np.array(seconds)
    return Maps(
        flavour_codes={letter: code for code, letter in enumerate(sizes)},
        flavours=tuple(f"{cores:g} vCPU {memory:g} GiB" for cores, memory in sizes.values()),
        cores=np.array([cores for cores, _ in sizes.values()]),
        memory=np.array([memory for _, memory in sizes.values()]),
        lifetime_codes=codes,
        seconds=np.where(lifetimes > 0, lifetimes, options.azure_zero_lifetime),
        censored=np.array([name.startswith("C") for name in codes]),
        instant=lifetimes <= 0,
    )


def _point(low: float, high: float, point: str) -> float:
    """A lifetime within a bin; of a censored one that lasts to the end of the record, the least for now."""
    return {"lower": low, "upper": high, "midpoint": (low + high) / 2, "record-end": low}[point]


def _flavours(beside: TraceFile, prefix: str, options: WorkloadOptions) -> dict[str, tuple[float, float]]:
    """Letter to vCPUs and GiB."""
    source = sibling(beside, f"{prefix}_flav_map.txt", options.azure_flavour_map, "azure_flavour_map")
    findings = Findings(source.name)
    sizes: dict[str, tuple[float, float]] = {}
    for number, line in text_lines(source, findings):
        size, _, letter = line.partition(" ")
        figures = [_figure(text) for text in size.split(",")]
        if len(figures) != 2 or not 0 < figures[0] <= limits.CORES or not 0 < figures[1] <= limits.MEMORY_GIB:
            findings.add(f"line {number}", shown(line), "vCPUs,GiB and a letter, for example 2,3.5 g")
        elif not letter or letter in sizes or letter == "|":
            findings.add(f"line {number}", shown(letter), "one new letter a line")
        else:
            sizes[letter] = figures[0], figures[1]
    if findings.problems:
        raise findings.error()
    return sizes


def _bins(beside: TraceFile, prefix: str, options: WorkloadOptions) -> dict[int, float]:
    """Lifetime bin to the longest lifetime in it."""
    source = sibling(beside, f"{prefix}_*interval_map.txt", options.azure_interval_map, "azure_interval_map")
    findings = Findings(source.name)
    highest: dict[int, float] = {}
    for number, line in text_lines(source, findings):
        seconds, _, name = line.partition(" ")
        length = _figure(seconds)
        if not (0 <= length <= limits.DURATION_SECONDS and name.isdigit() and len(name) <= 6):
            findings.add(f"line {number}", shown(line), "seconds and the number of a bin")
        else:
            highest[int(name)] = max(highest.get(int(name), 0.0), length)
    if findings.problems:
        raise findings.error()
    return highest


def _figure(text: str) -> float:
    """The number, or -1 for text that is none."""
    try:
        return float(parse_decimal(text))
    except ValueError:
        return -1.0

"""Azure VM requests of 2017 in 5-minute bins: one file names flavours, its twin the lifetime bins, token by token."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import JobKind, Jobs, Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.jobs.jobs_table import Draft, finish
from hcloud.readers.workloads.formats.siblings import both_digests, sibling, text_lines
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.delimited import Progress
from hcloud.units import counted, parse_decimal

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


FORMAT = "azure-vm"
_LIFETIMES = re.compile(r"(.+)\.c(\d+)(\.txt)")
_LATEST = 10**11


@dataclass(frozen=True, slots=True)
class Bins:
    """Request tokens in file order: the second each was submitted and its two codes."""

    submit: Floats
    flavour: list[int]
    lifetime: list[int]


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """One job a requested machine."""
    flavours, lifetimes = _pair(source, options)
    maps = read_maps(flavours, options)
    bins = _aligned(flavours, lifetimes, maps, options)
    if progress is not None:
        progress(0.9)
    flavour, lifetime = np.array(bins.flavour), np.array(bins.lifetime)
    until = _record_end(lifetimes)
    if until is None and options.azure_censored == "record-end":
        raise InputError(f"{lifetimes.name}: azure_censored=record-end needs a second in the name, as x.c2100000.txt")
    duration = _durations(bins.submit, lifetime, maps, until if options.azure_censored == "record-end" else None)
    draft = Draft(source.name, FORMAT, both_digests(flavours, lifetimes), bins.submit, duration, rows=len(bins.flavour))
    draft.cores, draft.memory = maps.cores[flavour], maps.memory[flavour]
    draft.app, draft.apps = flavour.astype(np.int32), maps.flavours
    draft.kind = np.where(duration >= options.azure_service_after, JobKind.SERVICE, JobKind.BATCH).astype(np.int8)
    nothing = int(np.count_nonzero(maps.instant[lifetime]))
    draft.repair(f"lifetime 0 s: {options.azure_zero_lifetime:g} s (azure_zero_lifetime)", nothing)
    draft.modelled += _rules(options, int(np.count_nonzero(maps.censored[lifetime])))
    return replace(finish(draft, options), recorded_until=until)


def _record_end(lifetimes: TraceFile) -> float | None:
    """The second at which the record ends, as the name of the file of lifetimes says; None where it does not."""
    match = _LIFETIMES.fullmatch(lifetimes.path.name)
    return None if match is None else float(match[2])


def _durations(submit: Floats, lifetime: NDArray[np.intp], maps: Maps, end: float | None) -> Floats:
    seconds = maps.seconds[lifetime]
    if end is None:
        return seconds
    return np.where(maps.censored[lifetime], np.maximum(end - submit, seconds), seconds)


def _rules(options: WorkloadOptions, censored: int) -> list[Modelled]:
    still = f"{options.azure_censored} of the bin for {counted(censored, 'machine')} that were still running"
    return [
        Modelled("duration", f"{options.azure_lifetime} of the lifetime bin", "azure_lifetime"),
        Modelled("duration", still, "azure_censored"),
        Modelled("cores", "machines that started before the first line are not in the file", "fixed"),
        Modelled("kind", f"service from {options.azure_service_after:g} s of lifetime on", "azure_service_after"),
    ]


def _pair(source: TraceFile, options: WorkloadOptions) -> tuple[TraceFile, TraceFile]:
    """The flavours file and its twin of lifetimes, whichever was given."""
    first = source.head.split(b"\n", 1)[0]
    match = _LIFETIMES.fullmatch(source.path.name)
    if re.match(rb"\d+ [UC|]", first) and re.search(rb"[UC]\d", first):
        name = f"{match[1]}{match[3]}" if match else "(flavours)"
        return sibling(source, name, options.azure_flavours, "azure_flavours"), source
    return source, sibling(source, f"{source.path.stem}.c*.txt", options.azure_lifetimes, "azure_lifetimes")


def _aligned(flavours: TraceFile, lifetimes: TraceFile, maps: Maps, options: WorkloadOptions) -> Bins:
    """The tokens of both files side by side; InputError where they do not match or a token is unknown."""
    findings = Findings(flavours.name)
    left, right = text_lines(flavours, findings), text_lines(lifetimes, findings)
    if len(left) != len(right):
        findings.add("whole file", f"{len(left):,} lines", f"{len(right):,} lines, as {lifetimes.path.name} has")
    bins = Bins(np.empty(0), [], [])
    starts: list[int] = []
    counts: list[int] = []
    for (number, text), (_, twin) in zip(left, right, strict=False):
        if findings.full or len(bins.flavour) > options.max_rows:
            break
        start, tokens = _split(findings, number, text)
        other, lives = _split(findings, number, twin)
        if start != other or len(tokens) != len(lives):
            findings.add(f"line {number}", f"{start} with {len(tokens)} tokens", f"{other} with {len(lives)}: the twin")
            continue
        before = len(bins.flavour)
        _take(findings, number, (tokens, lives), maps, bins)
        starts.append(start)
        counts.append(len(bins.flavour) - before)
    return _finished(findings, bins, starts, counts, options)


def _finished(findings: Findings, bins: Bins, starts: list[int], counts: list[int], options: WorkloadOptions) -> Bins:
    if findings.problems:
        raise findings.error()
    if len(bins.flavour) > options.max_rows:
        raise InputError(f"{findings.file}: more than {options.max_rows:,} requests (max_rows)")
    if not bins.flavour:
        raise InputError(f"{findings.file}: no requests")
    return Bins(np.repeat(np.array(starts, np.float64), counts), bins.flavour, bins.lifetime)


def _split(findings: Findings, number: int, text: str) -> tuple[int, list[str]]:
    start, _, tokens = text.partition(" ")
    if not (start.isdigit() and len(start) <= 12 and int(start) <= _LATEST):
        findings.add(f"line {number}", shown(start), f"a whole second from 0 to {_LATEST:g}")
        return -1, []
    return int(start), tokens.split(",") if tokens.strip() else []


def _take(findings: Findings, number: int, pair: tuple[list[str], list[str]], maps: Maps, bins: Bins) -> None:
    """Append the codes of a line's requests; bars must stand at the same places in both lines."""
    left = [maps.flavour_codes.get(token, NO_TOKEN) for token in pair[0]]
    right = [maps.lifetime_codes.get(token, NO_TOKEN) for token in pair[1]]
    bars = [token == "|" for token in pair[0]]
    if bars != [token == "|" for token in pair[1]]:
        findings.add(f"line {number}", "bars at other places than in its twin", "the same requests in both files")
        return
    for place, (bar, first, second) in enumerate(zip(bars, left, right, strict=True), 1):
        if bar:
            continue
        if first == NO_TOKEN:
            findings.add(f"line {number}, token {place}", shown(pair[0][place - 1]), "a flavour of the flavour map")
        elif second == NO_TOKEN:
            findings.add(f"line {number}, token {place}", shown(pair[1][place - 1]), "a bin of the interval map")
        else:
            bins.flavour.append(first)
            bins.lifetime.append(second)

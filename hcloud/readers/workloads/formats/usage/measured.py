"""Series as monitoring measures them, one a machine: what their values are, and all of them added up to a demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Modelled, Provenance, SeriesMarks
from hcloud.planning.forecasting.demand import TimeGrid
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.commands import advice
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.usage.counted import counts_machines
from hcloud.readers.workloads.formats.usage.series import (
    EXAMPLE_CORES,
    HIGHEST,
    OF_A_COUNTER,
    PARTS,
    SeriesExtras,
    counts_up,
    demand,
    in_cores,
    in_vcpus_by,
    likely_value,
    longest_held,
    regular,
)
from hcloud.readers.workloads.meanings import spelt
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

_ROUNDING = 1e-6
_SHOWN, _SHOWN_OF_ALL = 5, 10
_DAY, _ALIKE, _MARKED = 86_400, 12, 2000
"""Ours: so many samples one after the other are not alike in two machines by chance; so many series are marked."""
_OF_ONE = "if 100 is one vCPU, as docker stats and top have it, divide the values by 100 and say series_value=cores"
_NAN = "samples that are NaN: no sample"
_COUNTER = re.compile(
    r"""\b__name__="?(\w+_total)(?![\w:])|(?<![\w:="])(?<!rate\()(\w+_seconds_total)(?![\w:]|(\{[^}]*\})?\[)"""
)
"""A counter by its name: no rate of one, no recording rule, and no label's value."""


_MHZ = re.compile(r"(_|^|usage)mhz(_|$)")
_PCT = re.compile(r"pct", re.IGNORECASE)
"""In a name of Elastic's, a fraction; else percent."""


@dataclass(frozen=True, slots=True)
class MeasuredSeries:
    """One series: where it stands in its file, its name, its times in order in Unix seconds and its values; the
    ``unit`` of these where the file says it; the lines of a text;
    GiB of memory and the machine's vCPUs where the file tells them."""

    where: str
    name: str
    times: Floats
    values: Floats
    unit: str = ""
    lines: NDArray[np.int64] | None = None
    memory: Floats | None = None
    highest: float | None = None
    machine_cores: float | None = None

    def place(self, at: int) -> str:
        """Where a sample stands."""
        if self.lines is not None:
            return f"line {self.lines[at]}, column {self.where}"
        return f"{self.where} ({self.name})" if self.name else self.where

    @property
    def named(self) -> str:
        """Where it stands in its file, and its name."""
        return f"{self.where} ({self.name})" if self.name and self.name != self.where else self.where

    def marks(self) -> SeriesMarks:
        """Hashes of the samples behind the begin of each day, where these are not all of one value."""
        days = np.flatnonzero(np.diff(self.times // _DAY)) + 1
        blocks = ((int(self.times[at]), self.values[at : at + _ALIKE]) for at in days.tolist())
        hours = {
            at: hash((at, block.tobytes()))
            for at, block in blocks
            if len(block) == _ALIKE and block.min() != block.max()
        }
        return SeriesMarks(self.named, self.name or self.where, hours)


@dataclass(slots=True)
class MeasuredUse:
    """What was read of a file: its series, how many samples or rows, and what was changed or left out, counted;
    ``findings`` are what is wrong with it so far; ``of_all``: one series is all that is used, and no machine's own;
    ``if_twice`` is what to do about times that are there twice."""

    source: TraceFile
    format: str
    series: list[MeasuredSeries]
    rows: int
    repaired: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    rules: list[Modelled] = field(default_factory=list)
    of_all: bool = False
    if_twice: str = ""
    findings: Findings = field(init=False)

    def __post_init__(self) -> None:
        self.findings = Findings(self.source.name)

    def demand(self, options: WorkloadOptions) -> Demand:
        """The sum of all series, step by step; each counts from its first to its last sample."""
        file, found = self.source.name, self._sampled()
        value, rules = self._meaning(found, options)
        note_values(self.findings, found, value)
        is_fine = not self.findings.problems
        beyond = value == "percent" and any(series.values.max() > HIGHEST[value] for series in found)
        _note_twice(self.findings, found)
        if self.findings.problems:
            error = self.findings.error()
            error.hint = _OF_ONE if beyond else self.if_twice if is_fine else ""
            raise error
        if self.of_all and not self.source.of_machine:
            grid, sums = regular(self.source, found[0].times, _in_rows(found)[0], options, self.repaired)
        else:
            grid, sums = _sum(self.source, found, options, self.repaired)
        cores = in_cores(sums[0], value, grid.step, options)
        said = (*self.rules, *rules)
        provenance = Provenance(
            file,
            self.format,
            self.source.digest(),
            self.rows,
            self.repaired,
            self.left_out,
            said,
            0 if value == "machines" else len(found),
            tuple(series.marks() for series in found[:_MARKED]),
        )
        return demand(grid, cores, provenance, options, SeriesExtras(*sums[1:]))

    def histories(self, options: WorkloadOptions) -> tuple[str, list[MeasuredSeries]]:
        """What the values are (as asked, as the file says, else ``""``: nobody says), and every series by itself; what
        is wrong with them is noted."""
        found = self._sampled()
        said = {series.unit for series in found}
        value = options.series_value if options.series_value != "auto" else said.pop() if len(said) == 1 else ""
        _note_twice(self.findings, found)
        return value, found

    def _meaning(self, found: Sequence[MeasuredSeries], options: WorkloadOptions) -> tuple[str, list[Modelled]]:
        """What the values are; where nobody says, the error has all that is wrong before."""
        try:
            return _meaning(self.source, found, options)
        except InputError as error:
            if not self.findings.problems:
                raise
            whole = self.findings.error()
            whole.hint = error.hint
            raise whole from error

    def _sampled(self) -> list[MeasuredSeries]:
        """The series that have samples; InputError where none has."""
        found = [one for one in map(self._numbers_of, self.series) if len(one.times)]
        if not found and self.findings.problems:
            raise self.findings.error()
        if not found:
            raise InputError(f"{self.source.name}: holds no sample", hint="ask for another time range or metric")
        if len(found) < len(self.series):
            self.left_out["series without a sample"] = len(self.series) - len(found)
        return found

    def _numbers_of(self, series: MeasuredSeries) -> MeasuredSeries:
        """A series without the samples that are NaN: there was nothing to measure."""
        there = ~np.isnan(series.values)
        if there.all():
            return series
        self.repaired[_NAN] = self.repaired.get(_NAN, 0) + int(np.count_nonzero(~there))
        lines = None if series.lines is None else series.lines[there]
        memory = None if series.memory is None else series.memory[there]
        return replace(series, times=series.times[there], values=series.values[there], lines=lines, memory=memory)


def refuse_counters(file: str, found: Sequence[MeasuredSeries]) -> None:
    """Refuse what counts up since a machine began. Of tables, which people make up, by its name alone."""
    for series in found:
        counts = series.lines is None and counts_up(series.values)
        named = _COUNTER.search(f"{series.where} {series.name}")
        if counts or named:
            metric = "METRIC" if named is None else named[1] or named[2]
            why = "never falls: it is a counter" if counts else "is by its name a counter of what was used"
            raise InputError(
                f"{file}: {series.named} {why} since the machine started",
                hint=f"ask for its rate, which is in vCPUs: rate({metric}[5m])",
            )


def in_order(times: Sequence[float], values: Sequence[float]) -> tuple[Floats, Floats]:
    """Samples sorted by time."""
    moments, numbers = np.array(times, np.float64), np.array(values, np.float64)
    order = np.argsort(moments, kind="stable")
    return moments[order], numbers[order]


def _meaning(
    source: TraceFile, found: Sequence[MeasuredSeries], options: WorkloadOptions
) -> tuple[str, list[Modelled]]:
    """What the values are: as asked, or as the file says; InputError where nobody says."""
    said, asked = found[0].unit, options.series_value != "auto"
    known = bool(said) and all(series.unit == said for series in found)
    if not asked and known and all(_PCT.search(one.where) and one.values.max() <= 1 for one in found):
        raise _unknown_unit(source, [replace(one, unit="") for one in found], options)
    if not asked and not known:
        raise _unknown_unit(source, found, options)
    value = options.series_value if asked else said
    why = "as asked" if asked else "as the file says"
    rules = [Modelled("cores", f"a value is {value} ({why})", "fixed" if why == "as the file says" else "series_value")]
    return value, rules + in_vcpus_by(source, value, why, options)


def _unknown_unit(source: TraceFile, found: Sequence[MeasuredSeries], options: WorkloadOptions) -> InputError:
    """Values of which the file does not say what they are, with the command for what they look like."""
    said = {series.unit: series for series in reversed(found)}
    other = said.pop("", None)
    if other is None or len(said) > 1:
        both = " and ".join(f"{shown(said[unit].where)} in {unit}" for unit in sorted(said, reverse=True))
        return InputError(
            f"{source.name}: its columns are in different units by their names: {both}",
            hint="write them in one unit, or each unit's columns to a file of their own",
        )
    if not said and _are_counts(found):
        return _of_machines(source, found, options)
    if _MHZ.search(spelt(other.where)):
        return InputError(
            f"{source.name}: {shown(other.where)} is by its name in MHz, and not in vCPUs",
            hint="divide the values by the MHz of one vCPU (2,500 where the CPU has 2.5 GHz), and say"
            " series_value=cores with the mended file; or export the use in percent",
        )
    most = max(float(series.values.max()) for series in found)
    likely = next(iter(said), likely_value(most, options))
    named = f"{other.where} ({other.name})" if other.name and other.name != other.where else shown(other.where)
    cores = EXAMPLE_CORES if options.series_cores is None else f"{options.series_cores:g}"
    told = {} if likely not in PARTS or options.series_cores is not None else {"series_cores": cores}
    are = f"{PARTS[likely]} of machines with {cores} vCPUs" if likely in PARTS else "vCPUs in use"
    rising = f"; no value falls: {OF_A_COUNTER}" if any(counts_up(series.values) for series in found) else ""
    apart = "" if said else "; if they are vCPUs in use, say --set series_value=cores"
    if likely == "cores" and not said:
        percent = f"; if they are percent of machines, say --set series_value=percent --set series_cores={cores}"
        apart = percent if most <= HIGHEST["percent"] else "" if rising else f"; {_OF_ONE}"
    which = f"they are {are} (the largest is {most:g}{apart}{rising})"
    return InputError(
        f"{source.name}: the unit of {named} is unknown: vCPUs in use (cores), percent or a fraction "
        "(0 to 1) of a machine with so many vCPUs (series_cores), or requests",
        hint=advice(source, {"series_value": likely, **told}, which),
    )


def _are_counts(found: Sequence[MeasuredSeries]) -> bool:
    """Whether series are numbers of machines, or means of them, by the names of their columns: over one at some
    time."""
    named = all(counts_machines(series.where) for series in found)
    return named and any(series.values.max() > 1 for series in found)


def _of_machines(source: TraceFile, found: Sequence[MeasuredSeries], options: WorkloadOptions) -> InputError:
    cores = EXAMPLE_CORES if options.series_cores is None else f"{options.series_cores:g}"
    told = {} if options.series_cores is not None else {"series_cores": cores}
    named = found[0].where
    which = (
        f"each has {cores} vCPUs (else say series_cores; if {named} is no number of machines, say series_value=cores or"
        " percent)"
    )
    return InputError(
        f"{source.name}: {shown(named)} is by its name how many machines run, and not their vCPUs",
        hint=advice(source, {"series_value": "machines", **told}, which),
    )


def note_values(findings: Findings, found: Sequence[MeasuredSeries], value: str) -> None:
    """Note the values that are none of such a series, its memory and its times among them."""
    left = _SHOWN_OF_ALL
    for series in found:
        most = HIGHEST[value] if series.highest is None else series.highest
        bad = np.flatnonzero(~((series.values >= -_ROUNDING) & (series.values <= most * (1 + _ROUNDING))))
        named = min(_SHOWN, left)
        left -= min(named, len(bad))
        for at in bad[:named].tolist():
            what = f"{series.values[at]:g} at {series.times[at]:.0f}"
            findings.add(series.place(at), what, f"{value}: a number from 0 to {most:g}")
        findings.add_alike(len(bad) - named)
        if series.memory is not None:
            wrong = np.flatnonzero(~((series.memory >= 0) & (series.memory <= limits.MEMORY_GIB)))
            for at in wrong[:_SHOWN].tolist():
                allowed = f"GiB of memory: a number from 0 to {limits.MEMORY_GIB:g}"
                findings.add(series.place(at), f"memory {series.memory[at]:g}", allowed)
            findings.add_alike(len(wrong) - _SHOWN)
        late = np.flatnonzero(~((series.times >= 0) & (series.times <= limits.SUBMIT_SECONDS)))
        if len(late):
            what = f"the time {series.times[late[0]]:g} is not in seconds, ms, us or ns since 1970"
            findings.add(series.place(int(late[0])), what, "Unix time or ISO 8601")
            findings.add_alike(len(late) - 1)


def _note_twice(findings: Findings, found: Sequence[MeasuredSeries]) -> None:
    """Note a time that is there twice in a series, or in two of one name: it would count twice, or be a mean."""
    left, met = _SHOWN_OF_ALL, dict[str, list[MeasuredSeries]]()
    for series in found:
        before = met.setdefault(series.name, [])
        before.append(series)
        times = np.concatenate([one.times for one in before])
        order = np.argsort(times, kind="stable")
        twice = np.flatnonzero(np.diff(times[order]) == 0)
        named = min(_SHOWN, left)
        left -= min(named, len(twice))
        for at in order[twice + 1].tolist()[:named]:
            inside = at - (len(times) - len(series.times))
            where = series.place(max(inside, 0))
            allowed = "one sample for each time of a series; where clocks were put back, export times in UTC"
            findings.add(where, f"the time {times[at]:.0f} is there before", allowed)
        findings.add_alike(len(twice) - named)


def _steps(file: str, found: Sequence[MeasuredSeries], options: WorkloadOptions) -> TimeGrid:
    """From the first sample to the last in steps of the commonest length."""
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
    return TimeGrid(float(first), step, slots)


def _in_rows(found: Sequence[MeasuredSeries]) -> list[Floats]:
    """The values of each series and, where all have it, their memory below."""
    memory = [series.memory for series in found if series.memory is not None]
    if len(memory) < len(found):
        return [np.maximum([series.values], 0.0) for series in found]
    return [np.maximum([series.values, held], 0.0) for series, held in zip(found, memory, strict=True)]


def _sum(
    source: TraceFile, found: Sequence[MeasuredSeries], options: WorkloadOptions, repaired: dict[str, int]
) -> tuple[TimeGrid, Floats]:
    """All series on steps. A gap of at most ``max_gap_seconds`` within one holds the value before it; through a longer
    one its machine was off."""
    grid, each = _steps(source.name, found, options), _in_rows(found)
    total = np.zeros((len(each[0]), grid.count))
    for series, rows in zip(found, each, strict=True):
        total += _on_steps(series.times, rows, grid, options.max_gap_seconds, repaired)
    return grid, total


def _on_steps(times: Floats, rows: Floats, grid: TimeGrid, longest: int, repaired: dict[str, int]) -> Floats:
    """The means of a series' samples in each step; 0 where it is not there."""
    slots, step = grid.count, grid.step
    at = ((times - grid.start) // step).astype(np.int64)
    counts = np.maximum(np.bincount(at, minlength=slots), 1)
    values: Floats = np.array([np.bincount(at, row, slots) for row in rows]) / counts
    before = np.flatnonzero(np.diff(at) > 1)
    held_all = np.diff(times)[before] <= longest_held(longest, step)
    for first, last, held in zip((at[before] + 1).tolist(), at[before + 1].tolist(), held_all.tolist(), strict=True):
        reason = (
            "missing samples: filled with the value before" if held else "missing for long: counted as switched off"
        )
        repaired[reason] = repaired.get(reason, 0) + last - first
        if held:
            values[:, first:last] = values[:, first - 1 : first]
    return values

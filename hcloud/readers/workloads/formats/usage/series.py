"""Utilisation and request-rate histories: a timestamp and a value a row, or a cluster's columns at a fixed step."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError, UsageError
from hcloud.model.workload import Demand, Modelled, Provenance
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.commands import advice
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.formats.jobs.jobs_table import times_read
from hcloud.readers.workloads.formats.jobs.stated_units import OF_CELLS, OF_G
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import SECONDS
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import Progress, dated, header_layout, read_table
from hcloud.readers.workloads.tables.header import header_names
from hcloud.readers.workloads.tables.locate import TableLayout, lines_of
from hcloud.readers.workloads.tables.zones import put_back

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

FORMAT = "series"
HIGHEST = {
    "cores": limits.CORES,
    "percent": 100.0,
    "fraction": 1.0,
    "requests": limits.REQUESTS,
    "vcpu-hours": limits.CORES * 1e4,
    "machines": limits.CORES,
}
OF_A_COUNTER = "of a counter, as node_cpu_seconds_total, export the rate: rate(METRIC[5m])"
PARTS = {"percent": "percent", "fraction": "a fraction"}
"""Values that are a part of a machine, and how that is told."""
OF_MACHINES = {**{value: f"{told} of one" for value, told in PARTS.items()}, "machines": "how many run"}
"""Values that are vCPUs where it is known how many a machine has."""
EXAMPLE_CORES = "4"
"""In the commands that are shown where it is not said."""
_MONOTONE, _RESETS = 48, 0.01
"""Ours: of so many steps of a use of CPUs some fall; a counter falls when its machine begins anew."""
_FEW = 16  # ours: percent of machines come to more at some time, vCPUs in use of one to less
_COUNTS = re.compile(r"request|volume|(?<!ac)(?<!dis)count(?!e?r)")
_NO_CPUS = re.compile(r"memory|disk|network|bytes|latency|iops")
_NAMED, _UNKNOWN = "from the file's name", "nothing else known"
_TIME = Column("timestamp", "time", high=limits.SUBMIT_SECONDS)


_BESIDE = (
    Column("memory", high=1e12, required=False, in_one=1.0),
    Column("batch_cores", high=limits.CORES, required=False, in_one=1.0, measured=True),
)


@dataclass(frozen=True, slots=True)
class SeriesExtras:
    """What a series tells beside its cores."""

    memory: Floats | None = None
    batch: Floats | None = None


NOTHING_BESIDE = SeriesExtras()


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the values of a series are and how that was settled."""

    column: str
    value: str
    why: str

    @property
    def is_doubtful(self) -> bool:
        """Whether only the file's name says that values are percent: the largest must look so."""
        return (self.value, self.why) == ("percent", _NAMED)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """Demand of a ``timestamp,value`` file; the value column may be named cores, percent or requests instead."""
    meaning = meaning_of(source, options)
    is_cores = meaning.value == "cores"
    known = (
        dated(_TIME, options),
        Column(
            meaning.column,
            high=HIGHEST["cores" if meaning.is_doubtful else meaning.value],
            in_one=float(is_cores),
            measured=is_cores,
        ),
        *(_BESIDE if meaning.column == "cores" else ()),
    )
    layout = header_layout(source, known, ignore_extra=options.extra_columns == "ignore", decimal=options.decimal)
    sink = read_table(source, layout, options.max_rows, progress)
    repaired = {"byte order mark skipped": 1} if source.marked else {}
    times = put_back(sink.numbers("timestamp"), options.zone) if options.zone else sink.numbers("timestamp")
    names = [c.name for c in known[1:] if sink.has(c.name)]
    values = np.array([sink.numbers(name) for name in names])
    _refuse_rows(
        source, layout, np.flatnonzero(np.isnan(values).any(axis=0)), "an empty cell, which must hold a number"
    )
    clocks = "" if options.zone else "where clocks were put back, say in which zone: --set zone=Europe/Berlin"
    _refuse_rows(source, layout, _repeated(times), "a duplicate time", clocks)
    later = int(np.count_nonzero(times[1:] < times[:-1]))
    if later:
        repaired["unsorted: rows earlier than the row before; sorted by time"] = later
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[:, order]
    if meaning.column == "value" and options.series_value == "auto" and counts_up(values[0]):
        raise InputError(
            f"{source.name}: column value never falls, as a counter, and nothing says what its values are",
            hint=advice(source, {"series_value": meaning.value}, f"its values are {meaning.value} ({OF_A_COUNTER})"),
        )
    said = _rules(source, meaning, float(values[0].max()), options)
    grid, means = regular(source, times, values, options, repaired)
    by_name = dict(zip(names, means, strict=True))
    cores = in_cores(by_name[meaning.column], meaning.value, grid.step, options)
    in_cells = [Modelled("memory", OF_G, "fixed")] if sink.with_units.get("memory") else []
    if meaning.column in sink.with_units:
        in_cells.append(Modelled("cores", OF_CELLS, "fixed"))
    rules = (*times_read(sink), *said, *in_cells)
    provenance = Provenance(source.name, FORMAT, source.digest(), sink.rows, repaired, {}, rules)
    extras = SeriesExtras(by_name.get("memory"), by_name.get("batch_cores"))
    if extras.batch is not None and (extras.batch > cores * (1 + 1e-12)).any():
        raise InputError(f"{source.name}: batch_cores is above cores in some rows; it is a part of them")
    return demand(grid, cores, provenance, options, extras)


def counts_up(values: Floats) -> bool:
    """Whether values rise as those of what counts since a machine began: that is no use at a moment."""
    before, after = values[:-1], values[1:]  # compared and not subtracted: a damaged file may hold two infinities
    rising, falling = np.count_nonzero(after > before), np.count_nonzero(after < before)
    return bool(len(after) >= _MONOTONE and rising >= len(after) / 2 and falling <= _RESETS * len(after))


def demand(
    grid: TimeGrid,
    cores: Floats,
    provenance: Provenance,
    options: WorkloadOptions,
    beside: SeriesExtras = NOTHING_BESIDE,
) -> Demand:
    """A demand series; memory and the batch part are modelled where they are not given, and stated."""
    rules = list(provenance.modelled)
    memory, batch = beside.memory, beside.batch
    if memory is None:
        rules.append(Modelled("memory", f"{options.memory_per_core:g} GiB per vCPU", "memory_per_core"))
        memory = cores * options.memory_per_core
    if batch is None:
        rules.append(Modelled("batch_cores", f"{options.batch_share:.0%} of cores", "batch_share"))
        batch = cores * options.batch_share
    return Demand(grid.start, grid.step, cores, memory, batch, replace(provenance, modelled=tuple(rules)))


def in_cores(means: Floats, value: str, step: int, options: WorkloadOptions) -> Floats:
    """Values as vCPUs: machines or a part of one, or vCPU-hours or requests within a step, these at so many a
    core-second."""
    if value in OF_MACHINES:
        assert options.series_cores is not None, "asked for with the meaning"
        return means / (HIGHEST[value] if value in PARTS else 1.0) * options.series_cores
    if value == "vcpu-hours":
        return means / step * SECONDS["h"]
    if value == "requests":
        return means / step / options.requests_per_core_second
    return means


def meaning_of(source: TraceFile, options: WorkloadOptions) -> Meaning:
    """What the value column holds: the key, else the column's name, else the file's name, else vCPUs."""
    column = next((n for n in header_names(source).names if n in HIGHEST), "value")
    return Meaning(column, *_settle(column, source.path.name.lower(), options))


def _rules(source: TraceFile, meaning: Meaning, most: float, options: WorkloadOptions) -> list[Modelled]:
    """What turns values into vCPUs; InputError where the file's name says percent and the largest is hardly one."""
    value, why = meaning.value, meaning.why
    is_other = why == _UNKNOWN and (options.series_cores is not None or _NO_CPUS.search(source.path.name.lower()))
    likely = likely_value(most, options)
    if is_other or (meaning.is_doubtful and not 1 < most <= HIGHEST["percent"]):
        told = (
            "its name alone says that its values are percent" if meaning.is_doubtful else "nothing says what they are"
        )
        apart = "percent" if likely == "cores" else "cores"
        other = "" if most > HIGHEST[apart] else f" (else say series_value={apart})"
        raise InputError(
            f"{source.name}: the largest of its values is {most:g}, and {told}",
            hint=advice(source, {"series_value": likely}, f"they are {PARTS.get(likely, 'vCPUs in use')}{other}"),
        )
    rules = [] if meaning.column in HIGHEST else [Modelled("cores", f"the value is {value} ({why})", "series_value")]
    return rules + in_vcpus_by(source, value, why, options)


def likely_value(most: float, options: WorkloadOptions) -> str:
    """What values of which nobody says what they are look like by the largest: a part where machines have a size."""
    if most <= 1:
        return "fraction"
    are_parts = most > _FEW or options.series_cores is not None
    return "percent" if are_parts and most <= HIGHEST["percent"] else "cores"


def in_vcpus_by(source: TraceFile, value: str, why: str, options: WorkloadOptions) -> list[Modelled]:
    """What turns values into vCPUs: of a part of a machine how many it has, InputError where nobody says, as the demand
    would be any multiple."""
    if value == "requests":
        rate = f"{options.requests_per_core_second:g} requests per core-second"
        return [Modelled("cores", rate, "requests_per_core_second")]
    if value not in OF_MACHINES:
        return []
    if options.series_cores is None:
        told = ["they are no vCPUs in use (else say series_value=cores)"] if why == _NAMED else []
        raise InputError(
            f"{source.name}: the number of vCPUs of a machine is unknown: the values are {OF_MACHINES[value]} ({why})",
            hint=advice(source, {"series_cores": EXAMPLE_CORES}, *told, f"machines have {EXAMPLE_CORES} vCPUs"),
        )
    whole = "100%" if value == "percent" else "a value of 1"
    return [Modelled("cores", f"{whole} of a series is {options.series_cores:g} vCPUs", "series_cores")]


def _settle(column: str, file: str, options: WorkloadOptions) -> tuple[str, str]:
    if column in HIGHEST:
        if options.series_value not in ("auto", column):
            raise UsageError(f"series_value={options.series_value}, but the file's column is named {column}")
        return column, "column name"
    if options.series_value != "auto":
        return options.series_value, "as asked"
    if "cpu" in file or "util" in file:
        return "percent", _NAMED
    if _COUNTS.search(file):
        return "requests", _NAMED
    return "cores", _UNKNOWN


def regular(
    source: TraceFile, times: Floats, values: Floats, options: WorkloadOptions, repaired: dict[str, int]
) -> tuple[TimeGrid, Floats]:
    """Sorted values (one row a column) on steps of the commonest length; gaps hold the value before them, counted."""
    if len(times) < 2:
        raise InputError(f"{source.name}: a series needs at least two rows")
    gaps = np.diff(times)
    lengths, counts = np.unique(np.round(gaps), return_counts=True)
    step = max(int(lengths[np.argmax(counts)]), 1)
    refuse_long_gaps(source.name, times, step, options)
    if (gaps == step).all():
        return TimeGrid(float(times[0]), step, len(times)), values
    end = np.append(times[1:], times[-1] + step)
    count = int(np.ceil((end[-1] - times[0]) / step))
    grid = TimeGrid(float(times[0]), step, count)
    held = int(np.maximum(np.round(gaps / step) - 1, 0).sum())
    if held:
        repaired["missing steps: filled with the value before"] = held
    irregular = int(np.count_nonzero(np.abs(gaps / step - np.round(gaps / step)) > 1e-9))
    if irregular:
        repaired["timestamps off the regular step: time-weighted"] = irregular
    covered = _covered(grid, float(end[-1]))
    return grid, np.array([mean_in_use(grid, times, end, row) / covered for row in values])


def _covered(grid: TimeGrid, end: float) -> Floats:
    """The part of each step that the series covers: all of it, but for the last."""
    part = np.ones(grid.count)
    part[-1] = (end - grid.start) / grid.step - (grid.count - 1)
    return part


def _repeated(times: Floats) -> NDArray[np.intp]:
    """The rows whose time stands in a row before, in file order."""
    order = np.argsort(times, kind="stable")
    return np.sort(order[1:][np.diff(times[order]) == 0])


def _refuse_rows(source: TraceFile, layout: TableLayout, rows: NDArray[np.intp], what: str, hint: str = "") -> None:
    if not len(rows):
        return
    findings = Findings(source.name)
    for line in lines_of(source, layout, rows.tolist()):
        findings.add(f"line {line}", what, "one number for each time")
    error = findings.error()
    error.hint = error.hint or hint
    raise error


def longest_held(asked: int, step: int) -> int:
    """The longest time in seconds between two values in which none is missing: one that is only late, as of a day with
    25 hours or a month with 31 days, is none."""
    return max(asked, step * 3 // 2)


def refuse_long_gaps(file: str, times: Floats, step: int, options: WorkloadOptions) -> None:
    """InputError for a gap in a series of all that is used: whether nothing ran in it, or nobody looked, is unknown."""
    gaps = np.diff(times)
    worst = int(np.argmax(gaps))
    if gaps[worst] > longest_held(options.max_gap_seconds, step):
        filled = f"--set max_gap_seconds={int(np.ceil(gaps[worst]))}"
        raise InputError(
            f"{file}: no value for {gaps[worst]:,.0f} s after time {times[worst]:.0f}; "
            f"gaps of up to {max(options.max_gap_seconds, step):,} s are filled (max_gap_seconds)",
            hint=f"hold the value before it with {filled}; if nothing ran, give it rows of 0; else split the file",
        )

"""Bitbrains machines as two Parquet files: tasks (size, start) and fragments (seconds at a CPU speed, in sequence)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Modelled, Provenance
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.siblings import both_digests, sibling
from hcloud.readers.workloads.formats.usage.measured import MeasuredSeries, MeasuredUse
from hcloud.readers.workloads.formats.usage.series import SeriesExtras, demand
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column, Sink
from hcloud.readers.workloads.tables.delimited import Progress, header_layout, read_table
from hcloud.readers.workloads.tables.parquet_text import opened, parquet_as_text

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

FORMAT = "bitbrains"
_MILLISECONDS = limits.SUBMIT_SECONDS * 1000
_TASKS = (
    Column("id", high=1e15),
    Column("submission_time", high=_MILLISECONDS),
    Column("duration", high=limits.DURATION_SECONDS * 1000, above=True),
    Column("cpu_count", high=limits.CORES, above=True),
    Column("cpu_capacity", high=1e9, above=True),
    Column("mem_capacity", high=limits.MEMORY_GIB * (1 << 20)),
)
_IN_A_GIB = {"KiB": 1 << 20, "MiB": 1 << 10}
_MOST_GIB = 128.0  # ours: no cloud's machine has more GiB per vCPU,
_LEAST_GIB = 0.25  # ours: and of a list of machines one has at least so many
_FRAGMENTS = (
    Column("id", high=1e15),
    Column("duration", high=limits.DURATION_SECONDS * 1000),
    Column("cpu_usage", high=1e9),
)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """vCPUs in use: each fragment's speed as a part of its machine's, over the machine's own sequence of fragments."""
    digest, tables = _tables(source, options, progress)
    return _demand(source, digest, tables, options)


def measured(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> MeasuredUse:
    """Every machine by itself, as parts of its speed."""
    _, (machines, pieces) = _tables(source, options, progress)
    owner = _owners(source, machines.numbers("id"), pieces.numbers("id"))
    begin, end = _spans(machines.numbers("submission_time")[owner] / 1000, pieces.numbers("duration") / 1000, owner)
    used = np.minimum(pieces.numbers("cpu_usage") / machines.numbers("cpu_capacity")[owner], 1.0)
    grid = TimeGrid.over(float(begin.min()), float(end.max()), options.step_seconds)
    order = np.argsort(owner, kind="stable")
    at = np.searchsorted(owner[order], np.arange(machines.rows + 1))
    found = []
    for row, (name, cores) in enumerate(zip(machines.numbers("id"), machines.numbers("cpu_count"), strict=True)):
        mine = order[at[row] : at[row + 1]]
        if not len(mine):
            continue
        first = int((begin[mine[0]] - grid.start) // grid.step)
        last = int(np.ceil((end[mine].max() - grid.start) / grid.step))
        own = TimeGrid(grid.start + first * grid.step, grid.step, last - first)
        times: Floats = own.start + grid.step * np.arange(own.count, dtype=np.float64)
        values = mean_in_use(own, begin[mine], end[mine], used[mine])
        found.append(MeasuredSeries("id", f"{name:.0f}", times, values, "fraction", machine_cores=float(cores)))
    return MeasuredUse(source, FORMAT, found, pieces.rows)


def _tables(source: TraceFile, options: WorkloadOptions, progress: Progress | None) -> tuple[str, tuple[Sink, Sink]]:
    """The digest of both files, the machines and their fragments."""
    with opened(source) as file:
        given_tasks = "cpu_capacity" in file.schema_arrow.names
    stem = source.path.stem
    other = stem.replace("tasks", "fragments") if given_tasks else stem.replace("fragments", "tasks")
    twin = sibling(source, f"{other}.parquet", None, "input")
    tasks, fragments = (source, twin) if given_tasks else (twin, source)
    machines, pieces = _columns(tasks, _TASKS, options), _columns(fragments, _FRAGMENTS, options, progress)
    return both_digests(tasks, fragments), (machines, pieces)


def _columns(
    source: TraceFile, columns: tuple[Column, ...], options: WorkloadOptions, progress: Progress | None = None
) -> Sink:
    with parquet_as_text(source, progress=progress) as text:
        return read_table(text, header_layout(text, columns, ignore_extra=True), options.max_rows, progress)


def _demand(source: TraceFile, digest: str, tables: tuple[Sink, Sink], options: WorkloadOptions) -> Demand:
    machines, pieces = tables
    owner = _owners(source, machines.numbers("id"), pieces.numbers("id"))
    begin, end = _spans(machines.numbers("submission_time")[owner] / 1000, pieces.numbers("duration") / 1000, owner)
    speed = machines.numbers("cpu_capacity") / machines.numbers("cpu_count")
    used = pieces.numbers("cpu_usage") / speed[owner]
    grid = TimeGrid.over(float(begin.min()), float(end.max()), options.step_seconds)
    first = machines.numbers("submission_time") / 1000
    last = np.zeros(len(first))
    np.maximum.at(last, owner, end)
    unit = _memory_unit(source, machines, options)
    size = machines.numbers("mem_capacity") / _IN_A_GIB[unit]
    held = np.maximum(last, first)
    memory = mean_in_use(grid, np.maximum(first, grid.start), held, size)
    rules = (
        Modelled("time", f"steps of {options.step_seconds} s; fragments follow one another", "step_seconds"),
        Modelled("memory", f"what the machine was given (read as {unit}) while it ran", "memory_unit"),
    )
    provenance = Provenance(source.name, FORMAT, digest, pieces.rows, modelled=rules)
    return demand(grid, mean_in_use(grid, begin, end, used), provenance, options, SeriesExtras(memory))


def _memory_unit(source: TraceFile, machines: Sink, options: WorkloadOptions) -> str:
    """KiB or MiB: what is asked for, else what gives the largest machine a likely size; files of both are about."""
    if options.memory_unit != "auto":
        return options.memory_unit
    largest = float((machines.numbers("mem_capacity") / machines.numbers("cpu_count")).max())
    if largest >= _LEAST_GIB * _IN_A_GIB["KiB"]:
        return "KiB"
    if largest <= _MOST_GIB * _IN_A_GIB["MiB"]:
        return "MiB"
    raise InputError(
        f"{source.name}: mem_capacity may be KiB or MiB: at most {largest:,.0f} per vCPU",
        hint="say which: --set memory_unit=KiB or memory_unit=MiB",
    )


def _owners(source: TraceFile, machines: Floats, pieces: Floats) -> np.typing.NDArray[np.intp]:
    """For each fragment the row of its machine; a machine listed twice or a fragment without one is an InputError."""
    order = np.argsort(machines)
    known = machines[order]
    if (known[1:] == known[:-1]).any():
        raise InputError(f"{source.name}: a task id appears twice")
    place = np.minimum(np.searchsorted(known, pieces), len(known) - 1)
    lost = known[place] != pieces
    if lost.any():
        raise InputError(f"{source.name}: {int(lost.sum()):,} fragments belong to no task")
    return order[place]


def _spans(start: Floats, length: Floats, owner: np.typing.NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Begin and end of each fragment: those of one machine follow each other in file order from its start."""
    order = np.argsort(owner, kind="stable")
    sorted_length, sorted_owner = length[order], owner[order]
    total = np.cumsum(sorted_length)
    first = np.concatenate(([True], sorted_owner[1:] != sorted_owner[:-1]))
    group = np.cumsum(first) - 1
    before = (total - sorted_length)[first][group]
    end = np.empty(len(length))
    end[order] = total - before
    end += start
    return end - length, end

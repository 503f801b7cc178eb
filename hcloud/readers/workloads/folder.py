"""A folder of series, one file a machine, as one demand."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import FileError, InputError
from hcloud.model.workload import Demand, Modelled, Provenance, Workload
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.readers.workloads.alike import counted_once, refuse_series_twice
from hcloud.readers.workloads.commands import with_options
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.recognise import format_of
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.readers.workloads.tables.delimited import Progress
from hcloud.units import counted

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

Read = Callable[[TraceFile, str, WorkloadOptions], Workload]
_SHOWN = 5


def read_folder(
    folder: Path, fmt: str, options: WorkloadOptions, read: Read, progress: Progress | None = None
) -> Demand:
    """The sum of all machines of a folder. Files of another kind (told by their endings) are left out and counted; one
    that cannot be used is an InputError, as is one that is there twice."""
    files, others = _files(folder)
    known, unknown = _recognised(folder, files, fmt, options)
    if not known:
        raise _nothing(folder, unknown, others)
    found = list[Demand]()
    for number, (source, name) in enumerate(known, 1):
        found.append(_machine(source, read(source, name, options)))
        if progress is not None:
            progress(number / len(known))
    _refuse_unknown(known, unknown)
    _refuse_copies([source for source, _ in known], found)
    left_out = Counter({"files of no series": len(unknown), "folders in the folder": len(others)})
    once, twice = counted_once(found)
    said = refuse_series_twice(once)
    summed = _sum(folder, once, +left_out, Counter(twice), options)
    rules = (*summed.provenance.modelled, *said)
    return replace(summed, provenance=replace(summed.provenance, modelled=rules))


def files_with_formats(folder: Path, fmt: str, options: WorkloadOptions) -> list[tuple[TraceFile, str]]:
    """The files of a folder that can be read as workloads, by name; InputError where there are none, or one that
    cannot be used."""
    files, others = _files(folder)
    known, unknown = _recognised(folder, files, fmt, options)
    if not known:
        raise _nothing(folder, unknown, others)
    _refuse_unknown(known, unknown)
    return known


def _refuse_unknown(known: Sequence[tuple[TraceFile, str]], unknown: Sequence[tuple[Path, InputError]]) -> None:
    """Refuse a file that is named like those that can be used, and cannot be."""
    endings = {source.path.suffix.lower() for source, _ in known}
    for path, error in unknown:
        if path.suffix.lower() in endings:
            raise error


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files of a folder that are not hidden, by name, and the folders in it."""
    try:
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise FileError.of(error, folder, "read") from error
    return [path for path in inside if path.is_file()], [path for path in inside if path.is_dir()]


def _recognised(
    folder: Path, files: Sequence[Path], fmt: str, options: WorkloadOptions
) -> tuple[list[tuple[TraceFile, str]], list[tuple[Path, InputError]]]:
    """The files with their formats, and those that are of none with why."""
    known, unknown = list[tuple[TraceFile, str]](), list[tuple[Path, InputError]]()
    for path in files:
        try:
            source = with_options(open_source(path, operand=str(folder)), options)
            known.append((source, format_of(source, options) if fmt == "auto" else fmt))
        except InputError as error:
            unknown.append((path, error))
    return known, unknown


def _nothing(folder: Path, unknown: Sequence[tuple[Path, InputError]], others: Sequence[Path]) -> InputError:
    """What to say of a folder without any series."""
    if unknown:
        first = unknown[0][1]
        return InputError(
            f"{folder}: holds {counted(len(unknown), 'file')}, none of which hcloud reads as a workload; the first: "
            f"{first.lines()[0]}",
            hint=first.hint,
        )
    if others:
        names = ", ".join(path.name for path in others[:_SHOWN])
        return InputError(f"{folder}: holds no file, only folders: {names}", hint="name one of them")
    return InputError(f"{folder}: is an empty directory", hint="name a workload, or a folder with one file a machine")


def _machine(source: TraceFile, workload: Workload) -> Demand:
    if isinstance(workload, Demand):
        return workload
    raise InputError(
        f"{source.name}: holds jobs ({workload.provenance.format}); a folder is read as series, one file a machine",
        hint=f"name the file: {shlex.join(['hcloud', 'plan', source.name])}",
    )


def _refuse_copies(sources: Sequence[TraceFile], found: Sequence[Demand]) -> None:
    """Refuse a file that holds the same as another: its demand would count twice."""
    met = dict[str, str]()
    for source, demand in zip(sources, found, strict=True):
        digest = source.content_digest() if source.packing else demand.provenance.digest
        before = met.setdefault(digest, source.name)
        if before != source.name and demand.cores.any():
            raise InputError(
                f"{source.name}: holds the same as {before}: its demand would count twice",
                hint="take one of them out of the folder",
            )


def _sum(
    folder: Path, found: Sequence[Demand], left_out: Counter[str], repaired: Counter[str], options: WorkloadOptions
) -> Demand:
    """All demands on steps of the commonest length, from the first to the last."""
    step = Counter(demand.step_seconds for demand in found).most_common(1)[0][0]
    first = min(demand.start for demand in found)
    last = max(demand.start + len(demand) * demand.step_seconds for demand in found)
    grid = TimeGrid(first, step, int(np.ceil((last - first) / step)))
    if grid.count > options.max_rows:
        raise InputError(f"{folder}: {grid.count:,} steps of {step} s, more than {options.max_rows:,} (max_rows)")
    cores, memory, batch = np.zeros(grid.count), np.zeros(grid.count), np.zeros(grid.count)
    rules = dict[Modelled, None]()
    for demand in found:
        begin: Floats = demand.start + demand.step_seconds * np.arange(len(demand), dtype=np.float64)
        end: Floats = begin + demand.step_seconds
        cores += mean_in_use(grid, begin, end, demand.cores)
        memory += mean_in_use(grid, begin, end, demand.memory)
        batch += mean_in_use(grid, begin, end, demand.batch_cores)
        rules |= dict.fromkeys(demand.provenance.modelled)
        repaired.update(demand.provenance.repaired)
        left_out.update(demand.provenance.left_out)
    digests = " ".join(demand.provenance.digest for demand in found)
    formats = sorted({demand.provenance.format for demand in found})
    machines = sum(demand.provenance.machines or 1 for demand in found if demand.cores.any())
    each = f" with {machines:,} machines" if machines > len(found) else ", one a machine"
    provenance = Provenance(
        str(folder),
        ", ".join(formats),
        hashlib.sha256(digests.encode()).hexdigest(),
        sum(demand.provenance.rows for demand in found),
        dict(repaired),
        dict(left_out),
        (*rules, Modelled("cores", f"the sum of {counted(len(found), 'file')}{each}", "fixed")),
        machines=machines,
    )
    return Demand(grid.start, grid.step, cores, memory, np.minimum(batch, cores), provenance)

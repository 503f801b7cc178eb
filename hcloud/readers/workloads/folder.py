"""A folder of series, one file a machine, as one demand."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import FileError, InputError
from hcloud.model.workload import Demand, Modelled, Provenance, Workload
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.readers.workloads.commands import with_options
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.recognise import format_of
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.readers.workloads.tables.delimited import Progress
from hcloud.units import counted

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

Read = Callable[[TraceFile, str, WorkloadOptions], Workload]
_SHOWN, _NAMED = 5, 3
_TABLES = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".gz", ".zst", ".swf")
_LOOKED_FOR = "a folder is read as a bill, or as use over time with one file a machine; of jobs name the file"


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
        try:
            found.append(_machine(source, read(replace(source, of_machine=len(known) > 1), name, options)))
        except InputError as error:
            raise _as_of_folder(error, folder, files) from error
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
        nearest = next((one for one in unknown if one[0].suffix.lower() in _TABLES), unknown[0])[1]
        return InputError(
            f"{folder}: holds {_kinds([path for path, _ in unknown])}, none of which hcloud reads as a workload or as "
            f"part of a bill; the nearest: {nearest.lines()[0]}",
            hint="; ".join(filter(None, (_LOOKED_FOR, nearest.hint))),
        )
    if others:
        names = ", ".join(path.name for path in others[:_SHOWN])
        return InputError(f"{folder}: holds no file, only folders: {names}", hint="name one of them")
    return InputError(f"{folder}: is an empty directory", hint="name a workload, or a folder with one file a machine")


def _kinds(files: Sequence[Path]) -> str:
    """How many files there are, by their names where these are few, else by their endings."""
    if len(files) <= _NAMED:
        return f"{counted(len(files), 'file')} ({', '.join(path.name for path in files)})"
    endings = Counter(path.suffix.lower() or "without ending" for path in files).most_common(_SHOWN)
    more = len(files) - sum(count for _, count in endings)
    told = [f"{count:,} {ending}" for ending, count in endings] + ([f"{more:,} others"] if more else [])
    return f"{counted(len(files), 'file')} ({', '.join(told)})"


def _as_of_folder(error: InputError, folder: Path, files: Sequence[Path]) -> InputError:
    """The error of one file, with what its folder was read as where that holds others."""
    if len(files) > 1:
        read_as = f"folder {folder.name}, read as use over time with one file a machine, holds {_kinds(files)}"
        error.hint = "; ".join(filter(None, (read_as, error.hint)))
    return error


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


_ALIKE = 12
"""Ours: so many steps one after the other, not all of one value, are not alike in two machines by chance."""
_EVERY_SECONDS = 6 * 3600
_TWICE = "steps of a machine that another file has too: counted once"
_Steps = tuple[int, int, bytes]


def counted_once(found: Sequence[Demand]) -> tuple[list[Demand], dict[str, int]]:
    """The demands of a folder's files, each without the steps that one before it has too, and how many these are."""
    kept, met, twice = list(found), dict[_Steps, int](), 0
    for place, demand in enumerate(found):
        for other in sorted({met.setdefault(steps, place) for steps in _looked_at(demand)} - {place}):
            first, last = _overlap(found[other], demand)
            if _are_alike(found[other], demand, first, last):
                twice += last - first
                kept[place] = _without(kept[place], first, last)
    return kept, {_TWICE: twice} if twice else {}


def refuse_series_twice(found: Sequence[Demand]) -> list[Modelled]:
    """Refuse a series that another file has too, among others that it has not: its demand would count twice. Of files
    that are alike as a whole one counts already. What is said of series that have a name in common alone."""
    met = dict[int, tuple[str, str]]()
    for demand in found:
        for marks in demand.provenance.marks:
            file = demand.provenance.name
            other = next((met[hour] for hour in marks.hours.values() if hour in met and met[hour][0] != file), None)
            if other is not None:
                raise InputError(
                    f"{file}: {marks.where} has the values that {other[1]} of {other[0]} has at the same times: one "
                    "machine, which would count twice",
                    hint="export each machine once for each time: in ranges that do not overlap",
                )
            met |= dict.fromkeys(marks.hours.values(), (file, marks.where))
    if alike := _of_one_name(found):
        told = f"series of one name in several files, with other values at the same times, are machines each: {alike:,}"
        return [Modelled("cores", told, "fixed")]
    return []


def _of_one_name(found: Sequence[Demand]) -> int:
    """How many series have the name of one in another file at the same times; files of one series each often name
    these alike."""
    files = [demand.provenance.marks for demand in found if len(demand.provenance.marks) > 1]
    met, alike = dict[str, set[int]](), 0
    for marks in files:
        alike += sum(1 for one in marks if met.get(one.name, set()) & one.hours.keys())
        for one in marks:
            met.setdefault(one.name, set()).update(one.hours)
    return alike


def _looked_at(demand: Demand) -> Iterator[_Steps]:
    """Some steps each quarter of a day, by their time: two files that hold a machine's day have them in common."""
    step = demand.step_seconds
    stride = max(_EVERY_SECONDS // step, _ALIKE)
    for at in range(int(-demand.start // step) % stride, len(demand) - _ALIKE + 1, stride):
        values = demand.cores[at : at + _ALIKE]
        if values.min() != values.max():
            yield step, round(demand.start + at * step), values.tobytes()


def _overlap(other: Demand, demand: Demand) -> tuple[int, int]:
    """The first step of a demand that another has too, and the one behind the last."""
    ahead = round((other.start - demand.start) / demand.step_seconds)
    return max(ahead, 0), min(ahead + len(other), len(demand))


def _are_alike(other: Demand, demand: Demand, first: int, last: int) -> bool:
    """Whether both have the same values there; the steps at the ends may hold other samples."""
    ahead = round((demand.start - other.start) / demand.step_seconds)
    mine, theirs = demand.cores[first + 1 : last - 1], other.cores[first + ahead + 1 : last + ahead - 1]
    return len(mine) > 0 and bool(np.array_equal(mine, theirs))


def _without(demand: Demand, first: int, last: int) -> Demand:
    """The demand without these steps, and without the marks of its series."""
    parts = {name: getattr(demand, name).copy() for name in ("cores", "memory", "batch_cores")}
    for values in parts.values():
        values[first:last] = 0.0
    return replace(demand, **parts, provenance=replace(demand.provenance, marks=()))

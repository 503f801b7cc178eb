"""What the columns of a table are by their names and by what stands in its first rows, and the units of numbers of jobs
that no name says: of how long they ran by the times beside it, of memory by the vCPUs, and those of AWS."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from math import isclose, isnan, nan

from hcloud.readers.workloads.commands import bare_memory
from hcloud.readers.workloads.meanings import (
    JOBS,
    OF_KINDS,
    SERIES,
    VALUES,
    are_kinds,
    are_truths,
    is_jobs,
    job_columns,
    meant,
    plain,
    unit_said,
)
from hcloud.readers.workloads.quantities import NUMBER, likely_unit
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import ticks_of
from hcloud.readers.workloads.tables.dates import is_date, written_as
from hcloud.readers.workloads.tables.header import first_rows

_MS = 1e3
_BEGINS = {"submit", "start"}
_OF_TIMES = {*_BEGINS, "end", "timestamp"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LONG = 1e5  # ours: a number from which on it is asked whether it is ms
_OF_SECOND = {"s": 1, "ms": 1000, "min": 1 / 60, "h": 1 / 3600}
"""How many of each unit a second is."""
_MOST_GIB = 32  # ours: for each vCPU; so many MiB would be none
_LEAST_OF_AWS = 128  # ours: smaller numbers of memory or CPUs are no MiB and no CPU units


def columns_of_jobs(source: TraceFile, names: Sequence[str]) -> dict[str, str]:
    """What the columns of a table of jobs are by their names, of which several may be ids and some their kind by what
    stands there."""
    found = job_columns(names)
    if not is_jobs(found):
        return found
    rows = first_rows(source)
    cells = {name: [row[at] for row in rows if len(row) > at] for at, name in enumerate(names)}
    found = job_columns(_that_are_as_called(names, cells))
    if "id" in found:
        ids = [name for name in names if "id" in meant([name], JOBS)]
        found["id"] = next((name for name in ids if len(set(cells[name])) == len(cells[name])), "")
    if "memory" not in found and (bare := bare_memory(names)) and likely_unit(cells[bare]) == "auto":
        found["memory"] = bare
    free = [name for name in names if plain(name) in OF_KINDS and name not in found.values()]
    found["kind"] = next((name for name in free if are_kinds(cells[name])), "")
    return {mine: name for mine, name in found.items() if name}


def _that_are_as_called(names: Sequence[str], cells: Mapping[str, Sequence[str]]) -> list[str]:
    """The columns without those that are called as times and hold none, where another holds times: as machines may be
    called ``started`` and ``complete``."""
    called = [name for name in names if _OF_TIMES & {*meant([name], JOBS), *meant([name], SERIES)}]
    times = [name for name in called if any(map(_is_moment, cells[name]))]
    other = [name for name in called if name not in times and any(map(str.strip, cells[name]))] if times else []
    return [name for name in names if name not in other and not are_truths(cells[name])]


def times_among(source: TraceFile, names: Sequence[str]) -> list[str]:
    """The columns that hold a time in the first row, whatever they are called."""
    return [name for name, cell in zip(names, next(iter(first_rows(source)), []), strict=False) if _is_moment(cell)]


def _is_moment(cell: str) -> bool:
    cell = cell.strip()
    return bool(ticks_of(cell) or _DAY.match(cell) or written_as(cell) or is_date(cell))


def likely_units(source: TraceFile, found: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """What of jobs no name says: MiB, CPU units and jobs that still run of AWS Batch and ECS, per cent of a vCPU of
    Alibaba, bytes of Ray and of large numbers, and milliseconds of durations beside times in these."""
    cells = [dict(zip(names, map(str.strip, row), strict=False)) for row in first_rows(source)]
    units = _units_of_aws(cells, found, names)
    if found.get("memory") == "entrypoint_memory":
        units["memory_unit"] = "B"
    if found.get("cores") == "plan_cpu":
        units["vcpus_per_core"] = "0.01"
    bare = bare_memory(names) if "memory" not in found else ""
    if bare and (unit := likely_unit([row.get(bare, "") for row in cells]) or _in_gib(cells, bare, found, units)):
        units["memory_unit"] = unit
    if {"start", "end"} <= {*found} and any(row.get(found["end"]) and not row.get(found["start"]) for row in cells):
        units.setdefault("open_ends", "leave-out")
    if "duration" not in found or unit_said("duration", found["duration"]):
        return units
    rows = [row for row in cells if NUMBER.fullmatch(row.get(found["duration"], ""))]
    rows.sort(key=lambda row: float(row[found["duration"]]))
    unit = _unit_of(rows[len(rows) // 2], found, meant(names, JOBS)) if rows else ""
    return {**units, "duration_unit": unit} if unit else units


def is_of_machines(source: TraceFile, names: Sequence[str], found: Mapping[str, str]) -> bool:
    """Whether a table with a time, a name and a value has the use of machines: by the value's name, as it is no number
    of CPUs, or as every name stands there at every time (one alone with one begin)."""
    value = next(found[mine] for mine in VALUES if mine in found)
    if meant([value], JOBS).get("cores") is None:
        return True
    rows = [dict(zip(names, row, strict=True)) for row in first_rows(source) if len(row) == len(names)]
    pairs = {(row[found["timestamp"]], row[found["name"]]) for row in rows}
    times, named = ({pair[at] for pair in pairs} for at in (0, 1))
    begins = [name for name in names if _BEGINS & {*meant([name], JOBS)}]
    is_one = any(len({row[name] for row in rows}) == 1 for name in begins)
    is_grid = (is_one or len(named) > 1) and len(times) > 1 and len(pairs) == len(rows) == len(times) * len(named)
    return is_grid or (value != found.get("cores") and not all(row[value].strip().isdigit() for row in rows))


def _unit_of(row: Mapping[str, str], found: Mapping[str, str], named: Mapping[str, str]) -> str:
    """The unit of the duration of a job by its start and its end, else by that of its times; nothing where it is s."""
    took, in_ms = float(row[found["duration"]]), ticks_of(row[found["submit"]]) == _MS
    length = _moment(row.get(named.get("end", ""), "")) - _moment(row.get(named.get("start", ""), ""))
    if took and (unit := next((u for u, n in _OF_SECOND.items() if isclose(took, length * n, rel_tol=0.05)), None)):
        return "" if unit == "s" and not in_ms else unit
    if in_ms and took.is_integer():
        return "ms" if took >= _MS else "s"  # less than a second is no job that is planned
    return "s" if took >= _LONG and isnan(length) else ""


def _units_of_aws(rows: Sequence[Mapping[str, str]], found: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Of jobs of AWS Batch and ECS: MiB, CPU units and jobs that still run. Without a column of ARNs, whose times are
    called as those of other systems, the numbers have to be as large as theirs are."""
    arns = {"jobArn", "taskArn"} & {*names}
    if not arns and not {"createdAt", "startedAt", "stoppedAt"} <= {*names}:
        return {}
    large = [mine for mine in ("memory", "cores") if _are_large([row.get(found.get(mine, ""), "") for row in rows])]
    units = {"open_ends": "run"} if "start" in found else {}
    if "memory" in (found if arns else large) and not unit_said("memory", found["memory"]):
        units["memory_unit"] = "MiB"
    if "cores" in found and ("taskArn" in arns or (not arns and found["cores"] == "cpu" and "cores" in large)):
        units["cores_unit"] = "cpu-units"
    return units


def _are_large(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(NUMBER.fullmatch(cell) and float(cell) >= _LEAST_OF_AWS for cell in filled)


def _moment(cell: str) -> float:
    """Seconds of a time; NaN of what is none."""
    if ticks := ticks_of(cell):
        return float(cell) / ticks
    with suppress(ValueError):
        return datetime.fromisoformat(cell).timestamp()
    return nan


def _in_gib(cells: Sequence[Mapping[str, str]], bare: str, found: Mapping[str, str], units: Mapping[str, str]) -> str:
    """``GiB`` where half of the jobs would have next to none for each vCPU in any less."""
    cores = found.get("cores", "")
    if "cores_unit" in units or unit_said("cores", cores):
        return ""
    pairs = [(row.get(bare, ""), row.get(cores, "1") if cores else "1") for row in cells]
    each = sorted(float(m) / float(c) for m, c in pairs if NUMBER.fullmatch(m) and NUMBER.fullmatch(c) and float(c) > 0)
    return "GiB" if each and 0 < each[len(each) // 2] <= _MOST_GIB else ""

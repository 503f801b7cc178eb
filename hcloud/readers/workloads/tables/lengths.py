"""The units of numbers of jobs that no name says: of how long they ran by the times beside it, of memory by the vCPUs,
and those of AWS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from math import isclose, isnan, nan

from hcloud.readers.workloads.meanings import unit_said
from hcloud.readers.workloads.quantities import NUMBER
from hcloud.readers.workloads.tables.columns import ticks_of

_MS = 1e3
_LONG = 1e6  # ours: a number from which on it is asked whether it is ms
_OF_SECOND = {"s": 1, "ms": 1000, "min": 1 / 60, "h": 1 / 3600}
"""How many of each unit a second is."""
_MOST_GIB = 32  # ours: for each vCPU; so many MiB would be none
_LEAST_OF_AWS = 128  # ours: smaller numbers of memory or CPUs are no MiB and no CPU units


def unit_of(row: Mapping[str, str], found: Mapping[str, str], named: Mapping[str, str]) -> str:
    """The unit of the duration of a job by its start and its end, else by that of its times; nothing where it is s."""
    took = float(row[found["duration"]])
    length = _moment(row.get(named.get("end", ""), "")) - _moment(row.get(named.get("start", ""), ""))
    if took and (unit := next((u for u, n in _OF_SECOND.items() if isclose(took, length * n, rel_tol=0.05)), None)):
        return "" if unit == "s" else unit
    if ticks_of(row[found["submit"]]) == _MS and took.is_integer():
        return "ms"
    return "s" if took >= _LONG and isnan(length) else ""


def units_of_aws(rows: Sequence[Mapping[str, str]], found: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
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


def in_gib(cells: Sequence[Mapping[str, str]], bare: str, found: Mapping[str, str], units: Mapping[str, str]) -> str:
    """``GiB`` where half of the jobs would have next to none for each vCPU in any less."""
    cores = found.get("cores", "")
    if "cores_unit" in units or unit_said("cores", cores):
        return ""
    pairs = [(row.get(bare, ""), row.get(cores, "1") if cores else "1") for row in cells]
    each = sorted(float(m) / float(c) for m, c in pairs if NUMBER.fullmatch(m) and NUMBER.fullmatch(c) and float(c) > 0)
    return "GiB" if each and 0 < each[len(each) // 2] <= _MOST_GIB else ""

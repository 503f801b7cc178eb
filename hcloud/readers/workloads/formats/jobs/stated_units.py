"""The units of the durations and memory of jobs, as an option or the name of a column says them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.meanings import UNITS, unit_said
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.readers.workloads.quantities import SECONDS
from hcloud.readers.workloads.tables.clock import PAIRS
from hcloud.readers.workloads.tables.columns import TICKS, Sink

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

IN_A_GIB = {"auto": 1, "GiB": 1, "MiB": 1 << 10, "KiB": 1 << 20, "B": 1 << 30, "TiB": 1 / 1024}
"""Of each unit of memory; jobs have GiB unless it is said."""
OVER_TIME = {"vcpu-hours": 3600.0, "vcpu-seconds": 1.0, "vcpu-ms": 1e-3}
"""Seconds in each unit of how long a job ran times its vCPUs."""
IN_A_VCPU = {"auto": 1, "vcpu": 1, "milli": 1000, "cpu-units": 1024} | dict.fromkeys(OVER_TIME, 1)
"""Of each unit of CPUs."""
OF_G = "in powers of 1024 where cells or its column's name say M, G or T: 5% to 9% less if those are powers of 1000"
"""What is said of units that are powers of 1024 to some and of 1000 to others."""
OF_CELLS = "of cells with a unit in that"
_CORES = {
    "milli": "thousandths of a vCPU",
    "cpu-units": "CPU units, 1,024 to a vCPU",
    "vcpu-hours": "vCPU-hours, over the time that each job ran",
    "vcpu-seconds": "vCPU-seconds, over the time that each job ran",
    "vcpu-ms": "vCPU-milliseconds, over the time that each job ran",
}
_SPELT = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
    "hh:mm": "hh:mm",
    "mm:ss": "mm:ss",
}


_SHORT = {1e3: "ms", 1e6: "us", 1e9: "ns"}
_LEAST_CORES = 1e-9  # ours: fewer, as of a damaged file, are as none


def in_units_said(options: WorkloadOptions, called: Mapping[str, str]) -> WorkloadOptions:
    """The options with the units that the names of a file's columns say, where they say none themselves."""
    if called.get("cores") == "plan_cpu" and (options.cores_unit, options.vcpus_per_core) == ("auto", 1):
        options = replace(options, vcpus_per_core=0.01)  # Alibaba's, in per cent
    told = {f"{mine}_unit": unit_said(mine, called.get(mine, "")) for mine in UNITS}
    if options.vcpus_per_core < 1:  # which says it
        del told["cores_unit"]
    return with_keys(options, {key: unit for key, unit in told.items() if unit and getattr(options, key) == "auto"})


def note_unit_of_name(sink: Sink, asked: WorkloadOptions, called: Mapping[str, str]) -> None:
    """Note that memory is of 1000 or of 1024 where only its column's name says its unit."""
    name = called.get("memory", "")
    if asked.memory_unit == "auto" and "ib" not in name.lower():
        sink.with_units |= {"memory": True} if unit_said("memory", name) in ("MiB", "GiB", "TiB") else {}


def told_in_cells(options: WorkloadOptions) -> WorkloadOptions:
    """The options where cells of durations say their units, whatever the name of their column ends with."""
    return options if options.duration_unit in PAIRS else replace(options, duration_unit="s")


def highest(options: WorkloadOptions) -> Mapping[str, float]:
    """The highest number that a column with a unit may hold; of durations a round one."""
    longest = math.log10(limits.DURATION_SECONDS / SECONDS[options.duration_unit])
    seconds = OVER_TIME.get(options.cores_unit)
    cores = limits.CORES * (3.6e9 / seconds if seconds else IN_A_VCPU[options.cores_unit])
    return {
        "cores": cores,
        "memory": limits.MEMORY_GIB * IN_A_GIB[options.memory_unit],
        "duration": 10.0 ** math.floor(longest),
    }


def in_vcpus(cores: Floats, duration: Floats, options: WorkloadOptions, file: str) -> Floats:
    """The vCPUs of jobs. InputError where one would have had too many for its hours of them."""
    if options.cores_unit not in OVER_TIME:
        return cores / IN_A_VCPU[options.cores_unit]
    ran = np.where((duration > 0) & (cores > 0), duration / OVER_TIME[options.cores_unit], np.nan)
    vcpus: Floats = cores / ran
    if (vcpus > limits.CORES).any():
        most, what = float(np.nanmax(vcpus)), _CORES[options.cores_unit].partition(",")[0]
        raise InputError(
            f"{file}: {what} over the time that a job ran are up to {most:,.0f} vCPUs",
            hint="say the unit of durations: --set duration_unit=s (or ms, min, h)",
        )
    return vcpus


def in_gib(memory: Floats, cores: Floats | None, options: WorkloadOptions, file: str) -> Floats:
    """The memory of jobs in GiB. InputError where no unit is said and no machine has as many GiB."""
    if options.memory_unit == "auto":
        _check(memory, cores, file)
    return memory / IN_A_GIB[options.memory_unit]


def _check(memory: Floats, cores: Floats | None, file: str) -> None:
    each = np.float64(1.0) if cores is None else np.where(np.isnan(cores), 1.0, np.maximum(cores, _LEAST_CORES))
    per_core = (memory / each)[~np.isnan(memory)]
    if len(per_core) and (usual := float(np.quantile(per_core, 0.5, method="lower"))) > limits.MEMORY_GIB_A_VCPU:
        raise InputError(
            f"{file}: memory: half of the jobs have {usual:,.0f} GiB or more for each vCPU, as no machine has",
            hint="say its unit: --set memory_unit=MiB (or B, KiB; GiB where it is so)",
        )


def units_read(sink: Sink, options: WorkloadOptions) -> list[Modelled]:
    """What is said of columns that are there and not in seconds or GiB, or in seconds beside times in less. InputError
    where half of these would be a second or more in the unit of the times, too."""
    duration, memory = options.duration_unit, options.memory_unit
    told = [Modelled("duration", f"read as {_SPELT[duration]}", "duration_unit")] if duration in _SPELT else []
    if duration == "auto" and sink.has("duration") and (ticks := max(column.ticks for column in sink.columns)) > 1:
        if 2 * np.count_nonzero(sink.numbers("duration") >= ticks) >= max(sink.rows, 1):
            raise InputError(
                f"{sink.file}: half of the durations are {ticks:,.0f} or more: seconds, or {TICKS[ticks]} as times?",
                hint=f"say their unit: --set duration_unit={_SHORT[ticks]}, or duration_unit=s",
            )
        told = [Modelled("duration", f"in s, though times are in {TICKS[ticks]}", "duration_unit")]
    if "memory" in sink.with_units:
        told.append(Modelled("memory", OF_G if sink.with_units["memory"] else OF_CELLS, "fixed"))
    if IN_A_GIB[memory] != 1:
        told.append(Modelled("memory", f"read as {memory}", "memory_unit"))
    if options.cores_unit in _CORES:
        told.append(Modelled("cores", f"read as {_CORES[options.cores_unit]}", "cores_unit"))
    return [one for one in told if sink.has(one.column)]

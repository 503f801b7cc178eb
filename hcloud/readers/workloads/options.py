"""Every key that steers how a workload file becomes jobs or demand, with its default and what it means."""

from __future__ import annotations

import difflib
import math
import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hcloud.errors import UsageError
from hcloud.units import parse_decimal

ExtraColumns = Literal["refuse", "ignore"]
SeriesValue = Literal["auto", "cores", "percent", "fraction", "requests", "vcpu-hours", "machines"]
_SOME = r"[0-9]{1,6}(\.[0-9]{1,6})?"
_OF_MEMORY = re.compile(rf"|over-{_SOME}|up-to-{_SOME}|over-{_SOME}-up-to-{_SOME}")
_GPU_ROWS = re.compile(r"leave-out|demand|only|[0-9]{1,6}-[0-9]{1,6}")
Decimal = Literal["auto", ".", ","]
MemoryUnit = Literal["auto", "B", "KiB", "MiB", "GiB", "TiB"]
CoresUnit = Literal["auto", "vcpu", "milli", "cpu-units", "vcpu-hours", "vcpu-seconds", "vcpu-ms"]
DurationUnit = Literal["auto", "ns", "us", "ms", "s", "min", "h", "d", "hh:mm", "mm:ss"]
KindName = Literal["batch", "service"]
BinPoint = Literal["midpoint", "lower", "upper"]
FetchedDemand = Literal["provisioned", "used"]
Begin = Literal["start", "submit"]
OpenEnds = Literal["refuse", "run", "leave-out"]
Dates = Literal["year-first", "day-first", "month-first"]
CensoredPoint = Literal["lower", "midpoint", "upper", "record-end"]


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """Keys of the readers; each is the ``key`` that a :class:`~hcloud.model.workload.Modelled` column names.

    Any format
        ``default_cores`` vCPUs, ``memory_per_core`` GiB per vCPU and ``default_kind`` fill columns or cells that the
        input leaves out. ``extra_columns`` refuses or ignores columns the format does not know. ``max_rows`` bounds
        what is read. ``vcpus_per_core`` vCPUs stand for each CPU of a job: 2 where a trace counts physical cores.
        ``begin`` says from when a job counts in demand: from the recorded start, where there is one, or from its
        submission. ``open_ends`` says that jobs without an end still ``run``: they count up to the newest time in the
        file; or ``leave-out``: those without a start, an end or a duration never ran.
        ``requires`` takes only jobs that require just that of their machine (``type=c5*``; the column ``requires``), or
        ``nothing``, or ``anything``: for a plan of each part. ``gpu`` takes ``only`` jobs that ask for GPUs, or those
        for so many (``1-4``): they are planned by themselves, on families with GPUs that ``--family`` names.
        ``gib_per_vcpu`` takes those with more memory for each of their vCPUs (``over-4``) or the others (``up-to-4``).
    Tables
        ``columns`` says what our columns are called in the file, as ``submit=start_time,end=end_time,cores=vcpus`` or
        ``timestamp=Date,name=host,value=cpu``; columns that it does not name, and that are not ours, are not read then.
        ``decimal`` is what stands before the decimals of a number, a point unless it is said: in tables with
        semicolons it must be where each point may be one between thousands. ``memory_unit``, ``duration_unit`` and
        ``cores_unit`` of jobs are what the name of the column ends with (``mem_mb``, ``minutes``, ``cpu_milli``), else
        GiB, seconds and vCPUs; ``cpu-units`` are those of ECS, 1,024 to a vCPU, ``vcpu-hours`` (``-seconds``,
        ``-ms``) how long a job ran times its vCPUs, and ``hh:mm`` and ``mm:ss`` say what durations of two numbers are.
    Series (``timestamp,value`` files, cluster utilisation, requests)
        ``series_value`` says what a value is; ``auto`` takes it from the column's name, then the file's name; of
        ``vcpu-hours`` there are so many in a step, and ``machines`` are how many run (instances, replicas, pods).
        ``series_cores`` (one machine: asked for where it is needed) and ``cluster_cores`` (a whole cluster) are the
        vCPUs that 100 %, a fraction of 1, or a machine stands for.
        ``requests_per_core_second`` turns requests into vCPUs. ``step_seconds`` is the step of a series without
        timestamps, ``request_step_seconds`` the bin of single requests. A gap in the timestamps of at most
        ``max_gap_seconds`` holds the value before it, a longer one is an error (of several series that machine
        was off). ``batch_share`` of the demand is batch.
    Tables, Slurm
        ``zone`` is the time zone of times that name none, as ``Europe/Berlin``: sacct writes local ones (else UTC).
        ``dates`` of tables says what comes first: ``day-first`` of ``31.10.2026``, ``month-first`` of ``10/31/2026``.
    SWIM
        cores = bytes of the largest stage / ``swim_split_bytes`` rounded up, 1 to ``swim_max_cores``; duration =
        ``swim_overhead_seconds`` + all bytes / (``swim_rate_bytes`` x cores).
    Azure VM 2017
        ``azure_flavours``, ``azure_lifetimes``, ``azure_flavour_map``, ``azure_interval_map``: the four files, found
        beside the given one when not passed. ``azure_lifetime`` picks the point of an uncensored lifetime bin,
        ``azure_censored`` that of a censored one (or ``record-end``: until the second in the lifetimes file's name).
        ``azure_zero_lifetime`` replaces a lifetime of 0 s (ended within the recording step). A machine that lives
        ``azure_service_after`` seconds or more counts as a service.
    Fetched (``hcloud workload fetch``)
        ``fetched_demand`` says what a machine asks for: all its vCPUs while it ran (provisioned), as it is billed, or
        only those in use.
    Bitbrains (OpenDC)
        ``memory_unit`` of a machine's memory; ``auto`` tells KiB and MiB apart by the largest GiB per vCPU, and asks
        where both could be.
    openb
        ``gpu`` leaves pods that ask for GPUs out (counted), unless it takes them, or carries them as ``demand``.
    """

    default_cores: float = 1.0
    memory_per_core: float = 4.0
    default_kind: KindName = "batch"
    extra_columns: ExtraColumns = "refuse"
    max_rows: int = 50_000_000
    vcpus_per_core: float = 1.0
    begin: Begin = "start"
    open_ends: OpenEnds = "refuse"
    requires: str = ""
    gib_per_vcpu: str = ""
    columns: str = ""
    zone: str = ""
    dates: Dates = "year-first"
    decimal: Decimal = "auto"
    series_value: SeriesValue = "auto"
    series_cores: float | None = None
    cluster_cores: float = 1000.0
    requests_per_core_second: float = 10.0
    step_seconds: int = 300
    request_step_seconds: int = 60
    max_gap_seconds: int = 21_600
    batch_share: float = 0.0
    swim_split_bytes: float = 64e6
    swim_rate_bytes: float = 10e6
    swim_max_cores: int = 64
    swim_overhead_seconds: float = 20.0
    azure_flavours: Path | None = None
    azure_lifetimes: Path | None = None
    azure_flavour_map: Path | None = None
    azure_interval_map: Path | None = None
    azure_lifetime: BinPoint = "midpoint"
    azure_censored: CensoredPoint = "lower"
    azure_zero_lifetime: float = 150.0
    azure_service_after: float = 86_400.0
    gpu: str = "leave-out"
    memory_unit: MemoryUnit = "auto"
    duration_unit: DurationUnit = "auto"
    cores_unit: CoresUnit = "auto"
    fetched_demand: FetchedDemand = "provisioned"

    def __post_init__(self) -> None:
        """Refuse values no rule can work with, naming the key."""
        for name, kind in _kinds().items():
            _check(name, getattr(self, name), kind)


@cache
def _kinds() -> Mapping[str, object]:
    """The type of each key."""
    return typing.get_type_hints(WorkloadOptions)


def with_keys(options: WorkloadOptions, keys: Mapping[str, str]) -> WorkloadOptions:
    """The options with ``key=value`` texts applied; an unknown key or a value of the wrong type is a UsageError."""
    kinds = _kinds()
    changes: dict[str, object] = {}
    for key, text in keys.items():
        name = key.removeprefix("workload.options.").replace("-", "_")
        if name not in kinds:
            raise UsageError(f"{key!r} is not a workload key", hint=_hint(name, [f.name for f in fields(options)]))
        changes[name] = _parse(name, text, kinds[name])
    return replace(options, **changes)  # type: ignore[arg-type]  # each value was parsed to its field's own type


def _hint(name: str, known: list[str]) -> str:
    if "." in name and name.replace(".", "_") not in known:
        variable = f"HYC_{name.replace('.', '__').upper()}"
        return f"--set is for how a workload is read; a policy key stands in hcloud.yaml, or for one run in {variable}"
    name = name.replace(".", "_")
    close = [key for key in known if name in key.split("_")] or difflib.get_close_matches(name, known, n=1)
    return f"did you mean {', '.join(close)}?" if close else f"keys: {', '.join(known)}"


def _parse(name: str, text: str, kind: object) -> object:
    if kind == Path | None:
        return Path(text)
    if kind is str or typing.get_origin(kind) is Literal:
        return text
    try:
        number = parse_decimal(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    if kind is int and number != int(number):
        raise UsageError(f"{name}: {text!r} is not a whole number")
    return int(number) if kind is int else float(number)


def _check(name: str, value: object, kind: object) -> None:
    if typing.get_origin(kind) is Literal and value not in typing.get_args(kind):
        raise UsageError(f"{name}: {value!r} is not one of {', '.join(map(str, typing.get_args(kind)))}")
    check_text = {"gpu": _check_gpu, "gib_per_vcpu": check_memory, "zone": _check_zone}.get(name)
    if check_text is not None:
        check_text(str(value))
    if not isinstance(value, int | float):
        return
    if name == "batch_share":
        if not 0 <= value <= 1:
            raise UsageError(f"batch_share: {value} is not within 0..1")
    elif name in ("swim_overhead_seconds", "azure_service_after"):
        if not 0 <= value <= 1e12:
            raise UsageError(f"{name}: {value} is not within 0..1e12")
    elif not (math.isfinite(value) and 0 < value <= 1e12):
        raise UsageError(f"{name}: {value} is not above 0 and at most 1e12")


def _check_gpu(text: str) -> None:
    least, _, most = text.partition("-")
    if not _GPU_ROWS.fullmatch(text) or (most.isdigit() and int(most) < int(least)):
        raise UsageError(f"gpu: {text!r} is not one of leave-out, demand, only, or numbers as 1-4")


def check_memory(text: str) -> None:
    """Refuse a part by GiB per vCPU that is none, which would be all jobs."""
    bounds = [float(number) for number in re.findall(r"[0-9.]+", text)]
    if not _OF_MEMORY.fullmatch(text) or bounds != sorted({*bounds}):
        raise UsageError(f"gib_per_vcpu: {text!r} is not as over-4, up-to-4 or over-4-up-to-8")


def _check_zone(name: str) -> None:
    if not name:
        return
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"zone: {name!r} is no time zone",
            hint="a place, as Europe/Berlin (CET and CEST) or America/Los_Angeles (PST and PDT)",
        ) from error

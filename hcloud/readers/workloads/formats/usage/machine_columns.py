"""What the columns of a table of many series are: its time, a machine's name or a column a machine, and memory."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from hcloud.errors import InputError
from hcloud.readers.workloads.commands import Advice, advice
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats.usage.counted import refuse_states
from hcloud.readers.workloads.meanings import (
    JOBS,
    NOT_IN_USE,
    ONLY_ALONE,
    SERIES,
    VALUES,
    as_option,
    called_columns,
    check_called,
    meant,
    memory_in_use,
    plain,
    sizes_apart,
    spelt,
)
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.header import first_rows
from hcloud.readers.workloads.tables.mending import in_use_command
from hcloud.units import some_of

GOOGLE = "TimeSeries ID"
"""The first cell of what Google's Metrics Explorer exports; a column of times."""
SADF = "# hostname"
"""The first cell of sysstat's table, with its CPU's number, not its use, below CPU."""
_OTHER_USE = re.compile(
    r"\b(memory|mem|ram|swap|disk|network|bytes|iops|[mg]hz|idle|iowait|steal|costs?|usd|eur)\b|[$€]", re.IGNORECASE
)
_OF_ALL = re.compile(r"total|sum|average|avg|mean|max(imum)?|min(imum)?|median|p\d\d|all")
_OF_CPUS = re.compile(r"(^|_)v?(cpus?|cores?)(?=_|$)")
_BOUNDS = re.compile(
    r"(.*_)?(limits?|capacity|allocatable|per_node)|((num|number_of|n|total|max|min)_)?nodes|available|free"
)
_BOUNDS_OF_CPUS = re.compile(r"(.*_)?(available|free|nodes)")
"""What CPUs there are, not how many are in use."""
_PERCENT = re.compile(r"%|\bper ?cent(age)?\b", re.IGNORECASE)
_CORES = re.compile(r"\bv?(cpus|cores)\b", re.IGNORECASE)
_HOURS = re.compile(r"(.*_)?v?(cpu|core)_?(hours|hrs)")
_WHOLE = {"percent": "100", "fraction": "1"}
_PARTS = {"m": 1e3, "milli": 1e3, "micro": 1e6, "nano": 1e9}
_IN_PARTS = re.compile(
    r".*(milli|micro|nano)v?(?:cpu|core)s?|(?:.*_)?(m)(?:cpu|core)s?"
    r"|(?:.*_)?v?(?:cpu|core)s?(?:_.*)?_(milli)s?|(?:.*_)?v?(?:cpu|core)s?_(m)"
)
"""No name of a machine's type, as t3.micro."""
_OF_A_POD = frozenset({"namespace", "pod", "pod_name", "container", "container_name"})
"""Columns that name a series together: pods of several namespaces may be called alike."""
_DAY = re.compile(r"\s*\d{4}-\d\d-\d\d\s*", re.ASCII)
_NAMED = 5


@dataclass(frozen=True, slots=True)
class MachineColumns:
    """Where the columns stand: the time, the machine's name (none: a column a machine), values, memory; of each value's
    column the unit where its name says it, and how many of this are in a vCPU; whether they are one series of all use,
    and the names of those left out; where the name goes on, of a pod's container."""

    time: int
    values: tuple[int, ...]
    name: int | None = None
    memory: int | None = None
    units: Mapping[int, str] = field(default_factory=dict)
    in_a_vcpu: Mapping[int, float] = field(default_factory=dict)
    of_all: bool = False
    left_out: tuple[str, ...] = ()
    named_by: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Where numbers stand."""
        return self.values if self.memory is None else (*self.values, self.memory)


def is_machines(names: list[str]) -> bool:
    """Whether a header is that of such a table: a time first, and a column of values with a machine's name beside it,
    or columns of which none is a job's."""
    if names[:1] == [GOOGLE]:
        return len(names) > 1
    found = meant(names, SERIES)
    if "timestamp" not in found or len(names) < 2 or names[0] == SADF:
        return False
    if any(name in found for name in VALUES):
        return "name" in found or set(names) == set(found.values())
    return found["timestamp"] == names[0]


def machine_columns(source: TraceFile, names: list[str], options: WorkloadOptions) -> MachineColumns:
    """The columns by their names, or as ``--columns`` says; InputError where one is missing, there twice or unclear."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{source.name}: line 1: column {shown(twice[0])} appears {names.count(twice[0])} times",
            hint="give each machine a name of its own: its demand would count twice",
        )
    found = _found(source, names, options)
    if "timestamp" not in found:
        raise InputError(
            f"{source.name}: line 1: column timestamp is missing", hint="name it: --columns timestamp=NAME"
        )
    value = next((name for name in VALUES if name in found), None)
    if value is not None:
        return _long(source, names, options, found, value)
    if options.columns and len(found) > 1:
        raise InputError(f"{source.name}: line 1: column value is missing", hint="name it: --columns value=NAME")
    return _wide(source, names, options, names.index(found["timestamp"]))


def _found(source: TraceFile, names: list[str], options: WorkloadOptions) -> dict[str, str]:
    """Our columns by what they are called in the file: what ``--columns`` says, else what names say."""
    found = called_columns(options.columns)
    check_called(source.name, found, names, (*VALUES, "timestamp", "name", "memory"))
    if not found:
        return _by_their_units(names) | _time_of_day(source, names)
    if "timestamp" in names:
        found = {"timestamp": "timestamp"} | found
    if any(name in found for name in VALUES):
        return found
    rest = [name for name in names if name not in found.values()]
    beside = _beside_a_time(rest, named="name" in found)
    values = {theirs: mine for mine, theirs in beside.items() if mine in VALUES}
    values |= {name: mine for name in rest if name not in beside.values() and (mine := _value_of(name))}
    if beside and len(values) > 1:
        one, other, *_ = values
        also = "".join(f",{mine}={beside[mine]}" for mine in ("name", "memory") if mine in beside)
        says = [shlex.quote(f"{options.columns},{mine}={theirs}{also}") for theirs, mine in list(values.items())[:2]]
        raise InputError(
            f"{source.name}: line 1: the values may be in column {shown(one)} or {shown(other)}",
            hint=f"say in which: --columns {' or --columns '.join(says)}",
        )
    return beside | found


def _time_of_day(source: TraceFile, names: list[str]) -> dict[str, str]:
    """The column of times where it is not the first that is called so: one with the time of day beside one of days."""
    first = dict(zip(names, next(iter(first_rows(source)), []), strict=False))
    times = [name for name in names if "timestamp" in meant([name], SERIES)]
    if not times or not _DAY.fullmatch(first.get(times[0], "")):
        return {"timestamp": GOOGLE} if names[:1] == [GOOGLE] else {}
    whole = [name for name in times if _DAY.match(cell := first.get(name, "")) and ":" in cell]
    return {"timestamp": whole[0]} if whole else {}


def _value_of(name: str) -> str:
    """Which of our columns of values another column may be by its name; empty where it is none."""
    found = meant([name], SERIES)
    return next((mine for mine in VALUES if mine in found), "value" if _OF_ALL.fullmatch(plain(name)) else "")


def _wide(source: TraceFile, names: list[str], options: WorkloadOptions, time: int) -> MachineColumns:
    """A column a machine; those of no machine are refused or left out."""
    others = [at for at in range(len(names)) if at != time]
    alone = len(others) == 1
    named = [at for at in others if _is_no_machine(names[at], alone=alone)]
    odd = [at for at in named if not options.columns or _is_another_use(names[at], alone=alone)]
    kept = [at for at in others if at not in odd]
    if odd and (options.extra_columns == "refuse" or not kept):
        said = f"say --columns timestamp={shlex.quote(names[time])}: every other column is a machine then"
        said = "give it another name" if _is_another_use(names[odd[0]], alone=alone) else said
        rows = meant(names, SERIES).get("name")
        hint = _with_memory(source, names, kept, odd) if kept else ""
        if rows is not None and not options.columns:
            of_each = of_rows(source, names[time], rows, [name for name in names if name not in (names[time], rows)])
            hint = of_each if isinstance(of_each, Advice) else "; else ".join(filter(None, (of_each, hint)))
        raise InputError(
            f"{source.name}: line 1: column {shown(names[odd[0]])} is no machine's use of CPUs by its name (if it is, "
            f"{said})",
            hint=hint,
        )
    if not options.columns:
        refuse_states(source, names[time], [names[at] for at in kept])
    units, parts = {at: _unit(names[at]) for at in kept}, {at: _in_a_vcpu(names[at], options) for at in kept}
    return MachineColumns(time, tuple(kept), units=units, in_a_vcpu=parts, left_out=tuple(names[at] for at in odd))


def _with_memory(source: TraceFile, names: list[str], kept: list[int], odd: list[int]) -> str:
    """What to say of columns of no machine: one that may be memory in use beside one of vCPUs is not lost."""
    memory = memory_in_use(names[at] for at in odd)
    if len(kept) > 1 or memory is None:
        return advice(source, {"extra_columns": "ignore"}, told="leave such columns out")
    value, time = names[kept[0]], next(name for at, name in enumerate(names) if at not in (*kept, *odd))
    keys = {"timestamp": time, _unit(value) or "value": value, "memory": memory}
    return advice(source, {"columns": as_option(keys, whole=True)}, f"{memory} is the memory in use with it")


def of_rows(source: TraceFile, time: str, name: str, values: list[str]) -> str:
    """What to say of a table whose rows may name their machine: the command, where one column alone may be its use."""
    fine = [one for one in values if not _is_no_machine(one, alone=True) and not _is_bound(one)]
    used = [one for one in fine if len(values) == 1 or _OF_CPUS.search(plain(one))]
    keys = as_option({"timestamp": time, "name": name, "value": used[0] if len(used) == 1 else "NAME"}, whole=True)
    if len(used) == 1:
        return advice(source, {"columns": keys}, f"{name} is the machine of each row")
    told = f"say which of {some_of(values, _NAMED)} it uses"
    return f"if {name} is the machine of each row, {told}: --columns {shlex.quote(keys)}"


def _long(
    source: TraceFile, names: list[str], options: WorkloadOptions, found: dict[str, str], value: str
) -> MachineColumns:
    """A row a machine and time; columns of no meaning are refused unless ``--columns`` is given."""
    pods = [] if options.columns else [name for name in names if plain(name) in _OF_A_POD]
    pods = pods if found.get("name") in pods else []
    known = {found[mine] for mine in ("timestamp", "name", value, "memory") if mine in found} | {*pods}
    extra = [name for name in names if name not in known]
    at = names.index(found[value])
    unit = value if value != "value" else _unit(found[value])
    if extra and not options.columns and options.extra_columns == "refuse":
        hint: str = _skipping(source, names, extra, found)
        sizes = sizes_apart({}, extra) if unit in _WHOLE and options.series_cores is None else []
        if len(sizes) == 1 and (command := in_use_command(source, names, at, (sizes[0], _WHOLE[unit]))):
            hint = f"if {sizes[0]} has the vCPUs of each machine, write those in use: {command}; else {hint}"
        raise InputError(f"{source.name}: line 1: unknown column {shown((sizes or extra)[0])}", hint=hint)
    return MachineColumns(
        time=names.index(found["timestamp"]),
        values=(at,),
        name=names.index(found["name"]) if "name" in found else None,
        memory=names.index(found["memory"]) if "memory" in found else None,
        units={at: unit},
        in_a_vcpu={at: _in_a_vcpu(found[value], options)},
        of_all="name" not in found,
        left_out=tuple(extra),
        named_by=tuple(names.index(name) for name in pods),
    )


def _skipping(source: TraceFile, names: list[str], extra: list[str], found: dict[str, str]) -> Advice:
    """The command that reads rows without other columns, but with memory in use whose cells name their unit."""
    memory = None if "memory" in found else memory_in_use(extra)
    at = names.index(memory) if memory else 0
    if memory and any(row[at].strip()[-1:].isalpha() for row in first_rows(source) if len(row) == len(names)):
        columns = as_option({**found, "memory": memory}, whole=True)
        return advice(source, {"columns": columns}, f"{memory} is the memory in use with it")
    return advice(source, {"extra_columns": "ignore"}, told="columns that are not needed can be skipped")


def _by_their_units(names: list[str]) -> dict[str, str]:
    """The columns by their names; beside a machine's name also the one of which the name says that it has vCPUs, else
    percent, and the one of memory in use, in a unit."""
    found = meant(names, SERIES)
    return _with_units(names, found) if "name" in found else found


def _beside_a_time(names: list[str], *, named: bool) -> dict[str, str]:
    """The columns beside those that ``--columns`` says, which names no values: those of one series, or of rows that
    name their machine; nothing where one may be a machine's own."""
    found = _with_units(names, meant(names, SERIES))
    others = [name for name in names if name not in found.values()]
    both = {"cores", "memory"} <= found.keys()
    is_one = named or both or "name" in found or all(_is_no_machine(name, alone=False) for name in others)
    return found if is_one and any(value in found for value in VALUES) else {}


def _with_units(names: list[str], found: dict[str, str]) -> dict[str, str]:
    """Those too whose names say what they hold, where one alone does."""
    kinds = {
        "memory": [name for name in names if "memory" in meant([name], JOBS) and not NOT_IN_USE.search(spelt(name))]
    }
    if not any(value in found for value in VALUES):
        fine = [name for name in names if not _is_bound(name) and not _is_no_machine(name, alone=True)]
        units = [(unit, name) for name in fine if (unit := _unit(name))]
        units = [(unit, name) for unit, name in units if not _is_bound(name, "total")] or units
        kinds |= {unit: [name for one, name in units if one == unit] for unit in ("cores", "percent")}
        del kinds["percent" if kinds["cores"] else "cores"]
    return {kind: some[0] for kind, some in kinds.items() if len(some) == 1} | found


def _is_no_machine(name: str, *, alone: bool) -> bool:
    """Whether a column holds another use than of CPUs, what there is, or the sum or mean of the columns beside it."""
    return (
        (not alone and _is_bound(name))
        or _is_another_use(name, alone=alone)
        or _OTHER_USE.search(_words(name)) is not None
    )


def _is_bound(name: str, *more: str) -> bool:
    """Whether a column holds what CPUs there are; ``more`` are words that say so."""
    whole = plain(name)
    rest = _OF_CPUS.sub("", whole).strip("_")
    of_cpus = rest != whole and _BOUNDS_OF_CPUS.fullmatch(rest)
    return bool(of_cpus or _BOUNDS.fullmatch(rest) or rest in more)


def _is_another_use(name: str, *, alone: bool) -> bool:
    """Whether the whole name says so: no machine is called that."""
    rest = "" if alone else _OF_CPUS.sub("", plain(name)).strip("_")
    is_time = "timestamp" in meant([name], SERIES) and name not in ONLY_ALONE
    is_named = name and not is_time and _OF_ALL.fullmatch(rest) is None
    return not is_named or not _OTHER_USE.sub("", _words(plain(name))).strip()


def _unit(name: str) -> str:
    """The unit that a column's name says."""
    if _PERCENT.search(_words(name)):
        return "percent"
    if _HOURS.fullmatch(plain(name)):
        return "vcpu-hours"
    return "cores" if _IN_PARTS.fullmatch(plain(name)) or _CORES.search(_words(name)) else ""


def _in_a_vcpu(name: str, options: WorkloadOptions) -> float:
    """How many of its unit are in a vCPU, as a column's name says it: 1,000 of millicores; else 1, and where values are
    said to be other than vCPUs."""
    part = _IN_PARTS.fullmatch(plain(name)) if options.series_value in ("auto", "cores") else None
    return _PARTS[part[part.lastindex or 0]] if part else 1.0


def _words(name: str) -> str:
    return name.replace("_", " ")

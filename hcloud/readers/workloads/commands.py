"""The command that would read a file, for refusals: it can be copied to a shell as it stands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, pairwise
from pathlib import Path

from hcloud.errors import HcloudError, Problem
from hcloud.readers.typed import typed_command
from hcloud.readers.workloads.meanings import (
    JOBS,
    as_option,
    called_columns,
    meant,
    memory_apart,
    others,
    plain,
    sizes_apart,
    spelt,
)
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.readers.workloads.quantities import NUMBER
from hcloud.readers.workloads.source import STDIN_FILE, STDIN_NAME, UNPACK, TraceFile

AS_DATES = (
    "write its days of a spreadsheet as dates: format them there as yyyy-mm-dd hh:mm:ss, and save again; of"
    " seconds, subtract the same from each"
)
"""What to do about times as 46296.00556, before anything else."""
_IN_DIGITS = re.compile(r"'\s*[\d.,]+\s*'", re.ASCII)
_BARE_MEMORY = frozenset(
    "mem ram resource_list_mem mem_req mem_request req_mem memory_request request_memory max_rss maxrss".split()  # noqa: SIM905
)
_FLAGS = ("columns", "decimal")
_NODES = re.compile(
    r"((num|n|req|alloc|number_of)_?)?(nodes|hosts|instances|replicas|executors)|node_(count|num)|num_node"
)
_OF_A_NODE = re.compile(
    r"ppn|executor_(cores|cpus)|(cores|cpus|vcpus|ncpus|procs)_(per|a)_(node|host|instance|replica)"
)
_HOURS = re.compile(r"(cpu_)?v?(core|cpu)_?(hours|hrs)|(total_)?(v?core|vcpu|slot)_?(seconds|secs|ms|milliseconds)")


def with_options(source: TraceFile, options: WorkloadOptions) -> TraceFile:
    """The file with the options it is read with, for the commands that refusals name."""
    usual = WorkloadOptions()
    given = {f.name: getattr(options, f.name) for f in fields(options)}
    changed = {name: _text(value) for name, value in given.items() if value != getattr(usual, name)}
    return replace(source, command=(*source.command, *_words(changed)))


def own_command(source: TraceFile, **more: str) -> str:
    """The command that was typed (of Python: ``hcloud plan FILE``) with ``more`` keys of the file's reader, or where
    these are written in hcloud.yaml."""
    words, keys = typed_command()
    own = bool(words) and keys in ("flags", "--harvest-set")
    command, flag = (words, keys) if own else (source.command, "flags")
    for key, value in more.items():
        command = _extended(command, "" if flag == "flags" else flag, key, value)
    if words and keys == "configuration":
        return f"options: {json.dumps(_keys_of(command))} under workload in hcloud.yaml"
    return shlex.join(command)


def piped(source: TraceFile, command: str) -> str:
    """A command that mends text as a shell runs it on this file; nothing for a table that was made of another file."""
    if source.name == STDIN_NAME and source.path.name == STDIN_FILE:
        return f"PROGRAM | {command} | {own_command(source)}"
    if str(source.path) != source.name:
        return ""
    file = shlex.quote(source.name)
    mending = f"{UNPACK[source.packing].format(file)} | {command}" if source.packing else f"{command} {file}"
    return f"{mending} > {'mended-more.csv' if source.path.name == 'mended.csv' else 'mended.csv'}"


def _keys_of(command: Sequence[str]) -> dict[str, str]:
    """The reader's keys that a command with flags says."""
    found = dict[str, str]()
    for flag, value in pairwise(command):
        key, _, text = value.partition("=") if flag == "--set" else (flag.removeprefix("--"), "", value)
        if flag == "--set" or key in _FLAGS:
            found[key] = text
    return found


def _extended(words: Sequence[str], only: str, key: str, value: str) -> tuple[str, ...]:
    """A command with a key, which replaces what it said of this key before; of columns it is added to that."""
    flag, mark = (f"--{key}", "") if not only and key in _FLAGS else (only or "--set", f"{key}=")
    kept, before = _without(words, flag, mark)
    added = as_option(_both(before, value), whole=True) if key == "columns" else value
    return _ended(kept, flag, f"{mark}{added}")


def _without(words: Sequence[str], flag: str, mark: str = "") -> tuple[list[str], str]:
    """The words without those that give a flag a value which begins with a mark, and the rest of that value."""
    kept, before, at = list[str](), "", 0
    while at < len(words):
        apart = words[at] == flag
        said = "".join(words[at + 1 : at + 2]) if apart else words[at].removeprefix(f"{flag}=")
        if (apart or said != words[at]) and said.startswith(mark):
            before = said.removeprefix(mark)
        else:
            kept += words[at : at + 1 + apart]
        at += 1 + apart
    return kept, before


def _ended(words: Sequence[str], *more: str) -> tuple[str, ...]:
    end = list(words).index("--") if "--" in words else len(words)
    return (*words[:end], *more, *words[end:])


def commands_apart(parts: Sequence[Sequence[str]]) -> list[str]:
    """The command that was typed, with the flags of each part in place of its own and files for each where it wrote
    some; none where Python called, or the workload came on standard input."""
    words = typed_command().words
    if not words or "-" in words:
        return []
    kept, files = list(words), dict[str, str]()
    for flag in ("--out", "--picture"):
        kept, files[flag] = _without(kept, flag)
    for flag, value in {pair for part in parts for pair in zip(part[::2], part[1::2], strict=True)}:
        kept, _ = _without(kept, flag, "" if flag == "--window" else value.partition("=")[0] + "=")
    return [shlex.join(_ended(kept, *part, *_numbered(files, at))) for at, part in enumerate(parts, 1)]


def _numbered(files: Mapping[str, str], at: int) -> Iterator[str]:
    """Each flag with its file, if it has one, for one of several plans."""
    for flag, file in ((flag, Path(file)) for flag, file in files.items() if file):
        yield from (flag, str(file.with_name(f"{file.stem}-{at}{file.suffix}")))


def _both(before: str, more: str) -> dict[str, str]:
    """Columns as they were called before and ``more``, in which those have their new names."""
    called, new = called_columns(before), called_columns(more)
    found = {mine: called.pop(theirs, theirs) for mine, theirs in new.items()}
    return {mine: theirs for mine, theirs in called.items() if theirs not in found.values()} | found


class Advice(str):
    """A hint that ends with the command that reads a file: its keys, and for what files they are right."""

    keys: Mapping[str, str]
    where: tuple[str, ...]
    first: str = ""

    def on(self, options: WorkloadOptions) -> WorkloadOptions:
        """The options with its keys."""
        columns = as_option(_both(options.columns, self.keys.get("columns", "")), whole=True)
        return with_keys(options, {**self.keys, "columns": columns})

    def beside(self, more: Advice, source: TraceFile) -> Advice:
        """The advice with what reading the file so is met with."""
        both = {**more.keys, **self.keys}
        if {"columns"} <= self.keys.keys() & more.keys.keys():
            both["columns"] = as_option(_both(self.keys["columns"], more.keys["columns"]), whole=True)
        return led(self.first or more.first, advice(source, both, *self.where, *more.where))


def advice(source: TraceFile, keys: Mapping[str, str], *where: str, told: str = "read it with") -> Advice:
    """``if A, and if B, read it with: COMMAND``, of what is asked where only the user can know."""
    command = own_command(source, **keys)
    said = ", and ".join(f"if {one}" for one in where)
    found = Advice(f"{said}, {told}: {command}" if said else f"{told}: {command}")
    found.keys, found.where = keys, where
    return found


def led(first: str, hint: Advice) -> Advice:
    """An advice for the less likely case behind what is ``first`` to be done in the likely one."""
    if not first:
        return hint
    found = Advice(f"{first}; or {hint}")
    found.keys, found.where, found.first = hint.keys, hint.where, first
    return found


def with_the_rest(
    refused: HcloudError, source: TraceFile, options: WorkloadOptions, read: Callable[[WorkloadOptions], object]
) -> str:
    """The hint of a refusal as one command that has all it takes: the file is read with it, and what that is met with
    is added. It is no command where that would make other cells wrong."""
    hint, known = refused.hint, {problem.where for problem in getattr(refused, "problems", ())}
    while isinstance(hint, Advice):
        try:
            read(hint.on(options))
        except HcloudError as error:
            more, other = error.hint, _made_wrong(hint, known, error)
        else:
            return hint
        if isinstance(more, Advice) and set(more.keys) - set(hint.keys):
            hint = hint.beside(more, source)
        elif other is None:
            return more if more == AS_DATES else hint
        else:
            mark = hint.keys["decimal"]
            return f"write all cells in one way: with decimal {mark} {other.value} would be wrong ({other.where})"
    return hint


def _made_wrong(hint: Advice, known: Collection[str], refused: HcloudError) -> Problem | None:
    """A number beside those that were wrong before, which the decimal mark of a hint makes wrong: no other cell is
    wrong for that, and one with commas between thousands is told how they are taken out."""
    if "decimal" not in hint.keys or "thousands" in hint:
        return None
    columns = {where.partition("column ")[2] for where in known}
    new = (p for p in getattr(refused, "problems", ()) if p.where not in known and _IN_DIGITS.fullmatch(p.value))
    return next((p for p in new if p.where.partition("column ")[2] in columns), None)


def jobs_advice(source: TraceFile, found: Mapping[str, str], names: Sequence[str], units: Mapping[str, str]) -> Advice:
    """The command that reads jobs whose columns were found by meaning, with ``units`` that are likely by what stands
    there. Memory of which a name says no unit is named in it with one, as it would be another demand in another."""
    bare = bare_memory(names) if "memory" not in found else ""
    found = {**found, "memory": bare} if bare else found
    hours = vcpu_hours(found, names)
    found = {**found, "cores": hours} if hours else found
    keys = {"columns": as_option(found), **units}
    where = list(_assumed(source, found, names, units))
    if hours:
        where.append(f"{hours} is how long each job ran times its vCPUs (else say cores=NAME)")
    if bare:
        unit = units.get("memory_unit", "MiB")
        apart = " or ".join(one for one in ("GiB", "KiB", "MiB") if one != unit)
        keys, where = {"memory_unit": unit, **keys}, [*where, f"{bare} is in {unit} (else say {apart})"]
    return advice(source, keys, *where)


def vcpu_hours(found: Mapping[str, str], names: Sequence[str]) -> str:
    """The column that alone says the size of jobs, in hours of vCPUs, if there is one."""
    return "" if "cores" in found else next((name for name in names if _HOURS.fullmatch(spelt(name))), "")


def skipping(
    source: TraceFile, found: Mapping[str, str], names: Sequence[str], units: Mapping[str, str] | None
) -> Advice:
    """The command that reads a table without its other columns, as it has the ``units`` of jobs where it is of them."""
    left = () if units is None else (_never_ran(units), _sizes_left(source, found, names), memory_left(found, names))
    where = [*chain.from_iterable(left)]
    keys = {"extra_columns": "ignore", **({"open_ends": "leave-out"} if units and [*_never_ran(units)] else {})}
    return advice(source, keys, *where, told="columns that are not needed can be skipped")


def _never_ran(units: Mapping[str, str]) -> Iterator[str]:
    if units.get("open_ends") == "leave-out":
        yield "jobs without a start never ran (else leave open_ends out)"


def bare_memory(names: Sequence[str]) -> str:
    """The column of jobs that has their memory in a unit which its name does not say, if there is one."""
    return next((name for name in names if spelt(name) in _BARE_MEMORY), "")


def memory_left(found: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """What is taken for granted where no column is the memory of jobs and some may be."""
    apart = [] if "memory" in found else memory_apart(names)
    return [f"memory goes by the vCPUs (else say memory=NAME), whatever {', '.join(apart)} say"] if apart else []


def _assumed(
    source: TraceFile, found: Mapping[str, str], names: Sequence[str], units: Mapping[str, str]
) -> Iterator[str]:
    """What is taken for granted where columns are read by what they are called."""
    unit = units.get("duration_unit", "")
    if unit:
        yield (
            "durations are in s (else say ms)" if unit == "s" else f"durations are in {unit}, by its times (else say s)"
        )
    cores, end = found.get("cores", ""), found.get("end", "")
    if spelt(end) == "updated_at":
        yield f"jobs ended at {end}"
    if "vcpus_per_core" in units:
        yield f"{cores} is in per cent of a vCPU, as Alibaba has it"
    if "cores_unit" not in units and re.search("^cpu$|slots|threads", plain(cores)):
        yield f"{cores} counts vCPUs (else add --set vcpus_per_core=N, the vCPUs of each)"
    yield from _sizes_left(source, found, names)
    yield from _never_ran(units)
    yield from memory_left(found, names)
    if "id" not in found and meant(names, JOBS).get("id") and _are_twice(source):
        yield "rows that are there twice are jobs of their own (else leave them out: awk '!seen[$0]++')"
    for mine, more in others(found, names).items():
        yield f"{mine} is {found[mine]} (else say {', '.join(more)})"


def _are_twice(source: TraceFile) -> bool:
    """Whether some of the first lines are alike."""
    lines = source.head.splitlines()
    return len({*lines}) < len(lines)


def _sizes_left(source: TraceFile, found: Mapping[str, str], names: Sequence[str]) -> Iterator[str]:
    """What is taken for granted where other columns may say the size of jobs too."""
    if apart := sizes_apart(found, names):
        say = f"else say cores=NAME{_product(source, names)}"
        cores = found.get("cores", "")
        size = f"{cores} has the vCPUs of a job on all nodes" if cores else f"each job takes 1 vCPU ({say})"
        yield f"{size}, whatever {', '.join(apart)} say"


def _product(source: TraceFile, names: Sequence[str]) -> str:
    """How to make the column of vCPUs that two others tell: nodes and vCPUs a node. Nothing where a cell is no number,
    or may hold a comma, which the command splits by."""
    at = {spelt(name): place for place, name in enumerate(names)}
    nodes, each = (next((name for name in at if of.fullmatch(name)), "") for of in (_NODES, _OF_A_NODE))
    if not nodes or not each:
        return ""
    cells = [cell.strip() for cell in source.head.decode("utf-8", "replace").split("\n")[1].split(",")]
    both = at[nodes], at[each]
    if b'"' in source.head or len(cells) != len(names) or not all(NUMBER.fullmatch(cells[one]) for one in both):
        return ""
    made = f'(NR == 1 ? "cores" : ${both[0] + 1} * ${both[1] + 1})'
    program = f'{{sub(/\\r$/, "")}} {{print $0 "," {made}}}'
    command = piped(source, f"awk -F, {shlex.quote(program)}")
    return f"; of {nodes} times {each}: {command}" if command else ""


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _words(keys: Mapping[str, str]) -> list[str]:
    pairs = [(f"--{key}", value) if key in _FLAGS else ("--set", f"{key}={value}") for key, value in keys.items()]
    return [word for pair in pairs for word in pair]

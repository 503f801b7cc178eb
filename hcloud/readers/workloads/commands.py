"""The command that would read a file, for refusals: it can be copied to a shell as it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from hcloud.readers.workloads.meanings import as_option, plain
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile

_BARE_MEMORY = frozenset({"mem", "ram", "mem_req", "mem_request", "req_mem", "memory_request", "max_rss", "maxrss"})
_FLAGS = ("columns", "decimal")
_DECIMAL_COMMA = re.compile(rb"[;\t][ ]*-?\d+,\d+[ ]*(?=[;\t\r\n]|$)")
"""Where a comma does not separate columns."""


def with_options(source: TraceFile, options: WorkloadOptions) -> TraceFile:
    """The file with the options it is read with, for the commands that refusals name."""
    usual = WorkloadOptions()
    given = {f.name: getattr(options, f.name) for f in fields(options)}
    changed = {name: _text(value) for name, value in given.items() if value != getattr(usual, name)}
    return replace(source, command=(*source.command, *_words(changed)))


def plan_command(source: TraceFile, **more: str) -> str:
    """``hcloud plan FILE`` as it was read, and with ``more`` keys of its reader; of a table with decimal commas with
    the flag that reads these too."""
    if "--decimal" not in source.command and _DECIMAL_COMMA.search(source.head):
        more.setdefault("decimal", ",")
    return shlex.join((*source.command, *_words(more)))


def jobs_advice(source: TraceFile, found: Mapping[str, str], names: Iterable[str]) -> str:
    """The command that reads jobs whose columns were found by meaning. Memory of which a name says no unit is named in
    it with one, as it would be another demand in another."""
    bare = next((name for name in names if plain(name) in _BARE_MEMORY), None)
    if bare is None or "memory" in found:
        return f"read it with: {plan_command(source, columns=as_option(found))}"
    command = plan_command(source, columns=as_option({**found, "memory": bare}), memory_unit="MiB")
    return f"if {bare} is in MiB (else say GiB or KiB), read it with: {command}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _words(keys: Mapping[str, str]) -> list[str]:
    pairs = [(f"--{key}", value) if key in _FLAGS else ("--set", f"{key}={value}") for key, value in keys.items()]
    return [word for pair in pairs for word in pair]

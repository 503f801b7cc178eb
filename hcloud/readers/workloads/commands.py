"""The command that would read a file, for refusals: it can be copied to a shell as it stands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields, replace

from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile

_FLAGS = ("columns", "decimal")


def with_options(source: TraceFile, options: WorkloadOptions) -> TraceFile:
    """The file with the options it is read with, for the commands that refusals name."""
    usual = WorkloadOptions()
    given = {f.name: getattr(options, f.name) for f in fields(options)}
    changed = {name: f"{value}" for name, value in given.items() if value != getattr(usual, name)}
    return replace(source, command=(*source.command, *_words(changed)))


def plan_command(source: TraceFile, **more: str) -> str:
    """``hcloud plan FILE`` as it was read, and with ``more`` keys of its reader."""
    return shlex.join((*source.command, *_words(more)))


def _words(keys: Mapping[str, str]) -> list[str]:
    pairs = [(f"--{key}", value) if key in _FLAGS else ("--set", f"{key}={value}") for key, value in keys.items()]
    return [word for pair in pairs for word in pair]

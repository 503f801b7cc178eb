"""Columns that count machines: how many run of a fleet, or are wanted of it, and not what they use."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from hcloud.errors import InputError
from hcloud.readers.workloads.commands import advice
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.meanings import as_option, spelt
from hcloud.readers.workloads.source import TraceFile

_MACHINE = "(instance|replica|machine|node|host|server|vm|pod|task|executor|worker|container)"
_COUNTED = re.compile(rf"(.*_)?({_MACHINE}(s|s?_count)|in_service|(desired|in_service|running|current|total)_capacity)")
_STATES = (
    "in_service", "running", "ready", "current", "actual", "active", "healthy", "available", "total", "desired",
    "target", "wanted", "requested", "pending", "standby", "terminating", "unhealthy", "unavailable", "min", "max",
)  # fmt: skip
"""The states that machines of one fleet are counted in, those first that say best how many run."""
_STATE = re.compile(rf"(^|_)({'|'.join(_STATES)})(?=_|$)")
_NO_NAME = re.compile(rf"(^|_)({_MACHINE}s?|capacity|count|number|of|size)(?=_|$)")


def counts_machines(name: str) -> bool:
    """Whether a column counts machines, by its name."""
    return bool(_COUNTED.fullmatch(spelt(name)))


def refuse_states(source: TraceFile, time: str, names: Sequence[str]) -> None:
    """InputError for columns that count the machines of one fleet more than once, in several states (desired, in
    service): they would be added up."""
    fleets = dict[str, list[str]]()
    for name in names:
        states = _STATE.sub("", spelt(name))
        if counts_machines(name) or states != spelt(name):
            fleets.setdefault(_NO_NAME.sub("", states).strip("_"), []).append(name)
    for several in fleets.values():
        if len(several) > 1 and any(map(counts_machines, several)):
            best = min(several, key=_rank)
            keys = {"columns": as_option({"timestamp": time, "value": best}, whole=True)}
            raise InputError(
                f"{source.name}: line 1: columns {shown(several[0])} and {shown(several[1])} count the machines of one"
                " fleet by their names, and would be added up",
                hint=advice(source, keys, f"{shlex.quote(best)} is how many run")
                if len(fleets) == 1
                else "leave one column for each fleet",
            )


def _rank(name: str) -> int:
    found = _STATE.search(spelt(name))
    return _STATES.index(found[2]) if found else len(_STATES)

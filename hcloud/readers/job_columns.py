"""The columns of job files: what they are called elsewhere, as in traces, and the unit that a name says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hcloud.errors import did_you_mean
from hcloud.readers.workloads.meanings import JOBS, meant, plain, unit_said

COLUMNS = (
    "id", "submit", "command", "cores", "memory", "servers", "kind", "app", "expect", "target", "restartable",
    "directory",
)  # fmt: skip
_OF_LIVE_JOBS = {
    "command": "command cmd",
    "servers": "servers nodes num_nodes pieces",
    "kind": "kind job_kind",
    "target": "target slo",
    "restartable": "restartable restart requeue",
    "directory": "directory cwd workdir working_directory",
    "expect": "expect expected",
}
_OF_TRACES = {"id": "id", "submit": "submit", "cores": "cores", "memory": "memory", "app": "app", "duration": "expect"}
_MEANINGS = {other: mine for mine, others in _OF_LIVE_JOBS.items() for other in others.split()} | {
    other: _OF_TRACES[mine] for other, mine in JOBS.items() if mine in _OF_TRACES
}
_WITH_UNITS = {"expect": "duration", "memory": "memory", "cores": "cores"}
_IN_CELLS = {"milli": "m"}
_UNCERTAIN = {"start": "submit", "time": "expect", "class": "kind", "type": "kind"}
_NO_UNIT = {"mem", "ram", "mem_req", "mem_request"}
_GRAPHS = "tasks that wait for others are written as a graph, in JSON: docs/operate.md"
_NUMBER = re.compile(r"\s*\d+(?:\.\d+)?\s*", re.ASCII)


def columns_of(names: Iterable[str], called: Mapping[str, str]) -> dict[str, str]:
    """Which of our columns each of these is, by its name in the file: as they are ``called``, else by what their names
    mean; what is none of them is left out."""
    others = [name for name in names if name not in called.values()]
    found = {**meant(others, _MEANINGS), **called}
    return {theirs: mine for mine, theirs in found.items()}


def what_else(name: str, known: Mapping[str, str]) -> str:
    """What to write in place of a column that is none of ours, or that another one stands for."""
    word = plain(name)
    taken = next((other for other, mine in known.items() if mine == _MEANINGS.get(word)), None)
    if taken is not None:
        return f"{taken} says the {_MEANINGS[word]} already; leave one of them out"
    if word == "after":
        return _GRAPHS
    if word in _NO_UNIT:
        return "did you mean memory? Say its unit: memory_gib or memory_mib"
    meaning = _UNCERTAIN.get(word)
    close = f"did you mean {meaning}?" if meaning else did_you_mean(name, COLUMNS).removeprefix("; ")
    return close or f"known columns: {', '.join(COLUMNS)}"


def unit_of(mine: str, name: str) -> str:
    """The unit of plain numbers that the name of a column says, as it is written behind one."""
    unit = unit_said(_WITH_UNITS[mine], name) if mine in _WITH_UNITS and name != mine else None
    return _IN_CELLS.get(unit or "", unit or "")


def with_unit(cell: object, unit: str) -> object:
    """A cell with the unit of its column, where it is a plain number."""
    bare = unit and not isinstance(cell, bool) and _NUMBER.fullmatch(str(cell))
    return f"{str(cell).strip()}{unit}" if bare else cell

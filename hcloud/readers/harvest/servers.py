"""servers.csv: a row a server, with its tenant, its size and the groups that it is in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hcloud.errors import InputError
from hcloud.harvest.servers import GROUPS, MARKETS, ServerGroup, Servers
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.readers.workloads.tables.columns import Column, Sink
from hcloud.readers.workloads.tables.delimited import header_layout, read_table
from hcloud.readers.workloads.tables.locate import TableLayout, lines_of

_MOST = 1_000_000
_COLUMNS = (
    Column("server", "label"),
    Column("tenant", "label"),
    Column("cores", high=limits.CORES, above=True),
    Column("environment", "label", required=False),
    Column("function", "label", required=False),
    Column("rack", "label", required=False),
    Column("zone", "label", required=False),
    Column("mem_gib", high=limits.MEMORY_GIB, required=False),
    Column("harvest_gib", high=1e9, required=False),
    Column("instance_type", "label", required=False),
    Column("market", "label", required=False, choices=MARKETS),
)


def read_servers(path: Path) -> Servers:
    """The servers of a file; a tenant without an environment is one of its own. InputError with all that is wrong."""
    if not path.is_file():
        raise InputError(f"{path}: no such file of servers", hint="a csv with the columns server, tenant and cores")
    source = replace(open_source(path), command=("hcloud", "harvest", "types", "UTIL", "--servers", str(path)))
    layout = header_layout(source, _COLUMNS, ignore_extra=True)
    table = read_table(source, layout, _MOST)
    sink, names = table.sink, table.sink.labels("server")
    codes = sink.codes("server")
    if len(names) < len(codes):
        findings = Findings(source.name)
        _, first = np.unique(codes, return_index=True)
        twice = np.setdiff1d(np.arange(len(codes)), first).tolist()
        for row, line in zip(twice, lines_of(source, layout, twice), strict=True):
            findings.add(f"line {line}, column server", shown(names[codes[row]]), "each server once")
        raise findings.error()
    if not table.rows:
        raise InputError(f"{source.name}: no servers")
    groups = {name: group for name in GROUPS if (group := _group(sink, name)) is not None}
    groups.setdefault("environment", groups["tenant"])
    _refuse_split(source, layout, groups)
    memory, space = (_numbers(sink, name) for name in ("mem_gib", "harvest_gib"))
    return Servers(source.name, names, sink.numbers("cores"), memory, space, groups)


def _refuse_split(source: TraceFile, layout: TableLayout, groups: dict[str, ServerGroup]) -> None:
    """Refuse a tenant that is in two environments: what is lost together has to be one."""
    tenant, environment = groups["tenant"], groups["environment"]
    first = np.zeros(len(tenant.names), np.int64)
    rows, at = np.unique(tenant.of, return_index=True)
    first[rows] = environment.of[at]
    split = np.flatnonzero(environment.of != first[tenant.of]).tolist()
    findings = Findings(source.name)
    for row, line in zip(split, lines_of(source, layout, split) if split else (), strict=True):
        name, mine = tenant.names[tenant.of[row]], environment.names[first[tenant.of[row]]]
        told = shown(environment.names[environment.of[row]])
        findings.add(f"line {line}, column environment", told, f"{mine!r}, as the first server of tenant {name!r} has")
    if findings.problems:
        raise findings.error()


def _group(sink: Sink, name: str) -> ServerGroup | None:
    """The groups of a column; servers without one are each in one of their own."""
    if not sink.has(name):
        return None
    codes, labels = sink.codes(name).astype(np.int64), sink.labels(name)
    alone = np.flatnonzero(codes < 0)
    codes[alone] = len(labels) + np.arange(len(alone))
    return ServerGroup((*labels, *("" for _ in alone)), codes)


def _numbers(sink: Sink, name: str) -> np.typing.NDArray[np.float64]:
    return np.nan_to_num(sink.numbers(name)) if sink.has(name) else np.zeros(sink.rows)

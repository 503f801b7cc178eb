"""servers.csv: a row a server, with its tenant, its size and the groups that it is in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hcloud.errors import InputError
from hcloud.harvest.servers import GROUPS, MARKETS, ServerGroup, Servers
from hcloud.model.files import none_such
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.readers.workloads.tables.columns import Column, Sink
from hcloud.readers.workloads.tables.delimited import header_layout, read_table
from hcloud.readers.workloads.tables.locate import TableLayout, rows_of

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

_HEADER = "a csv with the columns server, tenant and cores"


def read_servers(path: Path) -> Servers:
    """The servers of a file; a tenant without an environment is one of its own. InputError with all that is wrong."""
    if not path.is_file():
        raise InputError(none_such(path, "servers"), hint=_HEADER)
    source = replace(open_source(path), command=("hcloud", "harvest", "types", "UTIL", "--servers", str(path)))
    try:
        layout = header_layout(source, _COLUMNS, ignore_extra=True)
    except InputError as error:
        error.hint = _HEADER  # --columns is about the use
        raise
    try:
        sink = read_table(source, layout, _MOST)
    except InputError as error:
        if error.problems:
            raise _refused(source, layout, error) from error
        raise
    names = sink.labels("server")
    groups = {name: group for name in GROUPS if (group := _group(sink, name)) is not None}
    groups.setdefault("environment", groups["tenant"])
    if len(names) < len(sink.codes("server")) or _is_split(groups["tenant"], groups["environment"]):
        raise _refused(source, layout, InputError(source.name))
    memory, space = (_numbers(sink, name) for name in ("mem_gib", "harvest_gib"))
    return Servers(source.name, names, sink.numbers("cores"), memory, space, groups)


def _is_split(tenant: ServerGroup, environment: ServerGroup) -> bool:
    """Whether a tenant is in two environments."""
    first = np.zeros(len(tenant.names), np.int64)
    rows, at = np.unique(tenant.of, return_index=True)
    first[rows] = environment.of[at]
    return bool((environment.of != first[tenant.of]).any())


def _refused(source: TraceFile, layout: TableLayout, cells: InputError) -> InputError:
    """What is wrong with single cells, with servers that are there twice, and with tenants in two environments: what is
    lost together has to be one."""
    findings, at = Findings(source.name), {column.name: place for place, column in enumerate(layout.columns)}
    for problem in cells.problems:
        findings.add(problem.where, problem.value, problem.allowed)
    met, first = set[str](), dict[str, str]()
    for line, row in rows_of(source, layout, Findings(source.name)):
        if len(row) != len(layout.columns):
            continue
        server, tenant = row[at["server"]], row[at["tenant"]]
        if server in met:
            findings.add(f"line {line}, column server", shown(server), "each server once")
        met.add(server)
        if "environment" in at and tenant:
            mine, found = first.setdefault(tenant, row[at["environment"]]), row[at["environment"]]
            if found != mine:
                allowed = f"{mine!r}, as the first server of tenant {tenant!r} has"
                findings.add(f"line {line}, column environment", shown(found), allowed)
    error = findings.error()
    error.hint = cells.hint
    return error


def _group(sink: Sink, name: str) -> ServerGroup | None:
    """The groups of a column; servers without one are each in one of their own, and those of a tenant without an
    environment in one."""
    if not sink.has(name):
        return None
    codes, labels = sink.codes(name).astype(np.int64), sink.labels(name)
    alone = np.flatnonzero(codes < 0)
    own = sink.codes("tenant")[alone] if name == "environment" else np.arange(len(alone))
    several, at = np.unique(own, return_inverse=True)
    codes[alone] = len(labels) + at
    return ServerGroup((*labels, *("" for _ in several)), codes)


def _numbers(sink: Sink, name: str) -> np.typing.NDArray[np.float64]:
    return np.nan_to_num(sink.numbers(name)) if sink.has(name) else np.zeros(sink.rows)

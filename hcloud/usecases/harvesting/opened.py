"""Opens histories of use, the servers that they are of and their types, and brings them together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hcloud.errors import EvidenceError, InputError, UsageError, did_you_mean
from hcloud.harvest.centre import CENTRES, TESTBED, Centre, centre, use_of
from hcloud.harvest.classes import use_types
from hcloud.harvest.histories import ServerHistory, on_one_grid
from hcloud.harvest.results import OpenedUse, TypedUse
from hcloud.harvest.servers import Servers
from hcloud.readers.harvest.policy import load_harvest
from hcloud.readers.harvest.servers import read_servers
from hcloud.readers.typed import KeysGiven, typed
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.histories import MachineHistories, MachineSeries, read_histories
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX

_ROUNDING = 1.000001
_BETWEEN = re.compile(r"[,=/\s]+")
"""What stands between the parts of the name of a series of monitoring."""


@dataclass(frozen=True, slots=True)
class UseRequest:
    """Where histories come from, how they are read, what servers they are of, and by which numbers they are judged."""

    util: str
    servers: Path | None = None
    format: str = "auto"
    keys: tuple[str, ...] = ()
    policy: Path | None = None
    seed: int = 0
    given: KeysGiven = "nowhere"


def open_use(request: UseRequest, progress: Callable[[float], None] | None = None) -> OpenedUse:
    """The histories that are asked for, by tenant. InputError for what cannot be used, EvidenceError for too little."""
    policy = load_harvest(request.policy)
    if request.util.startswith(SCENARIO_PREFIX):
        made = centre_named(request.util.removeprefix(SCENARIO_PREFIX), request.seed)
        return OpenedUse(request.util, use_of(made, 2 * policy.month_days), policy, made.servers)
    servers = None if request.servers is None else read_servers(request.servers)
    keys = [key.partition("=") for key in request.keys]
    for key, equals, _ in keys:
        if not equals:
            raise UsageError(f"--set {key}: write KEY=VALUE")
    options = with_keys(WorkloadOptions(), {key: value for key, _, value in keys})
    with typed(keys=request.given):
        read = read_histories(Path(request.util), request.format, options, progress)
    owned, silent = _by_server(read, servers) if servers is not None else (_each_alone(read), ())
    try:
        histories = on_one_grid(owned, policy)
    except EvidenceError as error:
        raise EvidenceError(f"{read.name}: {error}", hint=error.hint) from None
    unsized = () if servers is not None else tuple(m.name for m in read.machines if m.cores is None)
    found = read.repaired, read.left_out, read.modelled
    return OpenedUse(read.name, histories, policy, servers, *found, silent, unsized)


def centre_named(name: str, seed: int) -> Centre:
    """A synthetic centre by its name; UsageError for none."""
    known = {**CENTRES, TESTBED.name: TESTBED}
    if name not in known:
        raise UsageError(
            f"there is no centre {name!r}{did_you_mean(name, known)}", hint=f"scenario:NAME of {', '.join(known)}"
        )
    return centre(known[name], seed)


def _each_alone(read: MachineHistories) -> list[ServerHistory]:
    """Every machine as a tenant of its own."""
    read.refuse()
    unsized = [machine for machine in read.machines if machine.in_cores]
    if unsized:
        raise InputError(
            f"{read.name}: holds vCPUs in use, and nothing says how many vCPUs {unsized[0].name!r} has",
            hint="name the servers: --servers servers.csv, with the columns server, tenant and cores",
        )
    return [ServerHistory(m.name, m.times, m.use, m.cores or 1.0, name=m.name) for m in read.machines]


def _by_server(read: MachineHistories, servers: Servers) -> tuple[list[ServerHistory], tuple[str, ...]]:
    """Every history as that of its server, or of its tenant as a whole; and the tenants without one. InputError with
    all that is wrong with the file."""
    tenants = servers.tenants
    of_tenant = {name: np.flatnonzero(tenants.of == at) for at, name in enumerate(tenants.names)}
    findings, found = read.findings, list[ServerHistory]()
    known, met = servers.row.keys() | of_tenant.keys(), dict[str, str]()
    for machine in read.machines:
        name = _called(machine.name, known)
        row = servers.row.get(name)
        rows = of_tenant.get(name, np.empty(0, np.intp)) if row is None else np.array([row])
        if name in met:
            findings.add(machine.place, f"{machine.name!r} is {name!r}, as {met[name]!r} is", "one history of each")
            continue
        met[name] = machine.name
        if not len(rows):
            allowed = f"a server or a tenant of {servers.file}{did_you_mean(machine.name, known)}"
            findings.add(machine.place, f"{machine.name!r} has no servers", allowed)
            continue
        cores = float(servers.cores[rows].sum())
        use = machine.use / cores if machine.in_cores else machine.use
        if machine.in_cores:
            _note_above(findings, machine, cores)
        tenant = tenants.names[tenants.of[rows[0]]]
        found.append(ServerHistory(tenant, machine.times, use, cores, len(rows), name))
    read.refuse()
    _never_twice(read.name, met, found, tenants.names)
    told = {history.tenant for history in found}
    return found, tuple(name for name in tenants.names if name not in told)


def _called(series: str, known: Collection[str]) -> str:
    """What servers.csv calls a series: its own name, or the one part of it that is a name there, as monitoring names
    series by all of their labels (``job=node,instance=web-1:9100``)."""
    parts = [part for one in _BETWEEN.split(series) for part in (one, one.partition(":")[0])]
    found = {part for part in parts if part in known}
    return found.pop() if series not in known and len(found) == 1 else series


def _note_above(findings: Findings, machine: MachineSeries, cores: float) -> None:
    above = np.flatnonzero(machine.use > cores * _ROUNDING)
    if len(above):
        most = float(machine.use[above[0]])
        findings.add(machine.place, f"{most:g} vCPUs in use at {machine.times[above[0]]:.0f}", f"0 to {cores:g} vCPUs")
        findings.add_alike(len(above) - 1)


def _never_twice(file: str, names: Collection[str], found: list[ServerHistory], tenants: Iterable[str]) -> None:
    """InputError for a tenant with a history of its own beside those of its servers."""
    counted = [history.tenant for history in found]
    for tenant in tenants:
        if tenant in names and counted.count(tenant) > 1:
            raise InputError(
                f"{file}: has a history of the tenant {tenant!r} and others of its servers",
                hint="keep one of both: it would count twice",
            )


def types_of_use(request: UseRequest, progress: Callable[[float], None] | None = None) -> TypedUse:
    """The types of the histories that are asked for."""
    opened = open_use(request, progress)
    return TypedUse(opened, use_types(opened.histories, opened.policy, request.seed, sized=not opened.unsized))

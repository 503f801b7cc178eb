"""Machines whose idle capacity is used live: who has to give way, who may begin, and where. Pure: the numbers are
measured elsewhere, and the rules are those that simulations follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from hcloud.harvest.kernels.choosing import chance, choose, drawn, weighed
from hcloud.harvest.kernels.holding import (
    VCPU,
    containers,
    gives_way,
    in_use,
    is_beyond,
    is_too_often,
    length_of,
    spare,
)
from hcloud.model.running.harvest_note import HarvestClass, HarvestClasses, HarvestSet
from hcloud.units import counted

IDLE, UNKNOWN = "no service", "unknown"
"""Classes of machines without a service, and of those whose services are in none or in several."""


@dataclass(frozen=True, slots=True)
class HostedContainer:
    """A container of a job: thousandths of a vCPU and MiB."""

    job: str
    cores: int
    memory: int


@dataclass(frozen=True, slots=True)
class IdleHost:
    """A machine: its size in thousandths of a vCPU and MiB, the share of it that its services use (None: nobody knows
    at the moment) and the most that they used lately, the MiB that they asked for, the containers on it, the oldest
    first, and its services by name."""

    instance: int
    cores: int
    memory: int
    use: float | None
    lately: float
    asked_memory: int
    held: tuple[HostedContainer, ...] = ()
    services: tuple[str, ...] = ()

    @property
    def held_cores(self) -> int:
        """Thousandths of a vCPU of all containers."""
        return sum(one.cores for one in self.held)

    @property
    def held_memory(self) -> int:
        """MiB of all containers."""
        return sum(one.memory for one in self.held)


def reserve_of(cores: int, rules: HarvestSet) -> int:
    """The reserve of a machine, thousandths of a vCPU, in whole units."""
    (scaled,) = _scaled(rules, cores)
    return round(int(in_use(scaled, rules.reserve_cores)) * rules.unit)


def _scaled(rules: HarvestSet, *amounts: int) -> list[int]:
    """In thousandths of a unit, which is what the rules round to as simulations round to vCPUs."""
    return [round(amount / rules.unit) for amount in amounts]


def free_cores(host: IdleHost, rules: HarvestSet, held: int) -> int:
    """Thousandths of a vCPU that more containers may have beside those that hold so much; nothing while nobody knows
    what the services use. Services count with a unit at least: their next request needs it."""
    if host.use is None:
        return 0
    cores, reserve, holds = _scaled(rules, host.cores, reserve_of(host.cores, rules), held)
    least = rules.unit * VCPU / host.cores if host.services else 0.0
    return math.floor(int(spare(cores, reserve, max(host.use, host.lately, least), holds)) * rules.unit)


def free_memory(host: IdleHost, rules: HarvestSet, held: int) -> int:
    """MiB that they may have: beside the reserve, and beside what the services asked for."""
    kept = max(math.ceil(host.memory * rules.reserve_memory), host.asked_memory)
    return host.memory - kept - held


def giving_way(host: IdleHost, rules: HarvestSet) -> list[HostedContainer]:
    """The containers that have to go, the youngest first, until the reserve is whole. Nobody goes for want of cores
    while nobody knows what the services use."""
    left, gone = list(host.held), list[HostedContainer]()
    cores, reserve, holds = _scaled(rules, host.cores, reserve_of(host.cores, rules), host.held_cores)
    memory = host.held_memory
    while left:
        broken = host.use is not None and gives_way(cores, reserve, host.use, holds, len(left))
        if not broken and free_memory(host, rules, memory) >= 0:
            break
        gone.append(left.pop())
        holds -= _scaled(rules, gone[-1].cores)[0]
        memory -= gone[-1].memory
    return gone


def host_for(cores: int, memory: int, hosts: Sequence[IdleHost], rules: HarvestSet, stream: Sequence[int]) -> int:
    """Which of these machines a container begins on: any that has room, as likely as it has vCPUs free; -1 for none."""
    free = np.zeros(len(hosts), np.int64)
    for at, host in enumerate(hosts):
        if free_memory(host, rules, host.held_memory) >= memory:
            free[at] = max(free_cores(host, rules, host.held_cores), 0)
    weight, taken = np.ones(len(hosts)), np.zeros(len(hosts), np.bool_)
    whole = weighed(free, weight, taken, max(cores, 1))
    reached = chance(np.array(stream, np.int64)) * whole
    return drawn(free, weight, taken, max(cores, 1), reached)


class Lacking(StrEnum):
    """What a container that waits lacks."""

    MACHINE = "machine"
    MEASUREMENT = "measurement"
    MEMORY = "memory"
    CORES = "cores"


def why_waits(cores: int, memory: int, hosts: Sequence[IdleHost], rules: HarvestSet) -> tuple[Lacking, str]:
    """What a container lacks that ``host_for`` finds no machine for, and a sentence with the figures."""
    if not hosts:
        return Lacking.MACHINE, "no reserved machine is ready"
    most = max(free_memory(host, rules, host.held_memory) for host in hosts)
    if most < memory:
        return (
            Lacking.MEMORY,
            f"it takes {memory:,} MiB of memory, and no machine has more than {max(most, 0):,} MiB free",
        )
    roomy = [host for host in hosts if free_memory(host, rules, host.held_memory) >= memory]
    if all(host.use is None for host in roomy):
        return Lacking.MEASUREMENT, "the use of the services is not measured yet"
    free = max(max(free_cores(host, rules, host.held_cores), 0) for host in roomy) / VCPU
    return Lacking.CORES, f"it takes {cores / VCPU:g} vCPUs, and no machine has more than {free:.2f} free"


def why_moves(kills: int, waited: float, expected: float | None, rules: HarvestSet) -> str:
    """Why a job that waits moves to machines of its own; empty where it does not."""
    if is_too_often(kills, rules.most_kills):
        return f"it gave way {counted(kills, 'time')}"
    if rules.moves_on_slip and expected is not None and is_beyond(waited, rules.spin_up, expected, rules.slowdown):
        return f"it has lost {waited:.0f} s, more than a machine of its own would take to start and to run it"
    return ""


def all_classes(known: HarvestClasses) -> list[HarvestClass]:
    """Those of the history, that of machines without a service, which nobody needs, and that of all other machines, of
    which the most that they used lately is counted on."""
    long_first, short_first = (1.0, 2.0, 3.0), (3.0, 1.0, 1.0)
    return [*known.classes, HarvestClass(IDLE, 0.0, 0.0, long_first), HarvestClass(UNKNOWN, 0.0, 0.0, short_first)]


def class_of(host: IdleHost, known: HarvestClasses) -> str:
    """The class of a machine's services, where all of them are in one."""
    if not host.services:
        return IDLE
    of = {service: one.name for one in known.classes for service in one.services}
    found = {of.get(service, UNKNOWN) for service in host.services}
    return found.pop() if len(found) == 1 else UNKNOWN


def classes_for(
    asked: tuple[int, int, int],
    last: float,
    hosts: Sequence[IdleHost],
    known: HarvestClasses,
    by: tuple[HarvestSet, Sequence[int]],
) -> tuple[str, ...]:
    """The classes that a job which asks for so many containers of so many vCPUs and MiB, and took so long last (below
    0: nobody knows), is put on: those that have room for as long as it takes, as likely as their history speaks for
    them; none where all together have too little. ``by`` are the rules, and the state of chance."""
    rules, stream = by
    needed, *size = asked
    length, classes = length_of(last, known.short, known.long), all_classes(known)
    room = np.zeros(len(classes), np.int64)
    for host in hosts:
        at = next(n for n, one in enumerate(classes) if one.name == class_of(host, known))
        level = (0.0, classes[at].mean, classes[at].peak)[length]
        level = host.lately if classes[at].name == UNKNOWN and length > 0 else level
        counted = replace(host, lately=level)
        cores, memory = free_cores(counted, rules, host.held_cores), free_memory(host, rules, host.held_memory)
        room[at] += containers(cores, memory, *size)
    weights = np.array([one.weights[length] for one in classes])
    picked = np.zeros(len(classes), np.bool_)
    choose(room, weights, needed, picked, np.array(stream, np.int64))
    return tuple(one.name for one, is_picked in zip(classes, picked, strict=True) if is_picked)

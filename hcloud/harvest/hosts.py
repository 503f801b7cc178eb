"""Machines whose idle capacity is used live: who has to give way, who may begin, and where. Pure: the numbers are
measured elsewhere, and the rules are those that simulations follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hcloud.harvest.kernels.choosing import chance, drawn, weighed
from hcloud.harvest.kernels.holding import VCPU, gives_way, is_beyond, is_too_often, spare
from hcloud.model.running.harvest_note import HarvestSet

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Held:
    """A container of a job: thousandths of a vCPU and MiB."""

    job: str
    cores: int
    memory: int


@dataclass(frozen=True, slots=True)
class IdleHost:
    """A machine: its size in thousandths of a vCPU and MiB, the share of it that its services use (None: nobody knows
    at the moment) and the most that they used lately, the MiB that they asked for, and the containers on it, the oldest
    first."""

    instance: int
    cores: int
    memory: int
    use: float | None
    lately: float
    asked_memory: int
    held: tuple[Held, ...] = ()

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
    units = math.ceil(cores / VCPU * rules.reserve_cores / rules.unit - _ROUNDING)
    return round(units * rules.unit * VCPU)


def _scaled(rules: HarvestSet, *amounts: int) -> list[int]:
    """In thousandths of a unit, which is what the rules round to as simulations round to vCPUs."""
    return [round(amount / rules.unit) for amount in amounts]


def free_cores(host: IdleHost, rules: HarvestSet, held: int) -> int:
    """Thousandths of a vCPU that more containers may have beside those that hold so much; nothing while nobody knows
    what the services use."""
    if host.use is None:
        return 0
    cores, reserve, holds = _scaled(rules, host.cores, reserve_of(host.cores, rules), held)
    return math.floor(spare(cores, reserve, max(host.use, host.lately), holds) * rules.unit)


def free_memory(host: IdleHost, rules: HarvestSet, held: int) -> int:
    """MiB that they may have: beside the reserve, and beside what the services asked for."""
    kept = max(math.ceil(host.memory * rules.reserve_memory), host.asked_memory)
    return host.memory - kept - held


def giving_way(host: IdleHost, rules: HarvestSet) -> list[Held]:
    """The containers that have to go, the youngest first, until the reserve is whole. Nobody goes for want of cores
    while nobody knows what the services use."""
    left, gone = list(host.held), list[Held]()
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


def why_moves(kills: int, waited: float, expected: float | None, rules: HarvestSet) -> str:
    """Why a job that waits moves to machines of its own; empty where it does not."""
    if is_too_often(kills, rules.most_kills):
        return f"it gave way {kills} times"
    if rules.moves_on_slip and expected is not None and is_beyond(waited, rules.spin_up, expected, rules.slowdown):
        return f"it has lost {waited:.0f} s, more than a machine of its own would take to start and to run it"
    return ""

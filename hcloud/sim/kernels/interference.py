"""What neighbours truly do to a job, whatever was estimated, and what quality an instance has left (thesis §8.2.2; the
formulas are ours)."""

from __future__ import annotations

import math

from hcloud.policy.placing.placement import RESOURCES, UNTOUCHED, bears_least, room_of
from hcloud.policy.quality import complement, encode
from hcloud.policy.records import Reals
from hcloud.sim.kernels.world import CloudParameters, ServerSlot, SimulatedWorld

_TURN = 2.0 * math.pi
_CLOSE = 1.0
"""Points x thousandths of a vCPU: far more than reals are off by, far less than anybody feels."""


def neighbours(w: SimulatedWorld, host: ServerSlot, now: float) -> float:
    """The load of the other slices of the host, this instance's own factor included: a slow wave around the mean."""
    level = w.cloud.mean_load
    if w.behaviours[host.kind].varies:
        level += w.cloud.amplitude * math.sin(_TURN * (now / w.cloud.period + host.phase))
    return level * host.spread


def most_neighbours(w: SimulatedWorld, host: ServerSlot) -> float:
    """The load of the other slices of the host at the crest of the wave: no sine is needed to tell that nobody suffers
    even then."""
    crest = w.cloud.amplitude if w.behaviours[host.kind].varies else 0.0
    return (w.cloud.mean_load + crest) * host.spread


def at_quantile(values: Reals, share: float) -> float:
    """The value of a quantile function given at even steps of probability, linear in between."""
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    value: float = values[low] + (values[low + 1] - values[low]) * (place - low)
    return value


def join(w: SimulatedWorld, number: int, place: int) -> None:
    """A job is on a server from now on: the others feel it, whatever was thought of it."""
    host, task, cores = w.hosts[place], w.tasks[number], w.control.jobs[number].cores
    capacity = w.control.kinds[host.kind].cores
    pressure, room, vector, tolerates = host.pressure, host.room, task.vector, task.tolerates
    task.cores = cores
    for i in range(RESOURCES):
        pressure[i] += int(vector[i]) * cores
        room[i] = min(room[i], room_of(tolerates[i], vector[i], cores, capacity))


def part(w: SimulatedWorld, number: int, place: int) -> None:
    """A job is on a server no more."""
    host, task = w.hosts[place], w.tasks[number]
    pressure, vector = host.pressure, task.vector
    for i in range(RESOURCES):
        pressure[i] -= int(vector[i]) * task.cores
    if bears_least((vector, task.tolerates), host.room, task.cores, (w.control.kinds[host.kind].cores, 0)):
        host.stale = 1


def _measure_room(w: SimulatedWorld, place: int) -> None:
    """What the tenants of a server bear, anew."""
    host = w.hosts[place]
    room, capacity = host.room, w.control.kinds[host.kind].cores
    host.stale = 0
    for i in range(RESOURCES):
        room[i] = UNTOUCHED
    tenant = w.control.servers[place].first
    while tenant >= 0:
        job, task = w.control.jobs[tenant], w.tasks[tenant]
        vector, tolerates = task.vector, task.tolerates
        for i in range(RESOURCES):
            room[i] = min(room[i], room_of(tolerates[i], vector[i], job.cores, capacity))
        tenant = job.next


def is_calm(w: SimulatedWorld, place: int, load: float) -> bool:
    """Whether no tenant of a server suffers at this load of the neighbours; at any, where nobody is sensitive."""
    if w.cloud.batch_sensitivity == 0.0 and w.cloud.service_sensitivity == 0.0:
        return True
    if _has_room(w, place, load):
        return True
    if w.hosts[place].stale == 0:
        return False
    _measure_room(w, place)
    return _has_room(w, place, load)


def _has_room(w: SimulatedWorld, place: int, load: float) -> bool:
    host = w.hosts[place]
    capacity, external = w.control.kinds[host.kind].cores, w.behaviours[host.kind].external
    pressure, room = host.pressure, host.room
    for i in range(RESOURCES):  # noqa: SIM110  (compiled kernels know no generators)
        if pressure[i] + load * external[i] * capacity > room[i]:
            return False
    return True


def pressing(w: SimulatedWorld, place: int, load: float) -> int:
    """In how many resources some tenant of a server may suffer; which ones, in their order, is in ``tally.scratch``."""
    host, scratch, found = w.hosts[place], w.tally.scratch, 0
    capacity, external = w.control.kinds[host.kind].cores, w.behaviours[host.kind].external
    pressure, room = host.pressure, host.room
    for i in range(RESOURCES):
        if pressure[i] + load * external[i] * capacity + _CLOSE > room[i]:
            scratch[found] = i
            found += 1
    return found


def suffered(w: SimulatedWorld, number: int, place: int, load: float, found: int) -> float:
    """Points of pressure beyond what a job tolerates on its server, summed over the first so many resources of
    ``tally.scratch``: it suffers of no other."""
    host, cores = w.hosts[place], w.control.jobs[number].cores
    capacity, external = w.control.kinds[host.kind].cores, w.behaviours[host.kind].external
    pressure, vector, tolerates = host.pressure, w.tasks[number].vector, w.tasks[number].tolerates
    total = 0.0
    for at in range(found):
        i = w.tally.scratch[at]
        others = (pressure[i] - int(vector[i]) * cores) / capacity
        total += max(0.0, others + load * external[i] - tolerates[i])
    return total


def _slowed(sensitivity: float, excess: float) -> float:
    """How many times as long the same takes at points of excess pressure; most jobs suffer of none, and wait for no
    division."""
    return 1.0 + sensitivity * excess / 100.0 if excess > 0.0 else 1.0


def batch_rate(cloud: CloudParameters, excess: float, slowness: float, share: float) -> float:
    """Work done a second, in seconds of isolation, at ``share`` times the vCPUs needed; at most 1."""
    slowdown = min(_slowed(cloud.batch_sensitivity, excess), cloud.worst_slowdown) * slowness
    return min(1.0, share / slowdown)


def rate_of(cloud: CloudParameters, service: int, slow: tuple[float, float, float]) -> float:
    """The most that a job could do of what it is to do, at points of excess pressure, a slowness of its server and a
    share of the vCPUs needed: beyond 1 where it has more than it needs."""
    excess, slowness, share = slow
    if service:
        return share / (_slowed(cloud.service_sensitivity, excess) * slowness)
    return share / (min(_slowed(cloud.batch_sensitivity, excess), cloud.worst_slowdown) * slowness)


def service_tail(cloud: CloudParameters, excess: float, slowness: float, share: float) -> float:
    """Tail latency relative to isolation: a queue whose utilisation rises with interference; at least 1."""
    busy = cloud.service_load * _slowed(cloud.service_sensitivity, excess) * slowness / share
    if busy >= 1.0:
        return cloud.worst_tail
    return min(max((1.0 - cloud.service_load) / (1.0 - busy), 1.0), cloud.worst_tail)


def quality_of(w: SimulatedWorld, number: int, now: float) -> tuple[int, int]:
    """The quality a probe measures: one minus the encoded contention of neighbours and tenants (Tarcil eq. 7.4).

    Before its first job begins an instance has neighbours only, whoever waits for it to start.
    """
    server = w.control.servers[number]
    shared = server.tenants > 1 and w.hosts[number].uses > 0
    capacity, load = w.control.kinds[server.kind].cores, neighbours(w, w.hosts[number], now)
    felt, pressure, external = w.tally.scratch, w.hosts[number].pressure, w.behaviours[server.kind].external
    for i in range(RESOURCES):
        tenants = pressure[i] / capacity if shared else 0.0
        felt[i] = int(tenants + load * external[i])
    high, low = encode(felt)
    return complement(high, low)

"""What neighbours do to a job, and what quality an instance has left (thesis §8.2.2; the formulas are ours)."""

from __future__ import annotations

import math

from hcloud.control.state import Job
from hcloud.policy.placement import RESOURCES
from hcloud.policy.quality import complement, encode
from hcloud.policy.records import Reals
from hcloud.sim.world import Cloud, Host, World

_TURN = 2.0 * math.pi


def neighbours(w: World, host: Host, now: float) -> float:
    """The load of the other slices of the host, this instance's own factor included: a slow wave around the mean."""
    level = w.cloud.mean_load
    if w.behaviours[host.kind].varies:
        level += w.cloud.amplitude * math.sin(_TURN * (now / w.cloud.period + host.phase))
    return level * host.spread


def at_quantile(values: Reals, share: float) -> float:
    """The value of a quantile function given at even steps of probability, linear in between."""
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    value: float = values[low] + (values[low + 1] - values[low]) * (place - low)
    return value


def is_calm(w: World, number: int, load: float) -> bool:
    """Whether no tenant of a server suffers at this load of the neighbours."""
    server = w.control.servers[number]
    capacity = w.control.kinds[server.kind].cores
    slack = w.control.rules.tolerance * capacity
    pressure, room, external = server.pressure, server.room, w.behaviours[server.kind].external
    for i in range(RESOURCES):  # noqa: SIM110  (compiled kernels know no generators)
        if pressure[i] + load * external[i] * capacity > room[i] - slack:
            return False
    return True


def suffered(w: World, job: Job, number: int, load: float) -> float:
    """Points of pressure beyond what a job tolerates, summed over the resources."""
    server = w.control.servers[number]
    capacity = w.control.kinds[server.kind].cores
    weight = capacity if w.control.rules.full_pressure else job.cores
    pressure, vector, external = server.pressure, job.vector, w.behaviours[server.kind].external
    total = 0.0
    for i in range(RESOURCES):
        others = (pressure[i] - vector[i] * weight) / capacity
        total += max(0.0, others + load * external[i] - (99 - vector[i]))
    return total


def batch_rate(cloud: Cloud, excess: float, slowness: float, share: float) -> float:
    """Work done a second, in seconds of isolation, at ``share`` times the vCPUs needed; at most 1."""
    slowdown = min(1.0 + cloud.batch_sensitivity * excess / 100.0, cloud.worst_slowdown) * slowness
    return min(1.0, share / slowdown)


def service_tail(cloud: Cloud, excess: float, slowness: float, share: float) -> float:
    """Tail latency relative to isolation: a queue whose utilisation rises with interference; at least 1."""
    busy = cloud.service_load * (1.0 + cloud.service_sensitivity * excess / 100.0) * slowness / share
    if busy >= 1.0:
        return cloud.worst_tail
    return min(max((1.0 - cloud.service_load) / (1.0 - busy), 1.0), cloud.worst_tail)


def quality_of(w: World, number: int, now: float) -> tuple[int, int]:
    """The quality a probe measures: one minus the encoded contention of neighbours and tenants (Tarcil eq. 7.4)."""
    server = w.control.servers[number]
    capacity, load = w.control.kinds[server.kind].cores, neighbours(w, w.hosts[number], now)
    felt, external = w.tally.scratch, w.behaviours[server.kind].external
    for i in range(RESOURCES):
        tenants = server.pressure[i] / capacity if server.tenants > 1 else 0.0
        felt[i] = int(tenants + load * external[i])
    high, low = encode(felt)
    return complement(high, low)

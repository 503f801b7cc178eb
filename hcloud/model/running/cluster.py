"""A cluster of servers of several types as a document states it, and what its capacity counts in dollars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from hcloud.model.catalog import Provider


@dataclass(frozen=True, slots=True)
class ServerType:
    """One type of the servers of a cluster, and how many there are."""

    name: str
    vcpus: int
    memory_gib: Decimal
    servers: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """The servers of a cluster by type; ``sold_by`` is the provider and the region that sell such types today, None
    where nobody does. ``source`` is where the counts are from."""

    name: str
    title: str
    source: str
    types: tuple[ServerType, ...]
    sold_by: tuple[Provider, str] | None = None

    @property
    def vcpus(self) -> int:
        """Of all servers."""
        return sum(t.vcpus * t.servers for t in self.types)

    @property
    def servers(self) -> int:
        """How many there are."""
        return sum(t.servers for t in self.types)

    @property
    def largest(self) -> ServerType:
        """The type with the most vCPUs, of those the one with the most memory."""
        return max(self.types, key=lambda t: (t.vcpus, t.memory_gib, t.name))

    @property
    def gib_per_vcpu(self) -> float:
        """What the servers with the least memory for a vCPU have."""
        return min(float(t.memory_gib) / t.vcpus for t in self.types)


@dataclass(frozen=True, slots=True)
class CapacityPrice:
    """What a server that nobody sells counts: dollars for a vCPU-hour and for a GiB-hour, and whose figures these
    are, of which day."""

    vcpu_hourly: Decimal
    gib_hourly: Decimal
    source: str
    day: date

    def hourly(self, server: ServerType) -> Decimal:
        """Dollars an hour of one server."""
        return self.vcpu_hourly * server.vcpus + self.gib_hourly * server.memory_gib


@dataclass(frozen=True, slots=True)
class ClusterBook:
    """The clusters that are known by name, and the price of capacity that has none."""

    clusters: Mapping[str, Cluster]
    price: CapacityPrice

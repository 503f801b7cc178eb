"""The servers whose idle capacity is harvested, with the groups that each is in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

RESERVED = "reserved"
MARKETS = (RESERVED, "on-demand", "spot")
GROUPS = ("tenant", "environment", "function", "rack", "zone", "instance_type", "market")


@dataclass(frozen=True)
class ServerGroup:
    """One way to group servers: the names, and of each server the index of its own."""

    names: tuple[str, ...]
    of: NDArray[np.int64]


@dataclass(frozen=True)
class Servers:
    """A row a server: name, vCPUs, GiB of memory and of disk that may be harvested, and the groups by their names in
    :data:`GROUPS`. ``file`` is where they were read."""

    file: str
    names: tuple[str, ...]
    cores: Floats
    memory: Floats
    space: Floats
    groups: dict[str, ServerGroup]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def row(self) -> dict[str, int]:
        """The row of each server."""
        return {name: row for row, name in enumerate(self.names)}

    @property
    def tenants(self) -> ServerGroup:
        """Which tenant owns each server."""
        return self.groups["tenant"]

    @cached_property
    def on_reserved(self) -> NDArray[np.bool_]:
        """Which servers are reserved; none where no market is stated."""
        market = self.groups.get("market")
        if market is None:
            return np.zeros(len(self), np.bool_)
        reserved: NDArray[np.bool_] = np.array([name == RESERVED for name in market.names])[market.of]
        return reserved

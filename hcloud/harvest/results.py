"""What verbs of harvesting found, with what was read for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hcloud.harvest.classes import UseTypes
from hcloud.harvest.histories import TenantHistories
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.servers import Servers
from hcloud.model.workload import Modelled


@dataclass(frozen=True, slots=True)
class OpenedUse:
    """Histories on one grid; what was repaired, left out and assumed while they were read; and tenants of the servers
    that have no history."""

    name: str
    histories: TenantHistories
    policy: HarvestPolicy
    servers: Servers | None = None
    repaired: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    modelled: tuple[Modelled, ...] = ()
    without_history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TypedUse:
    """The types of all tenants, and what was read."""

    opened: OpenedUse
    types: UseTypes

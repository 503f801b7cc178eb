"""What runs in a scope, group by group, and how it differs from what is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import Machine
from hcloud.model.holdings.state import LockInfo, State


@dataclass(frozen=True, slots=True)
class MachineDrift:
    """One difference: the machine, its place in the plan, and what is different."""

    id: str
    address: str
    what: str


@dataclass(frozen=True, slots=True)
class MachineGroup:
    """Machines of one address, type, zone and state, with their dollars an hour (None: no price is known)."""

    address: str
    instance_type: str
    zone: str
    state: str
    count: int
    hourly: Decimal | None


@dataclass(frozen=True, slots=True)
class CountOffPlan:
    """How many machines run at an address where the plan that was applied last wants another number; those that a cloud
    does not tell of count, as they do for a plan."""

    address: str
    running: int
    planned: int


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """What stands in a scope; ``hourly`` leaves out types without a known price. ``planned_until`` is the day up to
    which the plan needs what it rents at every hour; None where none of that runs. ``off_plan`` is nothing, too, where
    no plan is remembered. ``beside`` are machines of this project that no plan launched."""

    observed: Observed
    stored: State
    groups: tuple[MachineGroup, ...]
    hourly: Decimal
    drift: tuple[MachineDrift, ...]
    holder: LockInfo | None
    planned_until: date | None = None
    off_plan: tuple[CountOffPlan, ...] = ()
    beside: tuple[Machine, ...] = ()

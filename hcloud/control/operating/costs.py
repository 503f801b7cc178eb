"""What a machine of live work costs, and how long it is charged for."""

from __future__ import annotations

from decimal import Decimal

from hcloud.catalog.quote import billed_seconds
from hcloud.control.operating.records import ADDRESS, MachineRecord
from hcloud.model.catalog import BillingRule
from hcloud.model.report import MachineRental
from hcloud.units import SECONDS_PER_HOUR


def rental_of(machine: MachineRecord) -> MachineRental | None:
    """What a machine is charged for; None for one that its cloud never had."""
    if machine.launched is None:
        return None
    end = None if machine.ended is None else int(machine.ended)
    where = (machine.type_name, machine.zone, machine.option)
    return MachineRental(machine.id, ADDRESS, *where, int(machine.launched), end, machine.end_is_told)


def lasted(machine: MachineRecord, until: float) -> float:
    """Seconds from its launch to ``until``."""
    return 0.0 if machine.launched is None else max(until - machine.launched, 0.0)


def cost_of(machine: MachineRecord, now: float) -> Decimal:
    """Dollars for a machine until ``now`` or its end: its price an hour times the whole seconds that are charged."""
    if machine.hourly is None or machine.launched is None:
        return Decimal(0)
    until = machine.ended if machine.ended is not None else now
    seconds = max(int(until) - int(machine.launched), 0)
    return machine.hourly * billed_seconds(seconds, BillingRule(1, machine.least_seconds)) / SECONDS_PER_HOUR

"""How what stands differs from what is remembered of it: what people or the cloud changed behind hcloud's back."""

from __future__ import annotations

from collections.abc import Iterator

from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import TAG_ADDRESS, TAG_KEY, TAG_LINEAGE, Machine
from hcloud.model.holdings.standing import MachineDrift
from hcloud.model.holdings.state import OwnedMachine, State


def drift(stored: State, observed: Observed) -> tuple[MachineDrift, ...]:
    """Every difference between the state as it is stored and what the cloud tells, by id."""
    told = {m.id: m for m in observed.machines}
    found = [d for record in stored.records for d in _of_record(record, told.get(record.id), stored)]
    known = {record.id for record in stored.records}
    keys = {intent.order.key for intent in observed.open if intent.order is not None}
    for machine in observed.machines:
        if machine.id not in known and machine.state.is_live and machine.lineage == stored.lineage:
            why = "is from an order with an unknown outcome" if machine.key in keys else "is not in the state"
            found.append(MachineDrift(machine.id, machine.address, why))
    return tuple(sorted(found, key=lambda d: (d.id, d.what)))


def _of_record(record: OwnedMachine, machine: Machine | None, state: State) -> Iterator[MachineDrift]:
    def say(what: str) -> MachineDrift:
        return MachineDrift(record.id, record.address, what)

    if machine is None:
        if not record.ending:
            yield say("is missing from the listing")
        return
    if not machine.state.is_live:
        if not record.ending:
            yield say(f"is {machine.state}, not by hcloud")
        return
    if machine.instance_type != record.instance_type:
        yield say(f"is a {machine.instance_type}, not a {record.instance_type}")
    if record.ending:
        yield say("was asked to terminate and is still running")
    wanted = {TAG_LINEAGE: state.lineage, TAG_ADDRESS: record.address, TAG_KEY: record.key}
    other = sorted(name for name, value in wanted.items() if machine.tags.get(name) != value)
    if other:
        yield say(f"tags were changed: {', '.join(other)}")

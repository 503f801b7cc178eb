"""The machines that count: what is remembered and what the cloud told of, brought together by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.change import Observed, Slot
from hcloud.model.holdings.live import PROTECTED_TAG, TAG_ADDRESS, TAG_KEY, TAG_LINEAGE, Machine, MachineState
from hcloud.model.holdings.standing import MachineDrift
from hcloud.model.holdings.state import Deed, Intent, OwnedMachine, State
from hcloud.units import counted

GRACE = timedelta(minutes=5)
"""How long a machine that the cloud does not tell of is still believed to be there. EC2's documentation names five
minutes as the longest that its lists may lag behind."""


def said_beside(machines: Sequence[Machine]) -> Iterator[str]:
    """A sentence for each kind of machine that no plan launched, with what shows them."""
    if working := sum(machine.is_of_live_work for machine in machines):
        yield f"{counted(working, 'machine')} of live work beside these: 'hcloud operate status'"
    if measuring := sum(machine.is_of_measurement for machine in machines):
        yield (
            f"{counted(measuring, 'machine')} of 'hcloud profile run --cloud' beside these: if that was killed, "
            "'hcloud gc' says how to terminate them"
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """A machine of ours that counts. ``machine`` is how the cloud told it, None while it does not (yet, or any more);
    ``record`` how it is remembered, None where it is not; ``remembered`` is one by its record, or by an order that is
    open."""

    id: str
    address: str
    instance_type: str
    zone: str
    option: PurchaseOption
    since: datetime
    protected: bool
    tagged: bool
    record: OwnedMachine | None
    machine: Machine | None
    remembered: bool

    @property
    def is_seen(self) -> bool:
        """Whether the cloud tells of it."""
        return self.machine is not None

    def fits(self, slot: Slot) -> bool:
        """Whether it is what a slot asks for: an allowed type in an allowed zone, rented as it should be."""
        types = {shape.instance_type for shape in slot.shapes}
        return self.instance_type in types and self.zone in slot.zones and self.option is slot.option

    def waits_too_long(self, at: datetime, limit: timedelta) -> bool:
        """Whether it has been about to start for longer than that."""
        pending = self.machine is not None and self.machine.state is MachineState.PENDING
        return pending and at - self.since > limit


def is_overdue(record: OwnedMachine, at: datetime) -> bool:
    """Whether a machine that is not told of now was missed before, and so long ago that it may be forgotten."""
    missed = record.missed_since
    return missed is not None and at - missed >= GRACE and at - record.intended >= GRACE


def being_ended(observed: Observed) -> set[str]:
    """Machines not told of whose end was noted with an unknown outcome: it is asked for again before anything else."""
    told = {m.id for m in observed.machines}
    ends = (i for i in observed.open if i.deed is Deed.TERMINATE)
    return {i for intent in ends for i in intent.ids if i not in told}


def standing(observed: Observed) -> tuple[Standing, ...]:
    """All machines of ours that count, by id: those told of that are not on their way out, and those not told of that
    may not be forgotten yet."""
    told = {m.id: m for m in observed.machines}
    recorded = {r.id for r in observed.state.records}
    over = being_ended(observed)
    kept = [r for r in observed.state.records if r.id not in over]
    found = [s for r in kept if (s := _of_record(r, told.get(r.id), observed)) is not None]
    ordered = {i.order.key for i in observed.open if i.order is not None}
    found += [
        _of_machine(m, observed.at, remembered=m.key in ordered)
        for m in observed.machines
        if m.id not in recorded and m.lineage == observed.state.lineage and m.state.is_live
    ]
    return tuple(sorted(found, key=lambda s: s.id))


def still_there(observed: Observed) -> tuple[OwnedMachine, ...]:
    """Records of machines that were asked to end and are told of as if nobody had."""
    live = {m.id for m in observed.machines if m.state.is_live}
    return tuple(r for r in observed.state.records if r.ending and r.id in live)


def _of_record(record: OwnedMachine, machine: Machine | None, observed: Observed) -> Standing | None:
    if record.ending or (machine is not None and not machine.state.is_live):
        return None
    shape = machine or record
    return Standing(
        id=record.id,
        address=record.address,
        instance_type=shape.instance_type,
        zone=shape.zone,
        option=shape.option,
        since=record.intended,
        protected=record.protected or _is_protected(machine),
        tagged=machine is not None and machine.lineage == observed.state.lineage,
        record=record,
        machine=machine,
        remembered=True,
    )


def _of_machine(machine: Machine, at: datetime, *, remembered: bool) -> Standing:
    return Standing(
        id=machine.id,
        address=machine.address,
        instance_type=machine.instance_type,
        zone=machine.zone,
        option=machine.option,
        since=machine.launched or at,
        protected=_is_protected(machine),
        tagged=True,
        record=None,
        machine=machine,
        remembered=remembered,
    )


def _is_protected(machine: Machine | None) -> bool:
    return machine is not None and PROTECTED_TAG in machine.tags


def open_launches(observed: Observed) -> Iterator[tuple[Intent, int]]:
    """Orders whose outcome is not known, each with how many of its machines are not seen."""
    seen = Counter(machine.key for machine in observed.machines) if observed.open else Counter[str]()
    for intent in observed.open:
        if intent.deed is Deed.LAUNCH and intent.order is not None:
            yield intent, max(intent.order.count - seen[intent.order.key], 0)


def drift(stored: State, observed: Observed) -> tuple[MachineDrift, ...]:
    """Every difference between the state as it is stored and what the cloud tells, by id."""
    told = {m.id: m for m in observed.machines}
    found = [d for record in stored.records for d in _drift_of(record, told.get(record.id), stored)]
    known = {record.id for record in stored.records}
    keys = {intent.order.key for intent in observed.open if intent.order is not None}
    for machine in observed.machines:
        if machine.id not in known and machine.state.is_live and machine.lineage == stored.lineage:
            why = "is from an order with an unknown outcome" if machine.key in keys else "is not in the state"
            found.append(MachineDrift(machine.id, machine.address, why))
    return tuple(sorted(found, key=lambda d: (d.id, d.what)))


def _drift_of(record: OwnedMachine, machine: Machine | None, state: State) -> Iterator[MachineDrift]:
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

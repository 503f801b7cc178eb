"""What is remembered, brought up to date: by the journal with what was done, by the cloud with what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hcloud.model.holdings.live import PROTECTED_TAG, Machine, MachineState
from hcloud.model.holdings.state import Conclusion, Deed, Intent, IntentResult, OwnedMachine, State
from hcloud.planning.changes.standing import is_overdue

Entries = Sequence[Intent | Conclusion]


def record_of(machine: Machine, intent: Intent) -> OwnedMachine:
    """How a machine of an order is remembered."""
    order = intent.order
    if order is None:
        raise ValueError(f"intent {intent.number} orders nothing")
    return OwnedMachine(
        id=machine.id,
        address=order.address,
        key=order.key,
        instance_type=machine.instance_type,
        zone=machine.zone,
        option=machine.option,
        generation=intent.generation,
        intended=intent.at,
        protected=PROTECTED_TAG in machine.tags,
        launched=machine.launched,
    )


def adopted(machine: Machine, state: State, at: datetime) -> OwnedMachine:
    """How a machine is remembered of which only its tags tell."""
    return OwnedMachine(
        id=machine.id,
        address=machine.address,
        key=machine.key,
        instance_type=machine.instance_type,
        zone=machine.zone,
        option=machine.option,
        generation=state.generation,
        intended=machine.launched or at,
        protected=PROTECTED_TAG in machine.tags,
        launched=machine.launched,
    )


def with_records(state: State, records: Iterable[OwnedMachine]) -> State:
    """The state with these records, in place of those of the same ids; sorted by id."""
    found = {r.id: r for r in state.records} | {r.id: r for r in records}
    return replace(state, records=tuple(found[i] for i in sorted(found)))


def with_endings(state: State, ids: Iterable[str], at: datetime, told: Mapping[str, datetime] | None = None) -> State:
    """The state with these machines marked as asked to end: when the cloud said, else no later than ``at``."""
    ending, told = set(ids), told or {}
    records = (_ending(r, at, told.get(r.id)) if r.id in ending else r for r in state.records)
    return replace(state, records=tuple(records))


def _ending(record: OwnedMachine, at: datetime, told: datetime | None) -> OwnedMachine:
    found = _ended_as_told(replace(record, ending=True), told)
    return replace(found, ended=found.ended or record.missed_since or at)


def _ended_as_told(record: OwnedMachine, told: datetime | None) -> OwnedMachine:
    """A record with the time of its end that a cloud tells; one from before its start is of another machine that had
    its name."""
    earlier = told is not None and record.launched is not None and told < record.launched
    return (
        record if told is None or earlier or record.ended_is_told else replace(record, ended=told, ended_is_told=True)
    )


def replayed(state: State, entries: Entries) -> State:
    """The state with everything that the journal says was done and that may not have been written to it yet."""
    intents = {e.number: e for e in entries if isinstance(e, Intent)}
    generation = max([state.generation, *(i.generation for i in intents.values())])
    found = replace(state, generation=generation)
    for entry in entries:
        intent = intents.get(entry.number)
        if isinstance(entry, Intent) or intent is None:
            continue
        if intent.deed is Deed.LAUNCH and entry.result is IntentResult.DONE:
            known = {r.id for r in found.records}
            found = with_records(found, [record_of(m, intent) for m in entry.machines if m.id not in known])
        if intent.deed is Deed.TERMINATE and entry.result is IntentResult.DONE:
            found = with_endings(found, entry.ids, entry.at, entry.ended)
    return found


def unresolved(entries: Entries) -> tuple[Intent, ...]:
    """Intents without a conclusion, or with one that says that nobody knows."""
    known = {e.number: e.result for e in entries if isinstance(e, Conclusion)}
    return tuple(
        e
        for e in entries
        if isinstance(e, Intent) and known.get(e.number, IntentResult.UNKNOWN) is IntentResult.UNKNOWN
    )


def up_to_date(state: State, told: Mapping[str, Machine], at: datetime) -> State:
    """The state after the cloud was asked, by tag and by id, what it tells of each record.

    An ended machine is forgotten, and so is one whose end the cloud agreed to and of which nothing is told by tag or by
    id. Any other one of which nothing is told is remembered as missed, and forgotten when it was missed before and long
    enough ago. What is forgotten has departed, with its end: as the cloud told it, or when it was asked for, or else
    when it was first missed.
    """
    kept = {r.id: _kept(r, told.get(r.id), at) for r in state.records}
    departed = (_departed(r, told.get(r.id), at) for r in state.records if kept[r.id] is None)
    records = tuple(r for r in kept.values() if r is not None)
    return replace(state, records=records, departed=(*state.departed, *departed))


def _departed(record: OwnedMachine, machine: Machine | None, at: datetime) -> OwnedMachine:
    record = _timed(record, machine)
    return record if record.ended is not None else replace(record, ended=record.missed_since or at)


def _timed(record: OwnedMachine, machine: Machine | None) -> OwnedMachine:
    """A record with the times that the cloud tells of its machine."""
    if machine is None:
        return record
    if record.launched is None and machine.launched is not None:
        record = replace(record, launched=machine.launched)
    return _ended_as_told(record, machine.ended)


def _kept(record: OwnedMachine, machine: Machine | None, at: datetime) -> OwnedMachine | None:
    if machine is None:
        if record.ending or is_overdue(record, at):
            return None
        return replace(record, missed_since=record.missed_since or at)
    if machine.state is MachineState.ENDED:
        return None
    stopping = machine.state is MachineState.STOPPING
    protected = record.protected or PROTECTED_TAG in machine.tags
    ending = record.ending or stopping
    if (record.missed_since, record.ending, record.protected) != (None, ending, protected):
        record = replace(record, missed_since=None, ending=ending, protected=protected)
    return _timed(record, machine)

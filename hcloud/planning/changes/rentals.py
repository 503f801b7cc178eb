"""What was rented from when to when, derived from the records that a state gains and loses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from hcloud.model.holdings.live import TAG_LINEAGE, TAG_PROJECT, Machine
from hcloud.model.holdings.state import OwnedMachine, State
from hcloud.model.report import MachineRental


@dataclass(frozen=True, slots=True)
class RentalRecord:
    """A row of the log of rentals; ``start_is_told`` is False where ``start`` is only when it was ordered."""

    usage: MachineRental
    start_is_told: bool = True

    @property
    def identity(self) -> tuple[str, int]:
        """What sets it apart: a cloud may give an id again to another machine."""
        return self.usage.resource, self.usage.start


Rentals = Mapping[tuple[str, int], RentalRecord]


def fresh(known: Rentals, state: State) -> Iterator[RentalRecord]:
    """What the log does not say yet of the machines that a state holds, and of those that departed from it.

    The same state twice, or the state of before a crash again, adds nothing that it would not say anyway.
    """
    tags = {TAG_LINEAGE: state.lineage, TAG_PROJECT: state.project}
    for record in (*state.departed, *state.records):
        rental = _rental(record, tags)
        if known.get(rental.identity) != rental:
            yield rental


def folded(rentals: Iterable[RentalRecord]) -> dict[tuple[str, int], RentalRecord]:
    """What a log says: the last row of a machine counts, and a start that is told replaces one that was not."""
    found: dict[tuple[str, int], RentalRecord] = {}
    unsure: dict[str, tuple[str, int]] = {}
    for rental in rentals:
        if (before := unsure.pop(rental.usage.resource, None)) is not None:
            del found[before]
        if not rental.start_is_told:
            unsure[rental.usage.resource] = rental.identity
        found[rental.identity] = rental
    return found


def running(known: Rentals, lineage: str) -> tuple[MachineRental, ...]:
    """The rentals of a state that have no end yet."""
    return tuple(u for u in usages(known) if u.end is None and u.tags.get(TAG_LINEAGE) == lineage)


def departed(usage: MachineRental, machine: Machine | None, at: datetime) -> OwnedMachine:
    """How a rental is ended that no record is about: when the cloud says, else now."""
    start = datetime.fromtimestamp(usage.start, UTC)
    told = machine.ended if machine is not None else None
    place = (usage.resource, usage.address, "", usage.instance_type, usage.zone, usage.option)
    return OwnedMachine(*place, 0, start, launched=start, ended=told or at, ended_is_told=told is not None)


def usages(known: Rentals) -> tuple[MachineRental, ...]:
    """All rentals, by id and start."""
    return tuple(known[i].usage for i in sorted(known))


def _rental(record: OwnedMachine, tags: Mapping[str, str]) -> RentalRecord:
    start = int((record.launched or record.intended).timestamp())
    end = None if record.ended is None else max(int(record.ended.timestamp()), start)
    told = record.ended is None or record.ended_is_told
    place = (record.id, record.address, record.instance_type, record.zone, record.option)
    return RentalRecord(MachineRental(*place, start, end, told, dict(tags)), record.launched is not None)

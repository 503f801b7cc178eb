"""The instances of a live controller by their numbers for people: when those that are kept go, what commands change in
them, and which of them an agent proposes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from hcloud.control.sessions.decode import decided
from hcloud.control.state import INTERRUPTIBLE, OWN
from hcloud.control.tables import ControlTables
from hcloud.model.running.decision import Decided
from hcloud.model.running.event import Arrival, EventError, Known
from hcloud.policy import codes
from hcloud.policy.facts import DecisionFacts, DecodedCommand, Setup
from hcloud.policy.records import column


@dataclass(slots=True)
class Instance:
    """A server by its number for people, which is never used again: its slot, type, payment, and when it was
    launched."""

    slot: int
    kind: int
    paid: int
    launched: float


class BookImage(NamedTuple):
    """All that an :class:`InstanceBook` holds: each instance's number with its slot, type, payment and launch, the
    number in each slot, the next number, and the deadlines."""

    instances: list[tuple[int, tuple[int, int, int, float]]]
    numbers: list[int]
    next_number: int
    deadlines: list[tuple[float, int]]


class InstanceBook:
    """Instances by number; the reserved ones come first, in the order of their slots."""

    def __init__(self, reserve: Sequence[int]) -> None:
        self.instances = {slot: Instance(slot, kind, OWN, 0.0) for slot, kind in enumerate(reserve)}
        self._numbers = list(self.instances)  # of the instance in each slot
        self._next = len(self._numbers)
        self._deadlines: list[tuple[float, int]] = []

    def add(self, instance: Instance) -> None:
        """Number a new instance."""
        self.instances[self._next] = instance
        self._numbers += [-1] * (instance.slot + 1 - len(self._numbers))
        self._numbers[instance.slot] = self._next
        self._next += 1

    def number(self, slot: int) -> int:
        """The number of the instance in a slot."""
        return self._numbers[slot]

    def named(self, number: int) -> Instance:
        """An instance by its number; raises EventError where there is none."""
        instance = self.instances.get(number)
        if instance is None:
            raise EventError(f"there is no instance {number}")
        return instance

    def keep(self, number: int, until: float) -> None:
        """An idle instance is kept until then."""
        heappush(self._deadlines, (until, number))

    @property
    def deadline(self) -> float:
        """When the next of those that are kept goes; it may be in use by then, or gone."""
        return self._deadlines[0][0] if self._deadlines else math.inf

    def due(self) -> Instance | None:
        """The instance of the next deadline, which is then forgotten."""
        return self.instances.get(heappop(self._deadlines)[1])

    def image(self) -> BookImage:
        """All that is in the book."""
        rows = [(number, (i.slot, i.kind, i.paid, i.launched)) for number, i in self.instances.items()]
        return BookImage(rows, self._numbers, self._next, self._deadlines)

    def adopt(self, image: BookImage) -> None:
        """Hold what an image holds."""
        self.instances = {number: Instance(*values) for number, values in image.instances}
        self._numbers, self._next = list(image.numbers), image.next_number
        self._deadlines = [(at, number) for at, number in image.deadlines]


class Order(NamedTuple):
    """A command: what, on the server in which slot (-1: none), the action, reason and margin behind it, and the job
    that it is about; of a launch also the type and how that is paid for."""

    what: int
    slot: int
    action: int
    reason: int
    margin: float
    job: str | None
    type: int = -1
    paid: int = -1


def booked(setup: Setup, book: InstanceBook, order: Order, facts: DecisionFacts, said: str = "") -> Decided:
    """Book what an order changes; the fields of the decision that it is. ``said`` is about a release."""
    what, slot, action, reason, margin, job, *_ = order
    if what == codes.LAUNCH:
        book.add(Instance(slot, order.type, order.paid, facts.at))
        wanted = _wanted(setup, action, facts)
        said = "" if job is None or wanted == order.type else setup.types[wanted].name
    elif what != codes.RELEASE:
        said = ""
    number = book.number(slot) if slot >= 0 else None
    if what == codes.RETAIN and number is not None:
        book.keep(number, margin)
    place = place_of(setup, book, what, number)
    made = decided(setup, DecodedCommand(what, action, reason, margin, job, number, place, said), facts)
    if what == codes.RELEASE and number is not None:
        del book.instances[number]
    return made


def _wanted(setup: Setup, action: int, facts: DecisionFacts) -> int:
    """The type that a job is launched where nothing keeps it from that."""
    whole = setup.whole_for(facts.ask, facts.memory, facts.platform) if action == codes.LARGE else -1
    return whole if whole >= 0 else facts.kind


def place_of(setup: Setup, book: InstanceBook, what: int, number: int | None) -> str:
    """Where a command sends a job, in words."""
    if number is None:
        return "local queue" if what == codes.WAIT else "nowhere"
    instance = book.instances[number]
    if instance.paid == OWN:
        return f"reserved server {number}"
    paid = "spot" if instance.paid == INTERRUPTIBLE else "on-demand"
    return f"{paid} {setup.types[instance.kind].name}"


def proposal(
    tables: ControlTables,
    book: InstanceBook,
    propose: Callable[[int], None],
    arrival: tuple[Arrival, Known],
) -> tuple[int, ...]:
    """Instances for a job with what is known of it, the best first, each once; of a piece those for all pieces of its
    job. The tables are afterwards as before: the job has not come yet."""
    event, known = arrival
    row = tables.add(event, known)
    tables.control.desk.pieces = event.pieces
    propose(row)
    tables.control.desk.pieces = 0
    count = int(tables.control.desk.found)
    taken, servers = (column(tables.control.candidates, name)[:count] for name in ("taken", "server"))
    ranked = [slot for rank, slot in sorted(zip(taken.tolist(), servers.tolist(), strict=True)) if rank > 0]
    tables.forget(row)
    return tuple(book.number(slot) for slot in dict.fromkeys(ranked))


def put_forward(tables: ControlTables, instances: Mapping[int, Instance], ranked: Iterable[int]) -> None:
    """Have the next search look at these instances first; those that are gone by now, or not reserved, are left out."""
    known = (instances.get(number) for number in ranked)
    slots = [i.slot for i in known if i is not None and i.paid == OWN][: len(tables.control.candidates)]
    column(tables.control.candidates, "server")[: len(slots)] = np.array(slots, np.int64)
    tables.control.desk.proposed = len(slots)

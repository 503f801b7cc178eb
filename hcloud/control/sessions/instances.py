"""The instances of a live controller by their numbers for people, and when those that are kept go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from hcloud.control.state import OWN
from hcloud.model.running.event import EventError


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

"""How busy the machines of a fake cloud are: figures that a test knows, and that monitoring tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hcloud.fake.ledger import Rented

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """Utilisation in percent of the machine: ``usual``, and ``busy`` from one hour of each day (UTC) to another."""

    usual: float = 50.0
    busy: float = 50.0
    from_hour: int = 0
    to_hour: int = 0

    def at(self, seconds: float) -> float:
        """The utilisation at a time."""
        hour = seconds % DAY_SECONDS / 3600
        return self.busy if self.from_hour <= hour < self.to_hour else self.usual


USUAL_LOAD = MachineLoad()


@dataclass(frozen=True, slots=True)
class LoadSamples:
    """The samples of one machine: times at the beginning of each, and the load then."""

    machine: Rented
    load: MachineLoad
    start: int
    end: int
    seconds: int

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Those in which the machine ran, the earliest first."""
        until = self.end if self.machine.asked_to_end is None else min(self.end, self.machine.asked_to_end)
        first = max(self.start, int(self.machine.made_at))
        for time in range(first - (first - self.start) % self.seconds, int(-(-until // 1)), self.seconds):
            yield time, self.load.at(time)


def billed_in(machine: Rented, start: float, end: float, now: float) -> float:
    """The hours that a machine ran between two moments."""
    until = min(end, now, now if machine.asked_to_end is None else machine.asked_to_end)
    return max(until - max(start, machine.made_at), 0.0) / 3600

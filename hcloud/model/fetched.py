"""What a cloud tells of its machines of the past: which there were, how busy they were, and what was billed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

Found = TypeVar("Found")

SampleSeries = tuple[Sequence[int], Sequence[float]]
"""The beginnings of samples in Unix seconds, in order, and the mean utilisation in each, in percent of the machine."""


class AskAgain(Protocol):
    """Makes a request, and makes it again where the cloud wants to be left alone for a while or does not answer."""

    def __call__(self, request: Callable[[], Found]) -> Found: ...


@dataclass(frozen=True, slots=True)
class MeasuredMachine:
    """A machine whose utilisation a cloud keeps. The type is empty where the cloud no longer tells it; ``vcpus`` are
    known here only where the name of the type does not say them by itself."""

    id: str
    instance_type: str
    region: str
    zone: str = ""
    os: str = ""
    tenancy: str = ""
    option: str = ""
    launched: datetime | None = None
    vcpus: float | None = None


@dataclass(frozen=True, slots=True)
class SamplingWindow:
    """From ``start`` to ``end`` in Unix seconds, in samples of ``seconds``."""

    start: int
    end: int
    seconds: int

    @property
    def samples(self) -> int:
        """How many samples a machine has that ran all the time."""
        return (self.end - self.start) // self.seconds


@dataclass(frozen=True, slots=True)
class BilledHours:
    """Hours of one type in one region that were billed for a time of an hour or a day, and what they cost."""

    region: str
    instance_type: str
    start: int
    end: int
    hours: float
    cost: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class BillingAnswer:
    """What is billed by type, or why nobody tells."""

    lines: tuple[BilledHours, ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a cloud keeps samples: their length in seconds and the days, the finest first; ``ended`` says which of
    the machines that have ended it still tells of."""

    kept: tuple[tuple[int, int], ...]
    ended: str


class MachineHistory(Protocol):
    """One account as its monitoring tells of it; all requests only read."""

    retention: Retention

    def regions(self, window: SamplingWindow) -> tuple[str, ...]:
        """The regions that the account can use, or has used in a window."""

    def machines(self, region: str, window: SamplingWindow) -> tuple[MeasuredMachine, ...]:
        """The machines of a region that can be listed or have been measured, by id."""

    def batch(self, window: SamplingWindow) -> int:
        """How many machines to ask for at once, so that an interruption loses little."""

    def samples(self, machines: Sequence[MeasuredMachine], window: SamplingWindow) -> Mapping[str, SampleSeries]:
        """The utilisation of machines of one region by id; a machine without any is left out."""

    def billed(self, window: SamplingWindow, regions: Sequence[str]) -> BillingAnswer:
        """The hours that were billed by type in these regions, where the cloud's own service tells them."""


@dataclass(frozen=True, slots=True)
class FetchedLine:
    """A machine, or what a bill has of a type beyond the machines that are known: by hour of the window the vCPUs that
    ran and, where it was measured, those in use."""

    machine: MeasuredMachine
    hours: NDArray[np.int32]
    cores: Floats
    used: Floats | None


@dataclass(slots=True)
class FetchedRows:
    """All lines, and what could not become one: types that the price book does not know, and machines whose type nobody
    tells."""

    lines: list[FetchedLine] = field(default_factory=list)
    unknown_types: set[str] = field(default_factory=set)
    unknown_hours: float = 0.0
    typeless: int = 0
    billed_hours: float = 0.0
    spend: dict[str, Decimal] = field(default_factory=dict)

    @property
    def machines(self) -> int:
        """The machines that were measured."""
        return sum(line.used is not None for line in self.lines)

    @property
    def cores(self) -> float:
        """vCPU hours that ran."""
        return sum(float(line.cores.sum()) for line in self.lines)

    @property
    def measured(self) -> float:
        """vCPU hours that ran on machines that were measured."""
        return sum(float(line.cores.sum()) for line in self.lines if line.used is not None)

    @property
    def used(self) -> float:
        """vCPU hours in use on machines that were measured."""
        return sum(float(line.used.sum()) for line in self.lines if line.used is not None)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came of a fetch; ``refused`` are the regions that were left out with the reason, ``unknown`` what the cloud
    does not tell."""

    out: Path
    regions: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    window: SamplingWindow
    rows: FetchedRows
    unknown: tuple[str, ...]

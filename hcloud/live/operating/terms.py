"""What a controller of live work is given: the world it acts in, and the terms it works under."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.wanted import SpendingLimits
from hcloud.control.ports import Clock, Crash, Engine, JobSource
from hcloud.control.sessions.session import ControlSession
from hcloud.live.harvesting.terms import HarvestTerms
from hcloud.live.operating.agents import Agents
from hcloud.live.operating.machines import Machines
from hcloud.live.operating.workers import Workers
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Machine, Owner
from hcloud.model.measured.seen import FittedVector, SeenRun
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import UNKNOWN, Event
from hcloud.model.running.job import JobOrder, ServiceTarget
from hcloud.model.running.note import Asked, CommitmentsAdvised, Note
from hcloud.planning.changes.standing import GRACE

Line = Event | Decision | Note


class LiveJournal(Protocol):
    """Where lines are kept before anything follows from them."""

    def append(self, lines: Sequence[Line]) -> None:
        """Add lines; returns when they will outlast a crash. Raises HcloudError where they will not: none of them is
        there then."""

    @property
    def is_long(self) -> bool:
        """Whether it should begin anew, or a restart would take long."""


class Teachable(Protocol):
    """What is known of applications, and outlives the work. Called by workers: each call may take seconds."""

    def refit(self, seen: SeenRun) -> FittedVector | None:
        """The estimate of an application with a run that it did not foretell; None where nothing of it can be wrong.
        Raises HcloudError for profiles that cannot be read."""

    def record(self, runs: Sequence[SeenRun]) -> None:
        """Keep what was seen, for plans. Raises HcloudError where that cannot be written."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Seconds; all are ours. ``period`` between two looks at an engine that tells nothing by itself, ``look`` between
    two looks at the cloud, ``join`` until a machine has to be ready, ``settled`` until a list of the cloud has to show
    what it made; a type that could not be launched is left alone for ``first_backoff``, doubled up to
    ``longest_backoff``; ``again`` until what an engine did not take is said to it again; ``measure`` between two looks
    at the latency of a service."""

    period: float = 1.0
    look: float = 15.0
    join: float = 600.0
    settled: float = GRACE.total_seconds()
    first_backoff: float = 15.0
    longest_backoff: float = 600.0
    again: float = 5.0
    measure: float = 10.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a controller works under, beside its policy. ``price`` is dollars an hour by type and option, ``zones``
    those of a type, ``vector`` what is estimated of a job before it runs, ``coin`` a number in 0..1 that is a job's
    own; ``replan`` what a plan of the demand until a moment would buy, made every ``replan_every`` seconds. ``follow``:
    it goes on when all known jobs are over. ``least_seconds`` of each machine are charged at least. ``harvest``: what
    runs on idle capacity. ``used``: the seconds of processors that each attempt used so far, where the engine can
    tell."""

    owner: Owner
    price: Callable[[str, PurchaseOption], Decimal]
    zones: Callable[[str], Sequence[str]]
    coin: Callable[[str], float]
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    rhythm: Rhythm = field(default_factory=Rhythm)
    vector: Callable[[JobOrder], tuple[int, ...]] = field(default=lambda order: UNKNOWN)
    probe: Callable[[int], float | None] | None = None
    measure: Callable[[ServiceTarget], float] | None = None
    known: Teachable | None = None
    replan: Callable[[float], CommitmentsAdvised] | None = None
    replan_every: float = math.inf
    follow: bool = False
    least_seconds: int = 0
    harvest: HarvestTerms | None = None
    used: Callable[[], Mapping[tuple[str, int], float]] | None = None


@dataclass(slots=True)
class Parts:
    """Everything that the loop needs of the world. ``shown`` is told the machines that the cloud has, by number;
    ``agents`` propose where jobs go (None: nobody does, the controller decides alone)."""

    engine: Engine
    source: JobSource
    machines: Machines
    journal: LiveJournal
    clock: Clock
    workers: Workers
    requests: Callable[[], Sequence[Asked]] = field(default=lambda: ())
    renew: Callable[[ControlSession, Fold], None] = field(default=lambda session, fold: None)
    shown: Callable[[Mapping[int, Machine]], None] = field(default=lambda machines: None)
    crash: Crash = field(default=lambda name: None)
    agents: Agents | None = None

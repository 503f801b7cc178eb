"""What a decision rests on: what the controller is told, what stood around a command; and how figures are said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from hcloud.model.running.event import EventError
from hcloud.policy.codes import SCALE
from hcloud.policy.rules import Rules

SHARE_OF_POOL, QUALITY, SECONDS, SHARE = "share of the pool", "quality", "s", "share"


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """A rentable type: thousandths of a vCPU, MiB, expected seconds to start, quality (0..9999) assumed of it before
    the first sample."""

    name: str
    cores: int
    memory: int
    spin_up: float
    prior: int


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a controller is told before its first event. ``whole_servers``: what is rented on demand is ``wholes``
    only. ``start`` is when its clock starts; None: with the first event. ``pool`` servers of the large type are
    reserved and ``beside`` them so many of other types (type, servers), which have no more vCPUs. ``speeds`` [row of
    jobs, type] are of 10,000; none: all types are as fast for all jobs. ``window`` are the seconds of a run that
    counted (None: all of them), which decide nothing. ``alone``: only the large type is rented whole, as journals have
    it that do not say which are."""

    strategy: str
    digest: str
    rules: Rules
    whole_servers: bool
    pool: int
    start: float | None
    types: tuple[TypeFacts, ...]
    beside: tuple[tuple[int, int], ...] = ()
    speeds: tuple[tuple[int, ...], ...] = ()
    window: tuple[float, float] | None = None
    alone: bool = field(default=False, repr=False)

    @property
    def large(self) -> TypeFacts:
        """The largest type that is reserved."""
        return self.types[self.rules.large]

    @property
    def wholes(self) -> tuple[int, ...]:
        """The types that are rented as whole servers, the cheapest first: those reserved that have as many vCPUs as the
        large one."""
        if self.alone:
            return (self.rules.large,)
        return tuple(sorted({kind for kind, _ in self.lots if self.types[kind].cores == self.large.cores}))

    def whole_for(self, ask: int, memory: int, platform: int) -> int:
        """The type of which a job is given a whole server: the cheapest that holds it (-1: none)."""
        return next((kind for kind in self.wholes if self.holds(kind, ask, memory, platform)), -1)

    def holds(self, kind: int, ask: int, memory: int, platform: int) -> bool:
        """Whether an empty server of a type holds a job that may run on it."""
        its = self.types[kind]
        return ask <= its.cores and memory <= its.memory and self.runs_on(platform, kind)

    def runs_on(self, platform: int, kind: int) -> bool:
        """Whether jobs of a row of the speeds may run on a type: they have a speed there."""
        return not self.speeds or self.speeds[platform][kind] > 0

    @property
    def lots(self) -> tuple[tuple[int, int], ...]:
        """All that is reserved: type and servers, the large one first."""
        return ((self.rules.large, self.pool), *self.beside)

    def reserved_as(self, name: str | None) -> int:
        """A reserved type by its name, the large one where none is said; EventError where none of it is reserved."""
        kinds = {None: self.rules.large} | {self.types[kind].name: kind for kind, _ in self.lots}
        if name not in kinds:
            raise EventError(f"type {name}: none of it is reserved, only {', '.join(filter(None, kinds))}")
        return kinds[name]

    @property
    def reserve(self) -> tuple[int, ...]:
        """The type of every reserved server, in the order of their slots."""
        return tuple(kind for kind, servers in self.lots for _ in range(servers))

    @property
    def reserved_cores(self) -> int:
        """Thousandths of a vCPU of all reserved servers."""
        return sum(self.types[kind].cores * servers for kind, servers in self.lots)


class DecisionFacts(NamedTuple):
    """What stood around a command: the pool before the event, the job (its row of numbers), the type that fits, and
    its row of the speeds."""

    at: float
    utilisation: float
    soft: float
    needed: int
    ask: int
    memory: int
    coin: float
    kind: int
    measured: bool
    platform: int = 0


class DecodedCommand(NamedTuple):
    """A command with names: what, the action, reason and margin behind it, and whom and what it is about; ``said`` is
    what its numbers cannot tell: why a launch failed, or the type that another one is launched for."""

    what: int
    action: int
    reason: int
    margin: float
    job: str | None
    instance: int | None
    place: str
    said: str = ""


Sentence = Callable[[Setup, DecodedCommand, DecisionFacts], str]


class Reason(NamedTuple):
    """Why a job goes somewhere: the fixed word, the unit of the margin ("": nothing was compared), and the sentence:
    text where it depends on nothing."""

    word: str
    unit: str
    sentence: Sentence | str


Missed = tuple[str, float | None, str]
"""Why an option was not taken: in words, by which margin, and its unit."""


def quality(value: float) -> str:
    """A quality 0..9999 as a share."""
    return f"{value / SCALE:.2f}"


def seconds(value: float) -> str:
    """A time as people read it."""
    return f"{value:,.1f} s".replace(".0 s", " s")


def fitting(setup: Setup, facts: DecisionFacts) -> str:
    """The type that fits a job, by name."""
    return setup.types[facts.kind].name if facts.kind >= 0 else "any type"

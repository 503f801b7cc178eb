"""An application that is to be measured: how it is started, how it shows its performance, how long may be spent."""

from __future__ import annotations

from dataclasses import dataclass, field

from hcloud.model.measured.profile import Metric
from hcloud.model.workload import JobKind

COMPLETION = Metric("completion time", "s", rising=False)
TAIL = Metric("p99 latency", "ms", rising=False)
THROUGHPUT = Metric("throughput", "req/s", rising=True)


@dataclass(frozen=True, slots=True)
class MachineShare:
    """How much of a machine the application gets; no memory stated: all there is."""

    vcpus: float = 1.0
    memory_gib: float | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """How a service shows that it serves: a port that accepts, a URL that answers, or a line that it prints."""

    port: int | None = None
    url: str | None = None
    line: str | None = None


@dataclass(frozen=True, slots=True)
class CompletionTime:
    """Performance is the time the command takes."""

    metric: Metric = COMPLETION


@dataclass(frozen=True, slots=True)
class PrintedMetric:
    """Performance is a number the command prints: the first group of the last match of a regular expression."""

    pattern: str
    metric: Metric


@dataclass(frozen=True, slots=True)
class HttpLoad:
    """Performance is what requests to a URL see, over connections that are kept open."""

    url: str
    connections: int = 4
    seconds: float = 2.0
    metric: Metric = TAIL


@dataclass(frozen=True, slots=True)
class LoadCommand:
    """Performance is a number that a command putting load on the service prints."""

    command: tuple[str, ...]
    pattern: str
    metric: Metric


Measure = CompletionTime | PrintedMetric | HttpLoad | LoadCommand


@dataclass(frozen=True, slots=True)
class ProfilingBudget:
    """What may be spent: seconds on all of it and on one run, and dollars at a price of the machine an hour."""

    seconds: float = 600.0  # ours
    run_seconds: float = 120.0  # ours
    dollars: float | None = None
    dollars_per_hour: float | None = None

    @property
    def total_seconds(self) -> float:
        """The time cap, or the time the budget buys where that is shorter."""
        if self.dollars is None or not self.dollars_per_hour:
            return self.seconds
        return min(self.seconds, self.dollars / self.dollars_per_hour * 3600)


@dataclass(frozen=True, slots=True)
class App:
    """An application to be measured; ``warm_up`` seconds (of a batch command: runs, at least one) are not counted."""

    name: str
    kind: JobKind
    command: tuple[str, ...]
    measure: Measure = field(default_factory=CompletionTime)
    shape: MachineShare = MachineShare()
    ready: Readiness | None = None
    warm_up: float = 1.0
    limits: ProfilingBudget = ProfilingBudget()

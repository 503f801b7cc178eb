"""How a plan's capacity is to be operated: the strategy chosen, what it was predicted to do, and what it beat."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Band:
    """A predicted figure: its mean over the seeds and half of its 95 % interval (None of one seed)."""

    mean: float
    half: float | None

    @property
    def low(self) -> float:
        """The lower end of the interval; the mean of one seed."""
        return self.mean - (self.half or 0.0)


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A strategy with a number of reserved instances, simulated on the trace.

    ``hourly`` is dollars an hour of work with the reserve amortised, ``monthly`` the same over a month; ``kept_qos`` is
    the share of jobs that kept 95 % of their performance, waiting included; ``batch_p5`` what all but 5 % of the batch
    jobs reach of their performance in isolation; ``tail_p95`` the tail latency of services, in multiples of isolation,
    that all but 5 % stay below; ``wait_p95`` seconds, and ``service_wait`` those that all but 1 % of the services begin
    within, and ``job_wait`` all but 5 % of all jobs. Figures that do not apply are None. ``verdict`` says why the
    point was not chosen, with the margin; it is empty for the chosen one. ``hourly_by_seed`` and ``kept_by_seed`` are
    the figures that points are compared by, seed by seed from the first on.
    """

    strategy: str
    reserve: int
    reserve_rule: str
    hourly: Decimal
    hourly_half: Decimal | None
    monthly: Decimal
    kept_qos: Band
    batch_p5: Band | None
    tail_p95: Band | None
    wait_p95: Band | None
    utilisation: Band | None
    on_front: bool = False
    verdict: str = ""
    hourly_by_seed: tuple[Decimal, ...] = ()
    kept_by_seed: tuple[float, ...] = ()
    service_wait: Band | None = None
    job_wait: Band | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """How to run what is bought: strategy, reserve and the numbers that ``hcloud decide`` works with, and every point
    that was simulated. ``budget`` is dollars a month, ``service_wait`` the seconds that all but 1 % of the services are
    to begin within; ``baseline`` is what to compare with, simulated alike: nothing reserved beside what is owned.
    ``settled`` says that no further seed could turn the choice at ``confidence``, where differences below ``alike`` (a
    part of all jobs, or of the cost) count as none; ``runs`` is how many simulations it took. ``meets_target`` is true
    also of a choice that cannot be told from one that does."""

    strategy: str
    reserve: int
    reserved_type: str
    commitment: str
    cloud: str
    seeds: tuple[int, ...]
    qos_target: float
    budget: Decimal | None
    meets_target: bool
    within_budget: bool
    soft_limit: float | None
    hard_limit: float | None
    retention_factor: float | None
    retention_seconds: float | None
    on_demand_types: tuple[str, ...]
    points: tuple[OperatingPoint, ...]
    baseline: OperatingPoint
    reasons: tuple[str, ...]
    confidence: float = 0.95
    alike: float = 0.005
    runs: int = 0
    settled: bool = True
    service_wait: int | None = None
    job_wait: int | None = None

    @property
    def is_missed(self) -> bool:
        """Whether nothing that was simulated keeps the target of quality, or the budget."""
        return not (self.meets_target and self.within_budget)

    @property
    def is_baseline(self) -> bool:
        """Whether the choice is the very point that it would be compared with."""
        return (self.baseline.strategy, self.baseline.reserve) == (self.strategy, self.reserve)

    @property
    def chosen(self) -> OperatingPoint:
        """The point that was chosen."""
        return next(p for p in self.points if not p.verdict)

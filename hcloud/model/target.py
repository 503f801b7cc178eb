"""What an application is to achieve, stated instead of a size (Quasar §3.1, §4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class GoalKind(StrEnum):
    """What is counted: requests a second within a tail, work by a deadline, the share of the best rate that one server
    reaches, or nothing: best effort takes what is left and is evicted first."""

    SERVICE = "service"
    DEADLINE = "deadline"
    RATE = "rate"
    NONE = "none"


def reached_share(share: float) -> str:
    """How much of a target is reached that is missed, in words: never nothing, where it is little."""
    return f"{share:.0%}" if share >= 0.01 else "less than 1%"


@dataclass(frozen=True, slots=True)
class JobTarget:
    """A target as one value: ``amount`` requests a second within ``limit`` ms, ``amount`` of work within ``limit``
    seconds, or ``amount`` as the share of the best rate.

    ``own_ms`` is the tail of a request when no other one waits (0: not stated), ``per_run`` how many requests or units
    of work one run of the profile is. ``linear`` states that n servers do n times the work of one.
    """

    kind: GoalKind
    amount: float = 0.0
    limit: float = 0.0
    own_ms: float = 0.0
    per_run: float = 1.0
    linear: bool = False

    @property
    def rate(self) -> float:
        """What has to be done a second; of a rate target the share."""
        return self.amount / self.limit if self.kind is GoalKind.DEADLINE else self.amount

    def __str__(self) -> str:
        """As a row of a workload states it."""
        match self.kind:
            case GoalKind.SERVICE:
                told = f"qps={self.amount:.12g} tail_ms={self.limit:.12g}"
            case GoalKind.DEADLINE:
                told = f"deadline={self.limit:.12g}s work={self.amount:.12g}"
            case GoalKind.RATE:
                return f"rate={self.amount:.12g}"
            case _:
                return GoalKind.NONE.value
        told += f" own_ms={self.own_ms:.12g}" if self.own_ms else ""
        told += f" per_run={self.per_run:.12g}" if self.per_run != 1 else ""
        return told + (" scale_out=linear" if self.linear else "")

    @property
    def kept_share(self) -> float:
        """The share of its throughput that a server can serve within the tail.

        A queue whose utilisation is u has a tail of own / (1 - u) (M/M/1, whose waits are exponential; ours), so u is 1
        less the service's own tail over the one that is allowed.
        """
        if self.kind is not GoalKind.SERVICE or not self.own_ms:
            return 1.0
        return max(1.0 - self.own_ms / self.limit, 0.0)

    @property
    def most_servers(self) -> int | None:
        """How many servers it may use; None: any number."""
        return 1 if self.kind is GoalKind.RATE else None


@dataclass(frozen=True, slots=True)
class TargetedSize:
    """A target of a workload's jobs and, where their application is known, what it takes: vCPUs and GiB on each server,
    and how much of what is needed these do together (above 1 where sizes are whole, below where no more can be had).
    ``beside`` is the share of their sum, relative to that of these servers, that one, two, three ... do of which the
    first is one of these (empty: all of it). ``whole_runs`` is the work that is done by the deadline where servers do
    not share a run, if that is less than the target's (None: it is not).
    """

    target: JobTarget
    parts: tuple[tuple[float, float], ...] = ()
    reached: float = 1.0
    beside: tuple[float, ...] = ()
    whole_runs: float | None = None

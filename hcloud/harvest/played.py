"""What became of batch that asked for idle capacity beside a simulated run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServicesBeside:
    """Services of a run with idle hours and of the same without: those that ran on rented machines, and those that
    waited in the queue of the reserve."""

    rented: int
    queued: int
    rented_without: int
    queued_without: int

    @property
    def harms(self) -> bool:
        """Whether more of them wait, or run on demand."""
        return self.queued > self.queued_without or self.rented > self.rented_without


@dataclass(frozen=True, slots=True)
class PlayedBatch:
    """Of the jobs of batch in one run: those that ended in idle hours (with the vCPU-hours of these), those that no
    class had room for, those that moved to machines, those that need more quality than idle hours have. Of those that
    ended there how many times as long as alone they took; tasks killed, the share of the work in idle hours that was
    lost by that (``quality`` is what is left), the seconds that those that moved had lost in the mean, and for how
    many seconds at most a reserve was broken. ``tick`` is how often servers are looked at, in seconds."""

    jobs: int
    ended: int
    vcpu_hours: float
    no_class: int
    moved: int
    too_sensitive: int
    times_alone: float
    kills: int
    lost: float
    slipped: float
    longest_broken: float
    tick: int
    rounds: int = 0
    settled: bool = True
    spread: float = 0.0
    beside: ServicesBeside | None = None
    withheld: str = ""

    @property
    def quality(self) -> float:
        """What kills leave of the work in idle hours: no job that needs more stays there."""
        return 1.0 - self.lost

"""How long a run may still go on, and what is raised when that is over."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from hcloud.profiling.place import TrialError

OUT_OF_TIME, MORE_TIME = "the time that may be spent is used up", "--time-cap allows more time"


class OutOfTimeError(TrialError):
    """The time or money that may be spent is used up."""


@dataclass(slots=True)
class TimeBudget:
    """How long a run may still go on."""

    ends: float
    run_seconds: float

    @classmethod
    def start(cls, seconds: float, run_seconds: float) -> TimeBudget:
        """A clock that runs out after so many seconds."""
        return cls(time.monotonic() + seconds, run_seconds)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.ends - time.monotonic()

    def share(self, parts: int) -> TimeBudget:
        """A clock that runs out after one of so many equal parts of what is left."""
        return replace(self, ends=time.monotonic() + max(self.left, 0.0) / parts)

    def patience(self) -> float:
        """How long one run may take from now."""
        if self.left <= 0:
            raise OutOfTimeError(OUT_OF_TIME, hint=MORE_TIME)
        return min(self.run_seconds, self.left)

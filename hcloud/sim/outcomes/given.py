"""What jobs were given of what they need, and how close they came to what they are to achieve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.policy.records import Reals
from hcloud.policy.registry import sizing_of
from hcloud.sim.run import RunOutcome
from hcloud.units import SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True)
class SizingMeasures:
    """How much jobs were given: vCPU-hours allocated, and those of them that jobs use (no more than they need);
    performance against the target (or against that at the size a job needs) of all jobs that ended, waiting included:
    its mean and what 5 % of jobs fall below."""

    allocated: float
    used: float
    mean: float
    p5: float

    @property
    def used_share(self) -> float:
        """The part of what is allocated that is used."""
        return self.used / self.allocated if self.allocated else 1.0


def sizing_measures(outcome: RunOutcome, performance: Reals) -> SizingMeasures | None:
    """The figures of a run whose strategy states a sizing, else None; ``performance`` of each job relative to
    isolation at the size it needs (NaN: it did not end)."""
    if sizing_of(outcome.setting.strategy) is None:
        return None
    tasks, told = outcome.tasks, np.minimum(performance[~np.isnan(performance)], 1.0)
    hours = tasks.work / SECONDS_PER_HOUR / 1000
    return SizingMeasures(
        float((tasks.ask * hours).sum()),
        float((np.minimum(tasks.ask, tasks.need) * hours).sum()),
        float(told.mean()) if len(told) else float("nan"),
        float(np.quantile(told, 0.05)) if len(told) else float("nan"),
    )

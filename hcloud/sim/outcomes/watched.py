"""What jobs had and used of capacity while they ran, what changed of them, what was seen of that and done about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.policy.records import Reals, column
from hcloud.policy.registry import sizing_of
from hcloud.sim.run import RunOutcome
from hcloud.units import SECONDS_PER_HOUR

_MILLI_HOURS = 3_600_000.0
_COUNTED = (
    *("measured", "enlarged", "shrunk", "moved", "isolated", "yielded", "phases", "hurt", "found", "late", "alarms"),
    *("lagged", "overtook", "added", "dropped", "resized", "apart", "shut"),
)
"""What the engine counts under the same name."""


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


@dataclass(frozen=True, slots=True)
class WatchMeasures(SizingMeasures):
    """vCPU-hours that jobs had while they ran, and those of them that they needed; performance against the target of
    jobs that ended, waiting included: its mean and what 5 % fall below. How often a job was ``measured`` anew, got more
    of its server (``enlarged``) or less (``shrunk``), ``moved``, moved to make room (``isolated``), or yielded as best
    effort; ``phases`` that began, those that brought a job below its target (``hurt``), those that were ``found``
    before they did (or did not) and those found ``late``; and ``alarms``: a job was taken to be of another kind, and
    was in no phase that nobody had found: what was known of it was wrong. Pieces of jobs that ``lagged`` behind the
    others, those begun ``again`` elsewhere, second runs that ended first (``overtook``) and the seconds by which they
    did (``gained``). Servers that services got beside their first (``added``) and gave back (``dropped``). Jobs
    that were given what others of their application were measured to need (``resized``), and those measured on an empty
    server (``apart``). How often a server was closed to others for the sake of a job (``shut``).
    ``watched``: whether anybody looked."""

    measured: int
    enlarged: int
    shrunk: int
    moved: int
    isolated: int
    yielded: int
    phases: int
    hurt: int
    found: int
    late: int
    alarms: int
    watched: bool
    lagged: int
    again: int
    overtook: int
    gained: float
    added: int = 0
    dropped: int = 0
    resized: int = 0
    apart: int = 0
    shut: int = 0


def watch_measures(outcome: RunOutcome, performance: Reals) -> WatchMeasures:
    """The figures of a run; ``performance`` of each job relative to isolation at the size it needs (NaN: it did not
    end)."""
    world, (mean, p5) = outcome.world, _mean_and_p5(performance)
    tally, usage = world.tally, outcome.of_tasks("usage")
    used = np.minimum(usage, outcome.of_tasks("need") * outcome.of_tasks("ran"))
    if len(world.watches):
        used = column(world.watches, "used")[: len(used)]
    return WatchMeasures(
        allocated=float(column(world.tasks, "usage").sum()) / _MILLI_HOURS,
        used=float(used.sum()) / _MILLI_HOURS,
        mean=mean,
        p5=p5,
        watched=bool(world.control.rules.watching),
        again=int(tally.copies),
        gained=float(tally.gained),
        **{name: int(getattr(tally, name)) for name in _COUNTED},
    )


def sizing_measures(outcome: RunOutcome, performance: Reals) -> SizingMeasures | None:
    """The figures of a run whose strategy states a sizing, else None; ``performance`` of each job relative to
    isolation at the size it needs (NaN: it did not end)."""
    if sizing_of(outcome.setting.strategy) is None:
        return None
    tasks = outcome.tasks
    hours = tasks.work / SECONDS_PER_HOUR / 1000
    return SizingMeasures(
        float((tasks.ask * hours).sum()),
        float((np.minimum(tasks.ask, tasks.need) * hours).sum()),
        *_mean_and_p5(performance),
    )


def _mean_and_p5(performance: Reals) -> tuple[float, float]:
    """Of the jobs that ended (NaN: it did not), none of which counts as above its target."""
    told = np.minimum(performance[~np.isnan(performance)], 1.0)
    return (float(told.mean()), float(np.quantile(told, 0.05))) if len(told) else (float("nan"), float("nan"))

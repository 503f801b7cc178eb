"""What is shown of jobs that wait for the reserve in several queues."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from hcloud.sim.outcomes.admitted import FEW_RELEASES, ClassMeasures
from hcloud.sim.outcomes.comparison import StrategyComparison
from hcloud.sim.outcomes.measure import Measures
from hcloud.units import counted


def admission_lines(comparison: StrategyComparison) -> Iterator[tuple[str, Callable[[Measures], float], int]]:
    """What tells ways of waiting apart, where one of them has several queues."""
    if not any(_classes(c.runs[0]) for c in comparison.strategies):
        return
    yield "waiting over run time, %", lambda m: 100 * m.admitted.waiting if m.admitted else math.nan, 2
    yield "kept 95% without waits, %", lambda m: 100 * m.admitted.kept_running if m.admitted else math.nan, 1
    yield "diverted up", lambda m: _figure(m, "up"), 0
    yield "diverted down", lambda m: _figure(m, "down"), 0
    yield "window over", lambda m: _figure(m, "late"), 0


def admission_notes(run: Measures) -> Iterator[str]:
    """How much a window can do, and who never waits."""
    told = _classes(run)
    if told is None:
        return
    if told.classes > 1:
        fewer = "; with fewer classes, jobs would wait less (queueing.classes)" if told.releases < FEW_RELEASES else ""
        yield f"{told.releases:.1f} servers become free per pool and window{fewer}"
    if told.never:
        jobs = counted(told.never, "job")
        yield f"{jobs} of {run.jobs:,} never wait, because their window is zero or less"


def _classes(run: Measures) -> ClassMeasures | None:
    return run.admitted.classes if run.admitted else None


def _figure(run: Measures, name: str) -> float:
    told = _classes(run)
    return math.nan if told is None else float(getattr(told, name))

"""What is shown of jobs that wait for each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from hcloud.units import counted

if TYPE_CHECKING:
    from hcloud.sim.outcomes.comparison import StrategyComparison
    from hcloud.sim.outcomes.measure import Measures

_LINES = (
    ("workflows kept 95%, %", "kept", 100, 1),
    ("workflow p50, s", "p50", 1, 3),
    ("workflow p95, s", "p95", 1, 3),
    ("workflow p99, s", "p99", 1, 3),
)


def workflow_lines(comparison: StrategyComparison) -> Iterator[tuple[str, Callable[[Measures], float], int]]:
    """How long jobs that wait for each other took together, where some do."""
    if any(c.runs[0].workflows for c in comparison.strategies):
        for label, figure, factor, digits in _LINES:
            yield label, lambda m, name=figure, by=factor: by * _of(m, name), digits  # type: ignore[misc]


def workflow_warnings(run: Measures) -> Iterator[str]:
    """Jobs that never came."""
    if run.workflows and run.workflows.never:
        yield f"{counted(run.workflows.never, 'job')} never came, because a job that they wait for did not end"


def _of(run: Measures, figure: str) -> float:
    return getattr(run.workflows, figure) if run.workflows else math.nan

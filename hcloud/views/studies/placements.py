"""What a comparison says of placements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hcloud.sim.outcomes.comparison import StrategyComparison
    from hcloud.sim.outcomes.measure import Measures


def placement_lines(comparison: StrategyComparison) -> Iterator[tuple[str, Callable[[Measures], float], int]]:
    """What tells placements apart, where others than the greedy one are compared: jobs by how long they take, how many
    servers were looked at, and how good the choice was."""
    firsts = [c.runs[0].placed for c in comparison.strategies]
    if not any(p is not None and p.looks for p in firsts):
        return
    names = dict.fromkeys(d.name for p in firsts if p is not None for d in p.classes)
    for name in names if len(names) > 1 else ():
        yield f"kept, {name}, %", lambda m, name=name: 100 * _of_class(m, name), 1  # type: ignore[misc]
    yield "kept 90%, %", lambda m: 100 * m.placed.kept_90 if m.placed else math.nan, 1
    yield "response p50, s", lambda m: m.service.completion.p50, 3
    yield "response p95, s", lambda m: m.service.completion.p95, 3
    yield "response p99, s", lambda m: m.service.completion.p99, 3
    if any(p is not None and p.decision_p99 for p in firsts):
        yield "decided after p50, ms", lambda m: 1000 * m.placed.decision_p50 if m.placed else math.nan, 1
        yield "decided after p99, ms", lambda m: 1000 * m.placed.decision_p99 if m.placed else math.nan, 1
        yield "conflicts a job", lambda m: m.placed.conflicts if m.placed else math.nan, 3
    yield "looks a job", lambda m: m.placed.looks or math.nan if m.placed else math.nan, 1
    if any(p is not None and p.backtracked for p in firsts):
        yield "filters relaxed, % of jobs", lambda m: 100 * m.placed.backtracked if m.placed else math.nan, 1
    if any(p is not None and p.locally for p in firsts):
        yield "queued locally, %", lambda m: 100 * m.placed.locally if m.placed else math.nan, 1
    if any(p is not None and p.held is not None for p in firsts):
        yield "delayed at admission, %", lambda m: 100 * _held(m, "share"), 1
        yield "delay expected, s", lambda m: _held(m, "expected"), 3
        yield "actual delay, s", lambda m: _held(m, "took"), 3
    if any(p is not None and p.audit is not None for p in firsts):
        yield "rank of choice, %", lambda m: 100 * _audited(m, "mean_rank"), 1
        yield "distance from the law", lambda m: _audited(m, "distance"), 3


def _of_class(run: Measures, name: str) -> float:
    found = (d.kept for d in (run.placed.classes if run.placed else ()) if d.name == name)
    return next(found, math.nan)


def _held(run: Measures, figure: str) -> float:
    return getattr(run.placed.held, figure) if run.placed and run.placed.held else math.nan


def _audited(run: Measures, figure: str) -> float:
    return getattr(run.placed.audit, figure) if run.placed and run.placed.audit else math.nan

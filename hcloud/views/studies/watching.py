"""What is shown of jobs that are watched while they run, and of those that change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from hcloud.sim.outcomes.comparison import StrategyComparison
from hcloud.sim.outcomes.measure import Measures
from hcloud.sim.outcomes.watched import WatchMeasures

Line = tuple[str, Callable[[Measures], float], int]
_SELDOM = {
    "sized by others' measurements": "resized",
    "measured on empty servers": "apart",
    "servers closed for a while": "shut",
}
"""Figures that are shown where one of them is not zero."""


def watching_lines(comparison: StrategyComparison) -> Iterator[Line]:
    """What tells ways of watching apart, where one of the strategies watches its jobs or some of these change."""
    firsts = [c.runs[0].watching for c in comparison.strategies]
    if not any(m is not None and (m.watched or m.phases) for m in firsts):
        return
    if all(c.runs[0].sized is None for c in comparison.strategies):
        yield "performance mean, %", lambda m: 100 * _figure(m, "mean"), 1
        yield "performance p5, %", lambda m: 100 * _figure(m, "p5"), 1
    yield "vCPU-hours held", lambda m: _figure(m, "allocated"), 0
    yield "of them needed, %", lambda m: 100 * _figure(m, "used_share"), 1
    yield "waiting over run time, %", lambda m: 100 * m.admitted.waiting if m.admitted else math.nan, 2
    yield "got more", lambda m: _figure(m, "enlarged"), 0
    yield "got less", lambda m: _figure(m, "shrunk"), 0
    for title, name in _SELDOM.items():
        if any(m is not None and getattr(m, name) for m in firsts):
            yield title, lambda m, name=name: _figure(m, name), 0  # type: ignore[misc]
    if any(m is not None and m.added for m in firsts):
        yield "servers added", lambda m: _figure(m, "added"), 0
        yield "servers given back", lambda m: _figure(m, "dropped"), 0
    yield "moved", lambda m: _figure(m, "moved"), 0
    if any(m is not None and m.isolated for m in firsts):
        yield "moved for a neighbour", lambda m: _figure(m, "isolated"), 0
    if any(m is not None and m.yielded for m in firsts):
        yield "best effort evicted", lambda m: _figure(m, "yielded"), 0
    if any(m is not None and m.phases for m in firsts):
        yield "phases", lambda m: _figure(m, "phases"), 0
        yield "phases that hurt", lambda m: _figure(m, "hurt"), 0
        yield "detected before they hurt", lambda m: _figure(m, "found"), 0
        yield "detected afterwards", lambda m: _figure(m, "late"), 0
    if any(m is not None and m.lagged for m in firsts):
        yield "stragglers", lambda m: _figure(m, "lagged"), 0
        yield "restarted elsewhere", lambda m: _figure(m, "again"), 0
        yield "restarts that ended first", lambda m: _figure(m, "overtook"), 0
        yield "seconds saved by restarts", lambda m: _figure(m, "gained"), 0
    yield "false phase alarms", lambda m: _figure(m, "alarms"), 0


def _figure(run: Measures, name: str) -> float:
    told: WatchMeasures | None = run.watching
    return math.nan if told is None else float(getattr(told, name))

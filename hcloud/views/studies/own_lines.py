"""The lines of a comparison that only some strategies have: sizes, placements, workflows, queues and watched jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hcloud.sim.outcomes.comparison import StrategyComparison
from hcloud.sim.outcomes.measure import FEW_RELEASES, Measures
from hcloud.units import counted

Line = tuple[str, Callable[[Measures], float], int]
"""What a figure is called, how a run has it, and its decimals."""
_SELDOM = {
    "sized by others' measurements": "resized",
    "measured on empty servers": "apart",
    "servers closed for a while": "shut",
}
"""Figures of watched jobs that are shown where one of them is not zero."""


def _line(label: str, part: str, figure: str, digits: int = 0, factor: float = 1) -> Line:
    """A figure of a part of the measures (``placed.held``: of a part of a part); of runs without it none."""
    return label, partial(_figure, part, figure, factor), digits


def _figure(part: str, figure: str, factor: float, run: Measures) -> float:
    found: Any = run
    for name in part.split("."):
        if (found := getattr(found, name)) is None:
            return math.nan
    return factor * float(getattr(found, figure))


def own_lines(comparison: StrategyComparison) -> list[Line]:
    """All of them, each once, in their order."""
    parts = (_sizing, _placements, workflow_lines, _admission, _watching)
    return list({line[0]: line for part in parts for line in part(comparison)}.values())


def _sizing(comparison: StrategyComparison) -> Iterator[Line]:
    """What tells rules of sizing apart, where a strategy states one."""
    if any(c.runs[0].sized for c in comparison.strategies):
        yield _line("performance mean, %", "sized", "mean", 1, 100)
        yield _line("performance p5, %", "sized", "p5", 1, 100)
        yield _line("vCPU-hours allocated", "sized", "allocated")
        yield _line("of them used, %", "sized", "used_share", 1, 100)


def _placements(comparison: StrategyComparison) -> Iterator[Line]:
    """What tells placements apart, where others than the greedy one are compared: jobs by how long they take, how many
    servers were looked at, and how good the choice was."""
    firsts = [p for c in comparison.strategies if (p := c.runs[0].placed) is not None]
    if not any(p.looks for p in firsts):
        return
    names = dict.fromkeys(d.name for p in firsts for d in p.classes)
    for name in names if len(names) > 1 else ():
        yield f"kept, {name}, %", partial(_kept_of_class, name), 1
    yield _line("kept 90%, %", "placed", "kept_90", 1, 100)
    yield from (_line(f"response {level}, s", "service.completion", level, 3) for level in ("p50", "p95", "p99"))
    if any(p.decision_p99 for p in firsts):
        yield _line("decided after p50, ms", "placed", "decision_p50", 1, 1000)
        yield _line("decided after p99, ms", "placed", "decision_p99", 1, 1000)
        yield _line("conflicts a job", "placed", "conflicts", 3)
    yield "looks a job", lambda m: m.placed.looks or math.nan if m.placed else math.nan, 1
    if any(p.backtracked for p in firsts):
        yield _line("filters relaxed, % of jobs", "placed", "backtracked", 1, 100)
    if any(p.locally for p in firsts):
        yield _line("queued locally, %", "placed", "locally", 1, 100)
    if any(p.held is not None for p in firsts):
        yield _line("delayed at admission, %", "placed.held", "share", 1, 100)
        yield _line("delay expected, s", "placed.held", "expected", 3)
        yield _line("actual delay, s", "placed.held", "took", 3)
    if any(p.audit is not None for p in firsts):
        yield _line("rank of choice, %", "placed.audit", "mean_rank", 1, 100)
        yield _line("distance from the law", "placed.audit", "distance", 3)


def _kept_of_class(name: str, run: Measures) -> float:
    found = (d.kept for d in (run.placed.classes if run.placed else ()) if d.name == name)
    return 100 * next(found, math.nan)


def workflow_lines(comparison: StrategyComparison) -> Iterator[Line]:
    """How long jobs that wait for each other took together, where some do."""
    if any(c.runs[0].workflows for c in comparison.strategies):
        yield _line("workflows kept 95%, %", "workflows", "kept", 1, 100)
        yield from (_line(f"workflow {level}, s", "workflows", level, 3) for level in ("p50", "p95", "p99"))


def workflow_warnings(run: Measures) -> Iterator[str]:
    """Jobs that never came."""
    if run.workflows and run.workflows.never:
        yield f"{counted(run.workflows.never, 'job')} never came, because a job that they wait for did not end"


def _admission(comparison: StrategyComparison) -> Iterator[Line]:
    """What tells ways of waiting apart, where one of them has several queues."""
    if any(c.runs[0].admitted and c.runs[0].admitted.classes for c in comparison.strategies):
        yield _line("waiting over run time, %", "admitted", "waiting", 2, 100)
        yield _line("kept 95% without waits, %", "admitted", "kept_running", 1, 100)
        yield _line("diverted up", "admitted.classes", "up")
        yield _line("diverted down", "admitted.classes", "down")
        yield _line("window over", "admitted.classes", "late")


def admission_notes(run: Measures) -> Iterator[str]:
    """How much a window can do, and who never waits."""
    told = run.admitted.classes if run.admitted else None
    if told is None:
        return
    if told.classes > 1:
        fewer = "; with fewer classes, jobs would wait less (queueing.classes)" if told.releases < FEW_RELEASES else ""
        yield f"{told.releases:.1f} servers become free per pool and window{fewer}"
    if told.never:
        jobs = counted(told.never, "job")
        yield f"{jobs} of {run.jobs:,} never wait, because their window is zero or less"


def _watching(comparison: StrategyComparison) -> Iterator[Line]:
    """What tells ways of watching apart, where one of the strategies watches its jobs or some of these change."""
    firsts = [m for c in comparison.strategies if (m := c.runs[0].watching) is not None]
    if not any(m.watched or m.phases for m in firsts):
        return
    if all(c.runs[0].sized is None for c in comparison.strategies):
        yield _line("performance mean, %", "watching", "mean", 1, 100)
        yield _line("performance p5, %", "watching", "p5", 1, 100)
    yield _line("vCPU-hours held", "watching", "allocated")
    yield _line("of them needed, %", "watching", "used_share", 1, 100)
    yield _line("waiting over run time, %", "admitted", "waiting", 2, 100)
    yield _line("got more", "watching", "enlarged")
    yield _line("got less", "watching", "shrunk")
    for title, name in _SELDOM.items():
        if any(getattr(m, name) for m in firsts):
            yield _line(title, "watching", name)
    if any(m.added for m in firsts):
        yield _line("servers added", "watching", "added")
        yield _line("servers given back", "watching", "dropped")
    yield _line("moved", "watching", "moved")
    if any(m.isolated for m in firsts):
        yield _line("moved for a neighbour", "watching", "isolated")
    if any(m.yielded for m in firsts):
        yield _line("best effort evicted", "watching", "yielded")
    if any(m.phases for m in firsts):
        yield _line("phases", "watching", "phases")
        yield _line("phases that hurt", "watching", "hurt")
        yield _line("detected before they hurt", "watching", "found")
        yield _line("detected afterwards", "watching", "late")
    if any(m.lagged for m in firsts):
        yield _line("stragglers", "watching", "lagged")
        yield _line("restarted elsewhere", "watching", "again")
        yield _line("restarts that ended first", "watching", "overtook")
        yield _line("seconds saved by restarts", "watching", "gained")
    yield _line("false phase alarms", "watching", "alarms")

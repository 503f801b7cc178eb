"""What happened over the time of a run: demand, machines, queue and decisions, step by step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hcloud.model.running.decision import Decision, DecisionAction, Entry
from hcloud.model.running.event import Arrival, Cancelled, Completion, Failed
from hcloud.model.running.note import Note
from hcloud.model.workload import DATES_FROM
from hcloud.policy.records import Reals

STEPS, BARS = 288, 26
"""Ours: of a day steps of five minutes; at most so many bars, of a round time each."""
DAY = 86_400.0
_ROUND = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
RESERVED, RENTED, QUEUED, RELEASED, REPAIRED = (
    "to a reserved machine",
    "to a rented machine",
    "queued",
    "machine released",
    "moved or enlarged",
)
_OWN = "reserved server"


@dataclass(frozen=True, slots=True)
class MachineSpan:
    """A machine from its start to its end, in seconds."""

    start: float
    end: float
    vcpus: float
    reserved: bool


@dataclass(frozen=True, slots=True)
class WorkCourse:
    """Means of each step from ``start`` (seconds since 1970, or of the trace): vCPUs that jobs asked for, vCPUs of
    reserved and of rented machines, and jobs in the queue; and how many decisions of each kind fell into each bar
    of so many seconds. What is read ``by_clock`` is about a day of dated time: its bars begin at whole hours."""

    start: float
    step: float
    demand: Reals
    reserved: Reals
    rented: Reals
    queue: Reals
    bar: float
    first_bar: float
    by_clock: bool
    decisions: dict[str, list[int]]


@dataclass(slots=True)
class _Spans:
    """Spans of time with a weight each."""

    values: list[tuple[float, float, float]] = field(default_factory=list)
    open: dict[str, tuple[float, float]] = field(default_factory=dict)

    def begin(self, name: str, at: float, weight: float) -> None:
        self.open.setdefault(name, (at, weight))

    def end(self, name: str, at: float) -> None:
        begun = self.open.pop(name, None)
        if begun is not None:
            self.values.append((begun[0], at, begun[1]))

    def means(self, edges: Reals) -> Reals:
        """The mean weight within each step."""
        found = np.zeros(len(edges) - 1)
        for start, end, weight in self.values:
            first, last = (int(np.searchsorted(edges, at, "right")) - 1 for at in (start, end))
            for at in range(max(first, 0), min(last + 1, len(found))):
                found[at] += weight * max(min(end, edges[at + 1]) - max(start, edges[at]), 0.0)
        return found / np.diff(edges)


def course_of(lines: Iterable[Entry | Note], machines: Sequence[MachineSpan]) -> WorkCourse:
    """The course of a run from its events and decisions, and the machines that it had."""
    demand, queue, made = _Spans(), _Spans(), list[tuple[float, str]]()
    start, last = math.inf, -math.inf
    for line in lines:
        start, last = min(start, line.at), max(last, line.at)
        if isinstance(line, Arrival):
            demand.begin(line.job, line.at, line.ask / 1000)
        elif isinstance(line, Completion | Failed | Cancelled):
            demand.end(line.job, line.at)
            queue.end(line.job, line.at)
        elif isinstance(line, Decision):
            _decided(line, demand, queue)
            if kind := _kind(line):
                made.append((line.at, kind))
    start, last = (start, max(last, start + 1.0)) if math.isfinite(start) else (0.0, 1.0)
    for spans in (demand, queue):
        for name in list(spans.open):
            spans.end(name, last)
    return _summed(start, last, (demand, queue), machines, made)


def _summed(
    start: float,
    last: float,
    jobs: tuple[_Spans, _Spans],
    machines: Sequence[MachineSpan],
    made: Sequence[tuple[float, str]],
) -> WorkCourse:
    edges = np.linspace(start, last, STEPS + 1)
    bar = _round_time((last - start) / (BARS - 1))
    by_clock = start >= DATES_FROM and DAY / 4 <= last - start <= 2 * DAY
    first = start // bar * bar if by_clock else start
    own, other = (_Spans([(m.start, m.end, m.vcpus) for m in machines if m.reserved == r]) for r in (True, False))
    bars = int((last - first) // bar) + 1
    counts: dict[str, list[int]] = {kind: [0] * bars for kind in (RESERVED, RENTED, QUEUED, RELEASED, REPAIRED)}
    for at, kind in made:
        counts[kind][int((at - first) // bar)] += 1
    return WorkCourse(
        start,
        (last - start) / STEPS,
        jobs[0].means(edges),
        own.means(edges),
        other.means(edges),
        jobs[1].means(edges),
        bar,
        first,
        by_clock,
        {kind: numbers for kind, numbers in counts.items() if any(numbers)},
    )


def _round_time(least: float) -> float:
    """The next round time that is not shorter: of seconds, minutes, hours, or days."""
    return float(next((t for t in _ROUND if t >= least), math.ceil(least / _ROUND[-1]) * _ROUND[-1]))


def _decided(decision: Decision, demand: _Spans, queue: _Spans) -> None:
    if decision.job is None:
        return
    if decision.action is DecisionAction.QUEUE:
        queue.begin(decision.job, decision.at, 1.0)
    elif decision.action in (DecisionAction.PLACE, DecisionAction.LAUNCH):
        queue.end(decision.job, decision.at)
    elif decision.action in (DecisionAction.END, DecisionAction.REFUSE):
        demand.end(decision.job, decision.at)
        queue.end(decision.job, decision.at)


def _kind(decision: Decision) -> str:
    """What a decision is counted as; empty for what follows from another one."""
    if decision.action in (DecisionAction.PLACE, DecisionAction.LAUNCH) and decision.job is not None:
        return RESERVED if decision.place.startswith(_OWN) else RENTED
    return {
        DecisionAction.QUEUE: QUEUED,
        DecisionAction.RELEASE: RELEASED,
        DecisionAction.MOVE: REPAIRED,
        DecisionAction.ENLARGE: REPAIRED,
        DecisionAction.SHRINK: REPAIRED,
        DecisionAction.ADD: REPAIRED,
        DecisionAction.DROP: REPAIRED,
    }.get(decision.action, "")

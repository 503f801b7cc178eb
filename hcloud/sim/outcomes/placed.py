"""What a placement did: performance by how long jobs are, how many servers it looked at, and how good a choice was."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hcloud.policy.placing.promise import AuditedDecision, distance, distance_of_values
from hcloud.policy.records import Reals, column
from hcloud.sim.run import RunOutcome

_BOUNDS = (0.0, 1.0, 10.0, math.inf)
DURATIONS = ("under 1 s", "1 to 10 s", "10 s and more")
"""What classes of duration are called, the shortest first."""
_NINE_TENTHS = 0.9
_UNIT = 1000
"""Thousandths of a vCPU of a resource unit."""


@dataclass(frozen=True, slots=True)
class DurationClass:
    """Jobs that take so long in isolation: how many, the share that came within 5 % of that, waiting included, and
    their mean performance."""

    name: str
    jobs: int
    kept: float
    mean: float


@dataclass(frozen=True, slots=True)
class Audit:
    """Choices of a server, each ranked among all that had room: how many, the mean rank (1: the best), and for a
    placement that samples the distance of ranks from the law of the best of so many (0: as it says). By ``reading``
    value, ranks are where a server's quality lies between the worst and the best of them."""

    choices: int
    mean_rank: float
    distance: float
    reading: str = "ranks"


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Jobs that were delayed at admission: their ``share`` of all, for how many seconds on average that was
    ``expected``, and how long it ``took`` on average until those began that did (NaN without any)."""

    share: float
    expected: float
    took: float


@dataclass(frozen=True, slots=True)
class PlacementMeasures:
    """What a placement did: seconds from a job's submission until it was decided on (half and 99 % of them took no
    longer), candidates a decision that another agent took in the meantime (``conflicts``), servers looked at a job,
    jobs by how long they take, the audit where one was made, whether one vCPU's candidates are as many as the
    reserve has vCPUs, so that a sample is a look at all; the share of jobs that waited at servers (``locally``), and
    those that were ``held`` back where the rules do that. Performance of all jobs that ended, its mean and what 5 %
    fall below, and the share of jobs that kept 90 %; decisions a job in which filters were relaxed
    (``backtracked``)."""

    decision_p50: float
    decision_p99: float
    conflicts: float
    looks: float
    classes: tuple[DurationClass, ...]
    audit: Audit | None
    draws_all: bool
    locally: float
    held: HeldBack | None
    mean: float = math.nan
    p5: float = math.nan
    kept_90: float = 0.0
    backtracked: float = 0.0


def placement_measures(outcome: RunOutcome, performance: Reals) -> PlacementMeasures:
    """The figures of a run; ``performance`` of each job relative to isolation (NaN: it did not end), a service's being
    one over its tail."""
    tasks, jobs = outcome.tasks, max(len(outcome.tasks), 1)
    decided = outcome.of_tasks("decided")
    taken = (decided - outcome.submit)[decided >= 0]
    told = performance[~np.isnan(performance)]
    p50, p99 = np.quantile(taken, (0.5, 0.99)).tolist() if len(taken) else (0.0, 0.0)
    return PlacementMeasures(
        p50,
        p99,
        float(outcome.world.control.desk.conflicts) / jobs,
        float(outcome.world.control.desk.looks) / jobs,
        tuple(_classes(outcome.tasks.work, performance)),
        _audited(outcome) if outcome.setting.audit else None,
        0 < outcome.setting.reserved_cores <= outcome.world.control.rules.candidates * _UNIT,
        float(outcome.of_tasks("locally").sum()) / jobs,
        _held_back(outcome) if outcome.world.control.rules.buckets else None,
        float(told.mean()) if len(told) else math.nan,
        float(np.quantile(told, 0.05)) if len(told) else math.nan,
        float((performance >= _NINE_TENTHS).sum()) / max(len(tasks) - int(outcome.world.tally.cancelled), 1),
        float(outcome.world.control.desk.backtracked) / jobs,
    )


def _held_back(outcome: RunOutcome) -> HeldBack:
    expected, took = outcome.of_tasks("held"), outcome.of_tasks("queued")
    held = expected >= 0
    began = took[held & (took >= 0)]
    told = float(expected[held].mean()) if held.any() else math.nan
    return HeldBack(float(held.mean()), told, float(began.mean()) if len(began) else math.nan)


def _classes(work: Reals, performance: Reals) -> list[DurationClass]:
    made = []
    for name, low, high in zip(DURATIONS, _BOUNDS, _BOUNDS[1:], strict=False):
        values = performance[(work >= low) & (work < high) & ~np.isnan(performance)]
        if len(values):
            made.append(DurationClass(name, len(values), float((values >= 0.95).mean()), float(values.mean())))
    return made


def _audited(outcome: RunOutcome) -> Audit | None:
    """None where the placement ranks nothing."""
    rows, count = outcome.world.control.audits, int(outcome.world.control.desk.audited)
    if not count:
        return None
    better, alike, among, draws = (column(rows, n)[:count] for n in ("better", "alike", "among", "candidates"))
    if outcome.world.control.rules.value_reading:
        values = column(rows, "value")[:count]
        return Audit(count, float(values.mean()), distance_of_values(values.tolist(), draws.tolist()), "value")
    rank = 1 - (better + (alike - 1) / 2) / np.maximum(among - 1, 1)
    told = zip(better.tolist(), among.tolist(), draws.tolist(), alike.tolist(), strict=True)
    apart = distance(AuditedDecision(b, n, d, alike=a) for b, n, d, a in told) if draws.all() else math.nan
    return Audit(count, float(rank.mean()), apart)

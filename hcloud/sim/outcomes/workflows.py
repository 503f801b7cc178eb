"""Workflows: jobs that wait for each other, directly or through others, from the first submission to the last end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hcloud.policy.records import Ints, Reals, column
from hcloud.sim.run import RunOutcome

_QOS = 0.95


@dataclass(frozen=True, slots=True)
class WorkflowMeasures:
    """Workflows of a run that were submitted within its window: how many, the share that took at most 1/0.95 of what
    they would take if no job waited or was slowed down, that ratio's ``mean`` over those that ended, and the seconds
    that they took. Of all jobs, those that ``never`` came because one that they wait for did not end."""

    workflows: int
    kept: float
    mean: float
    p50: float
    p95: float
    p99: float
    never: int


def workflow_measures(outcome: RunOutcome) -> WorkflowMeasures | None:
    """The figures of a run; None where no job waits for another."""
    tasks = outcome.tasks
    if not len(outcome.world.stages) or tasks.after is None:
        return None
    joined = np.unique(tasks.after)
    place = np.full(len(tasks), -1, np.int64)
    place[joined] = np.arange(len(joined))
    of = connected(place[tasks.after], len(joined))
    ended = np.asarray(outcome.of_tasks("ended"), np.float64)[joined]
    begins = _least(tasks.submit[joined], of)
    ideal = _most((tasks.submit + tasks.work)[joined], of) - begins
    taken = _most(np.where(ended < 0, math.inf, ended), of) - begins
    since, until = outcome.setting.window or (-math.inf, math.inf)
    counted = (begins >= since) & (begins <= until)
    performance, done = (ideal / taken)[counted], taken[counted & np.isfinite(taken)]
    p50, p95, p99 = np.quantile(done, (0.5, 0.95, 0.99)).tolist() if len(done) else [math.nan] * 3
    return WorkflowMeasures(
        len(performance),
        float((performance >= _QOS).mean()) if len(performance) else math.nan,
        float(performance[performance > 0].mean()) if len(done) else math.nan,
        p50,
        p95,
        p99,
        int((column(outcome.world.stages, "void") > 0).sum()),
    )


def connected(pairs: Ints, count: int) -> Ints:
    """Of each of so many the number of the group that pairs join it to, from 0."""
    group = np.arange(count)
    while True:
        before = group.copy()
        least = np.minimum(group[pairs[:, 0]], group[pairs[:, 1]])
        for side in (0, 1):
            np.minimum.at(group, group[pairs[:, side]], least)
            np.minimum.at(group, pairs[:, side], least)
        while not np.array_equal(group, group[group]):
            group = group[group]
        if np.array_equal(group, before):
            made: Ints = np.unique(group, return_inverse=True)[1].astype(np.int64)
            return made


def _least(values: Reals, of: Ints) -> Reals:
    made = np.full(int(of.max(initial=-1)) + 1, math.inf)
    np.minimum.at(made, of, values)
    return made


def _most(values: Reals, of: Ints) -> Reals:
    return -_least(-values, of)

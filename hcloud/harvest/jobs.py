"""How long jobs of batch are, by their last runs: what each kind may rely on differs (OSDI'16 §4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.harvest.classes import UseTypes
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.typing import PATTERNS, Pattern
from hcloud.model.workload import Jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


class Length(StrEnum):
    """How long a job is beside the others: a short one may have what is free now, a long one what the peak leaves."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


LENGTHS = tuple(Length)
PREFERRED = {
    Length.LONG: (Pattern.CONSTANT, Pattern.PERIODIC, Pattern.UNPREDICTABLE),
    Length.MEDIUM: (Pattern.PERIODIC, Pattern.CONSTANT, Pattern.UNPREDICTABLE),
    Length.SHORT: (Pattern.UNPREDICTABLE, Pattern.PERIODIC, Pattern.CONSTANT),
}
"""The patterns of use that jobs of each length take first: what lasts is left to those that need it (§4.1)."""


def weights_of(patterns: Sequence[Pattern], policy: HarvestPolicy) -> Floats:
    """Of each length and class the weight of its pattern."""
    ranked = (policy.first_weight, policy.second_weight, policy.third_weight)
    by_length = {length: dict(zip(PREFERRED[length], ranked, strict=True)) for length in Length}
    return np.array([[by_length[length][p] for p in patterns] for length in LENGTHS], np.float64)


class Thresholds(NamedTuple):
    """Seconds: a job above ``long`` is long, one of at most ``short`` is short."""

    short: float
    long: float


def expected_seconds(jobs: Jobs) -> Floats:
    """What is expected of each job's duration: the last run of its application; NaN for the first run of one, of which
    nothing is known. A job without an application is taken for one that has run before as long as it does now."""
    expected = jobs.duration.astype(np.float64)
    order = np.lexsort((jobs.submit, jobs.app))
    rows = order[jobs.app[order] >= 0]
    if len(rows):
        same = jobs.app[rows[1:]] == jobs.app[rows[:-1]]
        expected[rows] = np.nan
        expected[rows[1:][same]] = jobs.duration[rows[:-1][same]]
    return expected


def thresholds(types: UseTypes, policy: HarvestPolicy, seconds: Floats, work: Floats) -> Thresholds:
    """Where short and long begin: such that the short jobs are the share of all work (vCPU-seconds) that the idle
    capacity of unpredictable use is of all idle capacity, and the long ones that of constant use. Keys that are not 0
    state them instead."""
    idle = dict.fromkeys(PATTERNS, 0.0)
    for one in types.classes:
        idle[one.pattern] += one.cores * max(1.0 - policy.reserve_cores - one.mean, 0.0)
    whole = sum(idle.values())
    order = np.argsort(seconds, kind="stable")
    share = np.cumsum(work[order]) / work.sum()

    def at(reached: float) -> float:
        return float(seconds[order[min(int(np.searchsorted(share, reached)), len(order) - 1)]])

    tuned = whole > 0 and len(order) > 0
    short = at(idle[Pattern.UNPREDICTABLE] / whole) if tuned else 0.0
    long = at(1.0 - idle[Pattern.CONSTANT] / whole) if tuned else 0.0
    short, long = policy.short_below or short, policy.long_above or long
    return Thresholds(min(short, long), max(short, long))


def lengths_of(jobs: Jobs, types: UseTypes, policy: HarvestPolicy) -> tuple[NDArray[np.int64], Thresholds]:
    """The length of each job by what is expected of it, and where short ends and long begins; for these a job of which
    nothing is known counts as the median."""
    seconds = expected_seconds(jobs)
    known = np.where(np.isnan(seconds), np.nanmedian(seconds) if not np.isnan(seconds).all() else 0.0, seconds)
    bounds = thresholds(types, policy, known, jobs.cores * jobs.duration)
    return lengths(seconds, bounds), bounds


def lengths(seconds: Floats, at: Thresholds) -> NDArray[np.int64]:
    """The length of each job, as index of :data:`LENGTHS`; a job of which nothing is known is medium."""
    found = np.full(len(seconds), LENGTHS.index(Length.MEDIUM), np.int64)
    found[seconds <= at.short] = LENGTHS.index(Length.SHORT)
    found[seconds > at.long] = LENGTHS.index(Length.LONG)
    return found

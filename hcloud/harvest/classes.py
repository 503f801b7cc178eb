"""Tenants of like use as classes, what each has to spare, and how far a month predicted the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.harvest.histories import TenantHistories
from hcloud.harvest.kmeans import best_clustered, clustered
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.typing import PATTERNS, Pattern, Typed, typed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

HOURS = 24
_AT_ONCE = 64
"""Tenants whose use is in memory as wide numbers at a time."""


@dataclass(frozen=True, slots=True)
class UseClass:
    """A class: its tenants (rows of the histories), servers and vCPUs, its mean use, its peak and its use in the last
    hour, its mean use in each hour of the day (UTC), and the vCPUs that short, medium and long jobs may have."""

    name: str
    pattern: Pattern
    members: tuple[int, ...]
    servers: int
    cores: float
    mean: float
    peak: float
    now: float
    hourly: tuple[float, ...]
    short: float
    medium: float
    long: float


@dataclass(frozen=True, slots=True)
class Trust:
    """Of two windows that follow one another, how long each is and the share of tenants that have the same type in
    both."""

    days: int
    alike: float


@dataclass(frozen=True, slots=True)
class UseTypes:
    """Every tenant's pattern and class; ``days`` were looked at. Without ``trust`` the history is too short for two
    windows."""

    histories: TenantHistories
    days: int
    typed: Typed
    classes: tuple[UseClass, ...]
    label: NDArray[np.int64]
    trust: Trust | None

    def pattern_of(self, tenant: int) -> Pattern:
        """The pattern of a tenant."""
        return PATTERNS[int(self.typed.pattern[tenant])]


def use_types(histories: TenantHistories, policy: HarvestPolicy, seed: int = 0) -> UseTypes:
    """The last month of the histories by type and class."""
    days = min(histories.days, policy.month_days)
    use = histories.part(histories.days - days, days)
    found = typed(use, histories.per_day, policy)
    label = np.full(len(use), -1, np.int64)
    classes = list[UseClass]()
    for code, pattern in enumerate(PATTERNS):
        rows = np.flatnonzero(found.pattern == code)
        for members in _clusters(found.features[rows], pattern, policy, seed):
            label[rows[members]] = len(classes)
            name = f"{pattern}-{1 + sum(c.pattern is pattern for c in classes)}"
            classes.append(_class(name, pattern, rows[members], (histories, use, policy)))
    return UseTypes(histories, days, found, tuple(classes), label, _trust(histories, policy))


def _clusters(features: Floats, pattern: Pattern, policy: HarvestPolicy, seed: int) -> list[NDArray[np.intp]]:
    """The rows of each class, the least used first. They are taken in an order of their own, so that the order of the
    tenants changes no digit."""
    if not len(features):
        return []
    order = np.lexsort(features.T[::-1])
    features = features[order]
    spread = features.std(axis=0)
    points = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    points[:, :2] *= policy.level_weight
    wanted = getattr(policy, f"{pattern}_classes")
    if wanted:
        labels = clustered(points, min(wanted, len(np.unique(points, axis=0))), policy.restarts, seed).labels
    else:
        labels = best_clustered(points, policy.most_classes, policy.restarts, seed).labels
    groups = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    groups.sort(key=lambda rows: float(features[rows, 0].mean()))
    return [order[rows] for rows in groups]


def _class(
    name: str,
    pattern: Pattern,
    members: NDArray[np.intp],
    of: tuple[TenantHistories, NDArray[np.float32], HarvestPolicy],
) -> UseClass:
    histories, use, policy = of
    cores = histories.cores[members]
    weight = cores / cores.sum()
    course, peaks, lately = np.zeros(use.shape[1]), np.empty(len(members)), np.empty(len(members))
    for begin in range(0, len(members), _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        mine = use[members[some]].astype(np.float64)
        course += weight[some] @ mine
        peaks[some] = np.quantile(mine, policy.peak_quantile, axis=1)
        lately[some] = mine[:, -max(histories.per_day // HOURS, 1) :].mean(axis=1)
    peak = float(weight @ peaks)
    mean = float(course.mean())
    room = [
        float((cores * np.maximum(1.0 - policy.reserve_cores - np.maximum(level, lately), 0.0)).sum())
        for level in (0.0, mean, peak)
    ]
    return UseClass(
        name,
        pattern,
        tuple(members.tolist()),
        int(histories.servers[members].sum()),
        float(cores.sum()),
        mean,
        peak,
        float(weight @ lately),
        hourly(course, histories),
        *room,
    )


def hourly(course: Floats, histories: TenantHistories) -> tuple[float, ...]:
    """The mean of a course of whole days in each hour of the day (UTC)."""
    begins = histories.start + histories.step * (np.arange(len(course)) + 0.5)
    hour = (begins % 86_400 // 3600).astype(np.int64)
    sums, counts = np.bincount(hour, course, HOURS), np.bincount(hour, minlength=HOURS)
    return tuple((sums / np.maximum(counts, 1)).tolist())


def _trust(histories: TenantHistories, policy: HarvestPolicy) -> Trust | None:
    """The last month against the one before, or the later half against the earlier of a shorter history."""
    days = min(histories.days // 2, policy.month_days)
    if days < policy.periodic_days:
        return None
    last, before = (typed(histories.part(histories.days - n * days, days), histories.per_day, policy) for n in (1, 2))
    return Trust(days, float((last.pattern == before.pattern).mean()))

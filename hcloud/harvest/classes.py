"""Tenants of like use as classes, what each has to spare, and how far a month predicted the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.harvest.histories import TenantHistories
from hcloud.harvest.kernels.holding import VCPU, in_use, spare
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.typing import PATTERNS, Pattern, Typed, typed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Labels = NDArray[np.int64]

HOURS = 24
_ROUNDING = 1e-6
_AT_ONCE = 64
"""Tenants whose use is in memory as wide numbers at a time."""


@dataclass(frozen=True, slots=True)
class UseClass:
    """A class: its tenants (rows of the histories), servers and vCPUs, its mean use, its peak and its use in the last
    hour, its mean use in each hour of the day (UTC), and the whole vCPUs of each that short, medium and long jobs may
    have."""

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


def use_types(histories: TenantHistories, policy: HarvestPolicy, seed: int = 0, *, sized: bool = True) -> UseTypes:
    """The last month of the histories by type and class; where servers are not ``sized`` their vCPUs are unknown, and
    what is free of them is a share."""
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
            classes.append(_class(name, pattern, rows[members], (histories, use, policy), sized))
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
    sized: bool,
) -> UseClass:
    histories, use, policy = of
    cores, servers = histories.cores[members], histories.servers[members]
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
    levels = (np.maximum(level, lately) for level in (0.0, mean, peak))
    each, kept = cores / servers, policy.reserve_cores
    free = (servers * free_vcpus(each, use, kept) if sized else cores * (1.0 - kept - use) for use in levels)
    room = [float(np.maximum(vcpus, 0.0).sum()) for vcpus in free]
    return UseClass(
        name,
        pattern,
        tuple(members.tolist()),
        int(servers.sum()),
        float(cores.sum()),
        mean,
        peak,
        float(weight @ lately),
        hourly(course, histories),
        *room,
    )


def free_vcpus(vcpus: float | Floats, use: float | Floats, reserve: float) -> Floats:
    """The whole vCPUs that jobs may have of servers of so many, beside their use and the reserve: by the rule that
    servers follow when jobs run there."""
    size = np.int64(np.floor(vcpus * VCPU + _ROUNDING))
    left: Floats = spare(size, in_use(size, reserve), use, 0) // VCPU
    return np.maximum(left, 0.0)


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


_STEPS = 300
_TOLERANCE = 1e-9
_SEEN_AT_MOST = 3000
"""Points whose silhouettes are taken; of more, so many that are drawn."""


class Clusters(NamedTuple):
    """Which cluster each point is in, and the sum of squared distances to their centres."""

    labels: Labels
    inertia: float


def clustered(points: Floats, count: int, restarts: int, seed: int) -> Clusters:
    """The best of several starts. The order of points changes nothing: they are taken in an order of their own."""
    order = np.lexsort(points.T[::-1])
    ordered = points[order]
    chance = np.random.default_rng(seed)
    found = min(
        (_descended(ordered, _starts(ordered, count, chance)) for _ in range(restarts)), key=lambda c: c.inertia
    )
    labels = np.empty(len(points), np.int64)
    labels[order] = found.labels
    return Clusters(labels, found.inertia)


def best_clustered(points: Floats, most: int, restarts: int, seed: int) -> Clusters:
    """From 2 to ``most`` clusters those with the best mean silhouette; one where there are not three points that
    differ."""
    different = len(np.unique(points, axis=0))
    alone = Clusters(np.zeros(len(points), np.int64), float(((points - points.mean(axis=0)) ** 2).sum()))
    if different < 3:
        return alone
    seen = np.lexsort(points.T[::-1])
    if len(points) > _SEEN_AT_MOST:
        seen = np.sort(np.random.default_rng(seed).choice(seen, _SEEN_AT_MOST, replace=False))
    apart = np.sqrt(_squared_distances(points[seen], points[seen]))
    tried = (clustered(points, k, restarts, seed) for k in range(2, min(most, different - 1) + 1))
    return max(tried, key=lambda c: _silhouette(apart, c.labels[seen]))


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    squares: Floats = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    np.maximum(squares, 0.0, out=squares)
    return squares


def _starts(points: Floats, count: int, chance: np.random.Generator) -> Floats:
    """Centres drawn one after the other, far points more likely: of several draws the one that leaves the least."""
    tries = 2 + int(np.log(count))
    centres = [points[chance.integers(len(points))]]
    nearest = _squared_distances(points, centres[0][None])[:, 0]
    for _ in range(1, count):
        total = float(nearest.sum())
        at = np.searchsorted(np.cumsum(nearest), chance.random(tries) * total) if total > 0 else np.zeros(1, np.int64)
        at = np.minimum(at, len(points) - 1)
        left = np.minimum(nearest[:, None], _squared_distances(points, points[at]))
        best = int(left.sum(axis=0).argmin())
        centres.append(points[at[best]])
        nearest = left[:, best]
    return np.array(centres)


def _descended(points: Floats, centres: Floats) -> Clusters:
    """Lloyd's steps until nothing moves; a cluster without points takes the point that is farthest from its centre."""
    before = np.inf
    for _ in range(_STEPS):
        squares = _squared_distances(points, centres)
        labels = squares.argmin(axis=1)
        own = squares[np.arange(len(points)), labels]
        counts = np.bincount(labels, minlength=len(centres))
        for empty in np.flatnonzero(counts == 0):
            far = int(own.argmax())
            labels[far], own[far] = empty, 0.0
        inertia = float(own.sum())
        if before - inertia <= _TOLERANCE * max(inertia, 1.0):
            break
        before = inertia
        member = labels[:, None] == np.arange(len(centres))
        centres = (member.T @ points) / np.maximum(member.sum(axis=0), 1)[:, None]
    return Clusters(labels, inertia)


def _silhouette(apart: Floats, labels: Labels) -> float:
    """The mean over points of how much nearer their own cluster is than the next."""
    names, labels = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        return -1.0
    member = (labels[:, None] == np.arange(len(names))).astype(np.float64)
    counts = member.sum(axis=0)
    sums = apart @ member
    rows = np.arange(len(labels))
    own = counts[labels]
    inside = np.divide(sums[rows, labels], own - 1, out=np.zeros(len(labels)), where=own > 1)
    means = sums / counts
    means[rows, labels] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    score = np.divide(outside - inside, larger, out=np.zeros(len(labels)), where=(own > 1) & (larger > 0))
    return float(score.mean())

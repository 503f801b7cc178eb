"""k-means with seeded starts (k-means++), and the number of clusters with the best silhouette."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Labels = NDArray[np.int64]

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

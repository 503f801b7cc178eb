"""A matrix as column means, a few similarity concepts and what noise they leave (Paragon §2.1, Quasar §3.2); new rows
are folded in by ridge regression, the fixed point that the papers' gradient descent runs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.classify.matrix import Flags, Floats, Ints

ENERGY = 0.999
"""Share of the squared singular values that the concepts kept must hold (ours; the papers print no rank). At 0.99 a
second concept of a tenth of the first one's size is dropped, which costs half as much again at four and eight entries;
weak concepts do no harm, since their loadings are small and the ridge's prior is on them."""
MAX_RANK = 5
"""Concepts at most (ours)."""
LEAST_NOISE = 1e-6
"""Added to the residual variance, so that a noiseless corpus still has a prior (ours)."""
FILL_ROUNDS = 10
"""Rounds in which gaps of nearly dense rows are filled with what the concepts say of them (ours)."""
LEAST_SHARE = 0.5
"""Share of its cells a row must have to take part in the factorisation; sparser rows tell concepts little (ours)."""


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """A row is ``mean + loadings @ q + noise`` with q standard normal.

    ``mean`` (columns,), ``loadings`` (columns, rank) is V S / sqrt(rows): the papers' P of S V^T, with Q scaled to
    unit variance. ``gram`` (columns, columns) is loadings @ loadings.T, kept for folding rows in; ``noise`` is the
    variance the concepts leave, the ridge's lambda. ``rows`` is how many applications taught them.
    """

    mean: Floats
    loadings: Floats
    gram: Floats
    noise: float
    rows: int

    @classmethod
    def of(cls, mean: Floats, loadings: Floats, noise: float, rows: int) -> Factors:
        """Factors with their gram matrix."""
        return cls(mean, loadings, loadings @ loadings.T, noise, rows)


def fit(values: Floats, rank: int = MAX_RANK, energy: float = ENERGY) -> Factors:
    """The factors of (rows, columns) values on their scale; rows with less than half of their cells are left out.

    Gaps are filled with the column mean (never with 0: an unmeasured cell is not a bad one), then for some rounds with
    what the ridge makes of the row's own cells, so that they teach nothing of their own. Raises ValueError where fewer
    than two rows are left.
    """
    used = taught_by(values)
    values, seen = values[used], ~np.isnan(values[used])
    if len(values) < 2:
        raise ValueError(f"{len(values)} applications with most cells measured cannot be factorised")
    filled = np.where(seen, values, column_means(values, seen))
    factors = _decompose(filled, seen, rank, energy)
    for _ in range(0 if seen.all() else FILL_ROUNDS):
        filled = _refilled(values, seen, factors)
        factors = _decompose(filled, seen, rank, energy)
    return factors


def taught_by(values: Floats) -> Flags:
    """(rows,): which rows have enough of their cells to take part."""
    seen = ~np.isnan(values)
    return np.asarray(seen.sum(axis=1) >= max(LEAST_SHARE * values.shape[1], 1))


def column_means(values: Floats, seen: Flags) -> Floats:
    """(columns,): the mean of what was measured in each column, the overall mean where nothing was."""
    counts = seen.sum(axis=0)
    sums = np.where(seen, values, 0.0).sum(axis=0)
    overall = sums.sum() / max(counts.sum(), 1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), overall))


def _decompose(filled: Floats, seen: Flags, rank: int, energy: float) -> Factors:
    """Means, SVD, rank by energy; the noise counts measured cells only."""
    rows, columns = filled.shape
    mean = filled.mean(axis=0)
    left, sigma, right = np.linalg.svd(filled - mean, full_matrices=False)
    kept = _rank(sigma, rank, energy)
    loadings = right[:kept].T * (sigma[:kept] / np.sqrt(rows))
    rest = filled - mean - (left[:, :kept] * sigma[:kept]) @ right[:kept]
    left_over = float(np.square(rest, where=seen, out=np.zeros_like(rest)).sum())
    noise = left_over / (max(int(seen.sum()), 1) * max(1, columns - kept) / columns) + LEAST_NOISE
    return Factors.of(mean, loadings, noise, rows)


def _rank(sigma: Floats, most: int, energy: float) -> int:
    """The smallest rank that holds the energy, 1 at least and ``most`` at most."""
    held = np.cumsum(sigma**2)
    if held[-1] <= 0:
        return 1
    return min(int(np.searchsorted(held / held[-1], energy)) + 1, most, len(sigma))


def _refilled(values: Floats, seen: Flags, factors: Factors) -> Floats:
    """The ridge of each row with gaps on the row's own cells, all rows at once."""
    gaps = np.flatnonzero(~seen.all(axis=1))
    known, loadings = seen[gaps], factors.loadings
    some = np.where(known[:, :, None], loadings, 0.0)
    inner = some.transpose(0, 2, 1) @ some + factors.noise * np.eye(loadings.shape[1])
    above = np.where(known, values[gaps] - factors.mean, 0.0)
    concepts = np.linalg.solve(inner, (above @ loadings)[:, :, None])[:, :, 0]
    filled = values.copy()
    filled[gaps] = np.where(known, values[gaps], factors.mean + concepts @ loadings.T)
    return filled


def fold(factors: Factors, observed: Ints, values: Floats) -> Floats:
    """The completed row (columns,) of a row whose ``observed`` columns have ``values``, both (k,), on their scale.

    Solved in dual form, k equations instead of one per concept: with G the gram matrix and o the observed columns,
    row = mean + G[:, o] (G[o, o] + noise I)^-1 (values - mean[o]), which equals mean + P (P_o^T P_o + noise I)^-1
    P_o^T (values - mean[o]). Measured entries stay as they are.
    """
    across = factors.gram.take(observed, 0)
    kernel = across.take(observed, 1)
    kernel.ravel()[:: len(observed) + 1] += factors.noise
    row = np.linalg.solve(kernel, values - factors.mean.take(observed)) @ across
    row += factors.mean
    row[observed] = values
    return np.asarray(row)


def concept(factors: Factors, observed: Ints, values: Floats) -> Floats:
    """(rank,): the row's place among the similarity concepts."""
    some = factors.loadings[observed]
    inner = some.T @ some + factors.noise * np.eye(some.shape[1])
    return np.asarray(np.linalg.solve(inner, some.T @ (values - factors.mean[observed])))


def covariance(factors: Factors, observed: Ints) -> Floats:
    """(columns, columns): what is still unknown of a row after measuring ``observed``, without the noise.

    It depends on which columns were measured and not on what came out.
    """
    across = factors.gram[observed]
    kernel = across[:, observed] + factors.noise * np.eye(len(observed))
    return np.asarray(factors.gram - across.T @ np.linalg.solve(kernel, across))

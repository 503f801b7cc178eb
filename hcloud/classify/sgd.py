"""The published gradient descent: one new row against known factors, or all of P and Q at once (Paragon §2.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.classify.factorize import ENERGY, MAX_RANK, Factors, column_means
from hcloud.classify.matrix import Flags, Floats, Ints

SWEEPS = 4000
"""Sweeps over a row's observed entries at most (ours, as an independent implementation of Quasar has it)."""
TOLERANCE = 1e-6
"""A row's concept is within this of the fixed point when the descent stops (ours)."""
RATE = 0.05
"""The joint mode's step eta (ours; the papers print none)."""
SHRINKAGE = 0.005
"""The joint mode's lambda (ours; ten times as much doubles the error)."""
EPOCHS = 150
"""Sweeps of the joint mode over all observed entries at most (ours)."""
MARGINAL = 1e-4
"""The joint mode stops when a sweep changes the error by less than this share, of all rows and of each sparse row."""
LONGEST_STEP = 1.0
"""What one entry may move a concept by in the joint mode: wide matrices overflow without it (ours)."""


def fold(factors: Factors, observed: Ints, values: Floats) -> Floats:
    """The completed row (columns,) from the ``values`` (k,) of the ``observed`` columns, by gradient descent."""
    row = factors.mean + factors.loadings @ concept(factors, observed, values)
    row[observed] = values
    return row


def concept(factors: Factors, observed: Ints, values: Floats) -> Floats:
    """(rank,): q after sweeps of q <- q + eta (P_o^T e - noise q), e the errors of the observed entries only.

    A constant eta needs as many sweeps as the Hessian is ill-conditioned, which at four entries and 99 % energy is
    more than 4,000. So eta follows the secant rule of Barzilai and Borwein (1988), eta = dq.dq / dq.dg over the last
    move, whose sweeps do not grow that way in a handful of dimensions; the first step is 0.5 / (|P_o|^2 + noise). The
    test for convergence is on this row alone, and it is a bound: the Hessian is at least ``noise``, so that
    |gradient| / noise is at least the distance to the fixed point, the ridge solution.
    """
    some, residual, noise = factors.loadings[observed], values - factors.mean[observed], factors.noise
    place = np.zeros(some.shape[1])
    gradient = -(some.T @ residual)
    step = 0.5 / (float(np.square(some).sum()) + noise)
    for _ in range(SWEEPS):
        if float(np.abs(gradient).max(initial=0.0)) <= TOLERANCE * noise:
            break
        move = -step * gradient
        place = place + move
        error = residual - some @ place
        after = noise * place - some.T @ error
        curvature = float(move @ (after - gradient))
        step = float(move @ move) / curvature if curvature > 0 else step
        gradient = after
    return place


@dataclass(frozen=True, slots=True)
class Joint:
    """Settings of the joint mode."""

    rank: int = MAX_RANK
    rate: float = RATE
    shrinkage: float = SHRINKAGE
    epochs: int = EPOCHS


def complete(values: Floats, settings: Joint | None = None) -> Floats:
    """All rows of (rows, columns) completed at once, as the papers print it; measured entries stay as they are.

    Q = U and P^T = S V^T of the rows without gaps (of all, filled with the baseline, where fewer than two have none);
    rows with gaps start at 0, since U of a filled row repeats the filling and two entries cannot undo that. Then per
    observed entry, in order of rows and
    columns, e = r - mean_column - q.p; q += eta (e p - lambda q); p += eta (e q - lambda p). The baseline is the mean
    of the column: with Quasar's mean and row bias alone a row of two entries takes up what belongs to the columns. It
    stops when the error has become marginal, of the whole matrix and of every row with gaps: dense rows would end it
    before a sparse one has moved. New rows may be batched (Paragon §2.2).
    """
    chosen = settings or Joint()
    seen = ~np.isnan(values)
    mean = column_means(values, seen)
    residual = np.where(seen, values - mean, 0.0)
    sparse = np.asarray(~seen.all(axis=1))
    rows, columns = _start(residual, sparse, chosen.rank)
    entries = [(i, j, float(residual[i, j])) for i, j in np.argwhere(seen).tolist()]
    before = _errors(residual, seen, rows @ columns.T, sparse)
    for _ in range(chosen.epochs):
        for i, j, target in entries:
            _step(rows[i], columns[j], target, chosen)
        after = _errors(residual, seen, rows @ columns.T, sparse)
        if bool((np.abs(before - after) <= MARGINAL * before).all()):
            break
        before = after
    return np.where(seen, values, mean + rows @ columns.T)


def _start(residual: Floats, sparse: Flags, most: int) -> tuple[Floats, Floats]:
    taught = ~sparse if (~sparse).sum() > 1 else np.ones_like(sparse)
    left, sigma, right = np.linalg.svd(residual[taught], full_matrices=False)
    held = np.cumsum(sigma**2)
    rank = min(int(np.searchsorted(held, ENERGY * held[-1])) + 1, most, len(sigma))
    rows = np.zeros((len(residual), rank))
    rows[taught] = left[:, :rank]
    return rows, np.ascontiguousarray(right[:rank].T * sigma[:rank])


def _step(row: Floats, column: Floats, target: float, chosen: Joint) -> None:
    """One observed entry's update of its row's and its column's concepts, in place."""
    error = target - row @ column
    change = chosen.rate * (error * column - chosen.shrinkage * row)
    column += _bounded(chosen.rate * (error * row - chosen.shrinkage * column))
    row += _bounded(change)


def _bounded(step: Floats) -> Floats:
    """Of so few numbers ``np.clip`` takes three times as long."""
    return np.minimum(np.maximum(step, -LONGEST_STEP), LONGEST_STEP)


def _errors(residual: Floats, seen: Flags, product: Floats, sparse: Flags) -> Floats:
    """The 2-norm of the observed errors: of all rows, then of each row with gaps."""
    squares = np.where(seen, (residual - product) ** 2, 0.0).sum(axis=1)
    return np.asarray(np.sqrt(np.concatenate(([squares.sum()], squares[sparse]))))

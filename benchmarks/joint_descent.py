"""The published gradient descent over all of P and Q at once (Paragon §2.1), to compare the classifier with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.classify.factorize import ENERGY, MAX_RANK, column_means
from hcloud.classify.matrix import Flags, Floats

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

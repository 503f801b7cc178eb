"""A new row folded into known factors in closed form: the fixed point the papers' gradient descent runs to."""

from __future__ import annotations

import numpy as np

from hcloud.classify.factorize import Factors
from hcloud.classify.matrix import Floats, Ints


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

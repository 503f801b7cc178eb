"""The published gradient descent: one new row against known factors (Paragon §2.1)."""

from __future__ import annotations

import numpy as np

from hcloud.classify.factorize import Factors
from hcloud.classify.matrix import Floats, Ints

SWEEPS = 4000
"""Sweeps over a row's observed entries at most (ours, as an independent implementation of Quasar has it)."""
TOLERANCE = 1e-6
"""A row's concept is within this of the fixed point when the descent stops (ours)."""


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

"""What running an application teaches: a measurement that differs overwrites the matrix, and it is factorised anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hcloud.classify.matrix import Matrix
from hcloud.model.measured.profile import Predicted

MISCLASSIFIED = 0.20
"""A relative difference that counts as a misclassification (Quasar §4 uses 20 % for stragglers; here ours)."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A value measured at run time: whose, of which column, in the measured unit, and whether more is better."""

    app: str
    column: str
    value: float
    rising: bool


def misclassified(predicted: Predicted, value: float, tolerance: float = MISCLASSIFIED) -> bool:
    """Whether a measured value lies outside the interval and differs by more than the tolerance."""
    outside = not predicted.low <= value <= predicted.high
    return outside and abs(value - predicted.value) > tolerance * abs(predicted.value)


def with_observation(matrix: Matrix, seen: Observation) -> Matrix:
    """A new matrix with the value in place; its row is added where the application is new, the column must exist.

    Raises ValueError for an unknown column, a value that cannot be, or a metric that turned round.
    """
    if seen.column not in matrix.columns:
        raise ValueError(f"{matrix.aspect}: {seen.column!r} is not a column")
    if seen.app not in matrix.apps:
        matrix = _with_row(matrix, seen.app, seen.rising)
    at = matrix.apps.index(seen.app)
    if bool(matrix.rising[at]) != seen.rising:
        raise ValueError(f"{matrix.aspect}: the metric of {seen.app} has changed")
    values = matrix.values.copy()
    values[at, matrix.columns.index(seen.column)] = seen.value
    return replace(matrix, values=values)


def _with_row(matrix: Matrix, app: str, rising: bool) -> Matrix:
    """The matrix with an empty row in its place by name."""
    at = sum(name < app for name in matrix.apps)
    apps = (*matrix.apps[:at], app, *matrix.apps[at:])
    values = np.insert(matrix.values, at, np.nan, axis=0)
    return replace(matrix, apps=apps, values=values, rising=np.insert(matrix.rising, at, rising))

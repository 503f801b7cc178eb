"""Which measurement to make next: the one that leaves the least unknown for its cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from hcloud.classify import ridge
from hcloud.classify.evidence import Evidence
from hcloud.classify.factorize import Factors
from hcloud.classify.matrix import Floats, Matrix
from hcloud.model.measured.profile import Probe

REFERENCE_SHARE = 0.5
"""The reference is asked for first unless it tells less than this share of what the best column tells for its cost
(ours). On the 12 workloads of Scout two entries that begin with it leave an error of 22 %, two that need not begin with
it 26 %: the corpus is normalised by it. So it may cost about twice as much as another column, and no more."""


class Missing(NamedTuple):
    """A row with gaps: its matrix, what is known of it, and the columns that cannot be measured."""

    matrix: Matrix
    evidence: Evidence
    unmeasurable: Collection[str]

    def open(self) -> list[int]:
        """The columns that could be measured next."""
        known = set(self.evidence.known.tolist())
        return [i for i, c in enumerate(self.matrix.columns) if i not in known and c not in self.unmeasurable]


def gains(factors: Factors, evidence: Evidence) -> Floats:
    """(columns,): the share of the mean variance left in the unmeasured cells that measuring each column removes.

    With C the posterior covariance, measuring c takes C_jc^2 / (C_cc + noise) from every other cell j and all of its
    own. It depends on which columns were measured, not on what came out, so it is known before the measurement.
    """
    matrix = ridge.covariance(evidence.factors(factors), evidence.observed)
    variance = np.maximum(np.diag(matrix), 0.0) + factors.noise
    missing = np.ones(len(variance), np.bool_)
    missing[evidence.known] = False
    removed = (matrix**2 / variance)[missing].sum(axis=0)
    own = np.diag(matrix) ** 2 / variance
    share = (removed - np.where(missing, own, 0.0) + np.where(missing, variance, 0.0)) / variance[missing].sum()
    return np.asarray(np.where(missing, share, 0.0))


def next_probe(missing: Missing, factors: Factors | None, costs: Mapping[str, float], reason: str) -> Probe | None:
    """The measurement with the largest gain per cost (1 where none is given) and why; None where nothing is open.

    The reference, to which the others are compared, comes first unless another column tells more for its cost: a level
    is found from any two entries. Without factors every column tells of itself alone and the cheapest is taken. Ties go
    to the earlier column. ``gain`` of the probe is not divided by cost. Raises ValueError for a cost that is not
    positive.
    """
    matrix, evidence, open_columns = missing.matrix, missing.evidence, missing.open()
    if not open_columns:
        return None
    alone = np.full(len(matrix.columns), 1.0 / (len(matrix.columns) - len(evidence.known)))
    share = alone if factors is None else gains(factors, evidence)
    worth = [share[i] / _cost(costs, matrix.columns[i]) for i in open_columns]
    best = open_columns[int(np.argmax(worth))]
    if evidence.levelled and matrix.reference in (matrix.columns[i] for i in open_columns):
        reference = matrix.columns.index(matrix.reference)
        if worth[open_columns.index(reference)] >= REFERENCE_SHARE * max(worth):
            why = f"{reason}; the others are compared to it"
            return Probe(matrix.aspect, matrix.reference, float(share[reference]), why)
    why = f"{reason}; it removes {share[best]:.0%} of what is unknown of the row"
    return Probe(matrix.aspect, matrix.columns[best], float(share[best]), f"{why}, the most for its cost")


def _cost(costs: Mapping[str, float], column: str) -> float:
    cost = costs.get(column, 1.0)
    if not cost > 0:
        raise ValueError(f"a cost of {cost} for measuring {column} is not positive")
    return cost

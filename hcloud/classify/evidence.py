"""What the measurements of one application say to a matrix: which columns, and how its values compare with others'."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hcloud.classify.calibration import OFFSET, HeldOut
from hcloud.classify.factorize import Factors
from hcloud.classify.matrix import Floats, Ints, Matrix, Scale, legal, refuse, scale_of
from hcloud.model.profile import Measured


class Asked(NamedTuple):
    """Who is asked about: the application, whether more of its metric is better, columns that cannot be measured."""

    app: str
    rising: bool
    unmeasurable: Collection[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The measured columns (``known``), those of them that inform (``observed``, (k,)) with their ``values`` (k,) on
    ``scale``, and whether the row's level is unknown: then its reference was not measured and every entry informs."""

    known: Ints
    observed: Ints
    values: Floats
    scale: Scale
    levelled: bool

    def factors(self, factors: Factors) -> Factors:
        """The factors to fold into: with one more concept, the row's level, where it is unknown."""
        if not self.levelled:
            return factors
        level = np.full((len(factors.mean), 1), OFFSET)
        return Factors.of(factors.mean, np.hstack((factors.loadings, level)), factors.noise, factors.rows)

    def held_out(self, held: HeldOut) -> HeldOut:
        """The held-out rows to compare with."""
        return held.levelled() if self.levelled else held


def evidence_of(matrix: Matrix, entries: Mapping[str, Measured], asked: Asked) -> Evidence:
    """The evidence of an application's entries; columns the matrix does not have say nothing here.

    The reference itself is left out of what informs: after normalising it is 0 in every row. Raises ValueError for a
    value that cannot be.
    """
    known = np.array([i for i, column in enumerate(matrix.columns) if column in entries], np.intp)
    raw = np.array([entries[matrix.columns[i]].value for i in known], np.float64)
    for i in np.flatnonzero(~legal(matrix.aspect, raw)):
        refuse(matrix.aspect, asked.app, matrix.columns[known[i]], raw[i])
    if matrix.aspect.is_interference:
        return Evidence(known, known, raw, Scale(logarithmic=False), levelled=False)
    reference = entries.get(matrix.reference)
    scale = scale_of(asked.rising, reference.value if reference else np.nan)
    informs = known != (matrix.columns.index(matrix.reference) if matrix.columns else -1)
    return Evidence(known, known[informs], scale.forward(raw)[informs], scale, levelled=reference is None)

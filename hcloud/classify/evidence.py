"""What the measurements of one application say to a matrix: which columns, and how its values compare with others'."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hcloud.classify.calibration import OFFSET, HeldOut
from hcloud.classify.factorize import Factors
from hcloud.classify.matrix import Floats, Ints, Matrix, Scale, legal, refuse, scale_of
from hcloud.model.measured.profile import Measured

_WIDTH = 2 * 1.96
"""Standard deviations in a 95 % interval."""


class ClassifiedApp(NamedTuple):
    """Who is asked about: the application, whether more of its metric is better, columns that cannot be measured."""

    app: str
    rising: bool
    unmeasurable: Collection[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The measured columns (``known``), those of them that inform (``observed``, (k,)) with their ``values`` (k,) on
    ``scale`` and the standard deviation that their intervals leave (``spread``, (k,)).

    ``level`` is the standard deviation of the row's level: that of the reference's own measurement, or next to no prior
    where the reference was not measured (``levelled``: every entry informs then).
    """

    known: Ints
    observed: Ints
    values: Floats
    spread: Floats
    scale: Scale
    level: float
    levelled: bool

    def factors(self, factors: Factors) -> Factors:
        """The factors to fold into, with the row's level and each entry's own error as further concepts."""
        own = self.own(len(factors.mean))
        if not own.shape[1]:
            return factors
        return Factors.of(factors.mean, np.hstack((factors.loadings, own)), factors.noise, factors.rows)

    def held_out(self, held: HeldOut) -> HeldOut:
        """The held-out rows to compare with, as if they had been measured no better than this one."""
        own = self.own(held.mean.shape[1])
        return held.with_loadings(own) if own.shape[1] else held

    def own(self, columns: int) -> Floats:
        """(columns, up to k + 1) loadings that only this row has: its level moves all columns, an entry's error moves
        that entry alone, so that a vague entry says little of the others."""
        vague = np.flatnonzero(self.spread > 0)
        made = np.zeros((columns, len(vague)))
        made[self.observed[vague], np.arange(len(vague))] = self.spread[vague]
        return made if self.level == 0 else np.hstack((np.full((columns, 1), self.level), made))


def evidence_of(matrix: Matrix, entries: Mapping[str, Measured], asked: ClassifiedApp) -> Evidence:
    """The evidence of an application's entries; columns the matrix does not have say nothing here.

    The reference itself is left out of what informs: after normalising it is 0 in every row. Raises ValueError for a
    value that cannot be.
    """
    known = np.array([i for i, column in enumerate(matrix.columns) if column in entries], np.intp)
    raw = np.array([entries[matrix.columns[i]].value for i in known], np.float64)
    for i in np.flatnonzero(~legal(matrix.aspect, raw)):
        refuse(matrix.aspect, asked.app, matrix.columns[known[i]], raw[i])
    if matrix.aspect.is_interference:
        spread = np.array([(entries[matrix.columns[i]].high - entries[matrix.columns[i]].low) for i in known]) / _WIDTH
        return Evidence(known, known, raw, spread, Scale(logarithmic=False), 0.0, levelled=False)
    reference = entries.get(matrix.reference)
    scale = scale_of(asked.rising, reference.value if reference else np.nan)
    informs = known != (matrix.columns.index(matrix.reference) if matrix.columns else -1)
    spread = np.array([_logarithmic(entries[matrix.columns[i]]) for i in known[informs]])
    level = OFFSET if reference is None else _logarithmic(reference)
    return Evidence(
        known, known[informs], scale.forward(raw)[informs], spread, scale, level, levelled=reference is None
    )


def _logarithmic(measured: Measured) -> float:
    """The standard deviation of a performance's logarithm; where the interval reaches 0, of its relative error."""
    if measured.low > 0:
        return float(np.log(measured.high / measured.low)) / _WIDTH
    return (measured.high - measured.low) / measured.value / _WIDTH

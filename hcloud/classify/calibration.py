"""How far predictions of known applications were off, each from a corpus that had not seen it, and what follows for
evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hcloud.classify.factorize import Factors, fit
from hcloud.classify.matrix import Flags, Floats, Ints, Matrix, Scale, legal, refuse, scale_of
from hcloud.model.measured.profile import Measured

MOST_HELD_OUT = 40
"""Rows held out at most, spread evenly over the corpus: each costs a factorisation (ours)."""
COVERAGE = 0.95
"""Share of cells that an interval is meant to hold."""
LEVELS = 11
"""Levels of the held-out errors to choose from, from ``COVERAGE`` to all of them (ours)."""
DEGREES = 4.0
"""How quickly a row unlike the corpus widens its own interval: a scale mixture of so many degrees of freedom, since
one application's noise is not another's (ours)."""
CAUTION = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Multiples of the noise to choose from (ours). What a factorisation leaves of the rows it was made from is less than
what it leaves of others, above all where rows are few; the held-out rows tell by how much."""
LEAST_HELD_OUT = 3
"""Rows that must be comparable before an expected error means anything (ours)."""
OFFSET = 10.0
"""Standard deviation of a row's unknown level where its reference was not measured: next to no prior (ours)."""
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Rows and the factors of the other rows: ``values`` and ``mean`` (h, columns), ``loadings`` (h, columns, rank)
    padded with zeros, ``noise`` (h,)."""

    values: Floats
    mean: Floats
    loadings: Floats
    noise: Floats

    def with_loadings(self, more: Floats) -> HeldOut:
        """The same with further concepts for every row, (columns, concepts)."""
        every = np.broadcast_to(more, (len(self.mean), *more.shape))
        return HeldOut(self.values, self.mean, np.concatenate((self.loadings, every), axis=2), self.noise)

    def comparable(self, observed: Ints) -> Flags:
        """(h, k): which of the observed columns count in which row. Rows measured in all of them, and where those are
        too few to tell an error, rows measured in some: they are predicted from less, so the error is rather too large.
        """
        seen: Flags = ~np.isnan(self.values[:, observed])
        whole = np.logical_and.reduce(seen, axis=1)
        return np.asarray(seen & whole[:, None] if whole.sum() >= LEAST_HELD_OUT else seen)


@dataclass(frozen=True, slots=True, eq=False)
class Misses:
    """Predicted less true of held-out cells and the deviation that was expected, both (rows, columns) on the rows'
    scale; NaN where a cell was given or never measured."""

    errors: Floats
    expected: Floats

    def quantile(self) -> float:
        """How many expected deviations hold the share of the cells of an application that is none of these rows: the
        least level of conformal prediction (Vovk et al. 2005) at which the other rows' errors hold the share of each
        row's, one more row counted that is held as badly as the worst. The cells of a row miss together, so that few
        rows know less of another than their many cells make believe."""
        ratios = np.abs(self.errors / self.expected)
        found = ~np.isnan(ratios)
        order = np.argsort(ratios[found])
        values, rows = ratios[found][order], np.nonzero(found)[0][order]
        levels = np.linspace(COVERAGE, 1.0, LEVELS)
        mine = rows == np.unique(rows)[:, None]
        counts = mine.sum(axis=1, keepdims=True)
        others = np.argsort(mine, axis=1, kind="stable")
        ranks = np.minimum(np.ceil((len(values) - counts + 1) * levels).astype(np.intp), len(values) - counts)
        limits = np.append(values, 0.0)[np.where(ranks > 0, np.take_along_axis(others, ranks - 1, axis=1), len(values))]
        upto = np.concatenate((np.zeros_like(counts), np.cumsum(mine, axis=1)), axis=1)
        held = np.take_along_axis(upto, np.searchsorted(values, limits, side="right"), axis=1) / counts
        enough = held.sum(axis=0) + held.min(axis=0) >= COVERAGE * (len(held) + 1)
        return float(_within(values, levels)[np.argmax(enough) if enough.any() else -1])


def _within(ordered: Floats, levels: Floats) -> Floats:
    """What holds each share of another draw from where these come from: the largest of them at most, 0 of none."""
    ranks = np.ceil((len(ordered) + 1) * levels).astype(np.intp)
    return np.asarray(np.append(0.0, ordered)[np.minimum(ranks, len(ordered))])


def hold_out(values: Floats, groups: Sequence[str]) -> HeldOut:
    """Every row (or forty of them) with the factors of all rows but its group's; rows of one group are alike, as the
    same service at several loads. Rows whose rest cannot be factorised are left out."""
    candidates = np.flatnonzero((~np.isnan(values)).sum(axis=1) > 1)
    if len(candidates) > MOST_HELD_OUT:
        candidates = candidates[np.linspace(0, len(candidates) - 1, MOST_HELD_OUT).astype(np.intp)]
    names = np.array(groups)
    kept: list[int] = []
    found: list[Factors] = []
    for row in candidates.tolist():
        try:
            found.append(fit(values[names != names[row]]))
        except ValueError:  # too little is left without this group
            continue
        kept.append(row)
    return _stacked(values[kept], found)


def _stacked(values: Floats, found: Sequence[Factors]) -> HeldOut:
    rank = max((f.loadings.shape[1] for f in found), default=0)
    loadings = np.zeros((*values.shape, rank))
    for at, factors in enumerate(found):
        loadings[at, :, : factors.loadings.shape[1]] = factors.loadings
    mean = np.array([f.mean for f in found]).reshape(values.shape)
    return HeldOut(values, mean, loadings, np.array([f.noise for f in found]))


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Held-out rows as seen from the ``observed`` columns: all that predictions under any multiple of the noise have in
    common. Rows not comparable there are left out."""

    rows: HeldOut
    known: Ints
    entries: Ints
    across: Floats
    kernel: Floats
    residual: Floats
    power: Floats

    @classmethod
    def of(cls, held: HeldOut, observed: Ints, known: Ints) -> Comparison:
        """The ``known`` columns (those observed, and the reference, which is 0 in every row) are no predictions."""
        counts = held.comparable(observed)
        able = counts.any(axis=1) if len(observed) else np.ones(len(counts), np.bool_)
        rows, counts = HeldOut(held.values[able], held.mean[able], held.loadings[able], held.noise[able]), counts[able]
        some = np.where(counts[:, :, None], rows.loadings[:, observed], 0.0)
        residual = np.where(counts, (rows.values - rows.mean)[:, observed], 0.0)[:, :, None]
        return cls(
            rows,
            known,
            counts.sum(axis=1),
            some @ rows.loadings.transpose(0, 2, 1),
            some @ some.transpose(0, 2, 1),
            residual,
            np.square(rows.loadings).sum(axis=2),
        )

    def misses(self, caution: float = 1.0) -> Misses:
        """Every row predicted, all at once, with ``caution`` times the noise."""
        across, noise = self.across, caution * self.rows.noise
        kernel = self.kernel + noise[:, None, None] * np.eye(self.kernel.shape[1])
        weights = np.linalg.solve(kernel, np.concatenate((self.residual, across), axis=2))
        predicted = self.rows.mean + np.einsum("hk,hkn->hn", weights[:, :, 0], across)
        left = self.power - np.einsum("hkn,hkn->hn", across, weights[:, :, 1:])
        surprise = (self.residual[:, :, 0] * weights[:, :, 0]).sum(axis=1)
        spread = np.maximum(left, 0.0) + noise[:, None]
        expected = np.sqrt(spread * widening(surprise, self.entries)[:, None] + _TINY)
        errors = predicted - self.rows.values
        errors[:, self.known] = np.nan
        return Misses(errors, expected)


def widening(surprise: Floats, entries: int | Ints) -> Floats:
    """By how much a row's variance grows when its own entries lie ``surprise`` (squared deviations) off the corpus."""
    return (DEGREES + surprise) / (DEGREES + entries)


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

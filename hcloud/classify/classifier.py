"""One application's estimate: completed rows with intervals, or the measurement to make first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hcloud.classify import calibration, factorize
from hcloud.classify.calibration import ClassifiedApp, Comparison, Evidence, HeldOut, Misses, evidence_of
from hcloud.classify.factorize import Factors, fit, taught_by
from hcloud.classify.matrix import Floats, Ints, Matrix
from hcloud.model.measured.profile import (
    Aspect,
    CompletedRow,
    Estimate,
    Measured,
    Neighbour,
    Predicted,
    Probe,
    Profile,
    ruled_out,
)

Fold = Callable[[Factors, Ints, Floats], Floats]
"""Completes a row: ``factorize.fold`` or ``sgd.fold``."""


@dataclass(frozen=True, slots=True)
class EvidenceLimits:
    """When there is too little evidence for a row; all ours.

    The largest mean error expected, relative for performance and in points for scores; the fewest applications in the
    corpus; the fewest entries (for performance two: one level is no shape).
    """

    relative_error: float = 0.25
    points_error: float = 15.0
    apps: int = 5
    performance_entries: int = 2
    score_entries: int = 1

    def error(self, aspect: Aspect) -> float:
        """The largest error expected of one aspect."""
        return self.points_error if aspect.is_interference else self.relative_error

    def entries(self, aspect: Aspect) -> int:
        """The fewest entries of one aspect."""
        return self.score_entries if aspect.is_interference else self.performance_entries


@dataclass(frozen=True, slots=True)
class Options:
    """How to classify: the limits, the solver, whether performance may not fall with size (``monotone``), how many
    neighbours to name, and what a measurement costs by aspect and column (any unit; 1 where missing)."""

    limits: EvidenceLimits = field(default_factory=EvidenceLimits)
    fold: Fold = factorize.fold
    monotone: bool = False
    neighbours: int = 3
    costs: Mapping[Aspect, Mapping[str, float]] = field(default_factory=dict)


class _Past(NamedTuple):
    """Of the held-out rows seen from some columns: how many expected deviations hold nearly all of their errors, their
    mean error, and the multiple of the noise with which that is least."""

    deviations: float
    error: float
    caution: float


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A corpus ready to classify: its matrix, how many of its rows are profiled well enough to teach, its factors (None
    where it is too small for any), the place of each row among the concepts (apps, rank), its rows held out in turn.
    ``known`` is what these taught of the columns that were asked about so far: applications measured in the same ones
    share it."""

    matrix: Matrix
    profiled: int
    factors: Factors | None
    concepts: Floats
    held_out: HeldOut
    known: dict[tuple[object, ...], _Past] = field(default_factory=dict, init=False, repr=False)


def train(matrix: Matrix, groups: Sequence[str] | None = None) -> Trained:
    """Factorise a corpus; ``groups`` (one name a row) says which rows are one workload and are held out together."""
    values = matrix.transformed()
    profiled = int(taught_by(values).sum())
    held_out = calibration.hold_out(values, groups or matrix.apps)
    try:
        factors = fit(values)
    except ValueError:  # fewer than two rows with most cells measured
        return Trained(matrix, profiled, None, np.zeros((len(matrix.apps), 0)), held_out)
    places = np.zeros((len(values), factors.loadings.shape[1]))
    for at, row in enumerate(values):
        observed = np.flatnonzero(~np.isnan(row))
        places[at] = factorize.concept(factors, observed, row[observed])
    return Trained(matrix, profiled, factors, places, held_out)


def classify(profile: Profile, corpus: Mapping[Aspect, Trained], options: Options | None = None) -> Estimate:
    """The estimate of one application, each aspect of the corpus by itself (Quasar §3.2).

    An aspect with too little evidence is missing and has a probe instead; columns where the application does not run
    are neither predicted nor asked for. Raises ValueError for a measured value that
    cannot be.
    """
    rows: dict[Aspect, CompletedRow] = {}
    probes: list[Probe] = []
    for aspect, trained in corpus.items():
        barred = ruled_out(profile, aspect, trained.matrix.columns)
        asked = ClassifiedApp(
            profile.app, profile.metric.rising, profile.unmeasurable if aspect.is_interference else barred
        )
        found = complete(trained, profile.entries.get(aspect, {}), asked, options or Options())
        if isinstance(found, CompletedRow):
            rows[aspect] = replace(found, columns={c: p for c, p in found.columns.items() if c not in barred})
        elif found is not None:
            probes.append(found)
    return Estimate(profile.app, rows, tuple(probes))


def complete(
    trained: Trained, entries: Mapping[str, Measured], asked: ClassifiedApp, options: Options
) -> CompletedRow | Probe | None:
    """The completed row, or the next measurement to make (None where no column is left that could be measured)."""
    evidence = evidence_of(trained.matrix, entries, asked)
    aspect, limits = trained.matrix.aspect, options.limits
    prediction = _predict(trained, evidence, options)
    reason = _lacking(trained, evidence, limits)
    if not reason and prediction is not None and not prediction.expected_error <= limits.error(aspect):
        reason = _doubt(prediction.expected_error, aspect, limits)
    if reason or prediction is None:
        missing = Missing(trained.matrix, evidence, asked.unmeasurable)
        return next_probe(missing, trained.factors, options.costs.get(aspect, {}), reason)
    likely = _neighbours(trained, prediction.concept, asked.app, options.neighbours)
    error = None if len(evidence.known) == len(trained.matrix.columns) else prediction.held_out_error
    return CompletedRow(aspect, _entries(trained.matrix, evidence, prediction, entries), likely, error)


MOST_TOLD = 10.0
"""The largest relative error that is told as it is: above, its size says nothing more (ours)."""


def _doubt(error: float, aspect: Aspect, limits: EvidenceLimits) -> str:
    """Why a prediction is not told."""
    if not np.isfinite(error):
        least = calibration.LEAST_HELD_OUT
        return f"fewer than {least} known applications were measured there, so the error is unknown"
    if aspect.is_interference:
        return f"an error of {error:.2g} points is expected, {limits.error(aspect):.2g} allowed"
    expected = f"an error of {error:.0%}" if error < MOST_TOLD else f"an error above {MOST_TOLD:.0%}"
    return f"{expected} is expected, {limits.error(aspect):.0%} allowed"


def _lacking(trained: Trained, evidence: Evidence, limits: EvidenceLimits) -> str:
    """Why nothing can be said yet; "" where something can."""
    aspect = trained.matrix.aspect
    if trained.profiled < limits.apps:
        return f"{trained.profiled} applications are profiled, {limits.apps} are needed"
    if len(evidence.known) < limits.entries(aspect):
        return f"{len(evidence.known)} of {limits.entries(aspect)} entries are measured"
    return ""


class _Prediction(NamedTuple):
    """A row and half of its interval, both (columns,) on the row's scale, its place among the concepts, the mean error
    of held-out rows from the same columns, and what is expected of this one."""

    row: Floats
    half: Floats
    concept: Floats
    held_out_error: float
    expected_error: float


def _predict(trained: Trained, evidence: Evidence, options: Options) -> _Prediction | None:
    """None where there are no factors to fold into.

    The interval is the posterior's deviation (ridge is the mean of a Gaussian posterior, its variance is known), wider
    where the entries do not look like the corpus, times the factor that held 95 % of the held-out cells from the same
    columns. The expected error is the held-out one, larger by the same widening.
    """
    if trained.factors is None:
        return None
    past = _past(trained, evidence)
    cautious = replace(trained.factors, noise=past.caution * trained.factors.noise)
    factors, observed = evidence.factors(cautious), evidence.observed
    row = options.fold(factors, observed, evidence.values)
    if options.monotone and trained.matrix.aspect in (Aspect.SCALE_UP, Aspect.SCALE_OUT):
        row = rising_along(trained.matrix.columns, row, evidence.known)
    left = factorize.covariance(factors, observed)
    wider = float(calibration.widening(_surprise(factors, evidence), len(observed)))
    half = np.sqrt((np.maximum(np.diag(left), 0.0) + factors.noise) * wider)
    half *= past.deviations
    place = factorize.concept(factors, observed, evidence.values)[: trained.concepts.shape[1]]
    return _Prediction(row, half, place, past.error, past.error * wider**0.5)


def _past(trained: Trained, evidence: Evidence) -> _Past:
    """What the held-out rows tell when they are seen from the same columns, as well as those were measured here: the
    values say nothing of it."""
    seen = (a.tobytes() for a in (evidence.known, evidence.observed, evidence.spread))
    key = (*seen, evidence.level, evidence.scale.logarithmic, evidence.scale.sign)
    if key not in trained.known:
        trained.known[key] = _look_back(trained, evidence)
    return trained.known[key]


def _look_back(trained: Trained, evidence: Evidence) -> _Past:
    """The ridge's lambda is cross-validated for the very columns that were measured."""
    held, columns = evidence.held_out(trained.held_out), len(trained.matrix.columns)
    compared = Comparison.of(held, evidence.observed, evidence.known)
    found = []
    for caution in calibration.CAUTION if len(evidence.observed) else (1.0,):
        past = compared.misses(caution)
        found.append((past, _mean_error(past, evidence, columns), caution))
    least, error, best = min(found, key=lambda one: one[1])
    return _Past(least.quantile() if np.isfinite(least.errors).any() else np.inf, error, best)


def _surprise(factors: Factors, evidence: Evidence) -> Floats:
    """Squared deviations that the row's own entries lie off what the corpus expects of them."""
    off = evidence.values - factors.mean[evidence.observed]
    kernel = factors.gram[np.ix_(evidence.observed, evidence.observed)]
    return np.asarray(off @ np.linalg.solve(kernel + factors.noise * np.eye(len(off)), off))


def _mean_error(past: Misses, evidence: Evidence, columns: int) -> float:
    """The mean over held-out rows of their mean error: relative for performance, points for scores; 0 where every
    column is measured, infinite where too few rows can be compared."""
    if len(evidence.known) == columns:
        return 0.0
    errors = past.errors[np.isfinite(past.errors).any(axis=1)]
    if len(errors) < calibration.LEAST_HELD_OUT:
        return float("inf")
    sizes = np.abs(np.expm1(evidence.scale.sign * errors)) if evidence.scale.logarithmic else np.abs(errors)
    is_told = ~np.isnan(sizes)
    return float(np.mean(np.where(is_told, sizes, 0.0).sum(axis=1) / is_told.sum(axis=1)))


def _neighbours(trained: Trained, place: Floats, app: str, count: int) -> tuple[Neighbour, ...]:
    """The rows whose concepts point most the same way, by cosine; a row at the origin resembles nothing, and of one
    concept alone every cosine is 1 or -1, which tells nothing."""
    if trained.concepts.shape[1] < 2:
        return ()
    norms = np.linalg.norm(trained.concepts, axis=1) * float(np.linalg.norm(place))
    likeness = np.divide(trained.concepts @ place, norms, out=np.zeros(len(norms)), where=norms > 0)
    order = sorted(range(len(norms)), key=lambda i: (-likeness[i], trained.matrix.apps[i]))
    others = [i for i in order if norms[i] > 0 and trained.matrix.apps[i] != app][:count]
    return tuple(Neighbour(trained.matrix.apps[i], float(np.clip(likeness[i], -1.0, 1.0))) for i in others)


def _entries(
    matrix: Matrix, evidence: Evidence, found: _Prediction, entries: Mapping[str, Measured]
) -> dict[str, Predicted]:
    """Every column of the matrix, measured ones as they were measured; then measured columns it does not have."""
    scale = evidence.scale
    values, ends = scale.back(found.row), (scale.back(found.row - found.half), scale.back(found.row + found.half))
    low, high = np.minimum(*ends), np.maximum(*ends)
    columns = {
        name: Predicted(float(values[i]), float(low[i]), float(high[i]), measured=False)
        for i, name in enumerate(matrix.columns)
    }
    return columns | {name: Predicted(m.value, m.low, m.high, measured=True) for name, m in entries.items()}


def rising_along(columns: Sequence[str], row: Floats, known: Ints) -> Floats:
    """A row on its scale whose predictions are not below any smaller allocation's nor above a larger measured one's.

    A column is at most another if each number in its name is (``2c4g`` and ``2c8g``, ``4`` and ``16``); columns with
    other letters are not compared. Measured entries stay as they are, even where they fall: that is the truth.
    """
    sizes = [_size(column) for column in columns]
    clamped, measured = row.copy(), set(known.tolist())
    for at in sorted(range(len(columns)), key=lambda i: sizes[i][1]):
        if at in measured:
            continue
        ceiling = min((row[i] for i in measured if _at_most(sizes[at], sizes[i])), default=np.inf)
        smaller = (clamped[i] for i in range(len(columns)) if i != at and _at_most(sizes[i], sizes[at]))
        clamped[at] = max(min(clamped[at], ceiling), max(smaller, default=-np.inf))
    return clamped


def _size(name: str) -> tuple[str, tuple[float, ...]]:
    """The letters of a name and its numbers."""
    return re.sub(r"[\d.]+", "#", name), tuple(float(n) for n in re.findall(r"\d+(?:\.\d+)?", name))


def _at_most(one: tuple[str, tuple[float, ...]], other: tuple[str, tuple[float, ...]]) -> bool:
    return one[0] == other[0] and all(a <= b for a, b in zip(one[1], other[1], strict=True))


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
    matrix = factorize.covariance(evidence.factors(factors), evidence.observed)
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

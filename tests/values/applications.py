"""Applications of known truth for the classifier: families in a few latent dimensions, measured with noise.

The spec's tables state ten columns, 25 dense rows, eight families, a rank, 1.5 % noise and 300 new applications. What
they leave open is chosen here: column means are N(0, 0.3); a column answers to each factor by 0.5 to 1.5 with either
sign, the reference by 0; family centres are uniform with unit variance, and an application lies N(0, 0.1) off its
family; noise is lognormal and on every measured cell, the reference and the cell that is compared with, too.

Two sizes decide every figure and are set by the spec's own rows: the factors together are scaled so that the columns'
means alone (k = 1) are as far off as the spec's k = 1 row says, and each factor is weaker than the one before by a
decay with which two entries tell about as much as the spec's k = 2 row says. k = 4, k = 8 and all percentiles follow.
So the rows of one and two entries say how hard the truth was made, and only the others compare solvers. Answers and
centres were N(0, 1) at first; columns that then hardly answer at all made two entries tell less than the spec's did
(3.7 % at rank 1, 17 % at rank 2 with factors of one strength).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.held_out import stated
from hcloud.classify.matrix import Floats, Matrix
from hcloud.model.measured.profile import RESOURCES, Aspect, Metric, Profile
from hcloud.model.workload import JobKind

COLUMNS, DENSE, NEW, FAMILIES, NOISE, JITTER = 10, 25, 300, 8, 0.015, 0.1
BLIND = {1: 0.085, 2: 0.28, 3: 0.14}
"""By rank, the spec's mean error when only the reference is measured."""
DECAY = {1: 1.0, 2: 0.12, 3: 0.8}
"""By rank, how strong each factor is beside the one before."""


class Truth(NamedTuple):
    """Dense rows to learn from and new rows to predict."""

    known: Matrix
    new: Matrix


def performance(rank: int, chance: np.random.Generator) -> Truth:
    """Performance of known and new applications on ten columns, the last one the reference."""
    loadings = chance.choice([-1, 1], size=(COLUMNS, rank)) * chance.uniform(0.5, 1.5, (COLUMNS, rank))
    loadings *= DECAY[rank] ** np.arange(rank)
    loadings[-1] = 0
    means = chance.normal(0, 0.3, COLUMNS)
    means[-1] = 0
    centres = chance.uniform(-np.sqrt(3), np.sqrt(3), (FAMILIES, rank))
    family = chance.integers(FAMILIES, size=DENSE + NEW)
    places = centres[family] + JITTER * chance.normal(size=(DENSE + NEW, rank))
    shape = _scaled(places @ loadings.T, BLIND[rank])
    level = chance.normal(0, 1, (DENSE + NEW, 1))
    values = np.exp(level + means + shape + NOISE * chance.normal(size=shape.shape))
    return _split(Aspect.TYPES, [f"t{i}" for i in range(COLUMNS)], values)


def _scaled(shape: Floats, wanted: float) -> Floats:
    """The factors' part in log space, scaled until the column means of the dense rows err by ``wanted``."""
    off = shape - shape[:DENSE].mean(axis=0)
    low, high = 0.0, 10.0
    for _ in range(60):
        size = (low + high) / 2
        blind = np.abs(np.expm1(-size * off[DENSE:, :-1])).mean()
        low, high = (size, high) if blind < wanted else (low, size)
    return low * shape


def scores(rank: int, chance: np.random.Generator) -> Truth:
    """Tolerated scores of the ten resources: a logistic of a latent of some rank, two points of noise."""
    loadings = chance.normal(size=(COLUMNS, rank)) / np.sqrt(rank)
    latent = chance.normal(size=(DENSE + NEW, rank)) @ loadings.T + chance.normal(0, 0.5, COLUMNS)
    values = np.clip(100 / (1 + np.exp(-latent)) + chance.normal(0, 2, latent.shape), 0, 100)
    return _split(Aspect.TOLERATED, list(RESOURCES), values)


def _split(aspect: Aspect, columns: list[str], values: Floats) -> Truth:
    reference = "" if aspect.is_interference else columns[-1]

    def part(name: str, rows: Floats) -> Matrix:
        apps = tuple(f"{name}{i:03}" for i in range(len(rows)))
        return Matrix(aspect, apps, tuple(columns), rows, np.ones(len(rows), np.bool_), reference)

    return Truth(part("known", values[:DENSE]), part("new", values[DENSE:]))


def profile_of(app: str, aspect: Aspect, entries: Mapping[str, float], *, rising: bool = True) -> Profile:
    """A profile of one aspect, measured without error."""
    measured = {column: stated(value) for column, value in entries.items()}
    return Profile(app, JobKind.BATCH, Metric("rate", "1/s", rising), ("true",), {aspect: measured})

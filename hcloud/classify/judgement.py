"""What follows from an estimate: which type, which size, and what neighbours an application bears and disturbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hcloud.model.measured.profile import Aspect, CompletedRow, Estimate, Predicted, Profile
from hcloud.model.prices import TypePrices
from hcloud.units import natural

MISCLASSIFIED = 0.20
"""A relative difference that counts as a misclassification (Quasar §4 uses 20 % for stragglers; here ours)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A column of a row with its predicted value in the metric's unit, and what it was ranked by (more is better):
    performance (the value, or its inverse where less is better), per dollar where prices were given."""

    column: str
    value: float
    merit: float


@dataclass(frozen=True, slots=True)
class ApplicationEstimate:
    """One application's estimate with what follows from it; ``quality`` is the leading part of its encoding, 0..9999,
    None where no resource is known; ``types`` by performance, ``worth`` those with a price by performance per dollar;
    ``surprises`` tells of observed values that were predicted otherwise; ``measured`` is what was measured of aspects
    of which nothing is predicted; ``size`` is the smallest that reaches the ``target``, None where none does."""

    profile: Profile
    estimate: Estimate
    vector: tuple[int, ...] | None
    quality: int | None
    types: tuple[Ranked, ...]
    worth: tuple[Ranked, ...]
    prices: TypePrices
    size: str | None
    known_apps: int
    surprises: tuple[str, ...]
    measured: Mapping[Aspect, Mapping[str, Predicted]]
    target: float | None = None


def ranking(row: CompletedRow, rising: bool, prices: Mapping[str, float] | None = None) -> tuple[Ranked, ...]:
    """The columns from best to worst by predicted performance, or by performance per dollar of an hour.

    Where the metric is a time, performance per dollar orders by what a job costs. Columns without a price are left
    out: a missing price is not a free one. Ties go by natural order. Raises ValueError for a price that is not
    positive.
    """
    ranked: list[Ranked] = []
    for column, predicted in row.columns.items():
        if prices is not None and column not in prices:
            continue
        merit = predicted.value if rising else 1.0 / predicted.value
        ranked.append(Ranked(column, predicted.value, merit / (1.0 if prices is None else _price(prices, column))))
    return tuple(sorted(ranked, key=lambda r: (-r.merit, natural(r.column))))


def _price(prices: Mapping[str, float], column: str) -> float:
    price = prices[column]
    if not (np.isfinite(price) and price > 0):
        raise ValueError(f"a price of {price} for {column} is not a positive amount")
    return price


@dataclass(frozen=True, slots=True)
class PerformanceTarget:
    """A performance to reach, in the metric's unit; ``sure`` asks the far end of the interval to reach it, too."""

    value: float
    rising: bool
    sure: bool = False


def size_for(columns: Mapping[str, Predicted], target: PerformanceTarget) -> str | None:
    """The smallest column by natural order that reaches the target; None where no column does."""
    reaching = []
    for column, predicted in columns.items():
        if target.rising:
            reached = (predicted.low if target.sure else predicted.value) >= target.value
        else:
            reached = (predicted.high if target.sure else predicted.value) <= target.value
        if reached:
            reaching.append(column)
    return min(reaching, key=natural, default=None)


def misclassified(predicted: Predicted, value: float) -> bool:
    """Whether a measured value lies outside the interval and differs by more than the tolerance."""
    outside = not predicted.low <= value <= predicted.high
    return outside and abs(value - predicted.value) > MISCLASSIFIED * abs(predicted.value)

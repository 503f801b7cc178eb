"""Two alternatives at the same seeds: the mean of their differences and the interval around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev


@dataclass(frozen=True, slots=True)
class Paired:
    """A mean over ``count`` seeds (of a figure, or of the difference of two at the same seeds) and half of its
    interval; one seed has no interval, and ``half`` is 0 then."""

    mean: float
    half: float
    count: int

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half


def mean_of(values: Sequence[float], confidence: float) -> Paired:
    """The mean of one or more values with its interval at a two-sided confidence of 0 to 1 exclusive."""
    count = len(values)
    if count == 1:
        return Paired(values[0], 0.0, 1)
    return Paired(fmean(values), student(count - 1, confidence) * stdev(values) / math.sqrt(count), count)


def difference(one: Sequence[float], other: Sequence[float], confidence: float) -> Paired:
    """How much higher ``one`` is than ``other`` at the seeds that both were run with (the first of both)."""
    return mean_of([a - b for a, b in zip(one, other, strict=False)], confidence)


@cache
def student(degrees: int, confidence: float) -> float:
    """The number t such that Student's distribution lies within -t and t with a probability of ``confidence``."""
    low, high = 0.0, 1.0
    while _within(high, degrees) < confidence:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return high


def _within(t: float, degrees: int) -> float:
    """The probability that Student's t lies within -t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, odd = math.cos(angle), degrees % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= cosine * cosine * ((k - 1) / k)
        total += term
    if not odd:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + (math.sin(angle) * total if degrees > 1 else 0.0))

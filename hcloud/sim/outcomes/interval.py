"""A figure over several seeds: its mean and 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t at 97.5 % for 1 to 30 degrees of freedom; beyond those the last one is a little wide."""

ENDS_THERE = "where ± reaches below 0 or above 100%, the interval ends there"


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds and half of its 95 % interval (NaN for one seed, which says nothing about the others)."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """The interval of one or more values; where one does not apply (NaN) the mean does not either."""
        count = len(values)
        if count == 1 or any(map(math.isnan, values)):
            return cls(fmean(values), math.nan)
        return cls(fmean(values), _STUDENT[min(count - 1, len(_STUDENT)) - 1] * stdev(values) / math.sqrt(count))

    def ends(self, most: float = math.inf) -> tuple[float, float]:
        """Where the interval ends, from 0 to the ``most`` that can be; of one seed the mean twice."""
        half = 0.0 if math.isnan(self.half) else self.half
        return min(max(self.mean - half, 0.0), self.mean), max(min(self.mean + half, most), self.mean)

    def is_cut(self, most: float = math.inf, digits: int = 3) -> bool:
        """Whether the mean and half of the interval, as they are shown with so many digits, say more than can be."""
        mean, half = round(self.mean, digits), round(self.half, digits)
        return round(mean - half, digits) < 0 or self.mean <= most < round(mean + half, digits)

"""What repeated measurements say: their mean, how sure it is, and how far undisturbed ones differ by themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# Student's t for a two-sided 95 % interval, by degrees of freedom from 1
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_T95_MANY = 1.96
_NINE_IN_TEN = 2.44  # of normal errors nine in ten are below so many times their median


class MeanInterval(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def spread(values: Sequence[float]) -> MeanInterval:
    """Mean and interval of measurements; one alone has no known interval and gets an unlimited one."""
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return MeanInterval(mean, -math.inf, math.inf)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    freedom = len(values) - 1
    factor = _T95[freedom - 1] if freedom <= len(_T95) else _T95_MANY
    half = factor * deviation / math.sqrt(len(values))
    return MeanInterval(mean, mean - half, mean + half)


def drift(baselines: Sequence[float]) -> float:
    """How far an undisturbed measurement lies from the mean of the two around it, as a fraction, nine times in ten.

    The two around it are what a measurement under pressure is compared with, so whatever is smaller is noise. It is
    told from the median, so that one outlier among few does not decide.
    """
    gaps = sorted(
        abs(2 * here / (before + after) - 1)
        for before, here, after in zip(baselines, baselines[1:], baselines[2:], strict=False)
        if before + after > 0
    )
    if not gaps:
        return 0.0
    middle = len(gaps) // 2
    return _NINE_IN_TEN * (gaps[middle] if len(gaps) % 2 else (gaps[middle - 1] + gaps[middle]) / 2)

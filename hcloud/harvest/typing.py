"""Which tenants are busy by the day, steadily, or by chance: read off the spectrum of their use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hcloud.harvest.policy import HarvestPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

DAILY_HARMONICS, WEEKLY_HARMONICS = 4, 6
_AT_ONCE = 64
"""Tenants whose spectra are in memory at a time."""


class Pattern(StrEnum):
    """How the use of a tenant goes: by the day, hardly at all, or as nobody can tell."""

    PERIODIC = "periodic"
    CONSTANT = "constant"
    UNPREDICTABLE = "unpredictable"


PATTERNS = tuple(Pattern)
PERIODIC, CONSTANT, UNPREDICTABLE = range(3)
"""Their codes."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A code of :data:`PATTERNS` a tenant, and its features: mean, standard deviation, amplitude of one and of two a
    day, and of all that is slower than a day, of a day to six hours, and faster."""

    pattern: NDArray[np.int64]
    features: Floats


def typed(use: NDArray[np.float32], per_day: int, policy: HarvestPolicy) -> Typed:
    """Types and features of every row of whole days. Of fewer days than a week needs, none is periodic."""
    days = use.shape[1] // per_day
    pattern = np.empty(len(use), np.int64)
    features = np.empty((len(use), 7))
    for begin in range(0, len(use), _AT_ONCE):
        rows = slice(begin, begin + _AT_ONCE)
        pattern[rows], features[rows] = _typed(use[rows].astype(np.float64), days, policy)
    return Typed(pattern, features)


def _typed(use: Floats, days: int, policy: HarvestPolicy) -> tuple[NDArray[np.int64], Floats]:
    mean, spread = use.mean(axis=1), use.std(axis=1)
    power = spectrum(use)
    pattern = np.where(_is_periodic(power, days, policy), PERIODIC, UNPREDICTABLE)
    pattern[spread < policy.sigma] = CONSTANT
    amplitude = 4.0 / use.shape[1]
    lines = [np.sqrt(power[:, k]) * amplitude for k in (days, 2 * days)]
    ends = (2, days - 1, DAILY_HARMONICS * days + 2, power.shape[1])
    bands = [np.sqrt(power[:, low:high].sum(axis=1)) * amplitude for low, high in pairwise(ends)]
    return pattern, np.column_stack([mean, spread, *lines, *bands])


def spectrum(use: Floats) -> Floats:
    """The power at each whole number of cycles, behind a Hann window; the mean and one cycle count for nothing."""
    count = use.shape[1]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(count) / count)
    power: Floats = np.abs(np.fft.rfft((use - use.mean(axis=1, keepdims=True)) * window, axis=1)) ** 2
    power[:, :2] = 0.0
    return power


def _is_periodic(power: Floats, days: int, policy: HarvestPolicy) -> NDArray[np.bool_]:
    """Whether a line of the day is the strongest of all that is not weekly, and has a share of the power."""
    if days < policy.periodic_days:
        return np.zeros(len(power), np.bool_)
    daily = _lines([h * days for h in range(1, DAILY_HARMONICS + 1)])
    daily = [k for k in daily if k < power.shape[1]]
    peak = power[:, daily].max(axis=1)
    floor = power[:, _others(days, daily)].max(axis=1)
    total = power.sum(axis=1)
    share = np.divide(power[:, daily].sum(axis=1), total, out=np.zeros(len(power)), where=total > 0)
    periodic: NDArray[np.bool_] = (peak > floor) & (share >= policy.daily_share)
    return periodic


def _others(days: int, daily: list[int]) -> list[int]:
    """The lines that speak against a pattern: those slower than the day that are not weekly. Below four weeks none is
    left but the weekly ones; there those between the harmonics of the day speak, too, and of the weekly ones their
    neighbours, and all where that is nothing."""
    every, weekly = range(2, max(days - 2, 3)), [round(h * days / 7) for h in range(1, WEEKLY_HARMONICS + 1)]
    if left := [k for k in every if k not in _lines(weekly)]:
        return left
    between = [k for k in range(days + 2, DAILY_HARMONICS * days - 1) if k not in daily]
    return ([k for k in every if k not in weekly] or list(every)) + between


def _lines(centres: list[int]) -> list[int]:
    """Lines with their neighbours."""
    return sorted({k + by for k in centres for by in (-1, 0, 1)})

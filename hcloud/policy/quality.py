"""M2 and M3: the order-preserving encoding of an interference vector, and the quality that a type's instances reach.

A vector of ten entries 0..99, sorted from the largest, is read as one base-100 number (thesis §8.3.3; Tarcil eq. 7.1).
Ten digits do not fit 64 bits, so the number is held as two of five digits each, compared lexicographically.
"""

from __future__ import annotations

from typing import Annotated

from hcloud.policy.codes import SCALE
from hcloud.policy.records import Ints, Reals

DIGITS = 10
HALF = 10**10
"""Five base-100 digits: what one half of an encoding stays below."""
_DROPPED = HALF // SCALE


def encode(entries: Ints) -> tuple[int, int]:
    """The two halves of the encoding of ten entries; each is clamped to 0..99 first. Sorts ``entries`` in place."""
    for place in range(DIGITS):
        value = min(max(entries[place], 0), 99)
        at = place
        while at > 0 and entries[at - 1] < value:
            entries[at] = entries[at - 1]
            at -= 1
        entries[at] = value
    high, low = 0, 0
    for place in range(5):
        high = high * 100 + entries[place]
        low = low * 100 + entries[place + 5]
    return high, low


def complement(high: int, low: int) -> tuple[int, int]:
    """One minus an encoding: the quality an instance has left under that contention (Tarcil eq. 7.4)."""
    return HALF - 1 - high, HALF - 1 - low


def reaches(high: int, low: int, other_high: int, other_low: int) -> bool:
    """Whether the first encoding is at least the second."""
    return high > other_high or (high == other_high and low >= other_low)


def leading(high: int) -> int:
    """The two leading digits, 0..9999."""
    return high // _DROPPED


SAMPLES = 4096
"""Samples kept of a type at most; where more fall into the window, the oldest go."""


class QualityWindow:
    """A record: quality samples of one instance type over a sliding window, as a ring of times and qualities
    (0..9999), their histogram, and a pointer (``bin``, with ``below`` samples under it) to the quantile asked for."""

    times: Annotated[Reals, SAMPLES]
    qualities: Annotated[Ints, SAMPLES]
    counts: Annotated[Ints, SCALE]
    start: int
    length: int
    bin: int
    below: int


def observe(window: QualityWindow, now: float, quality: int) -> None:
    """Add a sample; where the ring is full the oldest goes."""
    if window.length == SAMPLES:
        _drop_oldest(window)
    at = (window.start + window.length) % SAMPLES
    window.times[at] = now
    window.qualities[at] = quality
    window.length += 1
    window.counts[quality] += 1
    if quality < window.bin:
        window.below += 1


def _drop_oldest(window: QualityWindow) -> None:
    quality = window.qualities[window.start]
    window.start = (window.start + 1) % SAMPLES
    window.length -= 1
    window.counts[quality] -= 1
    if quality < window.bin:
        window.below -= 1


def quantile(window: QualityWindow, oldest: float, share: float) -> int:
    """The sample below which at most ``share`` of the samples lie, of those not before ``oldest``; -1 without any.

    The 0.10 quantile is what 90 % of observations reach or exceed.
    """
    while window.length > 0 and window.times[window.start] < oldest:
        _drop_oldest(window)
    if window.length == 0:
        return -1
    rank = min(int(share * window.length), window.length - 1)
    counts, found, below = window.counts, window.bin, window.below
    while below > rank:
        found -= 1
        below -= counts[found]
    while below + counts[found] <= rank:
        below += counts[found]
        found += 1
    window.bin, window.below = found, below
    return found

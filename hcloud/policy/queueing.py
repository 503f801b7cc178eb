"""M6: how long a job would wait in the local queue, from the waits seen lately (thesis §8.4.2, Fig. 8.9b)."""

from __future__ import annotations

import math
from typing import Annotated

from hcloud.policy.records import Ints, Reals
from hcloud.policy.rules import Rules

HISTORY = 1024
"""The longest history of waits a strategy may ask for."""
_SMOOTHING = 0.05
"""Weight of the newest opening in the mean time to one: the last twenty or so count."""
_FORGIVEN = 1e-9
"""What binary fractions may add: 0.99 of 100 is 99."""


class Waits:
    """A record of one size class: its last waits as they came (a ring, ``at`` its next place), with 1 for those that
    were given up; the ``kept`` full ones and the ``left`` given up, each in rising order; how long a job at the head
    takes to find an opening in the mean, and how many were seen."""

    recent: Annotated[Reals, HISTORY]
    given_up: Annotated[Ints, HISTORY]
    ranked: Annotated[Reals, HISTORY]
    broken: Annotated[Reals, HISTORY]
    kept: int
    left: int
    at: int
    mean_interval: float
    openings: int


def record_wait(waits: Waits, history: int, seconds: float, given_up: int) -> None:
    """Add the wait of a job that was taken, or (1) that gave up after so long; beyond ``history`` the oldest goes."""
    if waits.kept + waits.left == history:
        oldest = waits.recent[waits.at]
        if waits.given_up[waits.at]:
            _take_out(waits.broken, waits.left, oldest)
            waits.left -= 1
        else:
            _take_out(waits.ranked, waits.kept, oldest)
            waits.kept -= 1
    if given_up:
        _put_in(waits.broken, waits.left, seconds)
        waits.left += 1
    else:
        _put_in(waits.ranked, waits.kept, seconds)
        waits.kept += 1
    waits.recent[waits.at], waits.given_up[waits.at] = seconds, given_up
    waits.at = (waits.at + 1) % history


def _take_out(ranked: Reals, kept: int, value: float) -> None:
    for i in range(_below(ranked, kept, value), kept - 1):
        ranked[i] = ranked[i + 1]


def _put_in(ranked: Reals, kept: int, value: float) -> None:
    place = _below(ranked, kept, value)
    for i in range(kept, place, -1):
        ranked[i] = ranked[i - 1]
    ranked[place] = value


def _below(ranked: Reals, kept: int, value: float) -> int:
    """How many entries are below the value."""
    low, high = 0, kept
    while low < high:
        middle = (low + high) // 2
        if ranked[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def record_opening(waits: Waits, seconds: float) -> None:
    """A job of that size was at the head for so long until the reserve could take it."""
    weight = _SMOOTHING if waits.openings > 0 else 1.0
    waits.mean_interval += weight * (seconds - waits.mean_interval)
    waits.openings += 1


def wait_quantile(waits: Waits, share: float, ages: Reals, waiting: int) -> float:
    """The wait that ``share`` of the jobs of a size stay within (Kaplan and Meier, 1958); -1 without any.

    ``ages`` holds the seconds that the ``waiting`` jobs still queued have waited so far, longest first: of them as of
    those that gave up it is known only that they wait longer. Infinite where too many did for any wait to be named.
    """
    if waits.kept + waits.left + waiting == 0:
        return -1.0
    known = waits.kept  # as many are shorter than any that is not known whole: of those it is a plain rank
    if waits.left > 0:
        known = _below(waits.ranked, known, waits.broken[0])
    if waiting > 0:
        known = _below(waits.ranked, known, ages[waiting - 1])
    every = waits.kept + waits.left + waiting
    wanted = max(math.ceil((share - _FORGIVEN) * every), 1)
    if wanted <= known:
        return float(waits.ranked[wanted - 1])
    staying, gone, aged = 1.0 - known / every, 0, 0
    for at in range(known, waits.kept):
        seconds: float = waits.ranked[at]
        while gone < waits.left and waits.broken[gone] < seconds:
            gone += 1
        while aged < waiting and ages[waiting - 1 - aged] < seconds:
            aged += 1
        staying *= 1.0 - 1.0 / (waits.kept - at + waits.left - gone + waiting - aged)
        if 1.0 - staying >= share - _FORGIVEN:
            return seconds
    return math.inf


def expected_wait(rules: Rules, waits: Waits, ahead: int, quantile: float) -> float:
    """Seconds a job would wait behind ``ahead`` others, given the :func:`wait_quantile` of its size.

    Without history it is the mean time to an opening times the position, or unbounded where no opening was seen or the
    strategy says so; behind a queue it is at least as long as that many openings take.
    """
    by_openings = waits.mean_interval * (ahead + 1) if waits.openings > 0 else -1.0
    if quantile < 0.0:
        return by_openings if rules.by_releases and by_openings >= 0.0 else math.inf
    if rules.sum_ahead and ahead > 0:
        return max(quantile, by_openings)
    return quantile

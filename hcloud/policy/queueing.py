"""M6: how long a job would wait in the local queue, from the waits seen lately (thesis §8.4.2, Fig. 8.9b)."""

from __future__ import annotations

import math
from typing import Annotated

from hcloud.policy.records import Reals
from hcloud.policy.rules import Rules

HISTORY = 1024
"""The longest history of waits a strategy may ask for."""
_SMOOTHING = 0.05
"""Weight of the newest interval in the mean interval between openings: the last twenty or so count."""
_FORGIVEN = 1e-9
"""What binary fractions may add: 0.99 of 100 is 99."""


class Waits:
    """A record: the last waits of one size class as they came (a ring, ``at`` its next place) and in rising order,
    ``kept`` of them; when the last opening for that size was, the mean interval between openings, openings seen."""

    recent: Annotated[Reals, HISTORY]
    ranked: Annotated[Reals, HISTORY]
    kept: int
    at: int
    last_opening: float
    mean_interval: float
    openings: int


def record_wait(waits: Waits, history: int, seconds: float) -> None:
    """Add the wait of a job that was scheduled; beyond ``history`` waits the oldest goes."""
    ranked, kept = waits.ranked, waits.kept
    if kept == history:
        for i in range(_below(ranked, kept, waits.recent[waits.at]), kept - 1):
            ranked[i] = ranked[i + 1]
        kept -= 1
    place = _below(ranked, kept, seconds)
    for i in range(kept, place, -1):
        ranked[i] = ranked[i - 1]
    ranked[place] = seconds
    waits.recent[waits.at] = seconds
    waits.kept = kept + 1
    waits.at = (waits.at + 1) % history


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


def record_opening(waits: Waits, now: float) -> None:
    """A departure after which a job of that size class would fit the server."""
    if waits.openings == 1:
        waits.mean_interval = now - waits.last_opening
    elif waits.openings > 1:
        waits.mean_interval += _SMOOTHING * (now - waits.last_opening - waits.mean_interval)
    waits.last_opening = now
    waits.openings += 1


def share_within(waits: Waits, seconds: float) -> float:
    """P(wait <= seconds): of 100 waits, 99 of them at most 1.4 s, it is 0.99 at 1.4 s. NaN without history."""
    if waits.kept == 0:
        return math.nan
    within = 0
    while within < waits.kept and waits.ranked[within] <= seconds:
        within += 1
    return within / waits.kept


def wait_quantile(waits: Waits, share: float, ages: Reals, waiting: int) -> float:
    """The wait that ``share`` of the jobs of a size stay within; -1 without any.

    ``ages`` holds the seconds that the ``waiting`` jobs still queued have waited so far, longest first: they count as
    waits of at least that long (censored from the right, taken at their lower bound).
    """
    total = waits.kept + waiting
    if total == 0:
        return -1.0
    above = total - max(math.ceil(share * total - _FORGIVEN), 1)
    ranked, aged = waits.kept - 1, 0
    for _ in range(above):
        if aged < waiting and (ranked < 0 or ages[aged] >= waits.ranked[ranked]):
            aged += 1
        else:
            ranked -= 1
    oldest = ages[aged] if aged < waiting else -1.0
    longest = waits.ranked[ranked] if ranked >= 0 else -1.0
    return max(oldest, longest)


def expected_wait(rules: Rules, waits: Waits, ahead: int, quantile: float) -> float:
    """Seconds a job would wait behind ``ahead`` others, given the :func:`wait_quantile` of its size.

    Without history it is the mean interval between openings times the position, or unbounded where no opening was
    seen or the strategy says so; behind a queue it is at least as long as that many openings take.
    """
    by_openings = waits.mean_interval * (ahead + 1) if waits.openings > 1 else -1.0
    if quantile < 0.0:
        return by_openings if rules.by_releases and by_openings >= 0.0 else math.inf
    if rules.sum_ahead and ahead > 0:
        return max(quantile, by_openings)
    return quantile

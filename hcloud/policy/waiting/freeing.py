"""How likely a server of a pool becomes free within a time: from how long jobs keep theirs, and how long those that run
have had them (Paragon §4.2)."""

from __future__ import annotations

import math

from hcloud.policy.records import Reals
from hcloud.policy.waiting.busy import EXPONENTIAL, LEAST_SEEN, Fit, best_fit, log_survival

GRID = 128
"""Steps that survival is tabulated at: the squares of even ones, so that short times are told apart."""
_LONGEST = 4.0
"""The table ends at so many times the longest period seen; beyond, periods end as at its end."""
_NEVER = -60.0
"""The logarithm of a survival that counts as none."""


def tabulate(spans: Reals, count: int, survival: Reals) -> tuple[Fit, float]:
    """Write the logarithm of survival at the steps of the grid; the fit and where the grid ends. With few periods it is
    what was seen, sorted in place: each as likely, and longer ones as likely as one more would be."""
    longest = 0.0
    for at in range(count):
        longest = max(longest, spans[at])
    end = _LONGEST * longest
    if count < LEAST_SEEN:
        return _tabulate_seen(spans, count, survival, end), end
    fit, _ = best_fit(spans, count)
    start = log_survival(fit, 0.0)
    for step in range(GRID + 1):
        survival[step] = max(log_survival(fit, end * (step / GRID) ** 2) - start, _NEVER)
    return fit, end


def _tabulate_seen(spans: Reals, count: int, survival: Reals, end: float) -> Fit:
    total = 0.0
    for at in range(count):
        one, place = spans[at], at
        total += one
        while place > 0 and spans[place - 1] > one:
            spans[place] = spans[place - 1]
            place -= 1
        spans[place] = one
    mean, at = total / max(count, 1), 0
    for step in range(GRID + 1):
        x = end * (step / GRID) ** 2
        while at < count and spans[at] <= x:
            at += 1
        before = spans[at - 1] if at > 0 else 0.0
        beyond = (x - before) / (spans[at] - before) if at < count else (x - before) / max(mean, 1e-9)
        share = (count + 1 - at - beyond) / (count + 1)
        survival[step] = math.log(share) if at < count else max(-math.log(count + 1) - beyond, _NEVER)
    return EXPONENTIAL, mean, 0.0


def survives(survival: Reals, end: float, x: float) -> float:
    """The logarithm of the share of periods longer than ``x``, read from a table; beyond it goes on at its last
    slope."""
    if x <= 0.0 or end <= 0.0:
        return 0.0
    if x >= end:
        last = end - end * ((GRID - 1) / GRID) ** 2
        return survival[GRID] + (survival[GRID] - survival[GRID - 1]) * (x - end) / last  # type: ignore[no-any-return]
    step = int(math.sqrt(x / end) * GRID)
    low, high = end * (step / GRID) ** 2, end * ((step + 1) / GRID) ** 2
    return survival[step] + (survival[step + 1] - survival[step]) * (x - low) / (high - low)  # type: ignore[no-any-return]

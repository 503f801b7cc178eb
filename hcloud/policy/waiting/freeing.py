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


def chance_by_ages(fit: Fit, ages: Reals, count: int, within: float) -> float:
    """``1 - prod [1 - F(a + t)] / [1 - F(a)]``: that one of the jobs that have run for these times ends within a
    time."""
    left = 0.0
    for at in range(count):
        left += log_survival(fit, ages[at] + within) - log_survival(fit, ages[at])
    return -math.expm1(left)


def chance_at_any_time(fit: Fit, servers: int, within: float) -> float:
    """The same where nobody knows how long jobs have run: ``1 - (1 - F_e(t)) ** n`` with what is left of a period that
    is met at any time (Paragon §4.2)."""
    steps = 200
    mean = _area(fit, 0.0, within, steps) + _tail_area(fit, within)
    passed = _area(fit, 0.0, within, steps) / mean
    return -math.expm1(servers * math.log1p(-min(passed, 1.0 - 1e-16)))


def _area(fit: Fit, start: float, end: float, steps: int) -> float:
    """Simpson's rule over the survival."""
    width, total = (end - start) / steps, 0.0
    for at in range(steps + 1):
        weight = 1.0 if at in (0, steps) else 4.0 if at % 2 else 2.0
        total += weight * math.exp(log_survival(fit, start + at * width))
    return total * width / 3.0


def _tail_area(fit: Fit, start: float) -> float:
    """The area under the survival from a time on, in stretches that double until they add nothing."""
    total, width, at = 0.0, max(start, 1e-3), start
    while True:
        more = _area(fit, at, at + width, 200)
        total += more
        at, width = at + width, 2.0 * width
        if more <= total * 1e-12:
            return total

"""How long jobs keep what they run on: the distribution that fits what was seen best, and its survival (Paragon §4.2).

Five families are fitted by maximum likelihood, each beginning at zero but for the normal one; the least of Akaike's
criterion wins.
"""

from __future__ import annotations

import math

from hcloud.policy.records import Reals

NORMAL, LOG_NORMAL, GAMMA, WEIBULL, EXPONENTIAL = range(5)
LEAST_SEEN = 30
"""With fewer periods no family is fitted: what was seen is the distribution itself."""
_STEPS = 100
"""Steps of Newton's method at most; it takes about five."""
_EXACT = 1e-10
_TERMS = 400
_FAR = 8.0
"""Standard deviations from which on the tail of a normal distribution is read from its series."""
_LEAST_SPREAD = 1e-9
"""Periods that differ by less than this part of their mean count as alike."""

Fit = tuple[int, float, float]
"""A family and its two numbers: mean and deviation (of the logarithm for log-normal), shape and scale, mean and 0."""


def best_fit(spans: Reals, count: int) -> tuple[Fit, float]:
    """The family that fits the first so many of some positive times best, by AIC, and its log-likelihood."""
    mean, deviation, logs, _ = _moments(spans, count)
    best, score, likelihood = (EXPONENTIAL, mean, 0.0), math.inf, 0.0
    if deviation <= _LEAST_SPREAD * mean:  # all alike: no likelihood is finite
        return (NORMAL, mean, max(_LEAST_SPREAD * mean, _LEAST_SPREAD)), 0.0
    for family in range(5):
        fit = fitted(family, spans, count)
        reached = log_likelihood(fit, count, (mean, logs), _power(fit, spans, count))
        parameters = 1 if family == EXPONENTIAL else 2
        if 2.0 * parameters - 2.0 * reached < score:
            best, score, likelihood = fit, 2.0 * parameters - 2.0 * reached, reached
    return best, likelihood


def fitted(family: int, spans: Reals, count: int) -> Fit:
    """One family at its greatest likelihood."""
    mean, deviation, logs, log_deviation = _moments(spans, count)
    if family == NORMAL:
        return family, mean, deviation
    if family == LOG_NORMAL:
        return family, logs, log_deviation
    if family == GAMMA:
        shape = _gamma_shape(math.log(mean) - logs)
        return family, shape, mean / shape
    if family == WEIBULL:
        shape = _weibull_shape(spans, count, logs, log_deviation)
        total = 0.0
        for at in range(count):
            total += math.exp(shape * (math.log(spans[at]) - logs))
        return family, shape, math.exp(logs) * (total / count) ** (1.0 / shape)
    return EXPONENTIAL, mean, 0.0


def _moments(spans: Reals, count: int) -> tuple[float, float, float, float]:
    """Mean and deviation, and those of the logarithms."""
    total, logs, squares, log_squares = 0.0, 0.0, 0.0, 0.0
    for at in range(count):
        total += spans[at]
        logs += math.log(spans[at])
    mean, log_mean = total / count, logs / count
    for at in range(count):
        squares += (spans[at] - mean) ** 2
        log_squares += (math.log(spans[at]) - log_mean) ** 2
    return mean, math.sqrt(squares / count), log_mean, math.sqrt(log_squares / count)


def _power(fit: Fit, spans: Reals, count: int) -> float:
    """The sum that a likelihood rests on besides means: of squares around the first number, of powers."""
    total = 0.0
    for at in range(count):
        if fit[0] == NORMAL:
            total += (spans[at] - fit[1]) ** 2
        elif fit[0] == LOG_NORMAL:
            total += (math.log(spans[at]) - fit[1]) ** 2
        elif fit[0] == WEIBULL:
            total += (spans[at] / fit[2]) ** fit[1]
    return total


def log_likelihood(fit: Fit, count: int, means: tuple[float, float], power: float) -> float:
    """Of times with a mean, and a mean of their logarithms."""
    family, one, other = fit
    mean, logs = means
    if family == NORMAL:
        return -count * (math.log(other) + 0.5 * math.log(2.0 * math.pi)) - power / (2.0 * other * other)
    if family == LOG_NORMAL:
        return -count * (math.log(other) + 0.5 * math.log(2.0 * math.pi) + logs) - power / (2.0 * other * other)
    if family == GAMMA:
        return count * ((one - 1.0) * logs - mean / other - one * math.log(other) - log_gamma(one))
    if family == WEIBULL:
        return count * (math.log(one) - one * math.log(other) + (one - 1.0) * logs) - power
    return -count * (math.log(one) + mean / one)


def _gamma_shape(gap: float) -> float:
    """The shape of a gamma distribution; ``gap`` is the logarithm of the mean less the mean of the logarithms. Begins
    at Minka's approximation."""
    shape = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(_STEPS):
        first, second = _digamma(shape)
        step = (math.log(shape) - first - gap) / (1.0 / shape - second)
        shape = shape - step if step < shape else 0.5 * shape
        if abs(step) <= _EXACT * shape:
            break
    return shape


def log_gamma(x: float) -> float:
    """The logarithm of the gamma function, by Stirling's series from ten on: ``math.lgamma`` has another last digit in
    plain Python than compiled."""
    before = 1.0
    while x < 10.0:
        before *= x
        x += 1.0
    one = 1.0 / x
    two = one * one
    series = one * (
        1 / 12 - two * (1 / 360 - two * (1 / 1260 - two * (1 / 1680 - two * (1 / 1188 - two * 691 / 360360))))
    )
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi) + series - math.log(before)


def _digamma(x: float) -> tuple[float, float]:
    """The derivative of :func:`log_gamma`, and the derivative of that."""
    first, second = 0.0, 0.0
    while x < 10.0:
        first -= 1.0 / x
        second += 1.0 / (x * x)
        x += 1.0
    inverse = 1.0 / (x * x)
    first += math.log(x) - 0.5 / x
    first -= inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    second += 1.0 / x + 0.5 * inverse
    second += inverse / x * (1 / 6 - inverse * (1 / 30 - inverse * (1 / 42 - inverse * (1 / 30 - inverse * 5 / 66))))
    return first, second


def _weibull_shape(spans: Reals, count: int, logs: float, log_deviation: float) -> float:
    """The shape of a Weibull distribution, of which the logarithms' deviation is a first guess."""
    shape = math.pi / (math.sqrt(6.0) * log_deviation)
    for _ in range(_STEPS):
        none, once, twice = 0.0, 0.0, 0.0
        for at in range(count):
            log = math.log(spans[at]) - logs
            weight = math.exp(shape * log)
            none += weight
            once += weight * log
            twice += weight * log * log
        mean = once / none
        step = (mean - 1.0 / shape) / (twice / none - mean * mean + 1.0 / (shape * shape))
        shape = shape - step if step < shape else 0.5 * shape
        if abs(step) <= _EXACT * shape:
            break
    return shape


def log_survival(fit: Fit, x: float) -> float:
    """The logarithm of the share of periods that last longer than ``x``."""
    family, one, other = fit
    if x <= 0.0 and family != NORMAL:
        return 0.0
    if family == NORMAL:
        return _normal_tail((x - one) / other)
    if family == LOG_NORMAL:
        return _normal_tail((math.log(x) - one) / other)
    if family == GAMMA:
        return _gamma_tail(one, x / other)
    if family == WEIBULL:
        return -math.exp(one * math.log(x / other))
    return -x / one


def _normal_tail(z: float) -> float:
    if z < _FAR:
        return math.log(0.5 * math.erfc(z / math.sqrt(2.0)))
    inverse = 1.0 / (z * z)
    series = 1.0 - inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse))
    return -0.5 * z * z - math.log(z * math.sqrt(2.0 * math.pi)) + math.log(series)


def _gamma_tail(shape: float, x: float) -> float:
    """By the series of the lower part for small ``x``, else by Lentz's continued fraction."""
    head = shape * math.log(x) - x - log_gamma(shape)
    if x < shape + 1.0:
        term = total = 1.0 / shape
        for at in range(1, _TERMS):
            term *= x / (shape + at)
            total += term
            if term < total * _EXACT:
                break
        return math.log(max(1.0 - math.exp(head) * total, 1e-300))
    b = x + 1.0 - shape
    c, d = 1e300, 1.0 / b
    product = d
    for at in range(1, _TERMS):
        factor = -at * (at - shape)
        b += 2.0
        d = 1.0 / (factor * d + b)
        c = b + factor / c
        product *= d * c
        if abs(d * c - 1.0) < _EXACT:
            break
    return head + math.log(product)


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

"""How long jobs keep servers, and how likely one becomes free: against closed forms, plain chance and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hcloud.policy.records import Reals
from hcloud.policy.waiting.busy import (
    EXPONENTIAL,
    GAMMA,
    GRID,
    LEAST_SEEN,
    LOG_NORMAL,
    NORMAL,
    WEIBULL,
    Fit,
    best_fit,
    fitted,
    log_gamma,
    log_survival,
    survives,
    tabulate,
)

SEEN = {
    NORMAL: lambda c: np.abs(c.normal(2500, 400, 500)),
    LOG_NORMAL: lambda c: c.lognormal(6, 0.8, 500),
    GAMMA: lambda c: c.gamma(4.0, 300, 500),
    WEIBULL: lambda c: 300 * c.weibull(0.6, 500),
    EXPONENTIAL: lambda c: c.exponential(500, 500),
}


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


def likelihood(fit: Fit, spans: np.ndarray) -> float:
    """By the slope of the survival alone."""
    step = 1e-4
    total = 0.0
    for x in spans:
        low, high = log_survival(fit, x * (1 - step)), log_survival(fit, x * (1 + step))
        total += math.log((math.exp(low) - math.exp(high)) / (2 * step * x))
    return total


@pytest.mark.parametrize("family", SEEN)
def test_the_family_that_periods_come_from_fits_best_and_no_other_numbers_fit_better(family: int) -> None:
    spans = SEEN[family](np.random.default_rng(3))
    fit, reached = best_fit(spans, len(spans))
    assert fit[0] == family
    assert likelihood(fit, spans) == pytest.approx(reached, rel=1e-3)
    for change in (0.97, 1.03):
        assert likelihood((fit[0], fit[1] * change, fit[2]), spans) < reached
        if family != EXPONENTIAL:
            assert likelihood((fit[0], fit[1], fit[2] * change), spans) < reached


def test_survivals_are_those_of_closed_forms() -> None:
    for x in (0.01, 0.5, 1.0, 3.0, 10.0, 40.0):
        assert log_survival((GAMMA, 2.0, 1.0), x) == pytest.approx(-x + math.log1p(x), rel=1e-8)
        assert log_survival((WEIBULL, 1.0, 2.0), x) == pytest.approx(-x / 2)
        assert log_survival((EXPONENTIAL, 2.0, 0.0), x) == pytest.approx(-x / 2)
    assert log_survival((NORMAL, 0.0, 1.0), 1.959963985) == pytest.approx(math.log(0.025), rel=1e-8)
    near, far = log_survival((NORMAL, 0.0, 1.0), 8.0 - 1e-9), log_survival((NORMAL, 0.0, 1.0), 8.0 + 1e-9)
    assert near == pytest.approx(far, rel=1e-6)
    assert log_survival((NORMAL, 0.0, 1.0), 60.0) < -1800


def test_the_logarithm_of_the_gamma_function_is_that_of_the_standard_library() -> None:
    """Which has another last digit compiled than in plain Python."""
    for x in np.geomspace(0.01, 1e4, 500).tolist():
        assert log_gamma(x) == pytest.approx(math.lgamma(x), rel=1e-13, abs=1e-14)


def test_forty_servers_free_one_within_a_minute_as_the_source_says() -> None:
    assert chance_at_any_time((NORMAL, 2500.0, 789.0), 40, 56.0) == pytest.approx(0.596, abs=0.003)


@pytest.mark.slow
@pytest.mark.parametrize("family", SEEN)
def test_longer_times_and_more_servers_never_make_a_free_one_less_likely(family: int) -> None:
    chance = np.random.default_rng(5)
    spans = SEEN[family](chance)
    fit, ages = fitted(family, spans, len(spans)), chance.uniform(0, 2000, 60)
    by_time = [chance_by_ages(fit, ages, 20, t) for t in np.linspace(0, 3000, 40)]
    by_servers = [chance_by_ages(fit, ages, n, 50.0) for n in range(61)]
    anyhow = [chance_at_any_time(fit, n, 50.0) for n in range(1, 40, 4)]
    for row in (by_time, by_servers, anyhow):
        assert row == sorted(row)
        assert 0 <= row[0] <= row[-1] <= 1


@pytest.mark.slow
def test_the_chance_is_how_often_a_simulated_pool_frees_a_server() -> None:
    chance, fit, servers = np.random.default_rng(8), (LOG_NORMAL, 6.0, 0.8), 12
    ages = chance.uniform(0, 800, servers)
    freed = 0
    for _ in range(20_000):
        left = []
        for age in ages:
            drawn = math.exp(6.0 + 0.8 * chance.standard_normal())
            while drawn <= age:
                drawn = math.exp(6.0 + 0.8 * chance.standard_normal())
            left.append(drawn - age)
        freed += min(left) <= 40.0
    assert chance_by_ages(fit, ages, servers, 40.0) == pytest.approx(freed / 20_000, abs=0.02)


def test_a_table_says_what_the_distribution_does() -> None:
    spans = np.random.default_rng(2).lognormal(5, 0.6, 200)
    table = np.zeros(GRID + 1)
    fit, end = tabulate(spans, len(spans), table)
    assert end == pytest.approx(4 * spans.max())
    for x in (0.0, 3.0, 50.0, 150.0, 400.0, float(spans.max())):
        assert math.exp(survives(table, end, x)) == pytest.approx(math.exp(log_survival(fit, x)), abs=0.005)
    falling = [survives(table, end, x) for x in np.linspace(0, 2 * end, 300)]
    assert falling == sorted(falling, reverse=True)


def test_few_periods_are_what_was_seen() -> None:
    spans = np.array([30.0, 10.0, 20.0])
    assert len(spans) < LEAST_SEEN
    table = np.zeros(GRID + 1)
    _, end = tabulate(spans, 3, table)
    halfway = math.exp(survives(table, end, 15.0))
    assert halfway == pytest.approx(1 - 1.5 / 4, abs=0.02)
    falling = [survives(table, end, x) for x in np.linspace(0, 2 * end, 200)]
    assert falling == sorted(falling, reverse=True)


def test_periods_that_are_all_alike_end_then() -> None:
    spans = np.full(50, 100.0)
    table = np.zeros(GRID + 1)
    _, end = tabulate(spans, 50, table)
    assert survives(table, end, 50.0) == pytest.approx(0.0, abs=1e-6)
    assert survives(table, end, 120.0) < -10

"""The search for the intensity at which 5 % is lost, on response curves whose answer is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcloud.profiling.noise import drift, spread
from hcloud.profiling.ramp import FULL, Crossing, RampRules, RampVerdict, crossing, next_intensity, verdict

Response = Callable[[float], float]


PLAIN = RampRules()


def searched(response: Response, rules: RampRules = PLAIN) -> tuple[Crossing, dict[float, list[float]]]:
    """Runs the search against a response until it is content."""
    losses: dict[float, list[float]] = {}
    while (intensity := next_intensity(losses, rules)) is not None:
        losses.setdefault(intensity, []).append(response(intensity))
        assert sum(map(len, losses.values())) < 100
    found = crossing(losses, rules)
    assert found is not None
    return found, losses


def noisy(response: Response, sigma: float, seed: int) -> Response:
    chance = random.Random(seed)
    return lambda intensity: response(intensity) + chance.gauss(0, sigma)


@pytest.mark.slow
@given(st.floats(1, 99), st.floats(0.3, 4))
def test_the_crossing_of_a_rising_curve_is_found(truth: float, bend: float) -> None:
    found, losses = searched(lambda x: 0.05 * (x / truth) ** bend)
    assert not found.never
    assert found.low <= found.value <= found.high
    assert abs(found.value - truth) <= RampRules().resolution
    assert found.low - 1e-9 <= truth <= found.high + 1e-9
    assert len(losses) <= 6  # full, at most three of the ramp, two halvings


@given(st.floats(-0.2, 0.0499))
def test_who_never_loses_is_done_after_full_intensity(worst: float) -> None:
    found, losses = searched(lambda x: worst * x / FULL)
    assert found == Crossing(FULL, FULL, FULL, 2, never=True)
    assert set(losses) == {FULL}


@pytest.mark.slow
@given(st.floats(2, 98), st.integers(0, 10_000))
def test_noise_widens_the_interval_and_seldom_misleads(truth: float, seed: int) -> None:
    found, losses = searched(noisy(lambda x: 0.05 * x / truth, 0.005, seed))
    assert found.low <= found.value <= found.high
    assert all(len(repeats) <= RampRules().most for repeats in losses.values())
    assert abs(found.value - truth) <= RampRules().resolution + 30 * truth / 100  # 3 sigma of a slope of 0.05/truth


@pytest.mark.slow
def test_the_interval_holds_the_truth_nineteen_times_in_twenty() -> None:
    held = 0
    for seed in range(400):
        truth = random.Random(seed).uniform(5, 95)
        found, _ = searched(noisy(lambda x, t=truth: 0.05 * x / t, 0.01, seed))  # type: ignore[misc]
        held += found.low <= truth <= found.high
    assert held >= 0.9 * 400


def test_what_is_within_the_drift_is_no_loss() -> None:
    assert searched(lambda x: 0.08 * x / FULL)[0].value == pytest.approx(62.5, abs=6.25)
    assert searched(lambda x: 0.08 * x / FULL, RampRules(noise=0.1))[0].never


@pytest.mark.slow
@given(st.lists(st.floats(-1, 1), max_size=7))
def test_a_verdict_is_given_once_enough_was_measured(losses: list[float]) -> None:
    rules = RampRules()
    judged = verdict(losses, rules)
    assert (judged is RampVerdict.OPEN) <= (len(losses) < rules.most)
    assert (len(losses) < rules.fewest) <= (judged is RampVerdict.OPEN)
    if judged is not RampVerdict.OPEN:
        assert judged.is_lost == (math.fsum(losses) / len(losses) > rules.threshold)


def test_a_search_cut_short_says_what_is_known() -> None:
    assert crossing({}, RampRules()) is None
    assert crossing({FULL: [0.5]}, RampRules()) is None
    half = crossing({FULL: [0.5, 0.5]}, RampRules())
    assert half is not None
    assert (half.low, half.high, half.never) == (0.0, FULL, False)


def test_drift_is_what_nine_in_ten_stay_below() -> None:
    chance = random.Random(1)
    values = [chance.gauss(100, 2) for _ in range(4000)]
    gaps = [abs(2 * b / (a + c) - 1) for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    most = drift(values)
    assert 0.88 < sum(gap < most for gap in gaps) / len(gaps) < 0.92


def test_one_sample_has_no_known_interval() -> None:
    assert spread([3.0]).low == -math.inf
    mean, low, high = spread([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert high - mean == pytest.approx(4.303 / math.sqrt(3))
    assert low < mean < high


def test_drift_follows_the_neighbours_not_the_trend() -> None:
    assert drift([100 + i for i in range(30)]) == pytest.approx(0.0, abs=1e-12)
    assert drift([100.0, 110.0, 100.0, 110.0]) == pytest.approx(0.244, abs=0.03)
    assert drift([100.0, 101.0, 100.0, 100.0, 300.0, 100.0, 100.0, 101.0, 100.0, 100.0, 100.0]) < 0.1
    assert drift([5.0, 6.0]) == 0.0

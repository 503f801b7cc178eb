"""The scenarios give the stated figures for any seed, and the same bits for the same seed."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from hcloud.errors import UsageError
from hcloud.model.workload import JobKind
from hcloud.planning.forecasting.demand import demand_of
from hcloud.sim.setup import scenarios
from hcloud.sim.setup.scenarios import RECIPES, SECONDS, demand_curve, scenario, self_check


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("seed", [1, 2, 3, 77])
def test_stated_figures_hold(name: str, seed: int) -> None:
    failed = [check for check in self_check(name, scenario(name, seed)) if not check.holds]
    assert not failed


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_same_seed_same_bits(name: str) -> None:
    anew = inspect.unwrap(scenarios.generated)  # tests remember what was generated
    first, again, other = anew(RECIPES[name], 5), anew(RECIPES[name], 5), scenario(name, 6)
    for column in ("submit", "duration", "cores", "memory", "kind", "app"):
        assert getattr(first, column).tobytes() == getattr(again, column).tobytes()
    assert first.submit.tobytes() != other.submit.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_demand_follows_the_curve_minute_by_minute(name: str) -> None:
    jobs = scenario(name, 3)
    got = demand_of(jobs, 60).cores[: SECONDS // 60]
    curve = demand_curve(RECIPES[name], np.random.default_rng([3, list(RECIPES).index(name)]))
    wanted = (curve[:-1].reshape(-1, 60).mean(axis=1) + curve[1:].reshape(-1, 60).mean(axis=1)) / 2
    error = np.abs(got - wanted) / wanted
    assert error.max() < 0.12
    assert error.mean() < 0.02


def test_jobs_are_what_the_text_says() -> None:
    jobs = scenario("high-variability", 1)
    assert (np.diff(jobs.submit) >= 0).all()
    assert jobs.duration.min() > 0
    assert set(np.unique(jobs.cores)) == {1.0, 2.0, 4.0, 8.0, 16.0}
    assert 100 < np.count_nonzero(jobs.submit == 0) < 250
    assert np.mean(jobs.cores >= 4) < 0.06
    batch = jobs.kind == JobKind.BATCH
    assert {jobs.apps[i].split("-")[0] for i in jobs.app[batch]} == {"hadoop", "spark"}
    assert {jobs.apps[i].split("-")[0] for i in jobs.app[~batch]} == {"memcached"}


def test_numbers_are_those_that_numpy_draws() -> None:
    """Places take halves of words, of which the second stays while whole words are drawn; of some numbers of places a
    half is refused now and then."""
    ours, numpy = scenarios._Draws(np.random.default_rng(5).bit_generator), np.random.default_rng(5)
    for count in (1, 2, 3, 500, 2**31 + 5) * 2000:
        assert ours.places(count, 1) == [numpy.integers(0, count)]
        assert ours.random() == numpy.random()


def test_unknown_scenario() -> None:
    with pytest.raises(UsageError, match="not a scenario"):
        scenario("hih-variability")

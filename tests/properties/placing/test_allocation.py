"""Sizing by target: what is taken reaches the target, none of it can be spared, and more is never less."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.policy.sizes.allocation import Allocation, Choices, allocate, by_quality, efficiency_of, together

FEW = settings(max_examples=60, deadline=None)


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    """A few servers with room for some sizes, whose performance rises with size and differs by server."""
    cost = np.cumsum(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))).astype(float)
    rows = draw(st.integers(1, 5))
    gains = draw(st.lists(st.lists(st.integers(0, 20), min_size=len(cost), max_size=len(cost)), min_size=rows,
                          max_size=rows))  # fmt: skip
    fits = draw(st.lists(st.integers(0, len(cost)), min_size=rows, max_size=rows))
    performance = np.cumsum(np.array(gains, float), axis=1) * (np.arange(len(cost)) < np.array(fits)[:, None])
    count = np.array(draw(st.lists(st.integers(1, 3), min_size=rows, max_size=rows)))
    nodes = np.cumsum(draw(st.lists(st.floats(0.1, 1.0), min_size=1, max_size=8)))
    return Choices(count, performance, cost, efficiency_of(nodes / nodes[0]))


def predicted(made: Choices, found: Allocation, without: int | None = None) -> float:
    each = made.performance[found.rows, found.sizes]
    return together(each if without is None else np.delete(each, without), made.efficiency)


def test_requests_that_five_servers_serve_take_five() -> None:
    made = Choices(np.array([8]), np.array([[20_000.0]]), np.ones(1), np.ones(8))
    for found in (allocate(made, 100_000.0), by_quality(made, 100_000.0)):
        assert (len(found.rows), found.reached, found.met) == (5, 100_000.0, True)


@FEW
@given(choices(), st.floats(0.5, 150.0))
def test_the_target_is_reached_or_the_most_that_can_be(made: Choices, target: float) -> None:
    whole = together(np.repeat(made.performance.max(axis=1), made.available), made.efficiency)
    for found in (allocate(made, target), by_quality(made, target)):
        assert found.met == (whole >= target * (1 - 1e-9))
        assert found.reached == pytest.approx(predicted(made, found))
        assert found.reached >= (target * (1 - 1e-9) if found.met else whole - 1e-6)
        assert (np.bincount(found.rows, minlength=len(made.available)) <= made.available).all()


@FEW
@given(choices(), st.floats(0.5, 150.0))
def test_no_server_can_be_spared(made: Choices, target: float) -> None:
    for found in (allocate(made, target), by_quality(made, target)):
        if found.met:
            assert all(predicted(made, found, at) < target for at in range(len(found.rows)))


@FEW
@given(choices(), st.lists(st.floats(0.5, 150.0), min_size=2, max_size=8))
def test_a_higher_target_never_takes_less(made: Choices, targets: list[float]) -> None:
    for size in (allocate, by_quality):
        met = [found.cost for target in sorted(targets) if (found := size(made, target)).met]
        assert met == sorted(met)


@FEW
@given(st.lists(st.floats(0.0, 50.0), max_size=8), st.floats(0.0, 50.0), st.lists(st.floats(0.1, 1.0), min_size=1))
def test_adding_a_server_never_lowers_the_prediction(each: list[float], more: float, steps: list[float]) -> None:
    nodes = np.cumsum(steps)
    efficiency = efficiency_of(nodes / nodes[0])
    assert together(np.array([*each, more]), efficiency) >= together(np.array(each), efficiency)


@FEW
@given(choices(), st.floats(0.5, 100.0))
def test_it_never_takes_more_than_the_walk_of_the_text(made: Choices, target: float) -> None:
    found, text = allocate(made, target), by_quality(made, target)
    assert not found.met or found.cost <= text.cost


@FEW
@given(choices(), st.floats(0.5, 150.0))
def test_in_a_small_pool_nothing_takes_less(made: Choices, target: float) -> None:
    """All answers tried; ``python -m benchmarks.b22_size`` does so with an integer program."""
    rows = np.repeat(np.arange(len(made.available)), made.available)[:6]
    made = made._replace(available=np.bincount(rows, minlength=len(made.available)))
    taken = np.array(list(product(range(-1, len(made.cost)), repeat=len(rows))))
    each = np.where(taken >= 0, made.performance[rows, taken], 0.0)
    most = min(len(rows), len(made.efficiency))
    done = np.cumsum(-np.sort(-each, axis=1), axis=1)[:, :most] * made.efficiency[:most]
    cost = np.where(taken >= 0, made.cost[taken], 0.0).sum(axis=1)
    enough = done.max(axis=1) >= target * (1 - 1e-9)
    found = allocate(made, target)
    assert found.met == bool(enough.any())
    assert not found.met or found.cost == pytest.approx(cost[enough].min())

"""The commitment optimiser on cases worked by hand: closed form, flow, ties, proof and refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest

from hcloud.planning.reserving import flow, reserve
from hcloud.planning.reserving.compiled import SET, compiled
from hcloud.planning.reserving.reserve import (
    BandDemand,
    CommitmentKind,
    ProofError,
    nothing_yet,
    optimal_reserve,
    solve_pool,
)


def demand_of(hours: int, seed: int, top: int = 40) -> npt.NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    wave = top * (0.5 + 0.4 * np.sin(2 * np.pi * np.arange(hours) / 24))
    return np.maximum(0, np.rint(wave + rng.normal(0, top / 8, hours))).astype(np.int64)


def test_deciding_each_level_alone_would_cost_half_as_much_again() -> None:
    demand = [1] * 5 + [2] * 5 + [1] * 5
    found = optimal_reserve(demand, 1.0, [CommitmentKind("ten hours", 10, 4.0)])
    assert found.cost == pytest.approx(8.0)
    assert found.gap <= 1e-9 * found.cost
    assert found.purchases == ((0, 0, 1), (0, 5, 1))


def test_the_level_of_the_busiest_hours_is_that_of_sorting_them() -> None:
    chance = np.random.default_rng(5)
    for most in (1, 2, 5, 50, 1 << 40):
        for hours in range(1, 40):
            units = chance.integers(0, most, hours)
            found = [reserve._exceeded_at_most(units, paid) for paid in range(hours)]
            assert found == sorted(units.tolist(), reverse=True)


def test_a_term_over_the_whole_horizon_needs_no_flow() -> None:
    found = optimal_reserve([3, 1, 2, 2], 1.0, [CommitmentKind("long", 10, 2.5)])
    assert found.method == reserve.CLOSED_FORM
    assert found.purchases == ((0, 0, 2),)
    assert found.cost == 2 * 2.5 + 1.0
    assert found.on_demand.tolist() == [1, 0, 0, 0]
    assert found.reserved.tolist() == [2, 2, 2, 2]


def test_the_cheapest_of_several_long_terms_wins() -> None:
    kinds = [CommitmentKind("a", 8, 3.0), CommitmentKind("b", 9, 2.0), CommitmentKind("c", 7, 2.0)]
    found = optimal_reserve([1, 1, 1, 1], 1.0, kinds)
    assert (found.cost, found.method) == (2.0, reserve.CLOSED_FORM)
    assert found.purchases == ((1, 0, 1),)


@pytest.mark.parametrize("term", [4, 2])
def test_a_commitment_that_saves_nothing_is_not_bought(term: int) -> None:
    found = optimal_reserve([5, 5, 5, 5], 1.0, [CommitmentKind("even", term, float(term))])
    assert found.purchases == ()
    assert found.cost == 20.0
    assert found.method == reserve.ALL_ON_DEMAND


def test_a_purchase_starts_as_early_as_it_can_for_the_same_money() -> None:
    found = optimal_reserve([0, 0, 0, 5, 5, 5, 0, 0, 0], 1.0, [CommitmentKind("four", 4, 2.0)])
    assert found.purchases == ((0, 2, 5),)


def test_two_kinds_share_the_work() -> None:
    demand = np.array([4] * 20 + [9] * 4 + [4] * 20)
    kinds = [CommitmentKind("short", 4, 2.0), CommitmentKind("long", 44, 20.0)]
    found = optimal_reserve(demand, 1.0, kinds)
    assert found.cost == pytest.approx(4 * 20.0 + 5 * 2.0)
    assert {kind for kind, _, _ in found.purchases} == {0, 1}


def test_the_prices_prove_the_cost() -> None:
    demand = demand_of(500, seed=3)
    kinds = [CommitmentKind("day", 24, 13.0), CommitmentKind("week", 168, 80.0)]
    found = optimal_reserve(demand, 1.0, kinds)
    total = np.concatenate(([0.0], np.cumsum(found.prices)))
    assert (found.prices >= 0).all()
    assert (found.prices <= 1.0).all()
    for kind in kinds:
        assert (total[kind.term_hours :] - total[: -kind.term_hours]).max() <= kind.cost * (1 + 1e-12)
    assert found.dual_bound == pytest.approx(float(found.prices @ demand), rel=1e-12)
    assert 0 <= found.gap <= 1e-9 * found.cost
    assert found.method == reserve.FLOW


def test_a_plan_without_a_closed_proof_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    def lazy(units: npt.NDArray[np.int64], *_: object) -> reserve._Plan:
        return reserve._Plan((), np.zeros(len(units)), "guess")

    monkeypatch.setattr(reserve, "_steady_plan", lazy)
    with pytest.raises(ProofError, match="proof only reaches"):
        optimal_reserve([1, 1, 1], 1.0, [CommitmentKind("long", 10, 1.0)])


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ([1, -1], "between 0"),
        ([1.5, 2.0], "hour 0 has 1.5"),
        ([float("nan")], "between 0"),
        ([[1, 2]], "dimensions"),
        (["1"], "whole units"),
        ([True], "whole units"),
    ],
)
def test_demand_that_is_not_whole_units_is_refused(demand: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        optimal_reserve(demand, 1.0, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_that_is_no_amount_is_refused(price: float) -> None:
    with pytest.raises(ValueError, match="on-demand price"):
        optimal_reserve([1], price, [])


@pytest.mark.parametrize(("term", "cost"), [(0, 1.0), (5, -1.0), (5, float("nan"))])
def test_a_kind_that_cannot_be_is_refused(term: int, cost: float) -> None:
    with pytest.raises(ValueError, match="commitment 'k'"):
        CommitmentKind("k", term, cost)


@pytest.mark.parametrize("demand", [[], [0, 0, 0]])
def test_nothing_wanted_costs_nothing(demand: list[int]) -> None:
    found = optimal_reserve(demand, 1.0, [CommitmentKind("free", 2, 0.0), CommitmentKind("long", 9, 1.0)])
    assert (found.cost, found.gap, found.purchases) == (0.0, 0.0, ())
    assert len(found.on_demand) == len(found.reserved) == len(found.prices) == len(demand)


def test_free_capacity_on_either_side_is_taken() -> None:
    assert optimal_reserve([3, 4], 0.0, [CommitmentKind("k", 1, 1.0)]).cost == 0.0
    assert optimal_reserve([3, 4, 5], 1.0, [CommitmentKind("k", 2, 0.0)]).cost == 0.0


def test_whole_numbers_in_floats_are_accepted() -> None:
    assert optimal_reserve([3.0, 4.0], 2.0, []).cost == 14.0


def test_plain_and_compiled_kernels_agree() -> None:
    for hours, terms in ((30, (5, 12)), (90, (24,)), (200, (24, 50))):
        pool = BandDemand(demand_of(hours, seed=hours), 1000, np.array(terms), np.array([600 * t for t in terms]))
        for slow, fast in zip(solve_pool(pool, SET.named), solve_pool(pool, compiled()), strict=True):
            assert np.array_equal(slow, fast)


def test_prices_above_the_cost_of_a_commitment_are_reported() -> None:
    one = np.ones(3, np.int64)
    grid = flow.FlowGrid(3 * one, one, np.arange(4), np.array([2]), np.array([15]), 10)
    _, (first, last) = flow.solve_inside(grid, 0 * one, one, nothing_yet(grid))
    assert (first, last) == (0, 3)
    _, nowhere = flow.solve_inside(grid, 0 * one, 4 * one, nothing_yet(grid))
    assert nowhere == (0, 0)


@pytest.mark.slow
def test_numba_is_not_imported_for_the_closed_form() -> None:
    code = (
        "import sys; from hcloud.planning.reserving.reserve import *;"
        "optimal_reserve([1, 2], 1.0, [CommitmentKind('k', 5, 1.0)]);"
        "optimal_reserve([1, 2, 3], 1.0, [CommitmentKind('k', 2, 1.0)]);"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

"""The commitment optimiser against an independent linear program, exhaustive search and its own guarantees."""

from __future__ import annotations

from itertools import product

import highspy
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.b6_cost_gap import STEP, online_rule
from hcloud.planning.reserving.compiled import SET, compiled
from hcloud.planning.reserving.flow import FlowGrid
from hcloud.planning.reserving.reserve import (
    ALL_ON_DEMAND,
    CLOSED_FORM,
    BandDemand,
    CommitmentKind,
    ReserveSolution,
    optimal_reserve,
    settle,
    solve_pool,
)
from hcloud.units import SECONDS_PER_HOUR

Ints = npt.NDArray[np.int64]

demands = st.lists(st.integers(0, 6), min_size=1, max_size=24)
prices = st.sampled_from([0.25, 1.0, 0.0416, 3.7])
offers = st.lists(st.tuples(st.integers(1, 30), st.floats(0.05, 1.2)), max_size=3)


def cost_of_level(level: int, demand: list[int], price: float, kind: CommitmentKind) -> float:
    """Holding ``level`` units of one kind throughout, renewed at expiry, and renting the rest."""
    renewals = -(-len(demand) // kind.term_hours)
    return renewals * kind.cost * level + price * sum(max(d - level, 0) for d in demand)


def kinds_of(offers: list[tuple[int, float]], price: float) -> list[CommitmentKind]:
    """Kinds from (term, share of the on-demand price of the full term)."""
    return [CommitmentKind(str(i), term, share * price * term) for i, (term, share) in enumerate(offers)]


def linear_program(demand: list[int], price: float, kinds: list[CommitmentKind]) -> float:
    """The optimum of the covering problem as HiGHS finds it, from the definition, without any reformulation."""
    hours = len(demand)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    rented = [solver.addVariable(obj=price) for _ in range(hours)]
    bought = [[solver.addVariable(obj=kind.cost) for _ in range(hours)] for kind in kinds]
    for t in range(hours):
        covering = [
            b[i] for b, kind in zip(bought, kinds, strict=True) for i in range(t + 1) if i > t - kind.term_hours
        ]
        solver.addConstr(sum(covering, rented[t] + 0.0) >= demand[t])
    solver.run()
    return float(solver.getObjectiveValue())


def check_plan(demand: list[int], price: float, kinds: list[CommitmentKind], found: ReserveSolution) -> None:
    """What every solution promises, recomputed from the purchases by the definition."""
    hours = len(demand)
    reserved = np.zeros(hours, np.int64)
    for kind, start, count in found.purchases:
        assert count > 0
        assert 0 <= start < hours
        reserved[start : start + kinds[kind].term_hours] += count
    assert (found.reserved == reserved).all()
    assert (found.on_demand == np.maximum(np.array(demand) - reserved, 0)).all()
    paid = price * found.on_demand.sum() + sum(kinds[k].cost * n for k, _, n in found.purchases)
    assert found.cost == pytest.approx(paid)
    assert found.dual_bound <= found.cost
    assert found.gap <= 1e-9 * found.cost


@settings(max_examples=25, deadline=None)
@given(demands, prices, offers)
def test_M4_the_optimum_is_the_linear_programs(
    demand: list[int], price: float, offers: list[tuple[int, float]]
) -> None:
    kinds = kinds_of(offers, price)
    found = optimal_reserve(demand, price, kinds)
    check_plan(demand, price, kinds, found)
    assert found.cost == pytest.approx(linear_program(demand, price, kinds), rel=1e-7, abs=1e-9)


def wavy_demand(seed: int, hours: int) -> Ints:
    """Waves, steps, walks and spikes on a level of 3 to 3,000 units: what a band around the optimum must survive."""
    chance = np.random.default_rng(seed)
    hour = np.arange(hours)
    level = 3 * 10 ** chance.uniform(0, 3)
    shape = [
        1 + 0.5 * np.sin(2 * np.pi * hour / 24) + chance.normal(0, 0.1, hours),
        np.repeat(chance.random(hours // 10 + 1), 10)[:hours],
        np.abs(np.cumsum(chance.normal(0, 0.2, hours))),
        chance.random(hours) < 0.1,
        chance.random(hours),
    ][seed % 5]
    return np.maximum(0, np.rint(level * np.asarray(shape, float))).astype(np.int64)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(60, 500),
    st.lists(st.tuples(st.integers(30, 300), st.floats(0.05, 1.0)), min_size=1, max_size=3),
)
def test_M4_narrowing_the_problem_loses_nothing(seed: int, hours: int, offers: list[tuple[int, float]]) -> None:
    demand, kinds = wavy_demand(seed, hours), kinds_of(offers, 1.0)
    found = optimal_reserve(demand, 1.0, kinds)
    check_plan(demand.tolist(), 1.0, kinds, found)
    assert found.cost == pytest.approx(differenced_program(demand, kinds), rel=1e-7)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 6]), st.floats(0.05, 1.1)), min_size=1, max_size=3),
)
def test_M4_a_reserve_that_is_renewed_is_optimal_where_demand_repeats_itself(
    seed: int, period: int, periods: int, offers: list[tuple[int, float]]
) -> None:
    """Horizons of six terms, or three, two or one: the same units throughout; two kinds may have to share them."""
    once = wavy_demand(seed, period)
    demand = np.tile(once, 6 * periods)
    kinds = kinds_of([(length * periods * period, share) for length, share in offers], 1.0)
    found = optimal_reserve(demand, 1.0, kinds)
    check_plan(demand.tolist(), 1.0, kinds, found)
    assert found.cost == pytest.approx(differenced_program(demand, kinds), rel=1e-7)
    if len(kinds) == 1:
        assert found.method in (ALL_ON_DEMAND, CLOSED_FORM)
        assert len({count for _, _, count in found.purchases}) <= 1
        assert [start for _, start, _ in found.purchases] in ([], list(range(0, len(demand), kinds[0].term_hours)))


def differenced_program(demand: Ints, kinds: list[CommitmentKind]) -> float:
    """The optimum at a price of 1 as HiGHS finds it on differences of neighbouring hours: a sparse program."""
    hours = len(demand)
    t = np.arange(hours)
    tail = np.concatenate([t, t + 1, *(t for _ in kinds)])
    head = np.concatenate([t + 1, t, *(np.minimum(t + kind.term_hours, hours) for kind in kinds)])
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(tail), hours + 1
    lp.col_cost_ = np.concatenate([np.ones(hours), np.zeros(hours), *(np.full(hours, kind.cost) for kind in kinds)])
    lp.col_lower_, lp.col_upper_ = np.zeros(len(tail)), np.full(len(tail), highspy.kHighsInf)
    lp.row_lower_ = lp.row_upper_ = np.diff(np.concatenate(([0], demand, [0]))).astype(float)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = 2 * np.arange(len(tail) + 1)
    lp.a_matrix_.index_ = np.stack((tail, head), axis=1).ravel()
    lp.a_matrix_.value_ = np.tile([1.0, -1.0], len(tail))
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.passModel(lp)
    solver.run()
    return float(solver.getInfo().objective_function_value)


@settings(max_examples=25, deadline=None)
@example([2, 1, 2], 2, 4)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=8), st.integers(1, 9), st.integers(1, 12))
def test_M4_no_plan_found_by_trying_all_is_better_or_smaller(demand: list[int], term: int, cost: int) -> None:
    hours = len(demand)
    counts = np.array(list(product(range(3), repeat=hours)), np.int64)  # bought in each hour, a row a plan
    hour = np.arange(hours)
    covers = (hour[:, None] <= hour) & (hour < hour[:, None] + term)  # what is bought then covers now
    rented = np.maximum(np.array(demand) - counts @ covers, 0).sum(axis=1)
    paid, bought = 4 * rented + cost * counts.sum(axis=1), counts.sum(axis=1)
    best = min(zip(paid.tolist(), bought.tolist(), strict=True))
    found = optimal_reserve(demand, 4.0, [CommitmentKind("k", term, float(cost))])
    assert found.cost == best[0]
    if found.method != CLOSED_FORM:  # a steady reserve goes before fewer commitments
        assert sum(count for _, _, count in found.purchases) == best[1]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.floats(0.05, 1.0), st.sampled_from([0.096, 1.0, 3.7]))
def test_M4_deciding_without_foresight_costs_less_than_twice_the_optimum(
    demand: list[int], share: float, price: float
) -> None:
    """The rule that reserves a level once renting it has cost as much as reserving it: two minus what is still paid by
    the hour then, here nothing, times the optimum. It notices a step late, which is one more step a level."""
    hours = len(demand)
    paid = online_rule(np.array([]), np.array(demand, float), (share * price, price)) * SECONDS_PER_HOUR / STEP
    best = optimal_reserve(demand, price, [CommitmentKind("k", hours, share * price * hours)]).cost
    assert paid <= 2 * best + price * max(demand) + 1e-9


@settings(max_examples=25, deadline=None)
@given(demands, prices, offers)
def test_no_fixed_level_and_no_renting_alone_is_cheaper(
    demand: list[int], price: float, offers: list[tuple[int, float]]
) -> None:
    kinds = kinds_of(offers, price)
    cost = optimal_reserve(demand, price, kinds).cost
    assert cost <= price * sum(demand) * (1 + 1e-12)
    for kind in kinds:
        for level in range(max(demand) + 1):
            assert cost <= cost_of_level(level, demand, price, kind) * (1 + 1e-12) + 1e-12


@settings(max_examples=25, deadline=None)
@given(demands, prices, offers, st.randoms(use_true_random=False))
def test_neither_the_order_of_kinds_nor_one_more_of_them_raises_the_cost(
    demand: list[int], price: float, offers: list[tuple[int, float]], chance: object
) -> None:
    kinds = kinds_of(offers, price)
    cost = optimal_reserve(demand, price, kinds).cost
    shuffled = list(kinds)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert optimal_reserve(demand, price, shuffled).cost == pytest.approx(cost, rel=1e-12)
    for kind in kinds:
        assert optimal_reserve(demand, price, [k for k in kinds if k is not kind]).cost >= cost * (1 - 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 90), st.integers(2, 40), st.integers(1, 9), st.floats(0, 1.2))
def test_the_optimum_is_reached_from_any_band(seed: int, hours: int, term: int, share: int, at: float) -> None:
    demand = wavy_demand(seed, hours)
    steps = np.arange(hours + 1)
    grid = FlowGrid(demand, np.ones(hours, np.int64), steps, np.array([term]), np.array([term * share + 1]), 10)
    center = np.full(hours, int(at * demand.max()))
    narrow = settle(grid, (center - 1, center + 1), SET.named)
    wide = settle(grid, (np.full(hours, -1), np.full(hours, demand.max() + 1)), SET.named)
    assert np.diff(narrow.potential) @ demand == np.diff(wide.potential) @ demand
    for answer in (narrow, wide):
        paid = 10 * np.maximum(demand - answer.held, 0).sum() + answer.ledger.sum() * grid.costs[0]
        assert paid == np.diff(answer.potential) @ demand


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 150), st.integers(1, 150), st.integers(1, 150), st.integers(1, 9))
def test_plain_and_compiled_kernels_give_the_same_bytes(seed: int, hours: int, one: int, two: int, share: int) -> None:
    terms = np.array([min(one, hours), min(two, hours)])
    pool = BandDemand(wavy_demand(seed, hours), 10, terms, terms * share + 1)
    for slow, fast in zip(solve_pool(pool, SET.named), solve_pool(pool, compiled()), strict=True):
        assert np.array_equal(slow, fast)

"""No run costs less than the lower bound of its work, and the bound agrees with what it should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulating import Row, jobs_of, paper_shop, setting_of, tasks_in
from test_simulation import ROWS, simulated, spread, strategies

from benchmarks.lower_bound import Load, arrived, lower_bound, worked
from hcloud.catalog.quote import amortised_cost
from hcloud.model.catalog import Provider
from hcloud.model.running.strategy import Strategy
from hcloud.planning.reserving.program import Loads, ProgramColumn, solve
from hcloud.planning.reserving.reserve import CommitmentKind, optimal_reserve
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.run import run
from hcloud.sim.setup.shop import Shop, ShopChoice, open_shop
from hcloud.units import SECONDS_PER_HOUR
from hcloud.usecases.prices.pricing import open_book

LOADS = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(60, 5000), st.integers(100, 40_000), st.integers(100, 200_000)),
    min_size=1,
    max_size=25,
)


def load_of(rows: list[tuple[int, int, int, int]]) -> Load:
    table = np.array(rows, np.int64)
    begin, length, cores, memory = table.T
    return Load(begin.astype(np.float64), (begin + length).astype(np.float64), cores, memory)


@settings(deadline=None, max_examples=12)
@given(ROWS, strategies())
def test_M3_no_run_costs_less_than_the_bound_of_its_work(rows: list[Row], chosen: tuple[Strategy, int]) -> None:
    outcome = simulated(spread(rows), chosen)
    cost = measure(outcome).cost
    paid = cost.ideal_hours * SECONDS_PER_HOUR
    bound = lower_bound(outcome.setting.shop, worked(outcome), paid, spot=True)
    assert float(cost.total) >= bound.dollars * (1 - 1e-9) - 1e-9
    assert bound.dollars >= bound.reserved >= 0


@settings(deadline=None, max_examples=12)
@given(LOADS, st.integers(600, 20_000))
def test_M3_the_bound_is_the_optimum_of_the_covering_program(rows: list[tuple[int, int, int, int]], paid: int) -> None:
    """HiGHS on the same program: one reserved column, every type rented at every level."""
    shop, load = paper_shop(), load_of(rows)
    found = lower_bound(shop, load, float(paid))
    assert found.dollars == pytest.approx(_by_program(shop, load, float(paid)), rel=1e-6, abs=1e-9)


def _by_program(shop: Shop, load: Load, paid: float, *, spot: bool = False) -> float:
    times = np.unique(np.concatenate([load.begin, load.end]))
    middles = (times[1:] + times[:-1]) / 2
    running = (load.begin[None, :] <= middles[:, None]) & (middles[:, None] < load.end[None, :])
    cores, memory = running @ load.cores / 1000, running @ load.memory / 1024
    hours = np.diff(times) / SECONDS_PER_HOUR
    everywhere = np.arange(len(hours))
    large = shop.types[shop.large].shape
    fee = float(amortised_cost(shop.reserved, 1)) * paid / SECONDS_PER_HOUR
    columns = [ProgramColumn((float(large.vcpus), float(large.memory_gib)), fee, everywhere)]
    columns += [
        ProgramColumn((float(t.shape.vcpus), float(t.shape.memory_gib)), float(offer.hourly) * h, np.array([row]))
        for t in shop.types
        for offer in (t.on_demand, *([t.spot] if spot and t.spot else []))
        for row, h in enumerate(hours.tolist())
    ]
    loads = Loads(np.zeros(len(hours), np.int64), cores, memory, hours)
    return solve(columns, loads, whole=False).cost


def test_of_one_shape_it_is_the_closed_form_of_the_reserve() -> None:
    """Demand in whole servers: what the planner's exact reserve makes of it is what the bound says."""
    shop = paper_shop()
    large = shop.types[shop.large].shape
    levels = [3, 3, 5, 9, 4, 3, 2, 8]
    cores = np.array([round(float(large.vcpus) * 1000) * n for n in levels], np.int64)
    begin = np.arange(len(levels), dtype=np.float64) * SECONDS_PER_HOUR
    load = Load(
        begin.astype(np.float64), (begin + SECONDS_PER_HOUR).astype(np.float64), cores, np.zeros(len(levels), np.int64)
    )
    fee = float(amortised_cost(shop.reserved, 1)) * len(levels)
    price = float(shop.types[shop.large].on_demand.hourly)
    best = optimal_reserve(np.array(levels), price, [CommitmentKind("one", len(levels), fee)])
    found = lower_bound(shop, load, len(levels) * float(SECONDS_PER_HOUR))
    assert found.dollars == pytest.approx(best.cost)
    assert found.servers == pytest.approx(sum(count for _, _, count in best.purchases))


def test_jobs_as_they_came_are_a_bound_for_strategies_that_let_nobody_wait() -> None:
    rows: list[Row] = [(60.0 * i, 900.0, 4.0, 15.0, 0) for i in range(30)]
    setting = setting_of(load_strategy("OdF"), 0)
    tasks = tasks_in(setting, jobs_of(rows))
    cost = measure(run(setting, tasks)).cost
    bound = lower_bound(setting.shop, arrived(tasks), cost.ideal_hours * SECONDS_PER_HOUR)
    assert float(cost.total) >= bound.dollars
    assert bound.servers > 0


@pytest.mark.parametrize("spot", [False, True])
@pytest.mark.parametrize("patterns", [("m5.*",), ("m5.*", "c5.*", "r5.*")])
def test_several_shapes_are_mixed_as_the_program_mixes_them(patterns: tuple[str, ...], spot: bool) -> None:
    shop = open_shop(open_book(), ShopChoice(Provider.AWS, "us-east-1", patterns))
    chance = np.random.default_rng(5)
    rows = [
        (3600 * hour, 3600, cores, round(cores * chance.uniform(0.5, 14)))
        for hour, cores in enumerate((chance.integers(1, 40, 40) * 1000).tolist())
    ]
    found = lower_bound(shop, load_of(rows), 40 * 3600.0, spot=spot)
    assert found.dollars == pytest.approx(_by_program(shop, load_of(rows), 40 * 3600.0, spot=spot), rel=1e-9)
    assert found.dollars == pytest.approx(found.reserved + found.rented)

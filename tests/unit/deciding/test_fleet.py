"""Fleets: whole instances, two resources, sustained use, and the price that comes out."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from builders import candidate, forecast, reserved

from hcloud.model.catalog import SustainedUse
from hcloud.planning.fleets.at_expiry import level_costs
from hcloud.planning.fleets.evaluate import all_on_demand, evaluate, reserved_for_peak, static_hybrid
from hcloud.planning.fleets.fleet import Holding, cover, instances_needed, serve, steps_at_or_above

TIERS = SustainedUse("n1", tuple(map(Decimal, ("1", "0.8", "0.6", "0.4"))))


def test_the_scarcer_resource_decides() -> None:
    got = instances_needed(np.array([16.0, 16.0, 17.0, 0.0]), np.array([64.0, 65.0, 1.0, 0.0]), candidate())
    assert list(got) == [1, 2, 2, 0]


def test_levels_count_steps_at_or_above() -> None:
    assert list(steps_at_or_above(np.array([0, 1, 3, 3], dtype=np.int64))) == [3, 2, 2]


def test_two_shapes_share_a_demand_between_them() -> None:
    lean, fat = candidate("c9.4xlarge", "0.8", memory=32), candidate("r9.4xlarge", "1.2", memory=128)
    n_lean, n_fat = cover(np.array([160.0]), np.array([800.0]), [lean, fat])
    # 5 lean and 5 fat give 160 vCPUs and 800 GiB for $10; fat alone needs 10 ($12), lean alone 25 ($20)
    assert (n_lean[0], n_fat[0]) == (5, 5)


def test_serving_prices_what_is_rented_and_charges_terms_in_full() -> None:
    offer = reserved("m9.4xlarge", "0.60")
    fleet = serve(forecast([32.0, 48.0]), [candidate(commitments=[offer])], [Holding(offer, 2)])
    assert [(r.hours, r.peak) for r in fleet.rentals] == [(Decimal(1), 1)]
    assert fleet.cost == Decimal("0.60") * 8760 * 2 + Decimal("1.00")


def test_a_holding_ends_with_its_term() -> None:
    offer = reserved("m9.4xlarge", "0.60")
    fleet = serve(forecast([16.0] * (8760 + 5)), [candidate(commitments=[offer])], [Holding(offer, 1)])
    assert fleet.rentals[0].hours == 5


def test_sustained_use_charges_levels_by_their_share_of_the_month() -> None:
    cores = [16.0] * 365 + [0.0] * 365
    fleet = all_on_demand(candidate(sustained=TIERS), forecast(cores))
    assert fleet.rentals[0].hours == 365
    assert fleet.rentals[0].charged_hours == Decimal(730) * (Decimal("0.25") + Decimal("0.25") * Decimal("0.8"))


def test_level_costs_agree_with_the_price_formula_under_sustained_use() -> None:
    rng = np.random.default_rng(3)
    given = forecast(list(rng.integers(0, 160, 1460).astype(float)))
    c = candidate(sustained=TIERS)
    units = instances_needed(given.cores, given.memory, c)
    assert level_costs(c, units, given).sum() == pytest.approx(float(all_on_demand(c, given).cost), rel=1e-12)


def test_limited_offers_run_out_and_the_next_takes_over() -> None:
    cheap, dear = reserved("m9.4xlarge", "0.50", remaining=2), reserved("m9.4xlarge", "0.60")
    dear = replace(dear, key=replace(dear.key, zone="us-east-1b"))
    result = evaluate(candidate(commitments=[cheap, dear]), forecast([80.0] * 8760))
    assert {h.offer.effective_hourly: h.count for h in result.fleet.holdings} == {Decimal("0.5"): 2, Decimal("0.6"): 3}
    assert result.bound == result.cost


def test_rivals_reserve_the_peak_or_the_break_even_quantile() -> None:
    offer = reserved("m9.4xlarge", "0.60")
    c = candidate(commitments=[offer])
    given = forecast(([16.0] * 10 + [160.0] * 14) * 365)  # the second to tenth instance run 58.3 % of the time
    peak = reserved_for_peak(c, given, 0.15)
    assert peak is not None
    assert [h.count for h in peak.holdings] == [12]
    assert [h.count for h in static_hybrid(c, given).holdings] == [1]


@pytest.mark.parametrize(("weeks", "bounds"), [(1, (3, 3)), (2, (1, 3)), (52, (1, 3))])
def test_what_is_rented_is_told_of_as_many_first_weeks_as_are_asked_for(weeks: int, bounds: tuple[int, int]) -> None:
    week = 7 * 24
    given = replace(forecast([48.0] * week + [16.0] * week), first_weeks=weeks)
    (rented,) = serve(given, [candidate()], ()).rentals
    assert (rented.first_least, rented.first_peak) == bounds

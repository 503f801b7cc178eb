"""Futures draw days, level and growth; the cost of a plan over them, and the reserve that is sized by its regret."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders import REGION, book, candidate, demand, forecast, reserved

from hcloud.model.catalog import Provider
from hcloud.planning.decide import FleetDecision, decide
from hcloud.planning.fleets.fleet import instances_needed, serve
from hcloud.planning.forecasting.forecast import Forecast, repeating, stretch
from hcloud.planning.risks.futures import Futures, draw_futures, drift_of
from hcloud.planning.risks.risk import SCALES, HoldingSpan, changed, spread
from hcloud.planning.settings import Market, Outlook, PlanSettings, RiskSettings

RISK = RiskSettings()
SETTINGS = PlanSettings(markets=(Market(Provider.AWS, (REGION,)),))
CERTAIN = RiskSettings(level_prior=0.0, growth_prior=0.0)
CHEAP = candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.60")])
DAY = [160.0] * 12 + [320.0] * 12
WEEKS = DAY * 14


def decided(hours: list[float], risk: RiskSettings = RISK, **outlook: float) -> FleetDecision:
    settings = replace(SETTINGS, risk=risk, outlook=Outlook(**outlook))  # type: ignore[arg-type]
    return decide(book(CHEAP), demand(hours), settings)


def drawn(pattern: Forecast, risk: RiskSettings = RISK, hours: int = 8760, futures: int = 200) -> Futures:
    found = draw_futures(pattern, Outlook(hours), replace(risk, futures=futures), np.random.default_rng(1))
    assert found is not None
    return found


def costs_of(decision: FleetDecision) -> tuple[float, float, float]:
    """p10, p50 and p90 of the plan's cost over its own."""
    assert decision.spread is not None
    found = decision.spread.costs[:, decision.spread.at(1.0)] / float(decision.fleet.cost)
    low, middle, high = np.quantile(found, (0.1, 0.5, 0.9))
    return float(low), float(middle), float(high)


def test_futures_keep_weekdays_and_count_every_day_of_the_horizon() -> None:
    futures = drawn(forecast([float(h + 1) for h in range(21 * 24)]), hours=21 * 24)
    assert futures.counts.shape == (200, 21)
    assert (futures.counts.sum(axis=1) == 21).all()
    for weekday in range(7):
        assert (futures.counts[:, weekday::7].sum(axis=1) == 3).all()


@pytest.mark.parametrize("days", range(8, 14))
def test_futures_of_over_a_week_have_the_mean_of_its_forecast(days: int) -> None:
    """Each day of it was drawn as often, so that weekdays which it has twice were two days in nine of a future."""
    hours = [100.0 if day % 7 == 0 else 10.0 for day in range(days) for _ in range(24)]
    outlook = Outlook(horizon_hours=2 * 8760)
    stretched = stretch(demand(hours), outlook)
    futures = drawn(repeating(stretched, outlook), CERTAIN, hours=2 * 8760)
    mean = float(stretched.cores.mean())
    assert futures.forecast_demand(forecast(hours)) == pytest.approx(mean, rel=0.005)
    assert np.average(hours[::24], weights=futures.counts.sum(axis=0)) == pytest.approx(mean, rel=0.02)


def test_a_trace_of_two_hours_has_the_prior_alone() -> None:
    pattern = forecast([10.0] * 24, step=300)
    futures = drawn(pattern, hours=730)
    assert futures.counts.shape == (200, 1)
    assert futures.counts[0, 0] == pytest.approx(730 / 2)
    drift = drift_of(pattern, Outlook(), RiskSettings())
    assert [drift.level, drift.freedom] == pytest.approx([0.06 * 2**0.5, 2.0])
    assert [drift.growth, drift.growth_deviation] == pytest.approx([0.0, 0.2])


def test_the_traces_own_weeks_say_how_restless_its_level_is() -> None:
    outlook, risk = Outlook(), RiskSettings()
    quiet = drift_of(forecast(WEEKS * 4), outlook, risk)
    restless = drift_of(forecast([h * f for f in (1, 2, 1, 2, 1, 2, 1, 2) for h in DAY * 7]), outlook, risk)
    assert quiet.freedom == restless.freedom == 9
    assert quiet.level < RISK.level_prior
    assert restless.level > 0.3


@pytest.mark.parametrize("idle", [[4], [3, 4], [0]])
def test_weeks_of_holidays_widen_a_band_and_do_not_burst_it(idle: list[int]) -> None:
    hours = [0.0 if week in idle else h for week in range(8) for h in DAY * 7]
    drift = drift_of(forecast(hours), Outlook(), RiskSettings())
    low, high = np.quantile(drawn(forecast(hours)).mean_demand(forecast(hours)) / np.mean(hours), (0.1, 0.9))
    assert 0.3 < drift.level < 0.6
    assert 0.3 < low < 0.8
    assert 1.3 < high < 3.0


def test_growth_that_long_traces_show_is_drawn_and_that_of_short_ones_is_not() -> None:
    def grown(weeks: int) -> float:
        hours = np.repeat(100 * 1.01 ** np.arange(weeks), 168)
        return drift_of(forecast(list(hours)), Outlook(), RiskSettings()).growth

    assert grown(3) < 0.02
    assert grown(26) > 0.2
    assert drift_of(forecast([1.0] * 24), Outlook(growth_per_year=0.5), RiskSettings()).growth == pytest.approx(
        np.log(1.5)
    )


def test_two_weeks_of_one_day_do_not_make_a_narrow_band() -> None:
    low, middle, high = costs_of(decided(WEEKS))
    assert low < 0.95
    assert high > 1.08
    assert middle == pytest.approx(1.0, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("outlook", [{}, {"growth_per_year": 0.5}, {"horizon_hours": 2 * 8760}])
def test_without_any_doubt_the_plan_costs_what_it_says(outlook: dict[str, float]) -> None:
    low, _, high = costs_of(decided(WEEKS, CERTAIN, **outlook))
    assert low == pytest.approx(high)
    assert low == pytest.approx(1.0, rel=0.01 if "growth_per_year" in outlook else 1e-9)


def test_costs_are_those_of_each_future_counted_by_hand() -> None:
    pattern = forecast([float(n) for n in np.random.default_rng(3).uniform(100, 400, 72)])
    futures = drawn(pattern, RiskSettings(level_prior=0.3), hours=6 * 730, futures=15)
    fleet = serve(pattern, [CHEAP], decided(WEEKS).fleet.holdings)
    span = HoldingSpan(np.arange(6), fleet.holdings, lambda level: changed(pattern, level - 1.0))
    found = spread([CHEAP], fleet, [span], futures)[:, list(SCALES).index(1.0)]
    held = sum(h.count for h in fleet.holdings)
    for row, cost in enumerate(found):
        rented = 0.0
        for factor in futures.paths[row]:
            needed = np.ceil(pattern.cores * factor / 16 - 1e-9)
            rented += float(np.maximum(needed - held, 0) @ np.repeat(futures.counts[row], 24)) / 6
        assert cost == pytest.approx(float(fleet.commitments_cost) + rented, rel=0.01)


def test_what_demand_asks_for_is_counted_once_for_all_scales_of_a_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted anew at each scale and summed one by one, plans of bills with many ends of commitments took minutes."""
    pattern, fleet = forecast(WEEKS), decided(WEEKS).fleet
    span = HoldingSpan(np.arange(12), fleet.holdings, lambda level: changed(pattern, level - 1.0))
    counted = []

    def counting(*asked: Any) -> Any:
        counted.append(asked)
        return instances_needed(*asked)

    monkeypatch.setattr("hcloud.planning.risks.risk.instances_needed", counting)
    spread([CHEAP], fleet, [span, span], drawn(pattern))
    assert len(counted) == 2


def test_doubt_about_the_level_makes_a_reserve_by_regret_more_cautious() -> None:
    flat = [1600.0] * 24 * 14
    sure, doubtful = (decided(flat, replace(risk, regret_quantile=0.9)) for risk in (CERTAIN, RiskSettings()))
    assert sure.scale == 1.0
    assert 0.5 < doubtful.scale < 1.0
    assert doubtful.spread is not None
    regrets = np.quantile(doubtful.spread.regrets, 0.9, axis=0)
    assert regrets[doubtful.spread.at(doubtful.scale)] == regrets.min()


def test_no_futures_or_nothing_bought_is_no_interval() -> None:
    assert decided(WEEKS, RiskSettings(futures=0)).spread is None
    assert decided([0.0] * 12 + [160.0] * 12).spread is None

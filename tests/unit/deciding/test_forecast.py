"""The trace stretched to a horizon: whole periods, growth, headroom, warm-up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import demand

from hcloud.errors import InputError
from hcloud.model.workload import Window, WindowRule
from hcloud.planning.forecasting.demand import in_steps
from hcloud.planning.forecasting.forecast import choose_step, repeated_rows, repeating, stretch, whole_periods
from hcloud.planning.settings import Outlook, fitting_vcpus


def test_the_latest_whole_days_repeat() -> None:
    given = demand([*range(30)])  # 30 hours: the last 24 are kept
    got = stretch(given, Outlook(horizon_hours=48))
    assert got.pattern == 24
    assert list(got.cores[:24]) == list(range(6, 30))
    assert list(got.cores[24:]) == list(range(6, 30))


@pytest.mark.parametrize(("hours", "kept"), [(5, 5), (24, 24), (47, 24), (13 * 24 + 5, 13 * 24), (17 * 24, 14 * 24)])
def test_weeks_before_days_before_all(hours: int, kept: int) -> None:
    assert whole_periods(hours, 3600) == kept


def test_growth_compounds_month_by_month() -> None:
    got = stretch(demand([100.0] * 24), Outlook(horizon_hours=8760, growth_per_year=0.2))
    assert got.cores[0] == 100.0
    assert got.cores[-1] == pytest.approx(100 * 1.2 ** (11 / 12))
    assert got.cores[729] == 100.0 < got.cores[730]


def test_headroom_and_warm_up() -> None:
    got = stretch(demand([0.0, 0.0, 10.0, 20.0]), Outlook(horizon_hours=4, headroom=0.1, warm_up_seconds=7200))
    assert got.cores == pytest.approx([11.0, 22.0, 11.0, 22.0])


@pytest.mark.parametrize("cores", [[], [0.0, 0.0]])
def test_no_demand_is_an_error(cores: list[float]) -> None:
    with pytest.raises(InputError, match="no demand is left"):
        stretch(demand(cores), Outlook())


def chosen(seconds: float, outlook: Outlook) -> int:
    return choose_step(demand([1.0] * 24), Window(0.0, seconds, 0.0, seconds, WindowRule.WHOLE), outlook)


def test_step_follows_the_trace() -> None:
    assert chosen(86_400, Outlook()) == 3600
    assert chosen(7200, Outlook()) == 300
    assert chosen(7200, Outlook(step_seconds=60)) == 60


@pytest.mark.parametrize(
    ("high", "low", "step"), [(5, 5, 3600), (6, 4, 300), (5.2, 4.8, 3600), (120, 0, 300), (0, 0, 3600)]
)
def test_use_that_varies_within_hours_is_planned_in_finer_steps(high: float, low: float, step: int) -> None:
    """Means of an hour are steady, and a commitment for them would be idle for much of each hour."""
    series = demand([high, low] * 6 * 48, 300)
    window = Window(0.0, 48 * 3600.0, 0.0, 48 * 3600.0, WindowRule.WHOLE)
    assert choose_step(series, window, Outlook()) == step
    assert choose_step(series, window, Outlook(step_seconds=3600)) == 3600
    quarters = in_steps(series, 900)
    assert choose_step(quarters, window, Outlook()) == step, "as three of them differ"
    for own in (1200, 3600):
        assert choose_step(in_steps(series, own), window, Outlook()) == 3600


@pytest.mark.parametrize(
    ("mean", "job", "size"), [(600, 1, 16), (82, 0, 8), (38, 32, 32), (5, 0.5, 2), (1e5, 500, 64), (600, 17, 32)]
)
def test_instance_size_fits_demand_and_jobs(mean: float, job: float, size: int) -> None:
    assert fitting_vcpus(mean, job) == size


@pytest.mark.parametrize(("hours", "kept"), [(23, 23), (25, 24), (48, 48), (14 * 24 - 1, 13 * 24), (14 * 24, 14 * 24)])
def test_a_period_counts_from_its_last_step_on(hours: int, kept: int) -> None:
    assert whole_periods(hours, 3600) == kept


def test_steps_that_make_no_whole_day_repeat_as_they_are() -> None:
    assert whole_periods(30, 7000) == 30


def test_no_more_of_a_trace_repeats_than_the_horizon_holds() -> None:
    got = stretch(demand([*range(1, 61)]), Outlook(horizon_hours=30))
    assert (got.pattern, len(got)) == (24, 30)
    assert list(got.cores) == [*range(37, 61), *range(37, 43)], "the latest day, and then its first hours again"


def test_a_warm_up_as_long_as_the_trace_leaves_nothing() -> None:
    given = demand([5.0, 5.0])
    assert stretch(given, Outlook(horizon_hours=3, warm_up_seconds=3600)).pattern == 1
    for seconds in (2 * 3600, 3 * 3600):
        with pytest.raises(InputError, match="no demand is left"):
            stretch(given, Outlook(warm_up_seconds=seconds))


def test_a_trace_of_exactly_a_day_is_planned_by_the_hour() -> None:
    assert (chosen(86_400, Outlook()), chosen(86_399, Outlook())) == (3600, 300)


def test_demand_that_shrinks_keeps_its_first_month() -> None:
    got = stretch(demand([100.0] * 24), Outlook(horizon_hours=1460, growth_per_year=-0.5))
    assert got.cores[729] == 100.0
    assert got.cores[-1] == pytest.approx(100 * 0.5 ** (1 / 12))


def test_what_repeats_is_without_growth_and_with_headroom() -> None:
    outlook = Outlook(horizon_hours=2000, growth_per_year=1.0, headroom=0.5)
    grown = stretch(demand([10.0] * 1008), outlook)
    once = repeating(grown, outlook)
    assert grown.cores[1007] > 15, "six weeks reach into the second month"
    assert once.cores == pytest.approx([15.0] * 1008)
    assert once.memory == pytest.approx(once.memory[0] * np.ones(1008))


def test_months_are_of_730_hours_whatever_the_step() -> None:
    hourly = stretch(demand([1.0] * 24), Outlook(horizon_hours=1461))
    assert (list(hourly.months[[0, 729, 730, 1459, 1460]]), hourly.hours) == ([0, 0, 1, 1, 2], 1461)
    assert hourly.step_hours == 1
    assert hourly.first(5).hours == 5
    fine = replace(hourly, step_seconds=300)
    assert (fine.hours, list(fine.months[[0, 1460]])) == (1461 // 12, [0, 0])


DAYS = [21, 35, 90, 304, 365, 396, 731]


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("days", DAYS)
def test_weekdays_stay_in_place(days: int, horizon: int) -> None:
    """The trace ends before an hour of some weekday: what comes next is the same hour of that weekday, and so on."""
    got = stretch(demand([float(1 + hour % 168) for hour in range(days * 24)]), Outlook(horizon_hours=8760 * horizon))
    assert list(got.cores) == [1 + hour % 168 for hour in range(days * 24, days * 24 + len(got))]


@pytest.mark.parametrize("hours", [1, 8, 24])
@pytest.mark.parametrize("weeks", [3, 4, 13])
def test_hours_missing_to_whole_weeks_are_those_of_the_week_after(weeks: int, hours: int) -> None:
    """Four weeks from the first job to the last lack the night before the one or after the other: a week of them was
    left out for that."""
    outlook = Outlook(horizon_hours=8760, warm_up_seconds=7200)
    demands = [float(1 + hour % 168) for hour in range(hours, weeks * 168)]
    got = stretch(demand([1000.0, 1000.0, *demands]), outlook)
    assert got.pattern == weeks * 168
    assert list(got.cores) == [1 + hour % 168 for hour in range(8760)]
    alone = demand(demands)
    found = stretch(alone, Outlook(horizon_hours=8760))
    assert (alone.cores[found.rows(len(alone))] == found.cores).all(), "what is leanest at a step is of its hour"


@pytest.mark.parametrize(("hours", "horizon"), [(4 * 168 - 25, 8760), (2 * 168 - 1, 8760), (4 * 168 - 8, 665)])
def test_more_than_a_day_is_not_filled_nor_what_the_horizon_does_not_hold(hours: int, horizon: int) -> None:
    got = stretch(demand([1.0] * hours), Outlook(horizon_hours=horizon))
    assert got.pattern == whole_periods(min(hours, horizon), 3600)


@pytest.mark.parametrize("days", range(8, 14))
def test_each_weekday_has_its_share_of_a_horizon(days: int) -> None:
    """Of ten days three are weekdays that come twice: each day of the trace in turn would count them more."""
    got = stretch(demand([float(1 + hour % 168) for hour in range(days * 24)]), Outlook(horizon_hours=8760))
    assert list(got.cores) == [1 + hour % 168 for hour in range(len(got))]
    assert got.pattern == days * 24


@pytest.mark.parametrize("days", [days for days in DAYS if days >= 364])
def test_seasons_stay_in_place_for_years(days: int) -> None:
    """A month of twice the demand, that ends 30 days before the trace does, comes again in each year at that place."""
    november = [(days - 60) * 24 <= hour < (days - 30) * 24 for hour in range(days * 24)]
    got = stretch(demand([2.0 if now else 1.0 for now in november]), Outlook(horizon_hours=3 * 8760))
    for year in range(3):
        begin = (364 * (year + 1) - 60) * 24
        assert (got.cores[begin : begin + 720] == 2.0).all()
    assert got.cores.mean() == pytest.approx(1 + 3 * 30 / (3 * 365))


@pytest.mark.parametrize(("weeks", "horizon"), [(3, 1), (5, 1), (11, 1), (43, 1), (43, 3), (40, 3)])
def test_a_horizon_has_the_mean_of_what_repeats(weeks: int, horizon: int) -> None:
    """Demand that rises from 100 to 200: the oldest weeks alone once more would be 1 to 9% less."""
    given = demand([100 + 100 * hour // (weeks * 168) for hour in range(weeks * 168)])
    got = stretch(given, Outlook(horizon_hours=8760 * horizon))
    assert got.cores.mean() == pytest.approx(given.cores.mean(), rel=0.003)


def test_the_weeks_beside_whole_repeats_are_spread_over_the_trace() -> None:
    rows = repeated_rows(8 * 168 + 24, 5 * 168, 3600)
    assert list(rows[: 5 * 168]) == list(range(5 * 168))
    assert (rows[5 * 168 :: 168] // 168).tolist() == [0, 2, 4, 2]


@pytest.mark.parametrize("step", [300, 3600])
def test_a_part_of_a_week_is_of_one_in_the_middle(step: int) -> None:
    """A month is four weeks and 58 hours, which were those of the oldest week: 2.4% less than the mean."""
    per_hour = 3600 // step
    rising = demand([100 + 100 * hour / 672 for hour in range(672) for _ in range(per_hour)])
    got = stretch(replace(rising, step_seconds=step), Outlook(horizon_hours=730))
    assert got.cores.mean() == pytest.approx(rising.cores.mean(), rel=0.003)


def test_steps_that_fill_no_week_repeat_as_they_are() -> None:
    rows = repeated_rows(100, 40, 5 * 3600)
    assert list(rows) == [row % 40 for row in range(100)]

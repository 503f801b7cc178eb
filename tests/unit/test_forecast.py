"""The trace stretched to a horizon: whole periods, growth, headroom, warm-up."""

from __future__ import annotations

import pytest
from builders import demand

from hcloud.errors import InputError
from hcloud.planning.forecasting.forecast import choose_step, stretch, whole_periods
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


def test_step_follows_the_trace() -> None:
    assert choose_step(86_400, Outlook()) == 3600
    assert choose_step(7200, Outlook()) == 300
    assert choose_step(7200, Outlook(step_seconds=60)) == 60


@pytest.mark.parametrize(
    ("mean", "job", "size"), [(600, 1, 16), (82, 0, 8), (38, 32, 32), (5, 0.5, 2), (1e5, 500, 64), (600, 17, 32)]
)
def test_instance_size_fits_demand_and_jobs(mean: float, job: float, size: int) -> None:
    assert fitting_vcpus(mean, job) == size

"""Demand that fell: a plan commits to what is still there, says so, and still says where it goes on falling."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcloud.cli.main import run
from hcloud.model.plans.plan import Risk
from hcloud.model.workload import Demand, Provenance
from hcloud.planning.forecasting.fall import DemandFall, end_of, ends_lower, fall_of
from hcloud.planning.forecasting.rising import growth_of
from hcloud.usecases.deciding.plan_notes import STILL_RISING
from hcloud.views.deciding.plan import said_of_risk

WEEK = 604_800
NOW = ("--now", "2026-11-20T12:00:00Z")
WEEKS = st.lists(st.integers(0, 50), min_size=1, max_size=9)


def of_weeks(levels: list[int], more: int = 0) -> Demand:
    """So many vCPUs in each week, by the day, after some more days of the first."""
    cores = np.array([levels[0]] * more + [level for level in levels for _ in range(7)], dtype=float)
    return Demand(0.0, 86_400, cores, 4 * cores, 0 * cores, Provenance("made", "csv", "0" * 64, 1))


@pytest.mark.parametrize(
    ("levels", "found"),
    [
        ([10], None),
        ([10, 10, 10], None),
        ([10, 8, 9, 7], None),
        ([5, 10, 20], None),
        ([20, 20, 5, 5], (2, 2, 0.25)),
        ([20, 16, 12, 8, 4], (1, 4, 4 / 14)),
        ([20, 20, 20, 0], (1, 3, 0.0)),
        ([4, 30, 5, 5, 5], None),
        ([20, 30, 5, 5, 5], (3, 2, 0.2)),
        ([80] * 9 + [32] * 3, (3, 9, 0.4)),
        ([80, 80, 80, 56, 32, 32, 32], (3, 4, 32 / 74)),
        ([80, 80, 80, 70, 32, 32, 32, 32, 32], (5, 4, 32 / 77.5)),
        ([80, 80, 80, 80, 36, 32, 32], (3, 4, 100 / 240)),
    ],
)
def test_weeks_before_a_fall_are_told_from_those_since(levels: list[int], found: tuple[int, int, float] | None) -> None:
    fall = found and DemandFall(found[0] * WEEK, found[2], f"the mean of the {found[1]} weeks before")
    assert fall_of(of_weeks(levels), 0.7) == fall
    assert fall_of(of_weeks(levels, more=5), 0.7) == fall, "part of a week says nothing"
    assert fall_of(of_weeks(levels), 0.0) is None


@pytest.mark.parametrize(
    ("levels", "weeks"),
    [
        ([40] * 18 + [100] * 34 + [40] * 18, None),
        ([100] * 70 + [40] * 4, 4),
        ([100] * 52 + [40] * 18, 18),
    ],
)
def test_a_low_season_that_was_there_a_year_before_is_no_fall(levels: list[int], weeks: int | None) -> None:
    """Two years with a quiet winter were planned from the last quiet weeks alone."""
    fall = fall_of(of_weeks(levels), 0.7)
    assert (fall and fall.seconds) == (weeks * WEEK if weeks else None)


@given(WEEKS)
def test_what_is_left_has_not_fallen_and_what_is_left_out_was_more(levels: list[int]) -> None:
    fall = fall_of(of_weeks(levels), 0.7)
    if fall is None:
        clear = any(max(levels[at:]) < 0.7 * min(levels[:at]) for at in range(1, len(levels)))
        assert not clear or levels[-1] >= 0.7 * np.mean(levels) - 1e-9
        return
    weeks = fall.seconds // WEEK
    since, before = levels[-weeks:], levels[:-weeks]
    assert fall.share == pytest.approx(np.mean(since) / np.mean(before))
    assert since[-1] >= 0.7 * np.mean(since) - 1e-9
    assert before[-1] > since[-1]
    assert np.mean(before) > np.mean(since)
    assert fall_of(of_weeks(since), 0.7) is None, "once is enough"


@pytest.mark.parametrize("hour", [12, 23])
def test_one_large_job_is_no_level(hour: int) -> None:
    """A job of two hours on 448 vCPUs beside a third of a vCPU, over midnight or not."""
    hours = np.full(30 * 24, 0.375)
    hours[11 * 24 + hour :][:2] += 448
    made = Demand(0.0, 3600, hours, 4 * hours, 0 * hours, Provenance("made", "csv", "0" * 64, 1))
    assert fall_of(made, 0.7) is None
    hours[5 * 24 : 8 * 24] += 40
    assert fall_of(made, 0.7) is None, "nor are three busy days of a month"
    hours[: 12 * 24] += 40
    assert fall_of(made, 0.7) is not None, "on most days it is a level"


def drawn_jobs(seed: int, weeks: int) -> Any:
    """Hourly vCPUs of jobs whose durations and vCPUs have heavy tails, and come as often in all weeks."""
    chance, hours = np.random.default_rng(seed), 168 * (weeks + 4)
    begins = chance.uniform(0, hours, chance.poisson(hours / 2)).astype(int)
    ends = begins + np.minimum(1 + chance.pareto(1.3, len(begins)), 720).astype(int)
    vcpus = 2 * (1 + chance.pareto(1.5, len(begins)))
    changes = np.bincount(begins, vcpus, hours + 721) - np.bincount(ends, vcpus, hours + 721)
    return np.cumsum(changes)[hours - 168 * weeks : hours]


def test_large_jobs_that_come_by_chance_are_seldom_taken_for_a_level() -> None:
    """15 of these were planned from their last weeks alone; where nine of ten vCPUs go, that is still found."""
    found = {1.0: 0, 0.1: 0}
    for seed in range(100):
        hours = drawn_jobs(seed, 8)
        for part in found:
            hours[-2 * 168 :] *= part
            made = Demand(0.0, 3600, hours, hours, 0 * hours, Provenance("made", "csv", "0" * 64, 1))
            found[part] += fall_of(made, 0.7, missing=7) is not None
    assert found[1.0] <= 8
    assert found[0.1] == 100


@pytest.mark.parametrize("days", [10, 14, 28, 56])
def test_large_jobs_that_come_by_chance_are_seldom_taken_for_a_rise_or_a_fall_of_the_end(days: int) -> None:
    """32 to 68 of these were said to rise or to fall; what nine of ten vCPUs leave is still said to."""
    found = {1.0: 0, 0.1: 0}
    for seed in range(100):
        for part in found:
            hours = drawn_jobs(seed, 8)[: days * 24]
            hours[-days * 12 :] *= part
            end = end_of(hours, 24)
            found[part] += end is not None and not 1 / 1.5 <= end.share <= 1.5
    assert found[1.0] <= 15
    assert found[0.1] >= 60


@pytest.mark.parametrize(("days", "last", "least"), [(10, 2.0, 50), (14, 2.0, 58), (21, 1.5, 40), (42, 1.5, 55)])
def test_a_rise_beside_a_season_is_seen_within_weeks(days: int, last: float, least: int) -> None:
    """Of 60 such traces that doubled within 14 days 5 were said to rise."""
    hours, found = np.arange(days * 24), {1.0: 0, last: 0}
    season = (1 + np.sin(2 * np.pi * hours / 24) / 2) * np.where(hours // 24 % 7 < 5, 40, 20)
    for seed in range(60):
        chance = np.random.default_rng(seed)
        noise = np.repeat(1 + 0.08 * chance.standard_normal(days), 24) * (1 + 0.08 * chance.standard_normal(len(hours)))
        for rise in found:
            end = end_of(season * noise * np.linspace(1, rise, len(hours)), 24)
            found[rise] += end is not None and end.share > STILL_RISING
    assert found[1.0] <= 1
    assert found[last] >= least


@pytest.mark.parametrize(("last", "share"), [(2.0, 2.0), (0.5, 0.5), (1.0, None)])
def test_what_runs_on_one_day_of_a_week_rises_and_falls_by_that_day(last: float, share: float | None) -> None:
    """One day of seven has all of a change: by its days alone it was always chance."""
    level = np.repeat(np.linspace(1.0, last, 9), 7) * np.tile([10.0, 10, 10, 200, 10, 10, 10], 9)
    days = level * (1 + 0.02 * np.random.default_rng(1).standard_normal(63))
    end = end_of(np.repeat(days, 24), 24)
    assert (end and round(end.share, 1)) == share
    monthly = np.full(63, 100.0) + np.repeat(days * (np.arange(63) % 30 == 0), 1) * 10
    assert end_of(np.repeat(np.roll(monthly, 1), 24)[::-1], 24) is None, (
        "what runs once a month neither rises nor falls"
    )


def test_what_ran_on_mondays_alone_falls_by_its_mondays() -> None:
    """Days on which nothing ever ran say neither that demand fell nor that it did not."""
    days = ([200.0] + [0.0] * 6) * 6
    for share in (0.0, 0.25):
        cores = np.array(days + [share * level for level in days[:21]])
        fall = fall_of(Demand(0.0, 86_400, cores, cores, 0 * cores, Provenance("made", "csv", "0" * 64, 1)), 0.7)
        assert fall == DemandFall(3 * WEEK, share, "the mean of the 6 weeks before")
        ended = ends_lower(cores, 1)
        assert ended is not None
        assert ended.share == share


def test_what_ran_on_weekdays_alone_falls_by_its_weekdays() -> None:
    for weekend in (0.0, 2.0):
        hours = np.repeat(([10.0] * 5 + [weekend] * 2) * 4 + ([1.0] * 5 + [weekend] * 2) * 2, 24)
        fall = fall_of(Demand(0.0, 3600, hours, hours, 0 * hours, Provenance("made", "csv", "0" * 64, 1)), 0.7)
        assert fall is not None
        assert fall.seconds == 2 * WEEK


WORKWEEK = [10.0] * 5 + [2.0] * 2
RARELY = [40.0] * 5 + [1.0, 0.0, 3.0] + [40.0] * 9
"""Of few large jobs some days need little now and then: such days at the end are no fall; nor is what had not begun."""


@pytest.mark.parametrize(
    ("days", "found"),
    [
        (WORKWEEK * 2, None),
        (WORKWEEK * 2 + [3.0] * 2, None),
        (WORKWEEK * 2 + [1.0] * 3, (3, 0.1)),
        (WORKWEEK + [1.0] * 3, (3, 0.1)),
        ([10.0] * 6 + [1.0] * 3, None),
        (WORKWEEK * 2 + [0.0] * 3, (3, 0.0)),
        (WORKWEEK * 2 + [6.0] * 3, None),
        (WORKWEEK * 2 + [5.0] * 4, (4, 0.5)),
        (WORKWEEK * 2 + [9.0, 9.0, 1.0, 1.0], None),
        (WORKWEEK * 2 + [1.0] * 5 + [0.2], (6, 5.2 / 52)),
        ([0.0] * 14, None),
        (RARELY + [40.0] * 4 + [2.0] * 3, None),
        ([0.0] * 4 + [40.0] * 17 + [2.0] * 3, (3, 0.05)),
    ],
)
def test_days_that_fell_within_the_last_week(days: list[float], found: tuple[int, float] | None) -> None:
    hours = np.repeat(np.array(days), 24)
    demand = Demand(0.0, 3600, hours, 4 * hours, 0 * hours, Provenance("made", "csv", "0" * 64, 1))
    fall = fall_of(demand, 0.7)
    if found is None:
        assert fall is None
        return
    assert fall is not None
    assert (fall.seconds, fall.than) == (found[0] * 86_400, "the same days a week before")
    assert fall.share == pytest.approx(found[1])
    other = fall_of(demand, 0.7, missing=7)
    assert other is None or other.seconds == WEEK, "days do not count, then"
    late = Demand(0.0, 3600, hours[5:], hours[5:], hours[5:], demand.provenance)
    assert fall_of(late, 0.7) == (fall if len(days) > 10 else None), "whole days count from the end"


def test_a_weekend_is_no_fall() -> None:
    week = [10.0] * 5 + [2.0] * 2
    assert ends_lower(np.array(week), 1) is None
    assert ends_lower(np.array([*week, 9.0, 9.0]), 1) is None
    fallen = ends_lower(np.array([*week, 9.0, 4.0]), 1)
    assert fallen is not None
    assert (fallen.part, fallen.share) == ("day", 0.4)
    ended = ends_lower(np.array(week + [0.5 * level for level in week]), 1)
    assert ended is not None
    assert (ended.part, ended.share) == ("week", 0.5)


def test_two_days_of_a_large_job_are_no_rise_and_no_fall_of_the_end() -> None:
    """A steady service beside one job of the first week was said to fall to 36 %."""
    cores = np.full(28, 12.0)
    cores[3:5] += 96
    assert ends_lower(cores, 1) is None
    assert end_of(cores[::-1], 1) is None
    cores[:5] += 96
    assert ends_lower(cores, 1) is not None
    assert end_of(cores[::-1], 1) is not None


def test_a_season_is_no_rise_and_no_fall_of_the_end() -> None:
    """Two years from one winter to the next summer were said to rise fourfold, and from summer to winter to fall."""
    weeks = [40.0 if week % 52 < 26 else 160.0 for week in range(78 + 52)]
    for last, first in ((104, 0), (104 + 26, 26)):
        cores = np.repeat(weeks[first:last], 7)
        end = end_of(cores[: -7 * 3], 1)
        assert end is not None
        assert (end.share, end.than) == (1.0, "the same week a year before")
        assert ends_lower(cores, 1) is None
        assert growth_of(cores[: -7 * 3], 1) == 0.0


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty machines for four weeks, ten for two, a job a day and machine."""
    monkeypatch.chdir(tmp_path)
    days = [40] * 28 + [10] * 14
    rows = [f"j{day}-{n},{86_400 * day},86400,4,16,batch" for day, count in enumerate(days) for n in range(count)]
    path = tmp_path / "trace.csv"
    path.write_text("id,submit,duration,cores,memory,kind\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def planned(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert run(["plan", "trace.csv", "--json", "--family", "m6i", *more, *NOW]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


@pytest.mark.slow
@pytest.mark.usefixtures("trace")
def test_a_plan_commits_to_what_is_left_and_its_fleet_is_simulated_on_that(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = planned(capsys, "--out", "plan.json")
    assert said["workload"]["window"]["rule"] == "fallen"
    assert said["workload"]["mean_cores"] == 40
    assert any("the last 14d used 25% of the mean of the 4 weeks before" in w for w in said["warnings"])
    assert run(["simulate", "plan.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"] == 140
    assert planned(capsys, "--window", "42d")["workload"]["mean_cores"] == 120
    monkeypatch.setenv("HYC_PLANNING__SHRUNK", "0")
    assert planned(capsys)["workload"]["mean_cores"] == 120


def test_a_fall_that_may_be_a_season_or_the_end_of_a_list_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten jobs that end a day apart are a list that ends, 14 weeks of 40 after 34 of 100 perhaps a winter."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"j{n},0,{86_400 * (20 + n)},4,16,batch\n" for n in range(10))
    Path("trace.csv").write_text(f"id,submit,duration,cores,memory,kind\n{rows}", encoding="utf-8")
    (said,) = (w for w in planned(capsys)["warnings"] if "demand fell" in w)
    assert "No job began in them: the list may just end. If nothing follows, buy nothing; if such jobs go on" in said
    for before, season in ((34, True), (53, False)):
        levels = "".join(f"{86_400 * day},{100 if day < 7 * before else 40}\n" for day in range(7 * (before + 14)))
        Path("trace.csv").write_text(f"time,cores\n{levels}", encoding="utf-8")
        (said,) = (w for w in planned(capsys)["warnings"] if "demand fell" in w)
        assert ("cannot tell a fall from a low season" in said) == season
        assert said.endswith("et planning.shrunk: 0 to plan from the whole trace")


def test_demand_that_ended_is_said_with_what_plans_it_nevertheless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{3600 * hour},{10 if hour < 20 * 24 else 0}\n" for hour in range(24 * 24))
    Path("trace.csv").write_text(f"time,cores\n{rows}", encoding="utf-8")
    assert run(["plan", "trace.csv", *NOW]) == 1
    err = " ".join(capsys.readouterr().err.split())
    assert "no demand in the last 4d" in err
    assert "--window 24d" in err
    assert planned(capsys, "--window", "24d")["workload"]["mean_cores"] == pytest.approx(10 * 20 / 24, abs=1e-3)


def test_a_trace_that_grows_says_which_growth_plans_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{86400 * day},{40 * 1.5 ** (day / 365)}\n" for day in range(420))
    Path("trace.csv").write_text(f"time,cores\n{rows}", encoding="utf-8")
    (said,) = (w for w in planned(capsys)["warnings"] if "still rising" in w)
    assert "--window 28d with planning.growth_per_year: 0.50 plans for that" in said
    monkeypatch.setenv("HYC_PLANNING__GROWTH_PER_YEAR", "0.5")
    (said,) = (w for w in planned(capsys)["warnings"] if "still rising" in w)
    assert "growth_per_year" not in said


def test_the_pace_of_a_few_months_is_not_compounded_over_a_year() -> None:
    """A straight rise from 40 to 62 vCPUs in 110 days was planned as 4.6 times the demand in a year."""
    cores = np.linspace(40.0, 40.0 + 0.2 * 104, 105)
    grows = growth_of(cores, 1)
    assert grows is not None
    last = float(cores[-28:].mean())
    assert last * (1 + grows) == pytest.approx(last + 0.2 * 364)


def test_a_few_weeks_show_no_growth() -> None:
    assert growth_of(np.arange(1.0, 12 * 7 * 24), 24) is None


@pytest.mark.parametrize(
    ("less", "more", "said"),
    [
        ("0.9", "1.1", "(demand -10% to +10%)"),
        ("1.3", "1.8", "(demand +30% to +80%: 9 of 10 need more than the forecast)"),
        ("0.5", "0.9", "(demand -50% to -10%: 9 of 10 need less than the forecast)"),
    ],
)
def test_futures_that_leave_the_forecast_behind_are_told(less: str, more: str, said: str) -> None:
    low, middle, high, regret = map(Decimal, (1000, 2000, 3000, 100))
    assert said in said_of_risk(Risk(200, low, middle, high, regret, None, Decimal(less), Decimal(more)))


def rising(days: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> list[str]:
    """What a plan says of a demand's begin and rise."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{86400 * day},{cores}\n" for day, cores in enumerate(days))
    Path("trace.csv").write_text(f"time,cores\n{rows}", encoding="utf-8")
    return [w for w in planned(capsys)["warnings"] if "still rising" in w or "begins low" in w]


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (([20.0] * 6 + [60.0]) * 4, []),
        (
            [7.0, 13.0, 20.0, 27.0] + [40.0] * 24,
            ["demand begins low: its first 3d need less than 67% of the same days"],
        ),
        (
            [40.0] * 7 + [60.0] * 7,
            ["demand is still rising: the last week needs 1.5 times the first; --window 7d plans for the last week"],
        ),
        ([40.0] * 14 + [80.0] * 14, ["demand is still rising: the last week needs 2.0 times the first"]),
        ([0.0] * 10 + [80.0] * 18, ["demand is still rising: the last week needs something, the first nothing"]),
        (
            [40.0] * 3 + [80.0] * 2,
            ["demand is still rising: the last day needs 2.0 times the first; if the trace began"],
        ),
    ],
)
def test_a_busy_last_day_of_each_week_is_no_rise_and_a_low_begin_is_no_growth(
    days: list[float], said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    found = rising(days, monkeypatch, tmp_path, capsys)
    assert len(found) == len(said), found
    assert all(one.startswith(start) for one, start in zip(found, said, strict=True)), found

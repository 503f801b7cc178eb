"""Which part of a trace counts: the drain at its end and the filling at its beginning do not, long services do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcloud.errors import UsageError
from hcloud.model.workload import Demand, Jobs, Provenance, WindowRule
from hcloud.planning.forecasting.demand import demand_of
from hcloud.planning.forecasting.forecast import choose_step, far_above_means, hidden_in_steps, stretch
from hcloud.planning.forecasting.outliers import outlier
from hcloud.planning.forecasting.window import (
    RAN_IN,
    AskedWindow,
    demand_within,
    restricted,
    stopped,
    thinned,
    window_of,
)
from hcloud.planning.settings import Market, Outlook, PlanSettings
from hcloud.readers.configuration.window import check_clock, parse_window
from hcloud.usecases.deciding.plan import planned_demand
from hcloud.views.workloads.window import mean_window_line, window_line

HOUR, DAY = 3600.0, 86_400.0
Row = tuple[float, float, float]
HOURLY = [(h * HOUR, HOUR, 10.0) for h in range(24)]


def jobs_of(rows: Iterable[Row]) -> Jobs:
    submit, duration, cores = (np.array(c, np.float64) for c in zip(*sorted(rows), strict=True))
    none, count = np.full(len(submit), -1, np.int32), len(submit)
    return Jobs(
        submit, duration, cores, cores * 4, np.zeros(count), np.zeros(count, np.int8), none, (), none, (),
        Provenance("made", "jobs-csv", "0", count),
    )  # fmt: skip


def mirrored(rows: Iterable[Row]) -> list[Row]:
    """The same jobs with time running backwards."""
    made = list(rows)
    last = max(s + d for s, d, _ in made)
    return [(last - s - d, d, c) for s, d, c in made]


@pytest.mark.parametrize("days_longer", [1, 2, 30])
def test_one_job_that_runs_on_does_not_hide_what_runs_all_day(days_longer: int) -> None:
    rows = [*HOURLY, (0.0, DAY * (1 + days_longer), 1.0)]
    for trace, cut in ((rows, "cut_after"), (mirrored(rows), "cut_before")):
        jobs = jobs_of(trace)
        window = window_of(jobs)
        assert (window.seconds, window.rule) == (DAY, WindowRule.ARRIVALS)
        assert getattr(window, cut) == days_longer * DAY
        demand = demand_within(jobs, 3600, window)
        assert demand.cores == pytest.approx(np.full(24, 11.0))
        assert float(stretch(demand, Outlook()).cores.min()) == pytest.approx(11.0), "nor is the drain forecast"


@pytest.mark.parametrize("etl", [8.0, 64.0, 640.0])
def test_a_service_and_a_burst_beside_it_keep_the_time_of_the_service(etl: float) -> None:
    jobs = jobs_of([(0.0, 172_800.0, 16.0), (36_000.0, 7200.0, etl)])
    window = window_of(jobs)
    assert (window.start, window.end, window.rule) == (0.0, 172_800.0, WindowRule.STANDING)


def test_services_that_outlast_an_hour_of_deployments_are_not_lost() -> None:
    deployed = [(at * 180.0, 30 * DAY, 1.0) for at in range(20)]
    tests = [(60.0 + at * 70, 60.0, 1.0) for at in range(50)]
    window = window_of(jobs_of([*deployed, *tests]))
    assert window.rule is WindowRule.STANDING
    assert window.seconds > 29 * DAY


def test_jobs_that_are_all_submitted_at_once_count_for_as_long_as_they_run() -> None:
    assert window_of(jobs_of([(5.0, DAY, 1.0)] * 10)).seconds == DAY
    jobs = jobs_of([*[(0.0, DAY, 1.0)] * 10, (0.0, 2 * DAY, 1.0)])
    assert window_of(jobs).end == DAY, "one that runs on after them is less than a tenth"
    assert window_of(jobs_of([(0.0, HOUR, 4.0)])).seconds == HOUR


def test_a_trace_that_begins_empty_counts_from_when_it_is_full() -> None:
    jobs = jobs_of([(h * HOUR, 24 * HOUR, 1.0) for h in range(14 * 24)])
    window = window_of(jobs)
    assert (window.start, window.end) == (23 * HOUR, 14 * DAY)
    assert demand_within(jobs, 3600, window).cores == pytest.approx(np.full(13 * 24 + 1, 24.0))


def test_bursts_by_the_hour_have_gaps_of_an_hour() -> None:
    bursts = [(h * HOUR + 600 + 7 * at, 900.0, 2.0) for h in range(6) for at in range(12)]
    window = window_of(jobs_of([(0.0, 6 * HOUR, 8.0), *bursts]))
    assert (window.start, window.end, window.rule) == (0.0, 6 * HOUR, WindowRule.ARRIVALS)


def test_a_last_submission_shortly_before_midnight_ends_a_whole_day() -> None:
    jobs = jobs_of([(at * 600.0, 900.0, 1.0) for at in range(14 * 144 - 5)])
    assert window_of(jobs).end == 14 * DAY


def test_a_last_evening_without_jobs_costs_no_week() -> None:
    jobs = jobs_of([(d * DAY + h * HOUR, 1800.0, 1.0) for d in range(28) for h in range(22)])
    window = window_of(jobs)
    assert (window.start, window.end, window.last) == (0.0, 28 * DAY, 27 * DAY + 21.5 * HOUR)
    assert len(demand_within(jobs, 3600, window)) == 28 * 24


def test_a_trace_that_states_its_end_counts_up_to_it() -> None:
    from dataclasses import replace

    window = window_of(replace(jobs_of([(0.0, DAY, 1.0), *HOURLY]), recorded_until=20 * HOUR))
    assert (window.end, window.rule) == (20 * HOUR, WindowRule.TRACE)


def test_what_runs_into_an_asked_window_counts_from_its_start() -> None:
    jobs = jobs_of([(0.0, DAY, 1.0), (HOUR, HOUR, 2.0), (10 * HOUR, 5 * HOUR, 4.0), (30 * HOUR, HOUR, 8.0)])
    cut = restricted(jobs, AskedWindow("43200..86400", 12 * HOUR, DAY))
    assert isinstance(cut, Jobs)
    assert cut.submit.tolist() == [12 * HOUR, 12 * HOUR]
    assert cut.duration.tolist() == [12 * HOUR, 3 * HOUR]
    assert cut.provenance.repaired == {RAN_IN: 2}
    assert demand_within(cut, 3600, window_of(cut)).cores == pytest.approx([5.0] * 3 + [1.0] * 9)
    assert "as asked; not counted: the first 12h, the last 7h" in window_line(window_of(cut))


def test_a_series_is_cut_to_whole_steps() -> None:
    values = np.arange(48.0)
    series = Demand(0.0, 3600, values, values * 4, values * 0, Provenance("made", "series", "0", 48))
    cut = restricted(series, parse_window("1d"))
    assert isinstance(cut, Demand)
    assert cut.cores.tolist() == values[24:].tolist()
    assert window_of(series).rule is WindowRule.WHOLE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("14d", (None, None, 14 * DAY)),
        ("2 weeks", (None, None, 14 * DAY)),
        ("0..86400", (0.0, DAY, None)),
        ("3600..", (HOUR, None, None)),
        ("..1e5", (None, 1e5, None)),
        ("1970-01-02..1970-01-03T00:00:00Z", (DAY, 2 * DAY, None)),
    ],
)
def test_ways_to_write_a_window(text: str, expected: tuple[float | None, ...]) -> None:
    asked = parse_window(text)
    assert (asked.start, asked.end, asked.last) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "5..x", "14 suns"])
def test_windows_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        parse_window(text)


def test_a_window_beside_the_trace_is_refused() -> None:
    jobs = jobs_of(HOURLY)
    for text in ("200000..300000", "50..50", "9..3"):
        with pytest.raises(UsageError, match="the trace runs from 0 s to 86400 s"):
            restricted(jobs, parse_window(text))
    with pytest.raises(UsageError, match="its own origin"):
        check_clock(parse_window("2026-01-01..2026-02-01"), window_of(jobs).first)


rows = st.lists(st.tuples(st.floats(0, 1e6), st.floats(1, 1e6), st.floats(0.1, 64)), min_size=1, max_size=30)


@pytest.mark.slow
@given(rows)
def test_every_trace_has_a_window_with_demand_in_it(trace: list[Row]) -> None:
    jobs = jobs_of(trace)
    window = window_of(jobs)
    assert window.first <= window.start < window.end
    assert window.end <= window.last + DAY
    demand = demand_within(jobs, 3600, window)
    assert demand.cores.max() > 0
    assert demand.cores.max() <= demand_of(jobs, 3600).cores.max() + 1e-9


WEEKS = [(h * HOUR, HOUR, 10.0) for h in range(14 * 24)]


@pytest.mark.parametrize(("since", "cores", "says"), [(100, 256.0, "96% of the vCPU-hours"), (100, 0.1, "began 100d")])
def test_one_forgotten_job_does_not_stretch_the_window_and_is_named(since: int, cores: float, says: str) -> None:
    rows = [*WEEKS, (-since * DAY, (since + 14) * DAY, cores)]
    window = window_of(jobs_of(rows))
    assert (window.start, window.end) == (-HOUR if window.start < 0 else 0.0, 14 * DAY)
    said = outlier(jobs_of(rows), window)
    assert said.startswith(f"job 0 ({cores:g} vCPUs for {since + 14}d) ")
    assert says in said
    assert window_of(jobs_of(mirrored(rows))).seconds == pytest.approx(14 * DAY, rel=0.01)


def test_a_job_in_the_last_part_of_a_step_is_planned_for() -> None:
    rows = [(0.0, 600.0, 2.0), (300.0, 60.0, 1.0), (DAY, 1200.0, 4.0)]
    jobs = jobs_of(rows)
    window = window_of(jobs)
    assert window.end == DAY + 1200, "20 minutes after the last whole hour"
    counted = demand_within(jobs, 3600, window)
    assert float(counted.cores.sum()) == pytest.approx(sum(d * c for _, d, c in rows) / HOUR)
    stands = jobs_of([(0.0, DAY + 1200, 40.0)])
    assert len(demand_within(stands, 3600, window_of(stands))) == 24, "of what stands a part of a step says nothing new"


def test_services_beside_jobs_are_no_forgotten_jobs() -> None:
    jobs = jobs_of([*WEEKS, (0.0, 14 * DAY, 40.0)])
    assert "80%" in outlier(jobs, window_of(jobs))
    services = replace(jobs, kind=np.ones(len(jobs), np.int8))
    assert outlier(services, window_of(services)) == ""
    few = jobs_of(WEEKS[:5])
    assert outlier(few, window_of(few)) == ""
    even = jobs_of(WEEKS)
    assert outlier(even, window_of(even)) == ""


@pytest.mark.parametrize(("days", "rule"), [(3, WindowRule.STANDING), (14, WindowRule.ARRIVALS)])
def test_services_that_outlast_jobs_of_a_week_or_more_do_not_thin_them(days: int, rule: WindowRule) -> None:
    """Six services of 400 days beside jobs of two weeks: in a mean over 400 days such jobs were next to nothing."""
    hourly = [(h * HOUR, HOUR, 10.0) for h in range(days * 24)]
    rows = [*hourly, *((0.0, 400 * DAY, 4.0) for _ in range(6))]
    for trace in (rows, mirrored(rows)):
        jobs = jobs_of(trace)
        window = window_of(jobs)
        assert window.rule is rule
        said = thinned(jobs, window)
        assert (said == "") is (rule is WindowRule.ARRIVALS)
        if said:
            assert f"{days}d of the 400d alone, with 34 vCPUs in use on average, 24.1 vCPUs in all of it" in said
            asked = parse_window(said.split("--window ")[1].split()[0])
            assert demand_within(restricted(jobs, asked), 3600, window_of(restricted(jobs, asked))).cores.mean() > 33


HOURLY_WEEKS = [(h * HOUR, HOUR, 10.0) for h in range(14 * 24)]


def test_jobs_of_two_weeks_amid_a_year_of_services_came_once() -> None:
    """A backfill was reserved for as if it never ended: services ran without it for months, before and after."""
    jobs = jobs_of([*HOURLY_WEEKS, *((-150 * DAY, 365 * DAY, 4.0) for _ in range(6))])
    assert window_of(jobs).rule is WindowRule.STANDING
    assert "14d of the 365d alone" in thinned(jobs, window_of(jobs))


def test_that_jobs_may_have_stopped_long_before_services_end_is_told() -> None:
    jobs = jobs_of([*HOURLY_WEEKS, *((0.0, 400 * DAY, 4.0) for _ in range(6))])
    said = stopped(jobs, window_of(jobs))
    assert "no job begins in the 386d after the window, in which 24 vCPUs run on" in said
    gone = restricted(jobs, parse_window(said.split("--window ")[1].split()[0]))
    assert set(demand_within(gone, 3600, window_of(gone)).cores) == {24.0}
    for others in ([], [(0.0, 400 * DAY, 4.0)], [(-386 * DAY, 400 * DAY, 4.0)] * 6):
        jobs = jobs_of([*HOURLY_WEEKS, *others])
        assert stopped(jobs, window_of(jobs)) == ""


@pytest.mark.parametrize(("day", "rule"), [(6, WindowRule.ARRIVALS), (12, WindowRule.STANDING)])
def test_a_window_begins_with_services_that_come_late_and_run_on(day: int, rule: WindowRule) -> None:
    """They were counted as if they ran in a part of the time: 24 vCPUs of six services as 14."""
    jobs = jobs_of([*HOURLY_WEEKS, *((day * DAY, 400 * DAY, 4.0) for _ in range(6))])
    assert window_of(jobs).rule is rule
    if rule is WindowRule.ARRIVALS:
        assert demand_within(jobs, 3600, window_of(jobs)).cores.tolist() == [34.0] * 8 * 24
    else:
        assert "2d of the 412d alone, with 34 vCPUs" in thinned(jobs, window_of(jobs))


@pytest.mark.parametrize(("minutes", "share"), [(5, 22 / 12), (30, 1.0), (60, 0.0)])
def test_use_by_jobs_shorter_than_a_step_is_told(minutes: int, share: float) -> None:
    """One job an hour: four vCPUs are in use for these minutes of it, and in the mean so many fewer all the time."""
    rows = [(h * HOUR, 60.0 * minutes, 4.0) for h in range(48)]
    window = window_of(jobs_of(rows))
    assert hidden_in_steps(jobs_of(rows), 3600, window) == pytest.approx(share, rel=0.05)
    assert hidden_in_steps(jobs_of(rows), 300, window) == 0.0
    assert hidden_in_steps(jobs_of([*rows, (0.0, 48 * HOUR, 400.0)]), 3600, window) == 0.0, "little of what is used"


@pytest.mark.parametrize(("minutes", "step"), [(3, 300), (30, 300), (60, 3600), (600, 3600)])
def test_jobs_shorter_than_an_hour_that_begin_together_are_planned_in_finer_steps(minutes: float, step: int) -> None:
    jobs = jobs_of([(h * HOUR, minutes * 60.0, 4.0) for h in range(0, 480, 10)])
    assert choose_step(jobs, window_of(jobs), Outlook()) == step


def test_steps_are_finer_where_means_of_hours_tell_savings_some_points_too_high() -> None:
    """Jobs of 50 minutes beside four times as much that stands: a fifteenth of use lies apart."""
    jobs = jobs_of([(0.0, 48 * HOUR, 13.0), *((h * HOUR, 3000.0, 4.0) for h in range(48))])
    assert hidden_in_steps(jobs, 3600, window_of(jobs)) == pytest.approx(0.068, abs=0.002)
    assert choose_step(jobs, window_of(jobs), Outlook()) == 300


def test_jobs_of_which_far_more_run_at_once_than_on_average_are_told() -> None:
    """Twenty jobs of ten minutes that begin together each hour, and hardly any at other times."""
    bursts = [(h * HOUR + 60, 600.0, 2.0) for h in range(48) for _ in range(20)]
    jobs = jobs_of([*bursts, (-DAY, 600.0, 900.0)])
    window = replace(window_of(jobs_of(bursts)), start=0.0)
    assert far_above_means(jobs, demand_within(jobs, 3600, window)) == 40.0, "not what ran before the window"
    assert far_above_means(jobs, demand_within(jobs, 300, window)) == 0.0, "steps of five minutes tell it"
    steady = jobs_of([*bursts, *((h * HOUR, HOUR, 100.0) for h in range(48))])
    assert far_above_means(steady, demand_within(steady, 3600, window)) == 0.0, "little of what is used"


def test_a_window_that_misses_a_trace_with_dates_is_answered_in_dates() -> None:
    begun = 1_772_290_800.0  # 2026-02-28T15:00:00Z
    dated = jobs_of([(begun + at, length, cores) for at, length, cores in HOURLY])
    with pytest.raises(UsageError) as told:
        restricted(dated, parse_window("2027-01-01..2027-02-01"))
    assert "the trace runs from 2026-02-28T15:00:00Z to 2026-03-01T15:00:00Z, over 24h" in str(told.value)
    with pytest.raises(UsageError, match="the trace runs from 0 s to 86400 s, over 24h"):
        restricted(jobs_of(HOURLY), parse_window("90000..95000"))
    gap = [(begun, HOUR, 1.0), (begun + 10 * HOUR, HOUR, 1.0)]
    with pytest.raises(UsageError, match="no job runs in the window from 2026-02-28T18:00:00Z to 2026-02-28T19:00:00Z"):
        restricted(jobs_of(gap), parse_window("2026-02-28T18:00..2026-02-28T19:00"))


def test_a_mean_over_whole_steps_that_outlast_a_window_is_said_to_be_over_them() -> None:
    window = replace(window_of(jobs_of(HOURLY)), start=0.0, end=13 * 60.0)
    assert mean_window_line(window, 0.25).endswith("; the mean is over 15min, in whole steps")
    assert mean_window_line(window, 13 / 60) == window_line(window)


@pytest.mark.parametrize("step", [420, 7000, 2 * 86_400, 7 * 86_400])
def test_steps_of_a_series_that_do_not_fill_a_year_are_planned_in_shorter_ones(step: int) -> None:
    """It was told to set planning.step, which may be a day at most."""
    use = np.array([4.0, 8.0, 6.0])
    demand = Demand(0.0, step, use, use * 4, use / 2, Provenance("made", "series", "0", 3))
    settings = PlanSettings(markets=(Market(),))
    planned = planned_demand(demand, settings)
    assert settings.outlook.horizon_hours * HOUR % planned.step_seconds == 0
    for name in ("cores", "memory", "batch_cores"):
        held = getattr(planned, name).sum() * planned.step_seconds
        assert held == pytest.approx(getattr(demand, name).sum() * step, rel=0.05), "less a part of the last step"
    assert planned.cores.max() <= 8


@pytest.mark.parametrize("step", [420, 1500, 2700, 5400, 18_000])
def test_use_in_steps_that_do_not_fill_an_hour_or_a_day_is_not_spread_over_hours(step: int) -> None:
    """A quarter of the steps need 120 vCPUs: hours in which part of such a step lies need fewer, for longer."""
    use = np.array([120.0, 0.0, 0.0, 0.0] * (14 * 86_400 // step // 4))
    series = Demand(0.0, step, use, use * 4, use, Provenance("made", "series", "0", 3))
    planned = planned_demand(series, PlanSettings(markets=(Market(),)))
    assert 86_400 % planned.step_seconds == 0
    assert float((planned.cores > 60).mean()) == pytest.approx(0.25, abs=0.01)
    assert float((planned.cores > 0).mean()) == pytest.approx(0.25, abs=0.15)

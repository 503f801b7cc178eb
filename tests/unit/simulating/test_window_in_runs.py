"""Dollars and use of a simulated run are those of the window that a plan counts: a tail that drains dilutes neither."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from simulating import jobs_of, paper_shop, setting_of, tasks_in

from hcloud.model.workload import Jobs, WindowRule
from hcloud.planning.forecasting.window import window_of
from hcloud.policy.records import column
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import Measures, measure
from hcloud.sim.run import run
from hcloud.usecases.studies.simulation import Study, pool_for, simulate_once

HOUR, DAY = 3600.0, 86_400.0
DRAINED = [(0.0, 4 * DAY, 1.0, 1.0, 0), *((h * HOUR, HOUR, 10.0, 10.0, 0) for h in range(24))]


def simulated(jobs: Jobs, name: str, *, counted: bool = True) -> Measures:
    """A run at the strategy's own reserve, in the window or in all of the trace."""
    study = Study(jobs, load_cloud("paper"), paper_shop(), True, 1, window=window_of(jobs) if counted else None)
    return measure(simulate_once(study, load_strategy(name)))


@pytest.mark.slow
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_tail_that_drains_dilutes_neither_dollars_nor_use(mirrored: bool) -> None:
    last = 4 * DAY
    rows = sorted((last - s - d, d, cores, gib, kind) for s, d, cores, gib, kind in DRAINED) if mirrored else DRAINED
    jobs = jobs_of(rows)
    one = simulated(jobs, "SR")
    assert one.pool == 1
    assert one.cost.ideal_hours == 24
    assert one.use.utilisation == pytest.approx(11 / 16, abs=0.01)
    assert one.cost.per_ideal_hour == pytest.approx(paper_shop().reserved.effective_hourly, rel=Decimal("1e-9"))
    assert simulated(jobs, "SR", counted=False).use.utilisation < 0.3


@pytest.mark.slow
def test_what_is_rented_counts_for_its_part_in_the_window() -> None:
    inside, whole = (simulated(jobs_of(DRAINED), "OdF", counted=told) for told in (True, False))
    assert max(c.seconds for c in inside.cost.charges) <= 2 * DAY
    assert whole.cost.rented > inside.cost.rented
    assert inside.cost.per_ideal_hour > whole.cost.per_ideal_hour


def test_the_reserve_is_sized_by_the_window() -> None:
    jobs = jobs_of([(0.0, 5 * DAY, 40.0, 40.0, 1), *DRAINED])
    window = replace(window_of(jobs), start=0.0, end=DAY)
    study = Study(jobs, load_cloud("paper"), paper_shop(), True, 1, window=window)
    inside = pool_for(study, load_strategy("HF"))
    assert inside == 4, "51 vCPU at the least, in servers of 16"
    asked = replace(window, end=5 * DAY, rule=WindowRule.ASKED)
    assert pool_for(replace(study, window=asked), load_strategy("HF")) < inside


def test_a_day_that_the_window_has_after_the_last_submission_is_no_steady_load() -> None:
    jobs = jobs_of([*((day * DAY, DAY, 40.0, 40.0, 1) for day in range(119)), (119 * DAY, 3600.0, 4.0, 4.0, 1)])
    study = Study(jobs, load_cloud("paper"), paper_shop(), True, 1, window=window_of(jobs))
    assert study.window is not None
    assert study.window.end == 120 * DAY
    assert pool_for(study, load_strategy("HF")) == 3


def test_hours_of_a_window_before_its_first_job_count() -> None:
    """Nothing is rented in them: they were left out, so that an hour of the rest was as much dearer."""
    jobs = jobs_of([(hour * HOUR, HOUR, 10.0, 10.0, 0) for hour in range(24, 36)])
    study = Study(jobs, load_cloud("paper"), paper_shop(), True, 1, window=window_of(jobs))
    assert study.window is not None
    early = replace(study, window=replace(study.window, start=12 * HOUR, end=36 * HOUR, rule=WindowRule.ASKED))
    short, whole = (measure(simulate_once(s, load_strategy("OdF"))).cost for s in (study, early))
    assert whole.ideal_hours == 24
    assert whole.per_ideal_hour * 24 == pytest.approx(short.per_ideal_hour * 12, rel=Decimal("0.1"))


def test_how_long_services_wait_is_what_one_of_them_waited() -> None:
    """One of 14 is more than 1 %, and a mean of the two longest waits hid it; who is cancelled waits no longer."""
    setting = setting_of("OdF", 1)
    outcome = run(setting, tasks_in(setting, jobs_of([(0.0, 5 * DAY, 4.0, 4.0, 1)] * 14)))
    began, cancelled = (column(outcome.world.tasks, name) for name in ("began", "cancelled"))
    began[:] = 0.0
    began[3] = DAY
    assert measure(outcome).service.service_wait == DAY
    began[3] = -1.0
    assert measure(outcome).service.service_wait >= 5 * DAY
    cancelled[3] = HOUR
    assert measure(outcome).service.service_wait == HOUR
    assert measure(outcome).service.job_wait == HOUR, "of 14 one is more than 5 %"

"""What jobs got, put together from the entries of a journal, beside what the simulator measured of the same run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from simulating import excerpt, setting_of, tasks_in, with_spot

from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import UNKNOWN, Arrival, BelowQos, Completion, Event, Interruption, Ready
from hcloud.planning.reports.journeys import SERVICE, Journey, JourneyBuilder, journeys_of
from hcloud.planning.reports.quality import qualities, quality_of, span_of
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.run import RunOutcome, run
from hcloud.store.journals.journal import JournalContents
from hcloud.usecases.reports.accuracy import in_use_of
from hcloud.usecases.studies.journal import journal_entries, setup_of_run

POOLS = {"SR": 6, "OdM": 0, "HM": 2}


@cache
def outcome(name: str) -> RunOutcome:
    setting = setting_of(name, POOLS[name])
    return run(setting, tasks_in(setting, excerpt(250)), journal=True)


def followed(made: RunOutcome) -> JourneyBuilder:
    return JourneyBuilder().follow(journal_entries(made, setup_of_run(made)))


@pytest.mark.slow
@pytest.mark.parametrize("name", POOLS)
def test_a_journal_tells_what_the_simulator_measured(name: str) -> None:
    made = outcome(name)
    measured, follower = measure(made), followed(made)
    journeys = tuple(follower.journeys.values())
    told = quality_of("all", journeys)
    assert told.jobs == measured.jobs
    assert (told.refused, told.unfinished) == (measured.use.refused, measured.use.unfinished)
    assert (told.moves, told.enlarged) == (measured.use.reschedules, measured.use.enlargements)
    services = sorted(1 / r for j in journeys if j.kind == SERVICE and (r := j.reached) is not None)
    tails = measured.service.tail
    assert len(services) == tails.count
    assert np.quantile(services, 0.95) == pytest.approx(tails.p95)
    began = sum(j.began is not None for j in journeys)
    assert began == measured.service.waiting.count
    queued = [j for j in journeys if j.queued and j.began is not None]
    assert len(queued) >= measured.service.queued.count
    assert told.wait_p95 == pytest.approx(measured.service.waiting.p95)
    assert told.kept == pytest.approx(measured.service.kept_qos)
    batch = sorted(r for j in journeys if j.kind != SERVICE and (r := j.reached) is not None)
    assert np.quantile(batch, 0.05) == pytest.approx(measured.service.batch.p5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SR", "HM"])
def test_the_use_of_the_reserve_is_that_of_the_simulator(name: str) -> None:
    made = outcome(name)
    setup = setup_of_run(made)
    told = JournalContents(setup, tuple(journal_entries(made, setup)), 0, torn=False)
    measured = measure(made).use
    assert measured.enlargements > 0, "who is given more holds more than it asked for"
    assert in_use_of(told, None) == pytest.approx(measured.utilisation, rel=1e-9)
    window = 1000.0, 4000.0
    windowed = measure(run(replace(made.setting, window=window), made.tasks)).use
    assert in_use_of(told, window) == pytest.approx(windowed.utilisation, rel=1e-9)


@pytest.mark.slow
def test_spot_that_is_taken_back_counts_as_interruptions() -> None:
    setting = setting_of(with_spot(load_strategy("OdM"), 0.99), 0)
    made = run(setting, tasks_in(setting, excerpt(250)), journal=True)
    told = quality_of("all", tuple(followed(made).journeys.values()))
    assert told.interrupted == measure(made).use.interrupted


def arrival(at: float, job: str, *, batch: bool = True, ask: int = 2000) -> Arrival:
    return Arrival(at, job, ask, 1024, UNKNOWN, restartable=batch, coin=0.5)


def decided(at: float, action: DecisionAction, job: str, instance: int | None, place: str) -> Decision:
    return Decision(at, action, job, instance, place, "because", None, "", "")


def run_of_three() -> list[Event | Decision]:
    """One that waits for an instance, one that queues, is below its quality and is moved, one that is refused."""
    return [
        arrival(0.0, "web/a", batch=False),
        decided(0.0, DecisionAction.LAUNCH, "web/a", 5, "on-demand small"),
        arrival(1.0, "etl/b"),
        decided(1.0, DecisionAction.QUEUE, "etl/b", None, "local queue"),
        arrival(2.0, "etl/c", ask=99_000),
        decided(2.0, DecisionAction.REFUSE, "etl/c", None, "nowhere"),
        Ready(20.0, 5),
        decided(31.0, DecisionAction.PLACE, "etl/b", 0, "reserved server 0"),
        BelowQos(40.0, "etl/b", 0.5),
        decided(40.0, DecisionAction.MOVE, "etl/b", 0, "reserved server 0"),
        decided(40.0, DecisionAction.LAUNCH, "etl/b", 6, "spot small"),
        Ready(50.0, 6),
        Interruption(60.0, 6),
        decided(60.0, DecisionAction.PLACE, "etl/b", 0, "reserved server 0"),
        Completion(91.0, "etl/b", 0.75),
        Completion(100.0, "web/a", 0.9, 1.25),
        arrival(100.0, "etl/d"),
    ]


def test_a_journey_worked_by_hand() -> None:
    by = {j.job: j for j in journeys_of(run_of_three())}
    web, etl, large, late = by["web/a"], by["etl/b"], by["etl/c"], by["etl/d"]
    assert (web.waited, web.reached) == (20.0, 0.8)
    assert (etl.waited, etl.queued, etl.below, etl.moves, etl.interrupted) == (30.0, True, 1, 1, 1)
    assert etl.reached == 0.75 * (9 + 10 + 31) / 90  # not while the second machine started
    assert [(s.own, s.start, s.end) for s in etl.stays] == [
        (True, 31.0, 40.0), (False, 40.0, 60.0), (True, 60.0, 91.0)
    ]  # fmt: skip
    assert (large.refused, large.waited) == (True, None)
    assert (late.began, late.reached) == (None, None)


def test_groups_are_all_then_kinds_then_applications_and_add_up() -> None:
    groups = {q.group: q for q in qualities(journeys_of(run_of_three()))}
    assert list(groups) == ["all jobs", "batch", "service", "etl/", "web/"]
    whole = groups["all jobs"]
    assert (whole.jobs, whole.refused, whole.unfinished, whole.kept) == (4, 1, 1, 0.0)
    for name in ("jobs", "below", "moves", "interrupted", "refused", "unfinished"):
        assert getattr(whole, name) == sum(getattr(groups[g], name) for g in ("batch", "service"))
        assert getattr(whole, name) == sum(getattr(groups[g], name) for g in ("etl/", "web/"))


def test_demand_and_use_are_integrals_over_the_arrivals() -> None:
    span = span_of(journeys_of(run_of_three()), 100.0, 50)
    # 2 vCPUs of web/a for the 80 s that it ran, 2 of etl/b for the work of 50 s at 0.75, 99 of etl/c (never over) for
    # 98 s, over 100 s: waits and what neighbours cost were demand
    assert span.mean_cores == pytest.approx((160 + 75 + 99 * 98) / 100)


def test_no_job_is_no_quality() -> None:
    assert journeys_of([]) == ()
    empty = quality_of("none", [])
    assert (empty.jobs, empty.kept, empty.p5, empty.wait_p95) == (0, None, None, None)
    assert span_of([], 0.0, 60).peak_cores == 0.0
    assert Journey("a", SERVICE, 1, 0.0, began=0.0, ended=0.0, performance=1.0).reached == 1.0

"""True vectors act, estimates decide: what is drawn, what is known of it, and that each does its own part only."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from simulating import changed, excerpt, setting_of, tasks_in

from hcloud.model.measured.profile import UNKNOWN_SCORE
from hcloud.model.running.event import Arrival
from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import Jobs
from hcloud.policy.records import Ints
from hcloud.readers.strategies import load_strategy
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.prepare import Tasks
from hcloud.store.journals.events import event_document, parse_event
from hcloud.usecases.studies.journal import journal_entries, setup_of_run
from hcloud.usecases.studies.simulation import Study, strategy_for
from hcloud.usecases.workloads.scenarios import scenario_on_cluster


@cache
def sixty() -> Jobs:
    return excerpt(60)


def errors_of(**values: float) -> Ints:
    strategy = changed(load_strategy("HM"), "information", **values)
    tasks = tasks_in(setting_of(strategy, 4), excerpt(2000))
    return tasks.vector - tasks.truth


@pytest.mark.slow
def test_all_but_the_entries_that_were_measured_err_as_much_as_the_strategy_says() -> None:
    errors = errors_of(vector_error=6.5, injected_sources=2)
    assert ((errors == 0).sum(axis=1) >= 2).all()
    assert 6.0 < errors[errors != 0].std() < 7.0
    assert not errors_of(vector_error=6.5, injected_sources=10).any()
    assert not errors_of(vector_error=0.0, injected_sources=0).any()


def test_nothing_is_known_of_what_was_not_profiled() -> None:
    study = Study(sixty(), setting_of("HM", 4).cloud, setting_of("HM", 4).shop, False, 7)
    tasks = tasks_in(setting_of(strategy_for(study, load_strategy("HM")), 4), sixty())
    assert (tasks.vector == UNKNOWN_SCORE).all()
    assert (tasks.truth != UNKNOWN_SCORE).any()


def test_the_truth_of_a_profiled_application_lies_around_its_profile_as_far_as_that_is_unsure() -> None:
    jobs = replace(sixty(), app=np.zeros(len(sixty()), np.int32), apps=("web",), vectors={"web": (40,) * 10})
    sure, unsure = setting_of("HM", 4), (0.0,) * 5 + (8.0,) * 5
    tasks = tasks_in(sure, jobs)
    assert (tasks.vector == 40).all()
    assert (tasks.truth == 40).all()
    tasks = tasks_in(sure, replace(jobs, vector_errors={"web": unsure}))
    assert (tasks.vector == 40).all()
    assert (tasks.truth[:, :5] == 40).all()
    assert (tasks.truth[:, 5:] != 40).any()
    assert (tasks.truth == tasks.truth[0]).all()
    drawn_ones = tasks_in(sure, replace(jobs, vectors={})).truth
    tasks = tasks_in(sure, replace(jobs, vector_errors={"web": (*unsure[:9], math.inf)}))
    assert (tasks.truth[:, :9] == tasks.truth[0, :9]).all()
    assert (tasks.truth[:, 9] == drawn_ones[:, 9]).all()  # nobody knows: as of jobs without a profile


def test_an_application_without_intervals_of_its_own_is_as_unsure_as_the_classification() -> None:
    """On clusters of scenarios ``information.vector_error`` was swept without any effect."""
    jobs = scenario_on_cluster("local-40", 0).jobs

    def off(error: float) -> int:
        strategy = changed(load_strategy("SR"), "information", vector_error=error)
        tasks = tasks_in(setting_of(strategy, 40), jobs)
        return int(np.abs(tasks.truth.astype(int) - tasks.vector).max())

    assert off(0.0) == 0 < off(2.0) < off(20.0)


def first_mapping(strategy: Strategy, change: Tasks | None = None) -> RunOutcome:
    setting: Setting = setting_of(strategy, 2)
    return run(setting, change or tasks_in(setting, sixty()), journal=True)


@pytest.mark.slow
def test_a_decision_looks_at_estimates_and_interference_at_the_truth() -> None:
    greedy = load_strategy("SR")
    tasks = tasks_in(setting_of(greedy, 2), sixty())
    gentle, harsh = (replace(tasks, truth=np.full_like(tasks.truth, level)) for level in (0, 90))
    calm, loud = (first_mapping(greedy, t) for t in (gentle, harsh))
    at_once = tasks.submit == 0.0
    assert at_once.sum() > 10
    for field in ("action", "reason", "serial"):
        before, after = (o.of_tasks(field)[at_once & (o.of_tasks("queued") < 0)] for o in (calm, loud))
        assert before.tolist() == after.tolist()
    assert loud.of_tasks("ran").sum() > calm.of_tasks("ran").sum()
    feared = first_mapping(greedy, replace(gentle, vector=np.full_like(tasks.vector, 90)))
    assert feared.of_tasks("queued").max() > 0
    np.testing.assert_allclose(feared.of_tasks("ran"), tasks.work)  # thought to be harsh, and gentle all the same


def test_both_vectors_are_in_the_journal_and_come_back_from_it() -> None:
    outcome = first_mapping(load_strategy("HM"))
    entries = [e for e in journal_entries(outcome, setup_of_run(outcome)) if isinstance(e, Arrival)]
    assert [e.vector for e in entries] == list(map(tuple, outcome.tasks.vector.tolist()))
    assert [e.true_vector for e in entries] == list(map(tuple, outcome.tasks.truth.tolist()))
    assert parse_event(event_document(entries[0])) == entries[0]


@pytest.mark.slow
def test_what_jobs_tolerate_is_told_apart_from_what_they_cause() -> None:
    jobs = replace(sixty(), app=np.zeros(len(sixty()), np.int32), apps=("web",), vectors={"web": (40,) * 10})
    assumed = tasks_in(setting_of("HM", 4), jobs)
    assert (assumed.tolerates == 59).all()
    apart = tasks_in(setting_of("HM", 4), replace(jobs, tolerates={"web": (90,) * 10}))
    assert (apart.vector == 40).all()
    assert (apart.tolerates == 90).all()
    assert (apart.true_tolerates == 90).all()


def test_jobs_that_state_their_vectors_have_those() -> None:
    stated = np.full((len(sixty()), 10), -1, np.int8)
    stated[5] = 7
    tasks = tasks_in(setting_of("HM", 4), replace(sixty(), causes=stated, bears=stated + 1))
    plain = tasks_in(setting_of("HM", 4), sixty())
    mine = tasks.job == 5
    assert (tasks.truth[mine] == 7).all()
    assert (tasks.vector[mine] == 7).all()
    assert (tasks.true_tolerates[mine] == 8).all()
    assert (tasks.truth[~mine] == plain.truth[~mine]).all()
    assert (tasks.tolerates[~mine] == 0).all()


@pytest.mark.slow
def test_who_tolerates_more_suffers_less_whatever_it_causes() -> None:
    setting = setting_of("SR", 2)
    tasks = tasks_in(setting, sixty())
    loud = replace(tasks, truth=np.full_like(tasks.truth, 60), vector=np.zeros_like(tasks.vector))
    tough, frail = (
        run(setting, replace(loud, borne=(np.full_like(tasks.truth, 99), np.full_like(tasks.truth, points))))
        for points in (99, 0)
    )
    np.testing.assert_allclose(tough.of_tasks("ran"), tasks.work)
    assert frail.of_tasks("ran").sum() > tasks.work.sum() * 1.1


@pytest.mark.slow
def test_a_journal_carries_what_jobs_tolerate() -> None:
    setting = setting_of("HM", 2)
    tasks = tasks_in(setting, sixty())
    tasks = replace(tasks, borne=(np.full_like(tasks.truth, 90), np.full_like(tasks.truth, 80)))
    outcome = run(setting, tasks, journal=True)
    entries = [e for e in journal_entries(outcome, setup_of_run(outcome)) if isinstance(e, Arrival)]
    assert {e.tolerates for e in entries} == {(90,) * 10}
    assert {e.true_tolerates for e in entries} == {(80,) * 10}

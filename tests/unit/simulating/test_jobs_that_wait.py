"""Jobs that wait for the end of others: none begins before, none is lost, and a workflow takes as long as its jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from following import waiting
from pieces import several
from simulating import changed, crashing, excerpt, hasty, jobs_of, setting_of, tasks_in

from hcloud.model.workload import Jobs
from hcloud.planning.forecasting.following import among, earliest, waits_of
from hcloud.policy.records import column
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.outcomes.workflows import connected
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.resumed import some_tasks
from hcloud.usecases.harvesting.played import may_ask
from hcloud.usecases.studies.journal import journal_entries, setup_of_run


def check(outcome: RunOutcome) -> None:
    """None begins before the end of what it waits for, and each ended, never came, or was given up."""
    tasks, began, ended = outcome.tasks, outcome.of_tasks("began"), outcome.of_tasks("ended")
    assert tasks.after is not None
    waits, before = tasks.after.T
    ran = began[waits] >= 0
    assert (ended[before[ran]] >= 0).all()
    assert (began[waits[ran]] >= ended[before[ran]]).all()
    assert (outcome.submit[waits[ran]] >= ended[before[ran]]).all()
    assert (outcome.of_tasks("over") == 1).all()
    void = column(outcome.world.stages, "void") == 1
    assert void[waits[ended[before] < 0]].all()
    assert (began[void] < 0).all()
    assert not void[np.setdiff1d(np.arange(len(tasks)), waits)].any()


@pytest.mark.parametrize("name", ["SR", "HM", "SR+tarcil", "SR+sparrow", "SR+two-level", "SR+paragon+multi-class"])
def test_none_begins_before_what_it_waits_for_has_ended(name: str) -> None:
    setting = setting_of(name, 4)
    outcome = run(setting, tasks_in(setting, waiting(excerpt(150))), journal=True)
    check(outcome)
    measures = measure(outcome).workflows
    assert measures is not None
    assert measures.never == 0
    assert 0 < measures.workflows < 150
    assert len(list(journal_entries(outcome, setup_of_run(outcome)))) > 300


def late(setting: Setting) -> Setting:
    """Agents that crash and come too late, machines that are lost, jobs that users cancel."""
    strategy = hasty(load_strategy("SR+tarcil"))
    return crashing(replace(setting, strategy=strategy), 120.0, 0.5, 0.1)


@pytest.mark.parametrize("pieces", [False, True])
def test_nobody_is_lost_whatever_goes_wrong(pieces: bool) -> None:
    setting = late(setting_of("SR", 12))
    jobs = waiting(several(80) if pieces else excerpt(150))
    outcome = run(setting, tasks_in(setting, jobs))
    check(outcome)
    measures = measure(outcome)
    assert measures.faults.cancelled_jobs > 0
    assert measures.workflows is not None
    assert measures.workflows.never > 0
    assert measures.use.unfinished == measures.workflows.never


def chain(*lengths: float) -> Jobs:
    """Jobs of one vCPU that are submitted at once, each waiting for the one before."""
    after = np.array([(at, at - 1) for at in range(1, len(lengths))], np.int64)
    jobs = jobs_of([(0.0, length, 1.0, 1.0, 0) for length in lengths])
    made = replace(jobs, serial=np.arange(len(jobs), dtype=np.int32), after=after)
    return replace(made, submit=earliest(jobs.submit, jobs.duration, after))


@pytest.mark.parametrize("losses", [0.0, 1e-9])
def test_a_chain_takes_as_long_as_its_jobs_and_their_decisions(losses: float) -> None:
    """Also where machines may be lost: such a run is over when nobody is left, and between two jobs nobody is there."""
    setting = crashing(setting_of("SR+ideal", 1), 0.0, losses)
    outcome = run(setting, tasks_in(setting, chain(100.0, 20.0, 30.0)))
    assert outcome.of_tasks("ended").tolist() == pytest.approx([100.05, 120.1, 150.15])  # each is classified in 50 ms
    found = measure(outcome).workflows
    assert found is not None
    assert (found.workflows, found.kept) == (1, 1.0)
    assert found.p50 == pytest.approx(150.15)


def test_who_waits_for_a_job_that_ends_with_its_machine_never_comes_nor_who_waits_for_him() -> None:
    """Two jobs with more memory than there is, on a placement that overcommits it: the second one is killed."""
    rows = [(0.0, 100.0, 1.0, 40.0, 0), (1.0, 50.0, 1.0, 40.0, 0), (2.0, 5.0, 1.0, 1.0, 0), (3.0, 5.0, 1.0, 1.0, 0)]
    jobs = replace(jobs_of(rows), serial=np.arange(4, dtype=np.int32), after=np.array([(2, 1), (3, 2)], np.int64))
    strategy = changed(load_strategy("SR+least-loaded"), "placement", overcommit_memory=True)
    setting = setting_of(strategy, 1)
    outcome = run(setting, tasks_in(setting, jobs))
    check(outcome)
    assert (outcome.of_tasks("ended") >= 0).tolist() == [True, False, False, False]
    found = measure(outcome).workflows
    assert found is not None
    assert (found.workflows, found.kept, found.never) == (1, 0.0, 2)


def test_who_waits_for_a_job_that_is_left_out_waits_for_those_before_it() -> None:
    jobs = chain(10.0, 10.0, 10.0, 10.0)
    assert waits_of(jobs).tolist() == [[1, 0], [2, 1], [3, 2]]
    assert waits_of(jobs.at(np.array([3, 0]))).tolist() == [[0, 1]]
    both = np.array([(2, 0), (2, 1), (3, 2)], np.int64)
    assert among(both, np.array([0, 1, -1, 2])).tolist() == [[2, 0], [2, 1]]


def test_groups_are_those_that_pairs_join() -> None:
    pairs = np.array([(1, 0), (2, 1), (4, 5), (7, 2)], np.int64)
    assert connected(pairs, 8).tolist() == [0, 0, 0, 1, 2, 2, 3, 0]


def test_some_of_the_jobs_wait_for_each_other_as_before() -> None:
    """As idle hours split a run: those that wait never leave for idle hours, and keep who they wait for."""
    setting = setting_of("SR", 4)
    jobs = waiting(excerpt(40))
    tasks = tasks_in(setting, jobs)
    assert tasks.after is not None
    joined = np.unique(tasks.job[tasks.after])
    asks = may_ask(jobs, 16.0, np.ones(len(jobs), np.bool_))
    assert not asks[joined].any()
    left = some_tasks(tasks, ~asks, np.zeros(len(jobs)), np.ones(len(jobs)))
    assert left.after is not None
    assert asks.any()
    assert len(left) < len(tasks)
    pairs = {tuple(pair) for pair in tasks.job[tasks.after].tolist()}
    assert {tuple(pair) for pair in left.job[left.after].tolist()} == pairs

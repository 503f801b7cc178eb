"""Traffic equations: what comes to queues that pass jobs on."""

from __future__ import annotations

import numpy as np
import pytest
from simulating import changed, jobs_of, paper_shop

from hcloud.policy.waiting.traffic import traffic, utilisations
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.usecases.studies.simulation import Study, setting_for, tasks_for
from hcloud.usecases.tools.backlog import backlogs


def test_what_is_passed_on_comes_again() -> None:
    assert traffic([3.0, 2.0, 0.0], [[0, 0.5, 0], [0, 0, 0.25], [0, 0, 0]]) == pytest.approx([3.0, 3.5, 0.875])
    assert traffic([1.0], [[0.5]]) == pytest.approx([2.0])


def test_it_is_the_sum_of_all_rounds() -> None:
    chance = np.random.default_rng(4)
    for _ in range(20):
        passed = chance.uniform(0, 1, (5, 5))
        passed *= 0.9 / passed.sum(axis=1, keepdims=True)
        came = chance.uniform(0, 3, 5)
        rounds, total = came, came.copy()
        for _ in range(600):
            rounds = passed.T @ rounds
            total += rounds
        assert traffic(came.tolist(), passed.tolist()) == pytest.approx(total.tolist(), rel=1e-9)


def test_what_goes_round_and_never_leaves_is_refused() -> None:
    with pytest.raises(ValueError, match="go round"):
        traffic([1.0, 0.0], [[0, 1.0], [1.0, 0]])


def test_utilisation_is_work_over_service() -> None:
    assert utilisations([1.0, 0.0], [[0, 1.0], [0, 0]], [2.0, 0.5]) == pytest.approx([0.5, 2.0])
    assert utilisations([1.0], [[0]], [0.0]) == [float("inf")]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [1, 4])
@pytest.mark.parametrize(("load", "grows"), [(0.75, False), (1.3, True)])
def test_a_backlog_grows_in_long_runs_where_it_is_said_to(load: float, *, grows: bool, classes: int) -> None:
    from hcloud.sim.run import run

    chance, servers, count = np.random.default_rng(6), 4, 500
    took = chance.exponential(200.0, count)
    came = np.cumsum(chance.exponential(200.0 * 4 / (16 * servers * load), count))
    jobs = jobs_of([(s, d, 4.0, 8.0, 0) for s, d in zip(came, took, strict=True)])
    strategy = changed(load_strategy("SR+least-loaded+multi-class"), "queueing", classes=classes)
    strategy = changed(strategy, "information", profiling_seconds=0.0, vector_error=0.0)
    study = Study(jobs, load_cloud("paper"), paper_shop(), True, 3)
    setting = setting_for(study, strategy, servers)
    outcome = run(setting, tasks_for(study, strategy))
    waited = np.maximum(outcome.of_tasks("queued"), 0.0)
    early, late = waited[100:200].mean(), waited[-100:].mean()
    assert (late > 2 * early + 100) == grows, (early, late)
    assert any("must grow" in said for said in backlogs(study, strategy, servers)) == grows
    assert not list(backlogs(study, strategy)), "a reserve for the peak holds what comes"

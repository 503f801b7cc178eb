"""A backlog that has to grow is said before a run."""

from __future__ import annotations

import numpy as np
import pytest
from simulating import changed, jobs_of, paper_shop

from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.usecases.studies.simulation import Study, setting_for, tasks_for
from hcloud.usecases.tools.backlog import backlogs


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

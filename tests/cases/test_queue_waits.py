"""The wait estimator on a pool that is full now and then: predicted and observed quantiles of the queue's waits."""

from __future__ import annotations

import numpy as np
import pytest
from simulating import changed, setting_of, tasks_in

from hcloud.model.workload import Jobs, Provenance
from hcloud.policy.queueing import Waits
from hcloud.policy.records import Reals, table
from hcloud.readers.strategies import load_strategy
from hcloud.sim.compiled import compiled
from hcloud.sim.run import Outcome, run

JOBS, SERVERS, LOAD = 400_000, 20, 0.65
LEVELS = (0.5, 0.9, 0.99)
HISTORY = 1000


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Poisson arrivals of 1 to 16 vCPUs on 20 servers, in strict order of arrival."""
    chance = np.random.default_rng(1)
    cores = chance.choice([1.0, 2.0, 4.0, 8.0, 16.0], JOBS, p=[0.3, 0.2, 0.2, 0.18, 0.12])
    duration = chance.exponential(100, JOBS)
    gap = float((cores * duration).mean()) / (LOAD * SERVERS * 16)
    none, kind = np.full(JOBS, -1, np.int32), np.zeros(JOBS, np.int8)
    origin = Provenance("test", "test", "", JOBS)
    submit = np.cumsum(chance.exponential(gap, JOBS))
    jobs = Jobs(submit, duration, cores, cores * 3, np.zeros(JOBS), kind, none, (), none.copy(), (), origin)
    strict = changed(load_strategy("SR"), "queueing", overtaking=False)
    setting = setting_of(changed(strict, "placement", violation_tolerance=100), SERVERS)
    return run(setting, tasks_in(setting, jobs))


def predicted(waits: Reals) -> tuple[Reals, Reals]:
    """For each wait after a full history: the quantiles expected before it was known, and the wait."""
    kernels = compiled()
    learn, expect = kernels["policy.queueing.record_wait"], kernels["policy.queueing.wait_quantile"]
    book, nobody = table(Waits, 1)[0], np.zeros(1)
    expected = []
    for at, wait in enumerate(waits):
        if at >= HISTORY:
            expected.append([expect(book, level, nobody, 0) for level in LEVELS])
        learn(book, HISTORY, wait, 0)
    return np.array(expected), waits[HISTORY:]


@pytest.mark.parametrize("vcpus", [4, 8, 16])
def test_predicted_and_observed_waits_agree(outcome: Outcome, vcpus: int) -> None:
    queued, began = outcome.of_tasks("queued"), outcome.of_tasks("began")
    chosen = np.flatnonzero((queued >= 0) & (outcome.tasks.need == vcpus * 1000))
    waits = np.asarray(queued[chosen[np.argsort(began[chosen], kind="stable")]], np.float64)
    expected, observed = predicted(waits)
    assert len(observed) >= 1000
    assert expected.mean(axis=0) == pytest.approx(np.quantile(observed, LEVELS), rel=0.10)
    assert 0.98 <= float((observed <= expected[:, 2]).mean()) <= 1.0


def test_the_strategies_keep_as_long_a_history() -> None:
    for name in ("HF", "HM"):
        assert load_strategy(name).mechanism("queueing").number("history") == HISTORY

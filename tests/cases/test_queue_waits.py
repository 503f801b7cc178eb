"""The wait estimator on a pool that is full now and then: predicted and observed quantiles of the queue's waits."""

from __future__ import annotations

import numpy as np
import pytest
from simulating import changed, setting_of, tasks_in

from hcloud.model.workload import Jobs, Provenance
from hcloud.policy.records import Reals, table
from hcloud.policy.waiting.queueing import AT_LIMIT, FIRST_BAND, Waits, belief_in, count_wait, end_wait, wait_within
from hcloud.readers.strategies import load_strategy
from hcloud.sim.run import RunOutcome, run

JOBS, SERVERS, LOAD = 120_000, 20, 0.75
LEVELS = (0.5, 0.9, 0.99)
HISTORY = 1000


@pytest.fixture(scope="module")
def outcome() -> RunOutcome:
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
    """For each wait after a full history: the bounds promised before it was known, and the wait."""
    book, expected = table(Waits, 1)[0], []
    for at, wait in enumerate(waits):
        if at >= HISTORY:
            expected.append([wait_within(book, level, 1.0, 0.0, belief_in(AT_LIMIT)) for level in LEVELS])
        band, _ = count_wait(book, 0, FIRST_BAND, (0.0, float(wait)))
        end_wait(book, band, HISTORY)
    return np.array(expected), waits[HISTORY:]


@pytest.mark.parametrize("vcpus", [4, 8, 16])
def test_predicted_and_observed_waits_agree(outcome: RunOutcome, vcpus: int) -> None:
    queued, began = outcome.of_tasks("queued"), outcome.of_tasks("began")
    chosen = np.flatnonzero((queued >= 0) & (outcome.tasks.need == vcpus * 1000))
    waits = np.asarray(queued[chosen[np.argsort(began[chosen], kind="stable")]], np.float64)
    expected, observed = predicted(waits)
    assert len(observed) >= 1000
    kept = (observed[:, None] <= expected).mean(axis=0)
    assert kept == pytest.approx(LEVELS, abs=0.03)


def test_the_strategies_keep_as_long_a_history() -> None:
    for name in ("HF", "HM"):
        assert load_strategy(name).mechanism("queueing").parameter("history").value == HISTORY

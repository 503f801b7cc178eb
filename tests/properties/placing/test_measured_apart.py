"""Jobs measured anew on an empty server: it is kept for them meanwhile, and all that they are like is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulating import jobs_of, tasks_in
from test_watching import decisions, ground, taken
from test_written_back import repeated, stream_of_jobs

from hcloud.model.running.decision import DecisionAction
from hcloud.model.running.event import Closing, Reclassified
from hcloud.model.running.strategy import Strategy
from hcloud.policy.repair import EMPTY_SERVER
from hcloud.sim.run import RunOutcome, run
from hcloud.usecases.studies.journal import JournalReader, setup_of_run

BATCH, SERVICE = 0, 1
SECONDS = 7.55
"""Of profiling and of classification, as the strategies have it."""


def apart(strategy: Strategy) -> Strategy:
    """The same with jobs that are measured on empty servers."""
    watching = strategy.mechanism("monitoring")
    stated = tuple(p for p in watching.parameters if p.key != "measured_on")
    key = replace(stated[0], key="measured_on", value=EMPTY_SERVER, unit="")
    watching = replace(watching, parameters=(*stated, key))
    return replace(strategy, mechanisms=tuple(watching if m.name == watching.name else m for m in strategy.mechanisms))


def known(outcome: RunOutcome) -> list[Closing | Reclassified]:
    entries = JournalReader(outcome, setup_of_run(outcome)).entries()
    return [one for one in entries if isinstance(one, Closing | Reclassified)]


def misplaced(kind: int, pool: int) -> RunOutcome:
    """Two jobs on one of several servers; the first bears nothing of what the second does, and nobody knew either."""
    setting = ground("SR+reactive", pool)
    setting = replace(setting, strategy=apart(setting.strategy))
    tasks = tasks_in(setting, jobs_of([(at, 3000.0, 8.0, 8.0, k) for at, k in ((0.0, kind), (1.0, BATCH))]))
    vector, truth = np.full_like(tasks.truth, 10), np.full_like(tasks.truth, 50)
    truth[0, :5], truth[0, 5:] = 90, 20
    return run(setting, replace(tasks, truth=truth, vector=vector), journal=True)


def test_all_of_a_job_is_known_once_it_was_measured_on_an_empty_server() -> None:
    outcome = misplaced(BATCH, 2)
    begun, measured, over = known(outcome)[:3]
    assert begun == Closing(4.0, 1, over=False, measures="0")
    assert over == Closing(4.0 + SECONDS, 1, over=True, measures="0")
    assert isinstance(measured, Reclassified)
    assert (measured.job, measured.at) == ("0", over.at)
    errors = np.abs(np.array(measured.estimate) - outcome.tasks.truth[0])
    assert 0 < errors.mean() < 10  # classification errs by 6.5 points
    assert measured.tolerates is not None
    assert np.abs(np.array(measured.tolerates) - (99 - outcome.tasks.truth[0])).mean() < 10
    moves = [d for d in decisions(outcome) if d.action is DecisionAction.MOVE]
    assert [(d.job, d.at) for d in moves] == [("0", over.at)]  # what it is like is waited for
    assert outcome.world.tally.apart == 1


@pytest.mark.parametrize(("kind", "pool"), [(SERVICE, 2), (BATCH, 1)])
def test_a_job_with_much_state_or_without_an_empty_server_is_measured_where_it_is(kind: int, pool: int) -> None:
    outcome = misplaced(kind, pool)
    assert outcome.world.tally.apart == 0
    assert outcome.world.tally.measured > 0
    assert not [one for one in known(outcome) if isinstance(one, Closing)]


def test_a_server_that_is_kept_free_gets_no_job_until_then() -> None:
    setting = ground("SR+adjust-to-target", 24, "cloud.phases.share=0.5", sampling_period=60.0)
    outcome = run(
        replace(setting, strategy=apart(setting.strategy)), tasks_in(setting, stream_of_jobs(2)), journal=True
    )
    assert outcome.world.tally.apart > 10
    kept, entries = set[int](), JournalReader(outcome, setup_of_run(outcome)).entries()
    for one in entries:
        if isinstance(one, Closing):
            assert (one.instance in kept) is one.over
            kept ^= {one.instance}
        elif getattr(one, "action", None) is DecisionAction.PLACE:
            assert getattr(one, "instance", None) not in kept
    assert not kept
    assert outcome.world.control.desk.used == 0


@pytest.mark.parametrize("name", ["SR+reactive", "HM+adjust-to-target", "SR+paragon+multi-class+sampled"])
def test_a_controller_that_sees_the_journal_alone_decides_the_same(name: str) -> None:
    setting = ground(name, 24, "cloud.phases.share=0.5", sampling_period=60.0)
    setting = replace(setting, strategy=apart(setting.strategy))
    outcome = run(setting, tasks_in(setting, stream_of_jobs(3)), journal=True)
    assert repeated(outcome) == list(map(taken, decisions(outcome)))
    assert outcome.world.tally.apart > 5

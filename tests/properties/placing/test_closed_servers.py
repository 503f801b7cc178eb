"""A reserved server gets no other job while one of its jobs is below its target, where the strategy has it so."""

from __future__ import annotations

import pytest
from simulating import tasks_in
from test_watching import decisions, ground, taken
from test_written_back import repeated, stream_of_jobs

from hcloud.model.running.decision import DecisionAction
from hcloud.model.running.event import BelowQos, Closing
from hcloud.sim.run import RunOutcome, run
from hcloud.usecases.studies.journal import JournalReader, setup_of_run


def crowded(name: str, *, closes: bool = True) -> RunOutcome:
    """Jobs that change while they run, on a reserve that is nearly full."""
    setting = ground(name, 7, "cloud.phases.share=0.8", closes_server=closes)
    return run(setting, tasks_in(setting, stream_of_jobs(3, 50)), journal=True)


@pytest.mark.parametrize("name", ["SR+adjust-to-target", "SR+tarcil+reactive"])
def test_a_server_with_a_job_below_its_target_gets_no_other(name: str) -> None:
    outcome = crowded(name)
    closed, told, times = set[int](), set[str](), 0
    for one in JournalReader(outcome, setup_of_run(outcome)).entries():
        if isinstance(one, BelowQos):
            told.add(one.job)
        elif isinstance(one, Closing):
            assert one.suffers in told or one.over
            assert (one.instance in closed) is one.over
            closed ^= {one.instance}
            times += 1
        elif getattr(one, "action", None) is DecisionAction.PLACE:
            assert getattr(one, "instance", None) not in closed
    assert times > 6
    assert not closed
    assert outcome.world.control.desk.used == 0


@pytest.mark.parametrize("name", ["HM+adjust-to-target", "SR+sparrow+reactive"])
def test_a_controller_that_sees_the_journal_alone_decides_the_same(name: str) -> None:
    outcome = crowded(name)
    assert repeated(outcome) == list(map(taken, decisions(outcome)))


def test_no_server_is_closed_unless_that_is_asked_for() -> None:
    outcome = crowded("SR+reactive", closes=False)
    entries = JournalReader(outcome, setup_of_run(outcome)).entries()
    assert not [one for one in entries if isinstance(one, Closing)]

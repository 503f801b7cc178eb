"""Jobs with a priority wait before those with a lower one, and behind those that came before with the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from living import came, session, sound

from hcloud.control.waits.queue import cause_of, is_behind
from hcloud.model.running.decision import DecisionAction
from hcloud.model.running.event import Cancelled, Completion
from hcloud.policy.waiting.queueing import BEHIND, SUFFERING
from hcloud.store.journals.events import event_document, parse_event

COMING = st.lists(
    st.tuples(st.sampled_from((-100, -1, 0, 0, 0, 7, 4_294_967_295)), st.booleans(), st.booleans()), max_size=12
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(COMING)
def test_jobs_leave_the_queue_by_priority_then_as_they_came(coming: list[tuple[int, bool, bool]]) -> None:
    """One server that each of them fills; some are urgent, and some are cancelled while they wait."""
    live = session("SR", pool=1)
    live.handle(came("first", cores=16))
    order = []
    for number, (priority, urgent, leaves) in enumerate(coming):
        event = replace(came(f"j{number}", 1.0 + number, 16), priority=priority, urgent=urgent)
        assert parse_event(event_document(event)) == event
        live.handle(event)
        order += [] if leaves else [(not urgent, -priority, number)]
    for number, (_, _, leaves) in enumerate(coming):
        if leaves:
            live.handle(Cancelled(50.0, f"j{number}"))
    sound(live)
    running, begun = "first", []
    for number in range(len(order)):
        (made,) = (d for d in live.handle(Completion(100.0 + number, running, 1.0)) if d.action is DecisionAction.PLACE)
        assert made.job is not None
        running = made.job
        begun.append(running)
    assert begun == [f"j{number}" for _, _, number in sorted(order)]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-2, 2), max_size=12), st.integers(-3, 3))
def test_who_comes_is_told_to_wait_only_for_those_whose_turn_is_before(queue: list[int], priority: int) -> None:
    """The cause of its wait is that of a queue in which nobody is whom it passes."""
    causes = []
    for waiting in (queue, [other for other in queue if other >= priority]):
        live = session("SR", pool=1, count_ahead=1, overtaking=0)
        live.handle(came("first", cores=16))
        for number, other in enumerate(waiting):
            live.handle(replace(came(f"j{number}", 1.0, 16), priority=other))
        control = live.tables.control
        job = control.jobs[live.tables.rows["first"]]
        job.urgent = priority
        causes.append((cause_of(control, job, 0)[0], is_behind(control, job)))
    assert causes[0] == causes[1]
    assert (BEHIND <= causes[0][0] < SUFFERING) == causes[0][1] == any(other >= priority for other in queue)


def test_an_urgent_job_takes_what_is_free_past_those_that_fit_nowhere() -> None:
    """Of 16 vCPUs 4 are free, and a job of 8 waits: one that is no more urgent waits behind it."""
    live = session("SR", pool=1, overtaking=0)
    live.handle(came("first", cores=12))
    live.handle(came("wide", 1.0, 8))
    (alike,) = live.handle(came("alike", 2.0, 4))
    (urgent,) = live.handle(replace(came("urgent", 3.0, 4), priority=1))
    assert (alike.action, urgent.action) == (DecisionAction.QUEUE, DecisionAction.PLACE)
    sound(live)

"""Jobs with a priority wait before those with a lower one, and behind those that came before with the same."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from living import came, session, sound

from hcloud.model.running.decision import DecisionAction
from hcloud.model.running.event import Cancelled, Completion
from hcloud.store.journals.events import event_document, parse_event

COMING = st.lists(
    st.tuples(st.sampled_from((-100, -1, 0, 0, 0, 7, 4_294_967_295)), st.booleans(), st.booleans()), max_size=12
)


@settings(max_examples=60, deadline=None)
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

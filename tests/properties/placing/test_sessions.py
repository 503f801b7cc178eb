"""Whatever happens to a live controller: its tables agree, its journal replays, a snapshot goes on as it would have."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from living import CALM, Draw, came, events_of, setup_of, sound

from hcloud.control.handle import TICK
from hcloud.control.sessions.session import ControlSession
from hcloud.control.sessions.snapshot import read
from hcloud.control.sessions.teller import HANDLE
from hcloud.control.state import OWN
from hcloud.errors import InputError
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import (
    Arrival,
    ClockTick,
    Closing,
    Completion,
    Event,
    EventError,
    Failed,
    Quality,
    Ready,
)
from hcloud.policy.facts import Setup
from hcloud.sim.machine_code.compiled import compiled, plain
from hcloud.store.journals.events import parse_event
from hcloud.store.journals.journal import entry_line

SETUPS: dict[str, Setup] = {
    "SR": setup_of("SR", 2),
    "SR, in order": setup_of("SR", 2, overtaking=0),
    "OdF": setup_of("OdF"),
    "OdM with spot": setup_of("OdM", spot=1, spot_quality=9_000),
    "HF": setup_of("HF", 2),
    "HM with spot": setup_of("HM", 2, spot=1, spot_quality=9_000),
    "SR+tarcil": setup_of("SR+tarcil", 4),
    "SR+sparrow": setup_of("SR+sparrow", 4),
    "SR+tarcil-admission": setup_of("SR+tarcil-admission", 4),
    "HM+power-of-two": setup_of("HM+power-of-two", 3),
    "SR+centralised": setup_of("SR+centralised", 3),
    "HM, queueing": setup_of("HM", 2, wait_quantile=0.05, assumes_waits=1, overtaking=0),
}
_AMOUNTS = st.integers(0, 1000), st.integers(0, 100), st.integers(0, 40)
_DRAW = st.tuples(st.integers(0, 15), *_AMOUNTS)
DRAWS = st.lists(_DRAW, min_size=20, max_size=40)
ANY = st.sampled_from(sorted(SETUPS))
BY_AGENTS = st.sampled_from([name for name in sorted(SETUPS) if "+" in name])


def lived(live: ControlSession, draws: list[Draw]) -> list[tuple[Event, list[Decision]]]:
    return [(event, live.handle(event)) for event in events_of(live, draws)]


@settings(max_examples=8, deadline=None)
@given(ANY, DRAWS)
def test_the_tables_agree_whatever_happens_and_lines_of_a_journal_replay(name: str, draws: list[Draw]) -> None:
    live, numbers = ControlSession(SETUPS[name], plain()), set(range(len(SETUPS[name].reserve)))
    again = ControlSession(SETUPS[name], plain())
    for event in events_of(live, draws):
        before = set(live.tables.rows)
        made = live.handle(event)
        read = parse_event(json.loads(entry_line(event)))
        assert read == event
        assert [entry_line(d) for d in again.handle(read)] == [entry_line(d) for d in made]
        sound(live)
        ended = {d.job for d in made if d.action.value in ("end", "refuse")}
        assert before - live.tables.rows.keys() <= ended | {getattr(event, "job", "")}
        launched = [d.instance for d in made if d.action.value == "launch"]
        assert numbers.isdisjoint(launched)
        numbers.update(n for n in launched if n is not None)


@settings(max_examples=12, deadline=None)
@given(ANY, st.lists(st.tuples(st.sampled_from((0, 1, 2, 4, 5, 6, 8, 9, 10)), *_AMOUNTS), min_size=30, max_size=60))
def test_no_job_is_put_on_an_instance_that_is_closed(name: str, draws: list[Draw]) -> None:
    """Until it is open again; one that is rented goes with its last job, and no other takes it over."""
    live = ControlSession(SETUPS[name], plain())
    closed = set[int | None]()
    for event in events_of(live, draws):
        made = live.handle(event)
        if isinstance(event, Closing):
            (closed.discard if event.over else closed.add)(event.instance)
        assert closed.isdisjoint(d.instance for d in made if d.action.value in ("place", "retain"))
        idle = [i for n, i in live.instances.items() if n in closed and live.tables.tenants[i.slot] == 0]
        assert all(instance.paid == OWN for instance in idle)


@cache
def _compiled() -> dict[str, Any]:
    return compiled()


@settings(max_examples=8, deadline=None)
@given(ANY, DRAWS, st.integers(0, 40))
def test_a_restored_session_and_compiled_kernels_go_on_as_the_first(name: str, draws: list[Draw], cut: int) -> None:
    setup = SETUPS[name]
    slow, fast = ControlSession(setup, plain()), ControlSession(setup, _compiled())
    told = lived(slow, draws)
    assert [fast.handle(event) for event, _ in told[:cut]] == [made for _, made in told[:cut]]
    middle = fast.snapshot()
    again = ControlSession.restored(setup, plain(), middle)
    assert again.snapshot() == middle
    assert again.next_due() == fast.next_due() or not told[:cut]
    for session in (fast, again):
        assert [session.handle(event) for event, _ in told[cut:]] == [made for _, made in told[cut:]]
    last = slow.snapshot()
    assert fast.snapshot() == last
    assert again.snapshot() == last
    assert ControlSession.restored(setup, _compiled(), last).snapshot() == last


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(["HF", "HM with spot", "HM, queueing"]), DRAWS)
def test_a_long_gap_passes_as_its_periods_do(name: str, draws: list[Draw]) -> None:
    live = ControlSession(SETUPS[name], plain())
    lived(live, draws)
    again = ControlSession.restored(SETUPS[name], plain(), live.snapshot())
    begin, end = live.now, live.now + 4000.0
    made = [made for at in np.arange(begin, end, 5.0).tolist() for made in live.handle(ClockTick(at))]
    assert made + live.handle(ClockTick(end)) == again.handle(ClockTick(end))
    assert live.snapshot() == again.snapshot()


def test_nothing_is_decided_anew_in_the_periods_of_a_quiet_year() -> None:
    """That took minutes: a controller whose clock was set forward, or that slept, did nothing else meanwhile."""
    calls = list[int]()

    def counted(c: Any, what: int, *about: Any) -> None:
        calls.append(what)
        plain()[HANDLE](c, what, *about)

    live = ControlSession(SETUPS["HM, queueing"], {HANDLE: counted})
    live.handle(came("a", 0.0))
    live.handle(ClockTick(10_000.0))
    calls.clear()
    live.handle(ClockTick(1_000_000.0))
    assert calls == [TICK, TICK]
    for number in range(20):
        live.handle(Arrival(1_000_000.0, f"b{number}", 4000, 4096, CALM, False, 0.5, tolerates=CALM))
    assert live.tables.control.desk.queued
    assert max(made.at for made in live.handle(ClockTick(2_000_000.0))) < 1_001_000.0


def test_time_never_falls_where_a_retention_ends_within_a_long_gap() -> None:
    times = list[float]()

    def timed(c: Any, what: int, about: Any, figures: tuple[float, float], nature: Any) -> None:
        times.append(figures[1])
        plain()[HANDLE](c, what, about, figures, nature)

    live = ControlSession(setup_of("OdM", period=10.0), {HANDLE: timed})
    (placed,) = live.handle(came("a", 0.0))
    assert placed.instance is not None
    live.handle(Ready(20.0, placed.instance))
    live.handle(Quality(20.0, placed.instance, 1.0))
    live.handle(Completion(1000.0, "a", 1.0))
    assert live.instances
    live.handle(ClockTick(100_000.0))
    assert not live.instances
    told = [time for time in times if time >= 1000.0]
    assert told == sorted(told)
    assert len(told) > 2


@settings(max_examples=5, deadline=None)
@given(BY_AGENTS, DRAWS)
def test_a_copy_that_proposes_stays_a_copy_and_its_proposals_replay(name: str, draws: list[Draw]) -> None:
    live, copy, fast = (ControlSession(SETUPS[name], kernels) for kernels in (plain(), plain(), _compiled()))
    told = []
    for came_to in events_of(live, draws):
        event = came_to
        if isinstance(came_to, Arrival):
            event = replace(came_to, agent=1, copy_age=0.5, ranked=copy.proposal(came_to))
            assert fast.proposal(came_to) == event.ranked == copy.proposal(came_to)
        told.append((event, live.handle(event)))
        assert copy.handle(event) == fast.handle(event) == told[-1][1]
    sound(copy)
    again = ControlSession(SETUPS[name], plain())
    assert [again.handle(parse_event(json.loads(entry_line(event)))) for event, _ in told] == [d for _, d in told]


def test_the_first_proposed_server_with_room_is_taken() -> None:
    live = ControlSession(setup_of("SR+tarcil", 3), plain())
    placed = [
        live.handle(replace(came(job, 1.0, cores=cores), agent=0, ranked=ranked))[-1].instance
        for job, cores, ranked in (
            ("a", 9, (2, 1)),
            ("b", 9, (2, 1, 0)),
            ("c", 7, (2,)),
            ("d", 16, (1, 2)),
            ("e", 1, (77,)),
        )
    ]
    assert placed[:4] == [2, 1, 2, 0], "the last of these went where nobody had proposed, since the others had no room"
    assert placed[4] == 1, "a server that is gone is nobody's proposal"
    assert live.tables.control.desk.conflicts == 3


def test_what_is_due_and_not_told_yet_is_in_a_snapshot() -> None:
    setup = SETUPS["OdM with spot"]
    one = ControlSession(setup, plain())
    for event in (came("a"), Ready(20.0, 0), Completion(60.0, "a", 1.0)):
        made = one.handle(event)
    until = made[-1].until
    assert until is not None
    one.handle(came("b", until - 1, cores=16))
    with pytest.raises(EventError):  # what was due before it has happened all the same
        one.handle(Failed(until + 1, "b", 1))
    other = ControlSession.restored(setup, plain(), one.snapshot())
    assert [d.reason for d in other.handle(ClockTick(until + 2))] == ["retention-over"]


def test_a_job_that_is_held_back_goes_on_at_its_bound_from_a_snapshot_too() -> None:
    setup = setup_of("SR+tarcil-admission", 1)
    one = ControlSession(setup, plain())
    for job in range(16):
        one.handle(came(f"j{job}", cores=1))
    for job in range(16, 25):  # now one more ends every two seconds in the mean, and the next one takes its place
        at = 2.0 * job + job % 2
        one.handle(Completion(at, f"j{job - 16}", 1.0))
        made = one.handle(came(f"j{job}", at, cores=1))
    assert made[-1].reason == "held-back", "with no unit free some are as a rule soon"
    bound = one.next_due()
    assert at < bound < at + 10
    other = ControlSession.restored(setup, plain(), one.snapshot())
    after = [session.handle(ClockTick(bound + 1)) for session in (one, other)]
    assert [(d.job, d.reason, d.at, d.margin) for d in after[0]] == [(f"j{job}", "from-queue", bound, bound - at)]
    assert after[0] == after[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"snapshot": 1}, "version 1 that this hcloud cannot read"),
        ({"layout": "0" * 32}, "version 3 that this hcloud cannot read"),
        ({"setup": "0" * 32}, "another strategy, pool or list of types"),
        ({"tables": {}}, "damaged"),
        ({"now": "noon"}, "damaged"),
        (None, "not a snapshot"),
    ],
)
def test_other_snapshots_are_refused(change: dict[str, object] | None, said: str) -> None:
    live = ControlSession(SETUPS["SR"], plain())
    data = b"[" if change is None else json.dumps(json.loads(live.snapshot()) | change).encode()
    with pytest.raises(InputError, match=said):
        ControlSession.restored(SETUPS["SR"], plain(), data)


def test_a_snapshot_of_records_with_another_field_is_refused() -> None:
    live = ControlSession(SETUPS["SR"], plain())
    mine, data = live.tables.image(), live.snapshot()
    record: Any = mine.arrays["jobs"].dtype
    for name, kind in (("usually", np.float64), ("usually", np.int64), ("other", np.float64)):
        fields = [((name, kind) if n == "usually" else (n, k), at) for n, (k, at, *_) in record.fields.items()]
        (names, kinds), offsets = zip(*(f for f, _ in fields), strict=True), [at for _, at in fields]
        layout = {"names": names, "formats": kinds, "offsets": offsets, "itemsize": record.itemsize, "aligned": True}
        rows = np.zeros(1, np.dtype((record.type, layout)))
        image = mine._replace(arrays={**mine.arrays, "jobs": rows})
        if (name, kind) == ("usually", np.float64):
            assert read(SETUPS["SR"], data, image), "it is as it was"
            continue
        with pytest.raises(InputError, match="that this hcloud cannot read"):
            read(SETUPS["SR"], data, image)

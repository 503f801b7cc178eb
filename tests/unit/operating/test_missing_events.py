"""What goes wrong in life: launches that fail, machines that are lost, jobs that fail or are cancelled, in every state
that they can meet; and a reserve that grows and shrinks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from living import came, feed, session, sound, spot, told

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.decision import DecisionAction
from hcloud.model.running.event import (
    BelowQos,
    Cancelled,
    ClockTick,
    Completion,
    Event,
    EventError,
    Failed,
    Interruption,
    Latency,
    LaunchFailed,
    Lost,
    Pool,
    Progress,
    Quality,
    Ready,
    Reclassified,
)
from hcloud.sim.machine_code.compiled import plain

# --- launches that fail


def test_a_launch_that_failed_sends_its_job_to_the_next_type_until_then() -> None:
    live = session("OdM")
    assert told(live.handle(came("a"))) == [("launch", "a", "on-demand small", "only-on-demand")]
    released, launched = live.handle(LaunchFailed(3.0, 0, "InsufficientInstanceCapacity", 100.0))
    assert told([released, launched]) == [
        ("release", None, "on-demand small", "launch-failed"),
        ("launch", "a", "on-demand medium", "only-on-demand"),
    ]
    assert released.why == "it could not be launched: InsufficientInstanceCapacity"
    assert launched.why.endswith("; no small is available at the moment")
    assert (launched.instance, set(live.instances)) == (1, {1})
    assert told(live.handle(came("b", 99.0))) == [("launch", "b", "on-demand medium", "only-on-demand")]
    assert told(live.handle(came("c", 100.0))) == [("launch", "c", "on-demand small", "only-on-demand")]
    sound(live)


def test_where_every_type_that_fits_failed_the_same_is_ordered_again() -> None:
    live = session("OdM")
    feed(live, came("a", cores=16), LaunchFailed(3.0, 0, "no capacity", 100.0))
    assert told(live.handle(came("b", 4.0, cores=16))) == [("launch", "b", "on-demand large", "only-on-demand")]
    feed(live, came("c", 5.0), LaunchFailed(6.0, 3, "no capacity", 50.0))
    made = feed(live, LaunchFailed(7.0, 4, "no capacity", 60.0))
    assert told(made)[1:] == [("launch", "c", "on-demand small", "only-on-demand")]
    sound(live)


def test_every_tenant_of_a_shared_server_that_was_never_launched_is_mapped_anew() -> None:
    live = session("OdF")
    first = live.handle(came("a"))
    assert told(first) == [("launch", "a", "on-demand large", "only-on-demand")]
    assert told(live.handle(came("b", 1.0)))[0][0] == "place"
    made = live.handle(LaunchFailed(3.0, 0, "no capacity", 100.0))
    assert [(d.action.value, d.job, d.instance) for d in made] == [
        ("release", None, 0),
        ("launch", "a", 1),
        ("launch", "b", 2),
    ]
    assert {d.place for d in made[1:]} == {"on-demand small"}
    sound(live)


def test_spot_capacity_that_cannot_be_had_is_rented_on_demand() -> None:
    live = spot()
    assert told(live.handle(came("a", restartable=True))) == [("launch", "a", "spot small", "restartable")]
    made = live.handle(LaunchFailed(3.0, 0, "no capacity", 100.0))
    assert told(made)[1:] == [("launch", "a", "on-demand small", "no-spot-capacity")]
    assert made[1].margin == 97.0
    assert told(live.handle(came("b", 100.0, restartable=True)))[0][2] == "spot small"


def test_what_runs_or_is_reserved_cannot_fail_to_launch() -> None:
    live = session("HF", 1)
    with pytest.raises(EventError, match="instance 0 is reserved"):
        live.handle(LaunchFailed(1.0, 0, "no capacity", 5.0))
    rented = session("OdM")
    feed(rented, came("a"), Ready(20.0, 0))
    with pytest.raises(EventError, match="instance 0 is ready already"):
        rented.handle(LaunchFailed(21.0, 0, "no capacity", 50.0))
    feed(rented, came("b", 22.0))
    with pytest.raises(EventError, match=r"until 3\.0 is before"):
        rented.handle(LaunchFailed(23.0, 1, "no capacity", 3.0))
    with pytest.raises(EventError, match="there is no instance 7"):
        rented.handle(LaunchFailed(23.0, 7, "no capacity", 30.0))


# --- machines that are lost


def test_a_reserved_server_is_lost_and_the_pool_shrinks() -> None:
    live = session("SR", 2)
    feed(live, came("a", cores=8), came("b", 1.0, cores=8, restartable=True), came("c", 2.0, cores=16))
    where = {d: live.tables.server[row] for d, row in live.tables.rows.items()}
    assert where == {"a": 0, "b": 0, "c": 1}
    made = live.handle(Lost(10.0, 0))
    assert told(made) == [
        ("end", "a", "reserved server 0", "lost-with-machine"),
        ("release", None, "reserved server 0", "lost"),
        ("queue", "b", "local queue", "pool-full"),
    ]
    assert made[0].why == "it ran on instance 0, which is lost; it may not begin anew"
    assert set(live.instances) == {1}
    assert live.tables.control.desk.pool == 16_000
    sound(live)
    assert told(live.handle(Completion(20.0, "c", 1.0))) == [("place", "b", "reserved server 1", "from-queue")]
    assert told(live.handle(came("a", 21.0)))[0][1] == "a"  # its name may be used again


def test_what_had_not_begun_on_a_lost_machine_is_mapped_anew() -> None:
    live = session("SR", 2)
    feed(live, came("a", cores=16), came("b", 1.0, cores=8), came("c", 1.0, cores=8))
    made = live.handle(Lost(10.0, 1, ("c",)))
    assert [(d.action.value, d.job) for d in made] == [("end", "b"), ("release", None), ("queue", "c")]
    feed(live, Completion(11.0, "a", 1.0))
    made = live.handle(Lost(12.0, 0))  # it has begun by now, and may not begin anew
    assert [(d.action.value, d.job) for d in made] == [("end", "c"), ("release", None)]
    sound(live)
    assert told(live.handle(came("d", 13.0))) == [("queue", "d", "local queue", "held-by-none")]


def test_a_rented_machine_is_lost_while_it_starts_and_while_it_runs() -> None:
    live = session("OdM")
    feed(live, came("a"))
    made = live.handle(Lost(5.0, 0))
    assert told(made) == [
        ("release", None, "on-demand small", "lost"),
        ("launch", "a", "on-demand small", "only-on-demand"),
    ]
    feed(live, Ready(20.0, 1))
    assert told(live.handle(Lost(21.0, 1))) == [
        ("end", "a", "on-demand small", "lost-with-machine"),
        ("release", None, "on-demand small", "lost"),
    ]
    assert live.tables.rows == {}
    sound(live)


def test_an_idle_machine_that_is_kept_can_be_lost() -> None:
    live = session("OdM")
    made = feed(live, came("a"), Ready(20.0, 0), Completion(60.0, "a", 1.0))
    until = made[-1].until
    assert until is not None
    assert told(live.handle(Lost(61.0, 0))) == [("release", None, "on-demand small", "lost")]
    assert live.handle(ClockTick(until + 1)) == []
    with pytest.raises(EventError, match="there is no instance 0"):
        live.handle(Lost(until + 2, 0))


def test_spot_capacity_that_is_lost_is_followed_by_capacity_that_stays() -> None:
    live = spot()
    feed(live, came("a", restartable=True), Ready(20.0, 0))
    assert told(live.handle(Lost(30.0, 0)))[1:] == [("launch", "a", "on-demand small", "restartable")]
    with pytest.raises(EventError, match="not a spot instance"):
        live.handle(Interruption(31.0, 1))


def test_names_of_jobs_that_are_not_there_are_refused_and_nothing_happens() -> None:
    live = session("SR", 2)
    feed(live, came("a", cores=16), came("b", cores=16))
    for unbegun in (("b",), ("zz",)):
        with pytest.raises(EventError, match=f"job {unbegun[0]} is not on instance 0"):
            live.handle(Lost(5.0, 0, unbegun))
    assert set(live.instances) == {0, 1}
    sound(live)


@pytest.mark.slow
def test_many_tenants_of_a_lost_server_each_get_a_place() -> None:
    """More than the tables had room for: every tenant goes to an instance of its own."""
    live = session("HM", 1)
    small = [replace(came(str(n), 0.0, restartable=True), ask=3, memory=1) for n in range(1100)]
    feed(live, *small)
    assert {live.tables.server[row] for row in live.tables.rows.values()} == {0}
    made = live.handle(Lost(1.0, 0))
    assert [(d.action.value, d.job) for d in made[1:]] == [("launch", job.job) for job in small]
    assert len(live.instances) == 1100


# --- jobs that are cancelled or fail


def test_a_queued_job_is_cancelled_and_the_next_begins() -> None:
    live = session("SR", 1, overtaking=0)
    feed(live, came("a", cores=8), came("b", 1.0, cores=16), came("c", 2.0, cores=8))
    assert told(live.handle(Cancelled(5.0, "b"))) == [("place", "c", "reserved server 0", "from-queue")]
    feed(live, came("d", 6.0, cores=16), came("e", 7.0, cores=16), came("f", 8.0, cores=16))
    assert live.handle(Cancelled(9.0, "e")) == []  # in the middle
    assert live.handle(Cancelled(10.0, "f")) == []  # the last
    assert told(feed(live, Completion(11.0, "a", 1.0), Completion(12.0, "c", 1.0))) == [
        ("place", "d", "reserved server 0", "from-queue")
    ]
    assert set(live.tables.rows) == {"d"}
    sound(live)


def test_a_wait_that_was_cancelled_is_counted_but_has_not_ended() -> None:
    live = session("HM", 1, wait_quantile=0.01, assumes_waits=1)
    demanding = replace(came("b", 1.0, cores=16), vector=(99,) * 10)
    made = feed(live, came("a", cores=16), demanding)
    assert made[-1].action is DecisionAction.QUEUE
    assert live.handle(Cancelled(6.0, "b")) == []
    waits = live.tables.control.waits
    seen = [waits[at] for at in range(len(waits)) if waits[at].all_waited]
    points = 5.0 * float(live.tables.control.jobs[1].pace)
    assert [(float(w.all_waited), float(w.all_ended)) for w in seen] == [(points, 0.0)]
    assert live.tables.control.desk.queued == 0


def test_the_only_job_of_a_machine_that_starts_is_cancelled() -> None:
    live = session("OdM")
    feed(live, came("a"))
    made = live.handle(Cancelled(5.0, "a"))
    assert told(made) == [("release", None, "on-demand small", "cancelled")]
    assert live.instances == {}
    with pytest.raises(EventError, match="job a has not arrived, or has ended"):
        live.handle(Cancelled(6.0, "a"))


def test_one_of_several_jobs_of_a_machine_that_starts_is_cancelled() -> None:
    live = session("OdF")
    feed(live, came("a"), came("b", 1.0))
    assert live.handle(Cancelled(5.0, "a")) == []
    assert told(live.handle(Cancelled(6.0, "b"))) == [("release", None, "on-demand large", "cancelled")]


@pytest.mark.parametrize("end", [Cancelled(60.0, "a"), Failed(60.0, "a", 127)])
def test_a_running_job_ends_without_judging_its_machine(end: Event) -> None:
    live = session("OdM")
    feed(live, came("a"), Ready(20.0, 0))
    assert told(live.handle(end)) == [("retain", "a", "on-demand small", "still-wanted")]
    own = session("SR", 1)
    feed(own, came("a", cores=16), came("b", cores=16))
    assert told(own.handle(end)) == [("place", "b", "reserved server 0", "from-queue")]
    sound(own)


def test_only_what_runs_can_fail_or_be_seen_to_run() -> None:
    live = session("SR", 1)
    feed(live, came("a", cores=16), came("b", cores=16))
    for event in (Failed(1.0, "b", 1), Progress(1.0, "b", 0.5), Latency(1.0, "b", 12.0)):
        with pytest.raises(EventError, match="job b is in the queue"):
            live.handle(event)
        with pytest.raises(EventError, match="job z has not arrived"):
            live.handle(replace(event, job="z"))
    assert feed(live, Progress(2.0, "a", 0.5), Latency(3.0, "a", 12.0)) == []


# --- quality, movability, the reserve


def test_a_probe_counts_as_a_sample_of_every_resource() -> None:
    live = session("OdM")
    feed(live, came("a"))
    with pytest.raises(EventError, match="instance 0 is not ready"):
        live.handle(Quality(19.0, 0, 1.0))
    feed(live, Ready(20.0, 0), Quality(20.0, 0, 1.0))
    server = live.tables.control.servers[0]
    assert (server.high, server.low) == (10**10 - 1, 10**10 - 1)
    feed(live, Quality(30.0, 0, 0.0))
    assert (server.high, server.low) == (0, 0)
    made = live.handle(Completion(60.0, "a", 1.0))
    assert told(made)[0][3] in ("no-job-left", "badly-behaved", "still-wanted")


def test_a_job_that_cannot_move_is_only_enlarged() -> None:
    for movable, actions in ((True, ["enlarge", "move", "place"]), (False, ["enlarge"])):
        live = session("SR", 2, monitor=1, enlarge=1.5, most_moves=3)
        feed(live, came("a", cores=2, movable=movable))
        made = feed(live, BelowQos(10.0, "a", 0.5), BelowQos(20.0, "a", 0.5))
        assert [d.action.value for d in made] == actions
        assert live.cores_of("a") == (2000 if movable else 3000)


SENSITIVE = (90, *(10,) * 9)


def test_a_job_whose_estimate_was_wrong_is_placed_anew_by_the_new_one() -> None:
    live = session("HM", 2, most_moves=0)
    feed(live, came("a"), came("b"))
    assert live.tables.server[[live.tables.rows[n] for n in "ab"]].tolist() == [0, 0]
    assert live.handle(BelowQos(10.0, "a", 0.5))[0].action is DecisionAction.ENLARGE
    assert live.handle(BelowQos(20.0, "a", 0.5)) == []
    made = live.handle(Reclassified(20.5, "a", SENSITIVE, 0.5))
    assert told(made)[0] == ("move", "a", "reserved server 0", "below-qos")
    assert made[0].why.endswith("its estimate was wrong and is corrected, and it is placed anew")
    assert told(made)[1][:3] == ("place", "a", "reserved server 1")
    server = live.tables.control.servers[1]
    assert server.pressure.tolist() == [v * 2000 for v in SENSITIVE]
    sound(live)
    restored = ControlSession.restored(live.setup, plain(), live.snapshot())
    assert restored.handle(came("c", 21.0)) == live.handle(came("c", 21.0))


def test_a_corrected_estimate_moves_nothing_that_cannot_move_or_keeps_its_quality_of_service() -> None:
    live = session("HM", 2)
    feed(live, came("a", movable=False), came("b"), came("c", cores=16))
    for job, share in (("a", 0.5), ("b", 1.0)):
        assert live.handle(Reclassified(1.0, job, SENSITIVE, share)) == []
    assert live.tables.control.servers[0].pressure.tolist() == [v * 4000 for v in SENSITIVE]
    queued = session("SR", 1)
    feed(queued, came("a", cores=16), came("b", cores=2))
    assert queued.handle(Reclassified(1.0, "b", SENSITIVE, 1.0)) == []
    assert queued.tables.control.jobs[queued.tables.rows["b"]].vector.tolist() == list(SENSITIVE)
    assert told(queued.handle(Completion(9.0, "a", 1.0))) == [("place", "b", "reserved server 0", "from-queue")]
    sound(queued)
    uninformed = session("HM", 1, informed=0)
    feed(uninformed, came("a"))
    with pytest.raises(EventError, match="does not use job profiles"):
        uninformed.handle(Reclassified(1.0, "a", SENSITIVE, 0.5))


@pytest.mark.slow
def test_the_reserve_grows_and_who_waits_begins() -> None:
    live = session("SR", 1)
    feed(live, came("a", cores=16), came("b", cores=16))
    made = live.handle(Pool(5.0, 3))
    assert told(made) == [
        ("launch", None, "reserved server 1", "pool-grown"),
        ("launch", None, "reserved server 2", "pool-grown"),
        ("place", "b", "reserved server 1", "from-queue"),
    ]
    assert live.tables.control.desk.pool == 48_000
    assert live.handle(Pool(6.0, 3)) == []
    made = live.handle(Pool(7.0, 2))
    assert told(made) == [("release", None, "reserved server 2", "pool-shrunk")]
    with pytest.raises(EventError, match="size 1: 2 of the 2 reserved servers have jobs"):
        live.handle(Pool(8.0, 1))
    feed(live, Completion(9.0, "a", 1.0))
    assert told(live.handle(Pool(10.0, 1))) == [("release", None, "reserved server 0", "pool-shrunk")]
    sound(live)
    feed(live, Pool(11.0, 2000))
    assert len(live.instances) == 2000
    sound(live)


def test_a_lost_reserved_server_is_replaced() -> None:
    live = session("SR", 1)
    feed(live, came("a", restartable=True))
    feed(live, Lost(1.0, 0))
    assert live.tables.utilisation() == 1.0
    assert told(live.handle(Pool(2.0, 1))) == [
        ("launch", None, "reserved server 1", "pool-grown"),
        ("place", "a", "reserved server 1", "from-queue"),
    ]
    sound(live)


def test_a_strategy_without_a_reserve_gets_none() -> None:
    with pytest.raises(EventError, match="OdM reserves nothing"):
        session("OdM").handle(Pool(1.0, 1))


def test_what_a_driver_asks_between_events() -> None:
    live = session("HF", 1)
    period = live.setup.rules.period
    assert live.next_due() == period
    feed(live, came("a", cores=16))
    assert live.cores_of("a") == 16_000
    with pytest.raises(KeyError):
        live.cores_of("z")
    live.handle(ClockTick(period * 2.5))
    assert live.next_due() == period * 3
    rented = session("OdM")
    made = feed(rented, came("a"), Ready(1.0, 0), Completion(2.0, "a", 1.0))
    assert made[-1].until is not None
    assert rented.next_due() == made[-1].until
    unset = ControlSession(replace(live.setup, start=None), plain())
    assert unset.next_due() == float("inf")

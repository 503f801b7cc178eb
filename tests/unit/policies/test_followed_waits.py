"""What is learnt of a wait: by the job that waited, by one that went elsewhere, and only from places it could take."""

from __future__ import annotations

from typing import Any

import pytest
from simulating import excerpt, setting_of, tasks_in, world_of

from hcloud.control.controller import arrive, leave, open_pool
from hcloud.control.mapped import look
from hcloud.control.losses import lose
from hcloud.control.opening import new_control
from hcloud.control.state import FOLLOWED, Control, Job, RentableKind
from hcloud.control.waits.queue import append, await_opening, follow, remove, wait_of
from hcloud.policy.codes import HELD_BY_NONE, LAUNCH, LOST, POOL_FULL, QUEUE, WAIT
from hcloud.policy.mapping import MAP_DYNAMIC, MAP_QUALITY, MAP_RANDOM, MAP_RESERVED, MAP_STATIC, choose
from hcloud.policy.records import Table, record, table
from hcloud.policy.registry import compose
from hcloud.policy.waiting.queueing import SUFFERING
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import plain


def full_reserve(start: float = 15.0) -> Control:
    """Two servers of 16 vCPUs, 13 of each in use by one job (81 %, above the hard limit), and nothing rented good
    enough for sensitive job 2 of one vCPU; an instance takes ``start`` seconds to start."""
    kinds, jobs = table(RentableKind, 1), table(Job, 300)
    kinds[0].cores, kinds[0].memory, kinds[0].spin_up = 16_000, 60_000, start
    control = new_control(compose(load_strategy("HF"), 0), kinds, jobs, 400)
    open_pool(control, 0, 2)
    for number in range(300):
        job = jobs[number]
        job.ask, job.high, job.server = (13_000 if number < 2 else 1000), 0, -1
        job.asked = float(number)
    jobs[2].high = 10**10 - 1
    for number in range(3):
        arrive(control, number, float(number))
    return control


def rows(records: Table[Any]) -> list[Any]:
    return [records[at] for at in range(len(records))]


def ended(control: Control) -> float:
    return sum(float(waits.ended.sum()) for waits in rows(control.waits))


def test_a_job_that_went_elsewhere_is_followed_until_the_reserve_could_take_it() -> None:
    control = full_reserve()
    assert control.servers[control.jobs[2].server].paid != 0  # no wait is known: rented at once
    assert (control.desk.followed, ended(control)) == (1, 0)
    leave(control, 0, 1.0, 10.0)
    assert (control.desk.followed, ended(control)) == (0, 1)
    assert control.jobs[2].opened == 8.0
    assert control.waits[control.jobs[2].cause].all_waited == pytest.approx(8.0 * control.jobs[2].pace)


@pytest.mark.parametrize(("ask", "memory", "waits"), [(16_000, 60_000, True), (17_000, 1, False), (1, 60_001, False)])
def test_a_job_that_no_reserved_server_could_hold_neither_waits_for_one_nor_is_followed(
    ask: int, memory: int, waits: bool
) -> None:
    """It queued for ever where the wait that others have is short, and whoever came behind it, too."""
    hopeful = compose(load_strategy("HF"), 0)._replace(assumes_waits=1, wait_quantile=0.01)
    control = full_reserve(start=1000.0)._replace(rules=record(hopeful))
    queued, followed = control.desk.queued, control.desk.followed
    job = control.jobs[3]
    job.ask, job.memory, job.high = ask, memory, 10**10 - 1
    arrive(control, 3, 3.0)
    assert (control.desk.queued - queued, job.server < 0) == (waits, waits)
    assert control.desk.followed == followed


RESERVE_FIRST = {"mapping": MAP_STATIC, "static_limit": 1.0}, {"mapping": MAP_RANDOM, "reserved_share": 1.0}


@pytest.mark.parametrize("rule", [*RESERVE_FIRST, {"mapping": MAP_QUALITY, "threshold": -1}])
@pytest.mark.parametrize(("ask", "waits"), [(16_000, True), (17_000, False)])
def test_a_rule_that_does_not_ask_for_the_wait_rents_what_no_reserved_server_could_hold(
    rule: dict[str, Any], ask: int, waits: bool
) -> None:
    """It queued for ever, beside idle servers, and whoever came behind it, too."""
    rules = compose(load_strategy("HF"), 0)._replace(**rule)
    control = full_reserve()._replace(rules=record(rules))
    job = control.jobs[3]
    job.ask = ask
    assert look(control, 3, 3.0).room == (0 if waits else -1)
    arrive(control, 3, 3.0)
    last = control.commands[control.desk.commands - 1]
    assert (last.what, last.reason) == ((WAIT, POOL_FULL) if waits else (LAUNCH, HELD_BY_NONE))
    nothing_else = choose(rules._replace(mapping=MAP_RESERVED), look(control, 3, 3.0))
    assert nothing_else[:2] == (QUEUE, POOL_FULL if waits else HELD_BY_NONE), "where nothing may be rented"


@pytest.mark.parametrize(("mapping", "limit"), [(MAP_STATIC, 1.0), (MAP_RESERVED, 0.0), (MAP_DYNAMIC, 0.0)])
def test_a_job_in_the_queue_is_rented_for_once_the_last_server_that_could_hold_it_is_lost(
    mapping: int, limit: float
) -> None:
    """A type of which the last server was lost counted as reserved for ever."""
    rules = compose(load_strategy("HF"), 0)._replace(mapping=mapping, static_limit=limit, recheck=0)
    control = full_reserve(1e6)._replace(rules=record(rules))
    job, queued = control.jobs[3], control.desk.queued
    job.ask = 16_000
    await_opening(job)
    append(control, 3)
    for number, held in ((0, 1), (1, 0)):
        control.jobs[number].again = 0  # who ran there ends with it
        assert job.server < 0
        lose(control, number, LOST, 0.0, 4.0 + number)
        assert control.kinds[0].reserved == held
    assert (job.server < 0, control.desk.queued - queued) == ((True, 1) if mapping == MAP_RESERVED else (False, 0))


def test_waits_are_known_and_promised_where_instances_start_at_once() -> None:
    control = full_reserve(start=0.0)
    cause = control.jobs[2].cause
    assert 0 < wait_of(control, cause, control.jobs[2].pace, 0.0) < 600
    leave(control, 0, 1.0, 10.0)
    assert ended(control) == 1


def test_a_departure_that_the_hard_limit_or_a_neighbour_keeps_the_job_from_is_no_opening() -> None:
    control = full_reserve()
    control.jobs[3].ask = 100
    control.desk.used += 14_000  # as if a third job of 14 vCPUs ran
    leave(control, 0, 1.0, 10.0)
    assert (control.desk.followed, ended(control)) == (1, 0)
    control.desk.used -= 14_000
    control.followed[0].vector[3], control.followed[0].tolerates[3] = 99, 0  # tolerates nobody
    control.servers[1].pressure[3] = control.servers[0].pressure[3] = 1
    leave(control, 1, 1.0, 12.0)
    assert (control.desk.followed, ended(control)) == (1, 0)


def test_a_job_behind_the_head_of_the_queue_waits_for_it_too() -> None:
    patient = compose(load_strategy("HF"), 0)._replace(recheck=0)
    control = full_reserve()._replace(rules=record(patient))
    control.jobs[4].ask, control.jobs[4].asked = 17_000, 1.0
    append(control, 4)
    leave(control, 0, 1.0, 10.0)
    assert control.servers[0].tenants == 0  # room for job 2, but not before the one that came earlier
    assert (control.desk.followed, ended(control)) == (1, 0)
    remove(control, 4, -1, 11.0)
    leave(control, 1, 1.0, 12.0)
    assert (control.desk.followed, ended(control)) == (0, 1)


def test_where_too_many_are_followed_the_next_is_known_to_wait_longer_than_it_did() -> None:
    control = full_reserve()
    for number in range(3, 3 + FOLLOWED):
        control.jobs[number].pace = 1.0
        await_opening(control.jobs[number])
        follow(control, number, 100.0)
    assert (control.desk.followed, ended(control)) == (FOLLOWED, 0)
    assert sum(w.all_waited for w in rows(control.waits)) == pytest.approx(100.0 - (2 + FOLLOWED))


def test_those_who_still_wait_are_counted_before_their_waits_end() -> None:
    control = full_reserve()
    control.desk.used += 14_000
    leave(control, 0, 1.0, 50.0)
    assert ended(control) == 0
    assert sum(w.all_waited for w in rows(control.waits)) == pytest.approx(48.0 * control.jobs[2].pace)


def test_a_bound_that_is_missed_counts_once_and_before_its_wait_ends() -> None:
    control = full_reserve()
    cause, pace, bound = control.jobs[2].cause, float(control.jobs[2].pace), float(control.jobs[2].promised)
    asked = float(control.jobs[2].asked)
    assert bound == wait_of(control, cause, pace, 0.0)
    control.desk.used += 14_000
    leave(control, 0, 1.0, asked + bound + 1.0)
    assert (control.followed[0].promised, ended(control)) == (-1.0, 0)
    longer = [float(drift.longer) for drift in rows(control.drifts)]
    assert longer == [pytest.approx(0.05 * control.rules.wait_quantile), 0.0, 0.0]  # it waits at the limit
    control.desk.used -= 14_000
    leave(control, 1, 1.0, asked + bound + 30.0)
    assert ended(control) == 1
    assert [float(drift.longer) for drift in rows(control.drifts)] == longer


def test_a_bound_that_is_kept_makes_later_ones_shorter() -> None:
    control = full_reserve()
    leave(control, 0, 1.0, 10.0)
    assert control.drifts[0].longer == pytest.approx(0.05 * (control.rules.wait_quantile - 1.0))
    assert [float(drift.seen) for drift in rows(control.drifts)] == [0.0, 0.0, 0.0]


def test_a_mean_that_was_foretold_is_judged_by_the_wait() -> None:
    control = full_reserve()
    other = control.followed[0]  # as if it waited for tenants
    other.cause, other.usually, other.foretold = SUFFERING, 12.0, 20.0
    leave(control, 0, 1.0, 10.0)
    drift = control.drifts[2]
    assert (drift.seen, drift.usual) == (1.0, 8.0)
    assert drift.longer_mean == pytest.approx(0.15 * (1 / 9) * (8.0 - 20.0) / ((8.0 + 12.0) / 2))


@pytest.mark.slow
def test_every_wait_of_a_run_is_one_of_a_job_that_met_a_full_reserve() -> None:
    setting = setting_of("HM", 1)
    tasks = tasks_in(setting, excerpt(120))
    world = world_of(setting, tasks)
    plain()["sim.kernels.engine.simulate"](world, len(tasks) + 1)
    control = world.control
    opened = [float(job.opened) for job in rows(control.jobs) if job.opened >= 0]
    assert 0 < len(opened) == ended(control)
    points = sum(float(job.opened * job.pace) for job in rows(control.jobs) if job.opened >= 0)
    followed = sum(float(control.followed[at].counted) for at in range(control.desk.followed))
    assert sum(w.all_waited for w in rows(control.waits)) == pytest.approx(points + followed, rel=1e-6)

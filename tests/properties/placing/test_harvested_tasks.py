"""Batch on idle capacity: the reserve, who is killed, what services get, where the hours go, and the choice of classes,
each against arithmetic of its own."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from harvesting import daily, histories
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hcloud.harvest.classes import UseTypes, use_types
from hcloud.harvest.jobs import Thresholds
from hcloud.harvest.kernels.choosing import choose
from hcloud.harvest.tasks.dags import Dag, Vertex, in_order
from hcloud.readers.harvest.policy import load_harvest
from hcloud.sim.harvesting.dispatching import go_through, room_of
from hcloud.sim.harvesting.graphs import of_dags, of_single_tasks
from hcloud.sim.harvesting.run import hours
from hcloud.sim.harvesting.setup import SYSTEMS, Arrivals, IdlePool, build
from hcloud.sim.harvesting.world import BROKEN, IDLE, ON_DEMAND, SERVICES, WAITING, IdleWorld

POLICY = load_harvest()
TICKS, TICK, STEP = 60, 3, 9
CHI_SQUARE = 13.82
"""What a statistic of two degrees of freedom exceeds once in a thousand times."""


@cache
def types() -> UseTypes:
    """Three tenants, one of each pattern."""
    odd = np.clip(0.3 + np.cumsum(np.random.default_rng(5).normal(0, 0.02, 7 * 96)), 0, 1)
    return use_types(histories({"day": daily(7), "flat": np.full(7 * 96, 0.4), "odd": odd}), POLICY)


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    vertices = []
    for at in range(draw(st.integers(1, 4))):
        after = tuple(draw(st.sets(st.integers(0, at - 1), max_size=2))) if at else ()
        tasks, seconds = draw(st.integers(1, 8)), draw(st.sampled_from((2.0, 3.0, 10.5, 40.0)))
        vertices.append(Vertex(f"v{at}", tasks, seconds, draw(st.sampled_from((0.5, 1.0, 2.0))), 2.75, after))
    return Dag("d", tuple(vertices), draw(st.sampled_from((None, 10.0, 100.0, 1000.0))))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[IdleWorld, IdlePool]:
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    tenant = np.sort(chance.integers(0, 3, draw(st.integers(1, 6))))
    tenant = tenant[np.argsort(types().label[tenant], kind="stable")]
    use = (chance.random((3, TICKS * TICK // STEP)) ** draw(st.sampled_from((1, 3)))).astype(np.float32)
    cores = chance.integers(3, 13, len(tenant)).astype(np.float64)
    memory = np.full(len(tenant), draw(st.sampled_from((0.0, 16.0, 32.0))))
    pool = IdlePool(cores, memory, tenant, types(), use, STEP)
    kinds = draw(st.lists(dags(), min_size=1, max_size=3))
    times = np.sort(chance.uniform(0, TICKS * TICK, draw(st.integers(0, 6))))
    arrivals = Arrivals(times, chance.integers(0, len(kinds), len(times)))
    policy = replace(POLICY, most_kills=draw(st.integers(0, 3)), moves_on_slip=draw(st.booleans()), spin_up=12.0)
    system = SYSTEMS[draw(st.sampled_from(tuple(SYSTEMS)))]
    return build(pool, system, (of_dags(kinds), arrivals), (policy, Thresholds(20.0, 200.0), 3)), pool


def held(w: IdleWorld, server: int) -> list[tuple[int, int, float]]:
    """The containers of a server, the oldest first: row, tick of the begin, seconds left."""
    h = w.hosts
    return [(int(h.row[server, s]), int(h.begun[server, s]), float(h.left[server, s])) for s in range(h.many[server])]


def vcpus(w: IdleWorld, containers: list[tuple[int, int, float]]) -> float:
    return sum(float(w.work.cores[w.work.row_vertex[row]]) for row, _, _ in containers) / 1000


@settings(max_examples=12, deadline=None)
@given(worlds())
def test_the_reserve_holds_after_each_tick_and_the_youngest_go(made: tuple[IdleWorld, IdlePool]) -> None:
    w, pool = made
    for at in range(TICKS):
        before = [held(w, server) for server in range(len(pool))]
        got, idle, broken = float(w.ledger[SERVICES]), float(w.ledger[IDLE]), int(w.tally[BROKEN])
        go_through(w, at, at + 1)
        use = pool.use[pool.tenant, at * TICK // STEP].astype(np.float64)
        breaks, free = 0, 0.0
        for server, was in enumerate(before):
            cores, wants = pool.cores[server], use[server] * pool.cores[server]
            rate = min(1.0, cores / max(wants + vcpus(w, was), 1e-9)) if was else 1.0
            room = cores - math.ceil(cores / 3 - 1e-6) - math.ceil(wants - 1e-4)
            breaks += bool(was) and vcpus(w, was) > room + 1e-9
            free += max(room, 0) * TICK * 1000
            left = [(row, begun, seconds - TICK * rate) for row, begun, seconds in was]
            kept = [one for one in left if one[2] > 1e-9]
            while w.rules.guards and breaks and kept and vcpus(w, kept) > room + 1e-9:
                kept.pop()
            now = held(w, server)
            old = [one for one in now if one[1] <= at]
            assert [one[:2] for one in old] == [one[:2] for one in kept]
            assert not w.rules.guards or not now or vcpus(w, now) <= room + 1e-9
            assert not w.rules.guards or pool.memory[server] == 0 or 2.75 * len(now) <= 0.6875 * pool.memory[server]
        assert w.tally[BROKEN] - broken == breaks
        if not any(before):
            assert w.ledger[IDLE] - idle == pytest.approx(free, abs=0.2 * TICK), "whole vCPUs, as jobs may have them"
        if not breaks:
            wanted = float((use * pool.cores).sum()) * TICK * 1000
            assert w.ledger[SERVICES] - got == pytest.approx(wanted, rel=1e-9, abs=1e-6)
    check_books(w, pool)


def check_books(w: IdleWorld, pool: IdlePool) -> None:
    """What is paid for is used, wasted, idle or reserve; every task is somewhere; no job is faster than its chain."""
    told, work = hours(w), w.work
    assert told.paid == pytest.approx(float(pool.cores.sum()) * TICKS * TICK / 3600, rel=1e-9)
    assert min(told.services, told.useful, told.wasted, told.unfinished, told.reserve, told.idle) >= -1e-9
    in_place = int(w.hosts.many.sum()) + int(w.tally[WAITING]) + int(w.tally[ON_DEMAND])
    open_rows = [row for row in range(len(work.row_job)) if work.labels[work.row_job[row]] >= 0]
    assert in_place == sum(int(work.undone[row]) for row in open_rows if work.blocked[row] == 0)
    done = np.flatnonzero(work.ended >= 0)
    assert np.all(work.ended[done] - work.submit[done] >= work.dag_chain[work.dag[done]] - 1e-6)
    assert np.all(work.undone[[row for row in range(len(work.row_job)) if work.ended[work.row_job[row]] >= 0]] == 0)


@settings(max_examples=10, deadline=None)
@given(worlds(), st.integers(0, 2), st.sampled_from((500, 1000, 2500)))
def test_the_room_of_a_class_is_that_of_whole_containers_on_each_of_its_servers(
    made: tuple[IdleWorld, IdlePool], length: int, size: int
) -> None:
    """Beside the reserve, those that run there, and the service: as it is now, but no less than on average for medium
    jobs, and at its peak for long ones."""
    w, pool = made
    go_through(w, 0, 20)
    column = 20 * TICK // STEP
    for at, one in enumerate(types().classes):
        room = 0
        for server in np.flatnonzero(types().label[pool.tenant] == at).tolist():
            cores, now = pool.cores[server], float(pool.use[pool.tenant[server], column])
            level = max(now, (0.0, one.mean, one.peak)[length])
            free = cores - math.ceil(cores / 3 - 1e-6) - math.ceil(level * cores - 1e-4) - vcpus(w, held(w, server))
            room += max(int((free * 1000 + 1e-6) // size), 0)
        assert w.rules.guards == 0 or room_of(w, at, length, column, (size, 0)) == room


def test_the_same_seed_gives_the_same_bytes() -> None:
    use = (np.random.default_rng(2).random((3, 60)) ** 2).astype(np.float32)
    pool = IdlePool(np.full(3, 12.0), np.zeros(3), np.argsort(types().label), types(), use, STEP)
    kinds = [Dag("x", (Vertex("a", 9, 40.0, 1.0, 2.75),), last) for last in (10.0, 100.0)]
    told = []
    for seed in (3, 3, 4):
        jobs = (kinds, Arrivals(np.arange(0.0, 120.0, 20.0), np.arange(6) % 2))
        world = build(pool, SYSTEMS["history"], (of_dags(jobs[0]), jobs[1]), (POLICY, Thresholds(20.0, 200.0), seed))
        go_through(world, 0, 120)
        told.append((world.work.ended.tobytes(), world.ledger.tobytes(), world.stream.tobytes()))
    assert told[0] == told[1]
    assert told[0] != told[2]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(1, 120), st.integers(1, 2**30))
def test_a_job_gets_one_class_or_several_exactly_where_there_is_room(rooms: list[int], needed: int, seed: int) -> None:
    room, picked = np.array(rooms, np.int64), np.zeros(len(rooms), np.bool_)
    many = choose(room, np.ones(len(rooms)) * 2.0, needed, picked, np.array([seed, seed + 1], np.int64))
    assert many == picked.sum()
    assert (many == 0) == (sum(rooms) < needed)
    if any(one >= needed for one in rooms):
        assert many == 1
    if many:
        assert room[picked].sum() >= needed
        assert (room[picked] > 0).all()


def distance(counts: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    return float(((counts - wanted) ** 2 / wanted).sum())


def test_ten_thousand_choices_follow_room_times_weight() -> None:
    room, weight = np.array([40, 10, 20, 5, 30], np.int64), np.array([1.0, 3.0, 2.0, 3.0, 1.0])
    picked, stream = np.zeros(5, np.bool_), np.array([12345, 678], np.int64)
    counts = np.zeros(5)
    for _ in range(10_000):
        assert choose(room, weight, 20, picked, stream) == 1
        counts += picked
    whole = np.where(room >= 20, room * weight, 0.0)
    assert counts[whole == 0].sum() == 0
    assert distance(counts[whole > 0], 10_000 * whole[whole > 0] / whole.sum()) < CHI_SQUARE


def test_two_classes_are_drawn_one_after_the_other_without_replacement() -> None:
    room, weight = np.array([10, 10, 10], np.int64), np.array([1.0, 2.0, 3.0])
    picked, stream, left_out = np.zeros(3, np.bool_), np.array([99, 4], np.int64), np.zeros(3)
    for _ in range(10_000):
        assert choose(room, weight, 20, picked, stream) == 2
        left_out += ~picked
    share = weight / 6

    def pair(a: int, b: int) -> float:
        return float(share[a] * share[b] / (1 - share[a]) + share[b] * share[a] / (1 - share[b]))

    wanted = [pair(1, 2), pair(0, 2), pair(0, 1)]
    assert distance(left_out, 10_000 * np.array(wanted)) < CHI_SQUARE


def test_depths_chains_and_circles() -> None:
    rows = (("a", 3, 5.0, ()), ("b", 4, 7.0, ()), ("c", 6, 2.0, (0,)), ("d", 1, 1.0, (1, 2)))
    dag = Dag("x", tuple(Vertex(name, tasks, seconds, 1.0, 0.0, after) for name, tasks, seconds, after in rows))
    assert dag.depths == (1, 1, 2, 3)
    assert dag.concurrency == 7
    assert dag.chains == (8.0, 8.0, 3.0, 1.0)
    assert in_order([(2,), (0,), (1,), ()])[1] == [0, 1, 2]


KEYS: dict[str, Any] = {
    "reserve_memory": 0.7, "first_weight": 300.0, "second_weight": 300.0, "third_weight": 300.0, "tick": 9,
    "look_every": 600, "most_kills": 1, "moves_on_slip": False, "spin_up": 900.0, "slowdown": 3.0, "reserve_cores": 0.1,
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_every_number_changes_a_run(key: str) -> None:
    chance = np.random.default_rng(2)
    tenant = np.argsort(types().label, kind="stable")[[0, 0, 1, 1, 2, 2]]
    use = (chance.random((3, 60)) ** 2).astype(np.float32)
    pool = IdlePool(np.full(6, 12.0), np.full(6, 32.0), tenant, types(), use, 27)
    vertices = (Vertex("a", 7, 40.0, 1.0, 2.75), Vertex("b", 4, 90.0, 1.0, 2.75, (0,)))
    kinds = [Dag(str(last), vertices, last) for last in (10.0, 100.0, 1000.0)]
    jobs = (kinds, Arrivals(np.arange(0.0, 900.0, 60.0, dtype=np.float64), np.arange(15) % 3))
    told = []
    for policy in (POLICY, replace(POLICY, **{key: KEYS[key]})):
        world = build(pool, SYSTEMS["history"], (of_dags(jobs[0]), jobs[1]), (policy, Thresholds(20.0, 200.0), 3))
        go_through(world, 0, 1620 // policy.tick)
        told.append((world.work.ended.tobytes(), world.ledger.tobytes()))
    assert told[0] != told[1]


SINGLE = st.tuples(
    st.integers(1, 9),
    st.floats(1.0, 1e5),
    st.floats(0.0001, 64.0),
    st.floats(0.0, 512.0),
    st.none() | st.floats(0.0, 1e5),
)


@settings(deadline=None)
@given(st.lists(SINGLE, max_size=20))
def test_jobs_of_one_vertex_have_the_tables_of_their_graphs(
    jobs: list[tuple[int, float, float, float, float | None]],
) -> None:
    graphs = of_dags([Dag("x", (Vertex("x", n, long, cores, gib),), last) for n, long, cores, gib, last in jobs])
    tasks, seconds, cores, gib = (np.array([job[at] for job in jobs], np.float64) for at in range(4))
    last = np.array([np.nan if job[4] is None else job[4] for job in jobs], np.float64)
    found = of_single_tasks(tasks.astype(np.int64), seconds, np.column_stack((cores, gib)), last)
    for name, one, other in zip(graphs._fields, graphs, found, strict=True):
        assert one.dtype == other.dtype, name
        assert np.array_equal(one, other), name

"""Several queues: who waits, for how long, where it goes; pools against a plain count; engine and session alike."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from living import came, feed, session
from simulating import changed, excerpt, jobs_of, setting_of, tasks_in

from hcloud.control.sessions.session import ControlSession
from hcloud.control.state import OWN, UP, Control
from hcloud.errors import UsageError
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import Arrival, Cancelled, Completion
from hcloud.model.running.strategy import Strategy, Value
from hcloud.policy.waiting.classes import LEVELS, class_of, find_edges, leaving_time, level_of_server
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import compiled, plain
from hcloud.sim.run import run
from hcloud.usecases.studies.clusters import open_cluster
from hcloud.usecases.studies.journal import JournalReader, journal_entries, setup_of_run
from hcloud.usecases.studies.simulation import Study, setting_for, tasks_for

SERVERS = 4


def strategy_with(keys: dict[str, Value], placement: str = "least-loaded") -> Strategy:
    """Many jobs on few servers, with keys of several queues."""
    return changed(load_strategy(f"SR+{placement}+multi-class"), "queueing", **keys)


def lived(strategy: Strategy, count: int = 90) -> tuple[list[Decision], dict[str, Arrival]]:
    """Decisions of a run, which a live session takes alike from its journal, with sound pools all the way."""
    setting = setting_of(strategy, SERVERS)
    outcome = run(setting, tasks_in(setting, excerpt(count)), journal=True)
    setup = setup_of_run(outcome)
    live, noted, told, came = ControlSession(setup, plain()), list[Decision](), list[Decision](), dict[str, Arrival]()
    for entry in JournalReader(outcome, setup).entries():
        if isinstance(entry, Decision):
            noted.append(entry)
            continue
        if isinstance(entry, Arrival):
            came[entry.job] = entry
        told += live.handle(entry)
        sound(live.tables.control)
        if len(told) == 100:
            live = ControlSession.restored(setup, compiled(), live.snapshot())
    assert list(map(taken, told)) == list(map(taken, noted))
    assert not any(outcome.of_tasks("ended") < 0)
    return noted, came


def taken(one: Decision) -> tuple[object, ...]:
    return one.at, one.action, one.job, one.instance, one.reason, one.margin, one.why


def sound(c: Control) -> None:
    """Pools hold what a plain count of the ranked servers says; queues are as long as they say."""
    found = {n: c.servers[n] for n in range(len(c.servers)) if c.servers[n].pool > 0}
    assert len(found) == sum(c.servers[n].paid == OWN and c.servers[n].status == UP for n in range(int(c.desk.own)))
    ranked = [n for n in found if found[n].better == 0]
    assert len(ranked) == 1
    while found[ranked[-1]].worse > 0:
        ranked.append(found[ranked[-1]].worse - 1)
    assert len(ranked) == len(found)
    sizes = [c.kinds[found[n].kind].cores for n in ranked]
    levels = [level_of_server(found[n].pressure, found[n].room, s) for n, s in zip(ranked, sizes, strict=True)]
    assert levels == sorted(levels, reverse=True)
    if not c.rules.even_edges:
        shares = np.cumsum([c.lines[k].share for k in range(c.rules.classes - 1, 0, -1)]) * sum(sizes)
        middles = np.cumsum(sizes) - np.array(sizes) / 2
        pools = [c.rules.classes - int((shares < middle - 1e-6).sum()) for middle in middles]
        assert [found[n].pool for n in ranked] == pools
    for k in range(c.rules.classes):
        mine = [s for n, s in zip(ranked, sizes, strict=True) if found[n].pool == k + 1]
        assert (c.lines[k].cores, c.lines[k].servers) == (sum(mine), len(mine))
    waiting = 0
    for k in range(c.rules.classes + 1):
        number, length = c.lines[k].head, 0
        while number >= 0:
            assert c.jobs[number].line == k + 1
            assert c.jobs[number].due >= c.desk.wake or k == c.rules.classes or c.desk.wake <= c.desk.now
            number, length = c.jobs[number].behind, length + 1
        assert length == c.lines[k].queued
        waiting += length
    assert waiting == c.desk.queued


def told_class(decision: Decision) -> int:
    found = re.search(r"class (\d+) of", decision.why)
    return int(found[1]) if found else 0


WAYS: dict[str, dict[str, Value]] = {
    "as it is": {},
    "three, printed": {"classes": 3, "objective": "printed"},
    "equal edges": {"classes": 3, "edges": "equal", "overtaking": False},
    "shortest first": {"classes": 2, "order": "shortest-first", "promise": 0.5},
    "no window": {"classes": 3, "window": "none"},
}


@pytest.mark.parametrize("way", WAYS)
def test_nobody_waits_beyond_its_window_and_up_goes_only_past_an_empty_queue(way: str) -> None:
    keys = {"classes": 4, "least_jobs": 20, "refit_jobs": 8, "promise": 0.8, **WAYS[way]}
    decisions, came = lived(strategy_with(keys))
    queues, late, said = defaultdict[int, set[str]](set), set[str](), defaultdict[str, int](int)
    for one in decisions:
        assert one.job is not None
        said[one.reason] += 1
        place = told_class(one)
        if one.reason == "diverted-up":
            assert not queues[place], one
        for queue in queues.values():
            queue.discard(one.job)
        if one.reason in ("waits-in-class", "diverted-down"):
            queues[place].add(one.job)
        late |= {one.job} if one.reason == "window-over-no-room" else set()
        if one.reason in ("own-pool", "diverted-up", "pool-below") and way != "no window":
            assert one.at <= came[one.job].at + max(came[one.job].slack or 0.0, 0.0) + 1e-9, one
    assert said["waits-in-class"] > 5
    assert said["own-pool"] > 5
    if way == "no window":
        assert not late
        assert not said["window-over"]
    else:
        assert said["window-over"] >= len(late) > 0


def test_a_job_that_is_cancelled_leaves_its_queue() -> None:
    live = session("SR+least-loaded+multi-class", 1)
    feed(live, *(came(f"j{number}", cores=8) for number in range(5)))
    assert feed(live, Cancelled(1.0, "j3")) == []
    sound(live.tables.control)
    assert [d.job for d in feed(live, Completion(2.0, "j0", 1.0), Completion(3.0, "j1", 1.0))] == ["j2", "j4"]


@pytest.mark.parametrize("placement", ["greedy", "paragon"])
@pytest.mark.parametrize("overtaking", [True, False])
def test_one_class_without_a_window_is_the_order_of_arrival(placement: str, *, overtaking: bool) -> None:
    one = strategy_with({"classes": 1, "window": "none", "overtaking": overtaking}, placement)
    plainly = changed(load_strategy(f"SR+{placement}"), "queueing", overtaking=overtaking)
    both = []
    for strategy in (one, plainly):
        setting = setting_of(strategy, 3)
        outcome = run(setting, tasks_in(setting, excerpt(100)), journal=True)
        assert (outcome.of_tasks("queued") > 0).sum() > 10
        both.append(column_bytes(outcome.of_lines(name) for name in ("code", "a", "b", "c", "d", "time", "value")))
    assert both[0] == both[1]


def column_bytes(columns: object) -> bytes:
    return b"".join(np.ascontiguousarray(c).tobytes() for c in columns)  # type: ignore[attr-defined]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, LEVELS - 1), min_size=1, max_size=60), st.integers(1, 12), st.randoms())
def test_classes_are_even_and_do_not_depend_on_the_order_of_jobs(
    levels: list[int], classes: int, chance: object
) -> None:
    edges, again = np.zeros(classes), np.zeros(classes)
    find_edges(np.bincount(levels, minlength=LEVELS), len(levels), edges, classes)
    chance.shuffle(levels)  # type: ignore[attr-defined]
    find_edges(np.bincount(levels, minlength=LEVELS), len(levels), again, classes)
    assert edges.tolist() == again.tolist() == sorted(edges)
    mine = [class_of(level, edges, classes) for level in levels]
    most = max(levels.count(level) for level in set(levels))
    for below, above in pairwise(sorted(zip(levels, mine, strict=True))):
        assert below[1] <= above[1]
    for one in range(classes):
        assert mine.count(one) <= len(levels) / classes + most


def test_who_cannot_get_a_server_in_time_leaves_at_once_and_who_surely_does_stays() -> None:
    never, surely, late = np.zeros(65), np.ones(65), np.zeros(65)
    late[60:] = 1.0
    surely[0] = 0.0
    terms = (1050.0, 50.0, 0.8, 0.4)
    for printed in (False, True):
        assert leaving_time(never, surely, terms, printed) == 0.0
        assert leaving_time(surely, never, terms, printed) == pytest.approx(50 / 64)
        assert leaving_time(late, never, terms, printed) == pytest.approx(60 * 50 / 64)
    assert leaving_time(late, surely, terms, False) == pytest.approx(60 * 50 / 64)


@pytest.mark.parametrize("edges", ["quantile", "equal"])
def test_classes_and_pools_do_not_depend_on_the_order_of_jobs_and_servers(edges: str) -> None:
    """Each job of a study has the same class, pool and times with the rows of its trace and the types of its cluster in
    another order; a session repeats that run from its journal."""
    ground = open_cluster("local-40-oversubscribed", "paper", 42, None)
    strategy = changed(load_strategy("SR+paragon+multi-class"), "queueing", edges=edges, classes=4, least_jobs=20)
    count, types, chance, told = 80, len(ground.beside), np.random.default_rng(3), []
    for rows, lots in ((np.arange(count), range(types)), (chance.permutation(count), chance.permutation(types))):
        jobs, beside = ground.found.jobs.at(rows), tuple(ground.beside[i] for i in lots)
        found = replace(ground.found, platform_row=ground.found.platform_row[rows])
        study = Study(jobs, ground.cloud, ground.shop, True, 42, beside=beside, cluster=found)
        outcome = run(setting_for(study, strategy, 1), tasks_for(study, strategy), journal=True)
        entries = [e for e in JournalReader(outcome, setup_of_run(outcome)).entries() if isinstance(e, Decision)]
        told.append({(e.at, rows[int(e.job or 0)], e.action, e.reason, told_class(e)) for e in entries})
    assert {row for _, row, *_ in told[0]} == set(range(count))
    assert {reason for *_, reason, _ in told[0]} >= {"own-pool", "diverted-up", "waits-in-class"}
    assert told[0] == told[1]
    assert list(journal_entries(outcome, setup_of_run(outcome)))


@pytest.mark.parametrize(
    ("strategy", "why"),
    [
        ("SR+tarcil+multi-class", "has agents"),
        ("HM+multi-class", "reserved-only"),
        ("SR+sparrow+multi-class", "agents"),
    ],
)
def test_what_cannot_work_with_it_is_refused(strategy: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load_strategy(strategy)


@pytest.mark.parametrize("strategy", ["SR", "SR+paragon+multi-class"])
def test_urgent_jobs_of_a_trace_go_before_others_that_wait(strategy: str) -> None:
    """One server, full; of those that wait the last to come is urgent."""
    setting = setting_of(changed(load_strategy(strategy), "queueing", overtaking=False), 1)
    jobs = jobs_of([(0.0, 100.0, 16.0, 4.0, 0), *((float(i), 50.0, 16.0, 4.0, 0) for i in range(1, 4))])
    tasks = tasks_in(setting, replace(jobs, urgent=np.array([0, 0, 0, 1], np.int8)))
    outcome = run(setting, tasks, journal=True)
    assert np.argsort(outcome.of_tasks("began")).tolist()[1] == 3  # the first found an empty server
    assert list(journal_entries(outcome, setup_of_run(outcome)))  # a session decides the same

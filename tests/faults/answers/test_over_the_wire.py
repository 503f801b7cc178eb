"""Whole runs of plan, apply and destroy through the real SDKs, against the three fakes, judged by their ledgers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract.conftest import rig_classes
from contract.rig import Rig
from oracle import foreign, v3_foreign_is_untouched
from rehearsal import LINEAGE, Crasher, crashing, rule
from stands import WIRED, OverTheWire

from hcloud.fake.faults import FaultKind

MOST_POINTS = 60


def points(rig: Rig) -> range:
    """Where the process crashes: every third point, on each cloud another, so that it does at every one on some cloud;
    which they are does not depend on the cloud, and ``test_crashes.py`` takes them all in memory."""
    return range(1 + WIRED.index(rig.name), MOST_POINTS, len(WIRED))


# Calls of an apply of a hundred in a process of its own (who we are, a look, the order, a look), and of a plan.
# Google's order is three by itself, since it is waited for and then read.
MOST_CALLS = {"aws": (4, 2), "gcp": (5, 2), "azure": (6, 2)}


@pytest.fixture(scope="module", params=WIRED)
def opened(request: pytest.FixtureRequest) -> Iterator[Rig]:
    rig = rig_classes()[request.param]()
    rig.open()
    yield rig
    rig.close()


def test_A1_a_crash_at_any_point_loses_and_doubles_nothing(opened: Rig) -> None:
    for at in points(opened):
        r = OverTheWire(opened)
        r.cloud.edit({"launch": r.types[0], "tags": {"team": "other"}})
        slots = (r.slot(2, "web"), r.slot(1, "batch"))
        before, crasher = foreign(r.cloud, LINEAGE), Crasher(at)
        with crashing():
            r.apply(*slots, crash=crasher)
        r.judge()
        r.converges(*slots)
        assert len(r.cloud.ledger.machines) == 3 + 1
        v3_foreign_is_untouched(r.cloud, LINEAGE, before)
        if not crasher.struck:
            return
    raise AssertionError("the sweep never ran through")


def test_A2_a_crash_at_any_point_of_destroy_leaves_nothing(opened: Rig) -> None:
    for at in points(opened):
        r = OverTheWire(opened)
        r.apply(r.slot(2))
        crasher = Crasher(at)
        with crashing():
            r.destroy(crasher)
        r.judge()
        assert r.destroy().exit_code == 0
        assert r.live() == 0
        if not crasher.struck:
            return
    raise AssertionError("the sweep never ran through")


@pytest.mark.parametrize(
    "answer",
    [
        FaultKind.DROPPED_AFTER,
        FaultKind.DROPPED_BEFORE,
        FaultKind.NONSENSE,
        FaultKind.SERVER_ERROR,
        FaultKind.UNAVAILABLE,
        FaultKind.THROTTLED,
    ],
)
def test_R1_R3_R5_D5_whatever_is_lost_once_is_launched_once(opened: Rig, answer: FaultKind) -> None:
    r = OverTheWire(opened)
    r.faults(rule(opened.words.launch, answer, first=1))
    r.apply(r.slot(3))
    r.heal()
    r.converges(r.slot(3))
    assert len(r.cloud.ledger.machines) == 3


@pytest.mark.parametrize("answer", [FaultKind.DROPPED_AFTER, FaultKind.NONSENSE, FaultKind.THROTTLED])
def test_R1_D1_a_third_of_all_answers_go_wrong(opened: Rig, answer: FaultKind) -> None:
    r = OverTheWire(opened)
    r.faults(rule("*", answer, probability=0.3), seed=11)
    r.allow(r.slot(3))
    try:
        r.apply(r.slot(3))
    finally:
        r.heal()
    r.judge()
    r.converges(r.slot(3))
    assert len(r.cloud.ledger.machines) == 3


def test_E1_a_zone_that_is_sold_out_is_left_for_the_next(opened: Rig) -> None:
    r = OverTheWire(opened)
    r.heal(stock={f"{r.types[0]}@{r.zones[0]}": 0})
    assert r.apply(r.slot(3)).exit_code == 0
    assert {m.zone for m in r.cloud.ledger.live(r.cloud.clock.now())} == {r.zones[1]}


def test_E2_sold_out_everywhere_is_said_so(opened: Rig) -> None:
    r = OverTheWire(opened)
    r.heal(stock={"*": 0})
    assert r.apply(r.slot(3)).exit_code == 8
    assert r.live() == 0


def test_C1_machines_that_are_shown_late_are_not_launched_again(opened: Rig) -> None:
    r = OverTheWire(opened)
    r.heal(visibility_delay=60, tag_delay=30)
    with crashing():
        r.apply(r.slot(3), crash=Crasher(7))
    r.converges(r.slot(3))
    assert len(r.cloud.ledger.machines) == 3


def test_B7_a_hundred_are_launched_and_found_unchanged_in_few_calls(opened: Rig) -> None:
    """That a thousand are listed in few is in ``contract/test_clouds.py``."""
    r = OverTheWire(opened)
    r.allow(r.slot(100, "a"))
    planned = r.plan(r.slot(100, "a"))
    before = r.calls()
    r.carry_out(planned)
    applied = r.calls() - before
    before = r.calls()
    assert r.plan(r.slot(100, "a")).is_settled
    unchanged = r.calls() - before
    most = MOST_CALLS[opened.name]
    assert applied <= most[0]
    assert unchanged <= most[1]

"""A. Crashes: at every boundary of launching and ending, on every cloud, and what a disk may lose."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from oracle import foreign, v1_records_are_exact, v3_foreign_is_untouched
from rehearsal import CLOUDS, LINEAGE, Crasher, Rehearsal, crashing, rule
from rich.console import Console

import hcloud.live
from hcloud.errors import HcloudError
from hcloud.fake.faults import FaultKind
from hcloud.live.applying import crash_points
from hcloud.live.applying.apply import apply
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.model.holdings.live import TAG_ADDRESS
from hcloud.model.holdings.state import Intent
from hcloud.views.console import Terminal
from hcloud.views.live.change import show_outcome

QUICK: Mapping[str, object] = {}
SLOW: Mapping[str, object] = {"visibility_delay": 60, "tag_delay": 30, "spin_up": 20, "end_delay": 15}
MOST_POINTS = 200

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
in_worlds = pytest.mark.parametrize(
    ("cloud", "world"), [("aws", QUICK), *((cloud, SLOW) for cloud in CLOUDS)], ids=["aws-quick", *CLOUDS]
)


def sweep_apply(cloud: str, world: Mapping[str, object]) -> set[str]:
    """Crash at every point of an apply until it runs through; after each, a re-run reaches exactly what was planned."""
    names: set[str] = set()
    for at in range(1, MOST_POINTS):
        r = Rehearsal(cloud)
        r.heal(**world)
        stranger = r.cloud.edit({"launch": r.types[0], "tags": {"team": "other"}})
        slots = (r.slot(3, "web"), r.slot(2, "batch"))
        before, crasher = foreign(r.cloud, LINEAGE), Crasher(at)
        with crashing():
            r.apply(*slots, crash=crasher)
        r.judge()
        names |= set(crasher.names)
        r.converges(*slots)
        assert len(r.cloud.ledger.machines) == 5 + 1, f"more was launched than planned, beside {stranger}"
        v3_foreign_is_untouched(r.cloud, LINEAGE, before)
        if not crasher.struck:
            return names
    raise AssertionError("the sweep never ran through")


def sweep_destroy(cloud: str, world: Mapping[str, object]) -> set[str]:
    """The same for destroy."""
    names: set[str] = set()
    for at in range(1, MOST_POINTS):
        r = Rehearsal(cloud)
        r.heal(**world)
        r.cloud.edit({"launch": r.types[0], "tags": {"team": "other"}})
        r.apply(r.slot(3, "web"), r.slot(2, "batch"))
        before, crasher = foreign(r.cloud, LINEAGE), Crasher(at)
        with crashing():
            r.destroy(crasher)
        r.judge()
        names |= set(crasher.names)
        assert r.destroy().exit_code == 0
        assert r.live() == 0
        assert r.plan().is_settled
        v3_foreign_is_untouched(r.cloud, LINEAGE, before)
        if not crasher.struck:
            return names
    raise AssertionError("the sweep never ran through")


@in_worlds
def test_A1_a_crash_at_any_point_of_apply_loses_and_doubles_nothing(cloud: str, world: Mapping[str, object]) -> None:
    sweep_apply(cloud, world)


@in_worlds
def test_A2_a_crash_at_any_point_of_destroy_leaves_nothing_and_touches_nothing_else(
    cloud: str, world: Mapping[str, object]
) -> None:
    sweep_destroy(cloud, world)


@in_worlds
def test_A1_A2_destroy_after_an_apply_that_crashed_anywhere_leaves_nothing(
    cloud: str, world: Mapping[str, object]
) -> None:
    for at in range(1, MOST_POINTS):
        r = Rehearsal(cloud)
        r.heal(**world)
        crasher = Crasher(at)
        with crashing():
            r.apply(r.slot(3), crash=crasher)
        outcome = r.destroy()
        assert outcome.exit_code == 0, outcome
        assert r.live() == 0
        if not crasher.struck:
            return


@every_cloud
def test_A1_every_step_may_crash_and_the_last_run_still_reaches_the_plan(cloud: str) -> None:
    r = Rehearsal(cloud)
    slots = (r.slot(2, "a"), r.slot(2, "b"), r.slot(1, "c"))
    for at in (1, 2, 3, 1, 4, 5, 2, 6, 7, 3):
        with crashing():
            r.apply(*slots, crash=Crasher(at))
        r.judge()
        r.cloud.clock.advance(3)
    r.converges(*slots)
    assert len(r.cloud.ledger.machines) == 5


def test_A1_A2_no_crash_point_is_dead_and_none_is_unnamed() -> None:
    hit = sweep_apply("aws", QUICK) | sweep_destroy("aws", QUICK)
    assert hit == crash_points.NAMES
    files = [p for p in sorted(Path(hcloud.live.__file__).parent.rglob("*.py")) if p.parent.name != "buying"]
    source = "\n".join(p.read_text() for p in files)
    assert set(re.findall(r'"((?:launch|terminate|run)\.[a-z]+(?:\.[a-z]+)?)"', source)) == crash_points.NAMES
    assert not re.search(r"\bcrash\(\s*f?\"", source), "a point is named where it is passed, not in crash_points"


@every_cloud
def test_A6_A7_nothing_is_asked_when_the_intent_cannot_be_made_to_last(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    found = r.plan(slot)
    r.disk.full = True
    with pytest.raises(HcloudError, match="no space left"):
        r.carry_out(found)
    assert r.calls("launch") == 0
    r.disk.full = False

    def fills_up(name: str) -> None:
        r.disk.full = name == "launch.begun" or r.disk.full

    r.allow(slot)
    outcome = r.carry_out(r.plan(slot), crash=fills_up)
    assert outcome.exit_code == 1
    assert r.calls("launch") == 0
    r.disk.full = False
    r.converges(slot)


def told(outcome: ApplyOutcome) -> str:
    """What a screen says of it."""
    console = Console(file=io.StringIO(), width=300)
    show_outcome(outcome, Terminal(console, console))
    return cast("io.StringIO", console.file).getvalue()


@every_cloud
@pytest.mark.parametrize("far", [False, True], ids=["full", "out-of-reach"])
def test_A6_a_store_that_takes_no_more_from_any_write_on_loses_nothing(cloud: str, far: bool) -> None:
    """A bucket that is out of reach cannot be read either: what may be running is told from what this run wrote."""
    for room in range(12):
        r = Rehearsal(cloud)
        r.disk.far = far
        slots = (r.slot(2, "a"), r.slot(2, "b"))

        def fills_up(name: str, r: Rehearsal = r, room: int = room) -> None:
            r.disk.full = r.disk.writes >= room

        r.disk.full = room == 0
        r.allow(*slots)
        try:
            said = told(r.apply(*slots, crash=fills_up))
            unsure = re.findall(r"request without a noted answer: (\w): ", said)
            rented = [m for m in r.cloud.ledger.machines.values() if m.tags[TAG_ADDRESS] in unsure]
            assert all(machine.id in said for machine in rented), "it was answered, and so it is known"
            assert not any(f"{address}: 2 missing; not asked for" in said for address in unsure)
        except HcloudError:
            assert r.live() == 0
        r.judge()
        r.disk.full = False
        r.converges(*slots)
        assert len(r.cloud.ledger.machines) == 4


@every_cloud
def test_A8_a_journal_that_lost_its_last_line_replays(cloud: str) -> None:
    """A torn tail is what was not made to last; what was, is there: a conclusion may be lost, an intent may not."""
    for at in range(1, MOST_POINTS):
        r = Rehearsal(cloud)
        slot = r.slot(3)
        crasher = Crasher(at)
        with crashing():
            r.apply(slot, crash=crasher)
        if r.disk.entries and not isinstance(r.disk.entries[-1], Intent):
            r.disk.entries.pop()
        r.judge()
        r.converges(slot)
        assert len(r.cloud.ledger.machines) == 3
        if not crasher.struck:
            return


@every_cloud
def test_A8_a_state_rolled_back_to_the_one_before_is_caught_up_from_the_journal(cloud: str) -> None:
    """The new state was renamed and not synced when the power went: the old one is there, the journal untrimmed."""
    r = Rehearsal(cloud)
    slot = r.slot(3)
    kept = []

    def remember(name: str) -> None:
        if name == "launch.concluded":
            kept.append((r.disk.state, list(r.disk.entries)))

    r.apply(slot, crash=remember)
    r.disk.state, r.disk.entries = kept[0]
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 3
    v1_records_are_exact(r.cloud, r.disk, LINEAGE)


@every_cloud
def test_A8_journal_and_state_both_lost_after_the_launch_are_found_again_by_tag(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.apply(slot)
    assert r.disk.state is not None
    r.disk.entries.clear()
    r.disk.state = type(r.disk.state)(LINEAGE, serial=r.disk.state.serial, project="rehearsal")
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 3


@every_cloud
def test_A4_somebody_asks_for_an_end_and_what_was_under_way_is_remembered(cloud: str) -> None:
    r = Rehearsal(cloud)
    slots = (r.slot(2, "a"), r.slot(2, "b"))
    r.allow(*slots)
    found = r.plan(*slots)
    for stop_at in range(1, 12):
        r = Rehearsal(cloud)
        r.allow(*slots)
        seen: list[str] = []
        site = r.site(seen.append, stop=lambda seen=seen, stop_at=stop_at: len(seen) >= stop_at)
        outcome = apply(site, r.plan(*slots), ChangeApproval())
        r.judge()
        assert outcome.exit_code in (0, 130)
        assert len(r.cloud.ledger.machines) == r.live() <= 4
        r.converges(*slots)
    assert found.coming == 4


@every_cloud
def test_A1_with_workers_at_the_same_time_nothing_is_lost_either(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.workers = 4
    r.faults(rule("launch", FaultKind.DROPPED_AFTER, probability=0.3))
    slots = tuple(r.slot(2, f"a{n}") for n in range(8))
    r.apply(*slots)
    r.judge()
    r.heal()
    r.converges(*slots)
    assert len(r.cloud.ledger.machines) == 16

"""A8, H1. A journal that is damaged while a machine is in flight: recover loses nothing and doubles nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import cycle
from pathlib import Path

import pytest
from oracle import ours
from rehearsal import CLOUDS, LINEAGE, Crashed, crashing
from waiting import PATIENCE

from hcloud.errors import InputError
from hcloud.fake.faults import FaultPlan
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.applying.apply import apply
from hcloud.live.applying.crash_points import POINTS
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.live.observe import observe
from hcloud.live.recover import put_back, rebuild
from hcloud.live.site import Site
from hcloud.model.holdings.change import Slot
from hcloud.model.holdings.state import Deed, State
from hcloud.planning.changes.diff import changes
from hcloud.planning.changes.recall import unresolved
from hcloud.store.files.place import JOURNAL, JOURNAL_ASIDE, PREVIOUS, STATE
from hcloud.store.states.remembered import FileStateStore

LATE_SECONDS = 200
FLEET = {"first": 1, "second": 2, "third": 1}


class DiesInFlight:
    """Ends a process when all of its orders were noted, then answered, and nothing more was written."""

    def __init__(self) -> None:
        self.noted = threading.Barrier(len(FLEET), timeout=PATIENCE)

    def __call__(self, point: str) -> None:
        if point == POINTS[Deed.LAUNCH].noted:
            self.noted.wait()
        if point == POINTS[Deed.LAUNCH].answered:
            raise Crashed(point)


class Disk:
    """A cloud that lists machines late, and a directory; every method is a process of its own."""

    def __init__(self, name: str, place: Path) -> None:
        self.cloud, self.place = MemoryCloud(name), place
        there = self.cloud.world.semantics
        self.slots = [Slot(a, there.types[0], there.zones[:1], n, Decimal("0.1")) for a, n in FLEET.items()]

    def site(self, crash: Callable[[str], None] = lambda name: None) -> Site:
        store = FileStateStore(self.place, crash)
        workers = len(FLEET) if isinstance(crash, DiesInFlight) else 1
        beginning = State(LINEAGE, project="rehearsal")
        return Site(self.cloud, store, self.cloud.clock, crash=crash, beginning=beginning, workers=workers)

    def apply(self, crash: Callable[[str], None] = lambda name: None) -> ApplyOutcome:
        site = self.site(crash)
        return apply(site, changes(self.slots, observe(site)))

    def recover(self, crash: Callable[[str], None] = lambda name: None) -> State:
        site, store = self.site(crash), FileStateStore(self.place, crash)
        return put_back(store, rebuild(site, store))

    @property
    def journal(self) -> Path:
        return self.place / JOURNAL


def in_flight(name: str, place: Path) -> Disk:
    """Killed when its orders were answered: machines live, no list shows them, and only the journal knows of them."""
    disk = Disk(name, place)
    disk.cloud.plan_faults(FaultPlan(visibility_delay=LATE_SECONDS, tag_delay=LATE_SECONDS))
    with crashing():
        disk.apply(DiesInFlight())
    assert len(ours(disk.cloud, LINEAGE)) == sum(FLEET.values())
    assert not disk.cloud.machines("")
    assert len(unresolved(FileStateStore(disk.place).journal().entries())) == len(FLEET)
    return disk


def flipped(line: bytes, at: float) -> bytes:
    """One byte of a line is another; its end stays."""
    place = int((len(line) - 2) * at)
    return line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "begins wrongly": lambda line: flipped(line, 0.0),
    "another byte in its middle": lambda line: flipped(line, 0.5),
    "ends wrongly": lambda line: flipped(line, 1.0),
    "half of it": lambda line: line[: len(line) // 2] + b"\n",
    "NULs": lambda line: b"\0" * (len(line) - 1) + b"\n",
    "gone, with an empty line": lambda line: b"\n",
}


@pytest.mark.parametrize(("name", "damage"), list(zip(cycle(CLOUDS), DAMAGES, strict=False)))
def test_A8_a_damage_at_any_line_loses_and_doubles_nothing(name: str, damage: str, tmp_path: Path) -> None:
    whole = in_flight(name, tmp_path / "whole").journal.read_bytes().splitlines(keepends=True)
    for number in range(len(whole)):
        disk = in_flight(name, tmp_path / f"line-{number}")
        lines = disk.journal.read_bytes().splitlines(keepends=True)
        damaged = b"".join([*lines[:number], DAMAGES[damage](lines[number]), *lines[number + 1 :]])
        disk.journal.write_bytes(damaged)
        with pytest.raises(InputError):
            disk.apply()
        disk.recover()
        assert (disk.place / JOURNAL_ASIDE).read_bytes() == damaged, "the damaged file is kept"
        kept = FileStateStore(disk.place).journal().entries()
        assert len(kept) == max(number - 1, 0), "what stands before the damage is kept"
        assert len(whole) == 1 + len(FLEET)
        converges(disk)


@pytest.mark.parametrize("lost", [(JOURNAL,), (JOURNAL, STATE), (JOURNAL, STATE, PREVIOUS)])
@pytest.mark.parametrize("name", CLOUDS)
def test_A8_a_journal_that_is_gone_loses_and_doubles_nothing(name: str, lost: tuple[str, ...], tmp_path: Path) -> None:
    disk = in_flight(name, tmp_path)
    for file in lost:
        (disk.place / file).unlink(missing_ok=True)
    with pytest.raises(InputError):
        disk.apply()
    found = disk.recover()
    assert (found.plan, found.wanted) == ("", None), "which plan was begun last is not known"
    converges(disk)


def test_where_nothing_is_lost_the_plan_that_was_begun_last_stays_known(tmp_path: Path) -> None:
    """Else one that another superseded could be resumed."""
    disk = in_flight("aws", tmp_path)
    before = FileStateStore(disk.place).load()
    assert before is not None
    assert before.plan
    assert disk.recover().plan == before.plan


@pytest.mark.parametrize("name", CLOUDS)
def test_A8_a_recover_that_is_killed_anywhere_is_done_again(name: str, tmp_path: Path) -> None:
    """At every third point, on each cloud at others: what a file goes through does not depend on the cloud."""
    for at in range(1 + CLOUDS.index(name), 60, len(CLOUDS)):
        disk = in_flight(name, tmp_path / f"at-{at}")
        lines = disk.journal.read_bytes().splitlines(keepends=True)
        disk.journal.write_bytes(b"".join([*lines[:-1], flipped(lines[-1], 0.5)]))
        passed: list[str] = []

        def crash(point: str, passed: list[str] = passed, at: int = at) -> None:
            passed.append(point)
            if len(passed) == at:
                raise Crashed(point)

        with crashing():
            disk.recover(crash)
        if len(passed) >= at:
            disk.recover()
        converges(disk)
        if len(passed) < at:
            assert at > 5
            return
    raise AssertionError("the sweep never ran through")


def converges(disk: Disk) -> None:
    """One run reaches the plan without a machine too many, ever; the next plan is empty."""
    outcome = disk.apply()
    assert outcome.exit_code == 0, outcome
    live = ours(disk.cloud, LINEAGE)
    found = {a: len([m for m in live if m.tags["hcloud-address"] == a]) for a in FLEET}
    assert found == FLEET
    assert len(disk.cloud.ledger.machines) == sum(FLEET.values()), "more were made than planned"
    site = disk.site()
    assert not changes(disk.slots, observe(site)).to_do
    state = site.store.load()
    assert state is not None
    assert {r.id for r in state.records} == {m.id for m in live}


@pytest.mark.parametrize("name", CLOUDS)
def test_what_an_earlier_plan_wanted_is_not_told_of_a_state_rebuilt_from_it(name: str, tmp_path: Path) -> None:
    """``status`` called the machines of the plan that was applied last too many, by the version before it."""
    disk = Disk(name, tmp_path)
    assert disk.apply().exit_code == 0
    before = (disk.place / STATE).read_bytes()
    disk.slots = [replace(slot, count=slot.count + 2) for slot in disk.slots]
    assert disk.apply().exit_code == 0
    (disk.place / STATE).write_bytes(b"damaged")
    (disk.place / PREVIOUS).write_bytes(before)
    found = disk.recover()
    assert len(found.records) == len(ours(disk.cloud, LINEAGE)) == 10
    assert found.wanted is None
    assert not changes(disk.slots, observe(disk.site())).to_do
    assert disk.apply().exit_code == 0
    state = disk.site().store.load()
    assert state is not None
    assert state.wanted == {slot.address: slot.count for slot in disk.slots}, "the next apply says it anew"

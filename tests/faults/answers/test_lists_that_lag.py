"""C1, C5. Lists that are minutes behind: they leave out what is new, show what has ended, and end nothing healthy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from oracle import ours
from rehearsal import LINEAGE, Crasher, Rehearsal, crashing, rule
from stands import MEMORY, MINUTE, WIRED, Stand

from hcloud.errors import StaleError
from hcloud.fake.faults import FaultKind
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.live.collect import orphans
from hcloud.live.recover import put_back, rebuild
from hcloud.live.site import WaitLimits
from hcloud.model.holdings.change import Slot
from hcloud.model.holdings.live import MachineState
from hcloud.store.states.remembered import FileStateStore


@pytest.fixture(scope="module", params=[MEMORY, *WIRED])
def stand(request: pytest.FixtureRequest) -> Iterator[Stand]:
    found = Stand(request.param)
    yield found
    if found.is_wired:
        found.rig.close()


def ended(r: Rehearsal) -> set[str]:
    """What somebody asked to end, by the ledger."""
    return {m.id for m in r.cloud.ledger.machines.values() if m.asked_to_end is not None}


def until_not_stale(r: Rehearsal, slot: Slot) -> ApplyOutcome:
    """Apply; where the two looks of one apply are not alike nothing is done, and it is asked for again."""
    for _ in range(50):
        try:
            return r.apply(slot)
        except StaleError:
            r.cloud.clock.advance(1)
    raise AssertionError("no two lists were ever alike")


def points(stand: Stand) -> range:
    """Where the process crashes: everywhere in memory, on each cloud elsewhere where every run goes over a wire."""
    return range(2 + 2 * WIRED.index(stand.rig.name), 40, 6) if stand.is_wired else range(1, 40)


def test_C5_what_was_ended_is_not_adopted_when_a_late_list_shows_it_again(stand: Stand) -> None:
    r = stand.rehearsal()
    r.converges(r.slot(6))
    r.cloud.clock.advance(600)
    assert r.apply(r.slot(5)).exit_code == 0
    gone = ended(r)
    assert len(gone) == 1
    r.cloud.clock.advance(MINUTE / 2)
    assert not r.plan(r.slot(5)).changes, "a list that is up to date says that it has ended"
    stand.behind(r, seconds=MINUTE)
    shown = r.cloud.as_principal("").machines(LINEAGE)
    assert gone < {m.id for m in shown if m.state is MachineState.RUNNING}, "the list is not behind"
    assert not r.plan(r.slot(5)).changes
    assert r.apply(r.slot(5)).exit_code == 0
    assert ended(r) == gone
    assert r.live() == 5


def test_C5_lists_that_jump_to_and_fro_end_what_was_asked_and_nothing_else(stand: Stand) -> None:
    for seed in (1,) if stand.is_wired else range(3):
        r = stand.rehearsal()
        r.allow(r.slot(6))
        least = 6
        for count in (6, 5, 4, 6, 3):
            before = len(ended(r))
            lags = [
                rule(on, FaultKind.STALE, seconds=s, probability=0.4) for on in stand.lists() for s in (20, 60, 120)
            ]
            r.faults(*lags, seed=seed)
            until_not_stale(r, r.slot(count))
            assert len(ended(r)) - before <= max(least - count, 0), "more ended than was asked to"
            least = count
            assert r.live() == count
            r.cloud.clock.advance(45)
        r.heal()
        r.cloud.clock.advance(300)
        r.converges(r.slot(3))
        assert len(r.cloud.ledger.machines) == 8


def test_C1_a_crash_with_lists_two_minutes_behind_loses_and_doubles_nothing(stand: Stand) -> None:
    for at in points(stand):
        r = stand.rehearsal()
        stand.behind(r)
        crasher = Crasher(at)
        with crashing():
            r.apply(r.slot(3), crash=crasher)
        r.judge()
        r.apply(r.slot(3))
        r.heal()
        r.converges(r.slot(3))
        assert len(r.cloud.ledger.machines) == 3
        if not crasher.struck:
            return


def test_C5_a_crash_in_a_scale_down_with_lists_that_show_what_has_ended_ends_no_other(stand: Stand) -> None:
    for at in points(stand):
        r = stand.rehearsal()
        r.converges(r.slot(5))
        r.cloud.clock.advance(600)
        chosen = set(r.plan(r.slot(3)).going)
        crasher = Crasher(at)
        with crashing():
            r.apply(r.slot(3), crash=crasher)
        r.cloud.clock.advance(20)
        stand.behind(r, FaultKind.SHOWS_ENDED)
        r.apply(replace(r.slot(3), zones=tuple(reversed(r.slot(3).zones))))
        r.heal()
        r.converges(r.slot(3))
        assert ended(r) == chosen
        if not crasher.struck:
            return


def test_C5_no_late_list_makes_an_orphan_of_what_has_ended(stand: Stand) -> None:
    r = stand.rehearsal()
    r.converges(r.slot(6))
    r.cloud.clock.advance(600)
    r.apply(r.slot(5))
    r.cloud.clock.advance(30)
    stand.behind(r, seconds=MINUTE)
    assert orphans(r.site()) == ()


def test_C5_what_was_ended_is_not_recovered_when_nothing_is_left_that_tells_of_its_end(
    stand: Stand, tmp_path: Path
) -> None:
    r = stand.rehearsal()
    r.converges(r.slot(6))
    r.cloud.clock.advance(600)
    r.apply(r.slot(4))
    r.cloud.clock.advance(30)
    stand.behind(r, FaultKind.SHOWS_ENDED)
    shown = {m.id for m in r.cloud.as_principal("").machines(LINEAGE) if m.state.is_live}
    assert ended(r) & shown, "the list is not behind"
    store = FileStateStore(tmp_path / "lost")
    site = r.site(store=store)
    state = put_back(store, rebuild(site, store))
    assert {record.id for record in state.records} == {m.id for m in ours(r.cloud, LINEAGE)}
    assert len(state.records) == 4


def test_V1_what_was_forgotten_and_lives_all_the_same_is_adopted_again(stand: Stand) -> None:
    r = stand.rehearsal()
    r.converges(r.slot(4))
    r.cloud.clock.advance(600)
    state = r.disk.state
    assert state is not None
    lost = state.records[0]
    over = replace(lost, ended=lost.intended)
    site = r.site()
    site.store.save(replace(state, records=state.records[1:], departed=(over,)))
    assert [c.how for c in r.plan(r.slot(4)).changes] == ["adopt"]
    r.converges(r.slot(4))
    assert (len(r.cloud.ledger.machines), len(ours(r.cloud, LINEAGE))) == (4, 4)


def test_C1_what_lists_do_not_show_for_long_is_asked_for_by_its_id_before_it_is_forgotten(stand: Stand) -> None:
    r = stand.rehearsal()
    r.converges(r.slot(2))
    r.cloud.clock.advance(7200)
    r.waits = WaitLimits(ready=0)
    r.apply(r.slot(3))
    stand.behind(r, FaultKind.MISSES_NEW, seconds=3600)
    for _ in range(4):
        assert r.apply(r.slot(3)).exit_code in (0, 6)
        r.cloud.clock.advance(400)
        assert not r.plan(r.slot(3)).changes
    assert len(r.cloud.ledger.machines) == 3


def test_what_is_remembered_never_goes_for_what_is_not(stand: Stand) -> None:
    r = stand.rehearsal()
    r.converges(r.slot(2))
    older = {m.id for m in r.cloud.ledger.machines.values()}
    r.cloud.clock.advance(600)
    r.converges(r.slot(5))
    state = r.disk.state
    assert state is not None
    dropped = {record.id for record in state.records if record.id in older}
    r.site().store.save(replace(state, records=tuple(x for x in state.records if x.id not in dropped)))
    r.disk.rentals.clear()
    found = r.plan(r.slot(3))
    assert set(found.going) == dropped
    assert r.carry_out(found, approval=ChangeApproval(ends=2)).exit_code == 0
    assert ended(r) == dropped

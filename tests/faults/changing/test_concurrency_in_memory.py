"""G. Concurrency: readers beside a writer, two writers, and people who change things meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory_store import MemoryStore
from rehearsal import CLOUDS, Rehearsal

from hcloud.errors import LockedError, StaleError
from hcloud.live.observe import observe
from hcloud.model.holdings.change import Bar

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


@every_cloud
def test_G1_a_second_operator_is_told_who_works(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    other = r.plan(slot)
    told: list[str] = []

    def second(name: str) -> None:
        if name == "launch.intent.fsynced":
            with pytest.raises(LockedError, match="apply by tester on here, pid 1") as caught:
                r.carry_out(other)
            told.append(str(caught.value))

    assert r.apply(slot, crash=second).exit_code == 0
    assert told
    assert len(r.cloud.ledger.machines) == 2


@every_cloud
def test_G3_a_reader_beside_an_apply_changes_nothing_at_any_moment(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.heal(visibility_delay=20, end_delay=10)
    slot = r.slot(3)

    def look(_: str) -> None:
        before = (r.disk.state, list(r.disk.entries), r.disk.writes)
        observe(r.site())
        assert (r.disk.state, list(r.disk.entries), r.disk.writes) == before

    assert r.apply(slot, crash=look).exit_code == 0
    assert r.destroy(look).exit_code == 0


@every_cloud
def test_G3_a_writer_with_an_old_serial_is_rejected(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    r.converges(slot)
    store = MemoryStore(r.disk, r.cloud.clock)
    old = store.load()
    assert old is not None
    r.converges(r.slot(3))
    with pytest.raises(StaleError, match="written meanwhile"):
        store.save(replace(old, records=()))


@every_cloud
def test_G3_a_state_written_by_somebody_in_mid_apply_ends_it_and_loses_nothing(cloud: str) -> None:
    r = Rehearsal(cloud)
    slots = (r.slot(2, "a"), r.slot(2, "b"))

    def intrude(name: str) -> None:
        if name == "launch.intent.fsynced" and r.disk.state is not None:
            r.disk.state = replace(r.disk.state, serial=r.disk.state.serial + 5)

    outcome = r.apply(*slots, crash=intrude)
    assert outcome.exit_code == 6
    assert isinstance(outcome.error, StaleError)
    r.converges(*slots)
    assert len(r.cloud.ledger.machines) == 4


@every_cloud
@pytest.mark.parametrize("deed", ["terminate", "resize", "retag", "stop"])
def test_G5_what_a_person_does_in_mid_apply_is_told_and_not_fought_over(cloud: str, deed: str) -> None:
    r = Rehearsal(cloud)
    slots = (r.slot(2, "a"), r.slot(2, "b"))
    done: list[str] = []

    def meddle(name: str) -> None:
        if name == "launch.journal.trimmed" and not done:
            done.append(sorted(r.cloud.ledger.machines)[0])
            r.cloud.edit({deed: done[0], "type": r.types[2], "tags": {"mine": "now"}})

    r.allow(*slots)
    outcome = r.carry_out(r.plan(*slots), crash=meddle)
    assert r.calls("launch") == 2, "nothing is corrected in the same run"
    assert r.calls("terminate") == 0
    left = outcome.left
    assert left is not None
    if deed == "terminate":
        assert outcome.exit_code == 6
        assert left.coming == 1 or outcome.result == "unknown"
    elif deed == "resize":
        assert outcome.exit_code == 6
        assert [c.action.value for c in left.changes] == ["~"]
    elif deed == "retag":
        assert outcome.exit_code == 6
        assert [(x.bar, x.ids) for x in left.refusals] == [(Bar.UNTAGGED, (done[0],))]
    else:
        assert outcome.exit_code == 0
        assert any(done[0] in note for note in left.notes)


@every_cloud
def test_G5_drift_made_by_hand_is_planned_and_mended_once(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.converges(slot)
    r.cloud.clock.advance(3600)
    first, second, _ = sorted(r.cloud.ledger.machines)
    r.cloud.edit({"resize": first, "type": r.types[2]})
    shown = r.plan(slot)
    assert [(c.action.value, c.ids) for c in shown.changes] == [("~", (first,))]
    assert any(f"{first} at web was" in n for n in shown.notes)
    r.allow(r.slot(4))
    r.converges(slot)
    r.cloud.edit({"stop": second})
    assert not r.plan(slot).changes
    assert "stopped" in r.plan(slot).notes[0]

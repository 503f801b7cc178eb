"""C. Eventual consistency: what a cloud does not tell of (yet) is there all the same."""

from __future__ import annotations

import pytest
from oracle import foreign, v3_foreign_is_untouched, v8_calls_are_bounded
from rehearsal import CLOUDS, LINEAGE, Crasher, Rehearsal, crashing, rule

from hcloud.errors import PartialError, UnavailableError
from hcloud.fake.faults import FaultKind
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.site import WaitLimits
from hcloud.model.holdings.change import Bar

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
DELAYS = (0.5, 5.0, 60.0, 250.0)


@every_cloud
@pytest.mark.parametrize("delay", DELAYS)
def test_C1_what_lists_do_not_show_yet_is_never_launched_again(cloud: str, delay: float) -> None:
    for at in range(1, 40):
        r = Rehearsal(cloud)
        r.heal(visibility_delay=delay)
        slot = r.slot(3)
        crasher = Crasher(at)
        with crashing():
            r.apply(slot, crash=crasher)
        r.converges(slot)
        assert len(r.cloud.ledger.machines) == 3
        if not crasher.struck:
            return


@every_cloud
def test_C1_a_record_is_kept_while_its_machine_is_not_told_of(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.waits = WaitLimits(ready=0)
    r.heal(visibility_delay=120)
    slot = r.slot(3)
    assert r.apply(slot).result == "converged", "the answer to the order said so"
    for _ in range(5):
        shown = r.plan(slot)
        assert not shown.to_do
        assert {x.bar for x in shown.refusals} == {Bar.UNSEEN}
        assert r.apply(slot).exit_code == 6
        assert r.disk.state is not None
        assert len(r.disk.state.records) == 3
        r.cloud.clock.advance(20)
    r.cloud.clock.advance(60)
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 3


@every_cloud
def test_C1_a_machine_is_forgotten_only_when_missed_twice_and_for_five_minutes(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.converges(slot)
    r.cloud.clock.advance(3600)
    gone = sorted(r.cloud.ledger.machines)[0]
    r.cloud.world.hidden.add(gone)
    assert not r.plan(slot).to_do, "missed for the first time"
    r.cloud.clock.advance(3600)
    assert not r.plan(slot).to_do, "a plan writes nothing: it is still the first time"
    assert r.apply(slot).result == "unknown"
    r.cloud.clock.advance(299)
    assert not r.plan(slot).to_do, "not missed for long enough"
    r.cloud.clock.advance(1)
    assert [(c.action.value, c.count) for c in r.plan(slot).changes] == [("+", 1)]


@every_cloud
def test_C3_not_found_by_id_is_waited_for_and_nothing_new_is_launched(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    quiet = Rehearsal(cloud)
    quiet.apply(quiet.slot(3))
    r.faults(rule("look", FaultKind.NOT_FOUND, first=4), rule("machines", FaultKind.EMPTY, calls=[2, 3, 4, 5]))
    assert r.apply(slot).exit_code == 0
    assert len(r.cloud.ledger.machines) == 3
    v8_calls_are_bounded(r.calls(), quiet.calls())


@every_cloud
def test_C4_tags_that_come_late_make_no_foreign_machine_and_no_second_one(cloud: str) -> None:
    for at in range(1, 40):
        r = Rehearsal(cloud)
        r.heal(tag_delay=30)
        slot = r.slot(3)
        crasher = Crasher(at)
        with crashing():
            r.apply(slot, crash=crasher)
        r.cloud.clock.advance(1)
        r.converges(slot)
        assert len(r.cloud.ledger.machines) == 3
        if not crasher.struck:
            return


@every_cloud
def test_C4_an_untagged_machine_is_not_ended(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.converges(r.slot(3))
    bare = sorted(r.cloud.ledger.machines)[0]
    r.cloud.edit({"retag": bare, "tags": {"keep": "me"}})
    before = foreign(r.cloud, LINEAGE)
    shown = r.plan()
    assert bare not in shown.going
    assert [(x.bar, x.ids) for x in shown.refusals] == [(Bar.UNTAGGED, (bare,))]
    r.destroy()
    assert r.cloud.ledger.machines[bare].asked_to_end is None
    v3_foreign_is_untouched(r.cloud, LINEAGE, before)


@every_cloud
def test_C4_an_empty_list_authorises_nothing(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.converges(slot)
    r.cloud.clock.advance(3600)
    r.faults(rule("machines", FaultKind.EMPTY), rule("look", FaultKind.EMPTY))
    shown = r.plan(slot)
    assert not shown.changes
    assert shown.blocking[0].bar is Bar.UNSEEN
    before = r.calls("launch", "terminate")
    for wanted in ([slot], []):
        with pytest.raises(PartialError, match="none of the 3 machines of the state is listed"):
            r.carry_out(r.plan(*wanted), approval=ChangeApproval(ends=3))
    assert r.calls("launch", "terminate") == before
    assert r.disk.state is not None
    assert len(r.disk.state.records) == 3
    r.heal()
    r.converges(slot)


@every_cloud
def test_C4_a_failed_list_authorises_nothing(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.converges(slot)
    found, before = r.plan(), r.calls("launch", "terminate")
    r.faults(rule("machines", FaultKind.UNAVAILABLE))
    with pytest.raises(UnavailableError):
        r.carry_out(found, approval=ChangeApproval(ends=3))
    assert r.calls("launch", "terminate") == before
    assert r.live() == 3


@every_cloud
def test_C5_a_machine_still_told_as_running_is_ended_once(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.heal(visibility_delay=30, end_delay=30)
    r.converges(r.slot(3))
    assert r.destroy().exit_code == 0
    assert r.calls("terminate") == 1


def test_C5_an_ended_machine_that_lingers_in_lists_does_not_count() -> None:
    r = Rehearsal("aws")
    slot = r.slot(3)
    r.converges(slot)
    r.destroy()
    assert len(r.cloud.machines(LINEAGE)) == 3, "they linger"
    assert r.plan(slot).coming == 3
    r.converges(slot)
    assert r.plan().going == tuple(sorted(m.id for m in r.cloud.ledger.live(0)))


@every_cloud
def test_C7_what_stays_pending_for_ever_is_ended_and_replaced_once(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    r.heal(spin_up=1e8)
    outcome = r.apply(slot)
    assert (outcome.result, outcome.exit_code) == ("partial", 6)
    assert "pending for more than 600 s" in outcome.problems[0]
    assert len(r.cloud.ledger.machines) == 4, "one replacement for each, no more"
    assert r.live() == 0
    r.heal()
    r.converges(slot)


@every_cloud
def test_C7_a_replacement_that_starts_is_all_it_takes(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    r.heal(spin_up=1e8)

    def mend(name: str) -> None:
        if name == "terminate.begun":
            r.heal()

    assert r.apply(slot, crash=mend).exit_code == 0
    assert (len(r.cloud.ledger.machines), r.live()) == (4, 2)


@every_cloud
def test_C7_a_plan_replaces_what_has_been_pending_for_too_long(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.waits = WaitLimits(ready=0)
    slot = r.slot(2)
    r.heal(spin_up=1e8)
    r.apply(slot)
    assert not r.plan(slot).changes
    r.cloud.clock.advance(601)
    assert [(c.action.value, c.count, len(c.ids)) for c in r.plan(slot).changes] == [("~", 2, 2)]
    r.heal()
    r.allow(r.slot(4))
    r.converges(slot)

"""R. Ambiguous replies: the cloud may have acted, and nobody was told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracle import ours
from rehearsal import CLOUDS, LINEAGE, Crasher, Rehearsal, crashing, rule

from hcloud.fake.faults import FaultKind
from hcloud.live.site import order_key
from hcloud.model.holdings.live import Launch, Owner
from hcloud.model.holdings.state import Intent

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
SEEDS = range(8)


@every_cloud
@pytest.mark.parametrize(
    "lost", [FaultKind.DROPPED_AFTER, FaultKind.NONSENSE, FaultKind.DROPPED_BEFORE, FaultKind.SERVER_ERROR]
)
def test_R1_R3_R5_half_of_all_replies_are_lost_and_nothing_is_launched_twice(cloud: str, lost: FaultKind) -> None:
    for seed in SEEDS:
        r = Rehearsal(cloud)
        slots = (r.slot(3, "a"), r.slot(2, "b"))
        r.faults(rule("*", lost, probability=0.5), seed=seed)
        r.apply(*slots)
        r.heal()
        r.converges(*slots)
        assert len(r.cloud.ledger.machines) == 5


@every_cloud
def test_R2_a_cloud_without_tokens_is_looked_at_before_an_order_is_sent_again(cloud: str) -> None:
    for seed in SEEDS:
        r = Rehearsal(cloud)
        slots = (r.slot(3, "a"), r.slot(2, "b"))
        r.faults(rule("launch", FaultKind.DROPPED_AFTER, probability=0.5), seed=seed, tokens=False)
        r.apply(*slots)
        r.heal(tokens=False)
        r.converges(*slots)
        assert len(r.cloud.ledger.machines) == 5


@every_cloud
def test_R2_a_crash_after_a_lost_reply_of_a_cloud_without_tokens_adopts_by_tag(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.heal(tokens=False)
    slot = r.slot(3)
    crasher = Crasher(4)
    with crashing():
        r.apply(slot, crash=crasher)
    assert crasher.names[-1] == "launch.answered"
    assert [c.how for c in r.plan(slot).changes] == ["adopt"]
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 3


@every_cloud
def test_R3_a_connection_that_ends_before_the_cloud_acts_is_tried_again(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(1)
    r.faults(rule("launch", FaultKind.DROPPED_BEFORE, first=2))
    assert r.apply(slot).exit_code == 0
    assert (r.calls("launch"), len(r.cloud.ledger.machines)) == (3, 1)


@every_cloud
def test_R5_nonsense_for_ever_is_unknown_and_never_failed(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    r.faults(rule("launch", FaultKind.NONSENSE_BEFORE))
    outcome = r.apply(slot)
    assert (outcome.result, outcome.exit_code) == ("unknown", 6)
    assert [e for e in r.disk.entries if isinstance(e, Intent)], "the intent is gone"
    r.heal()
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 2


@every_cloud
def test_R5_what_a_plan_shows_of_an_unknown_order_is_that_it_is_asked_again(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    r.faults(rule("launch", FaultKind.NONSENSE_BEFORE))
    r.apply(slot)
    r.heal()
    shown = r.plan(slot)
    assert [(c.action.value, c.how, c.count) for c in shown.changes] == [("~", "resolve", 2)]
    assert "sent again with the same key" in shown.changes[0].reason


@every_cloud
def test_R6_a_request_delivered_twice_makes_one_machine(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(1)
    r.faults(rule("*", FaultKind.TWICE))
    assert r.apply(slot).exit_code == 0
    assert len(r.cloud.ledger.machines) == 1
    assert r.destroy().exit_code == 0
    assert r.live() == 0


@every_cloud
def test_R8_a_key_that_was_used_for_another_order_is_told_and_the_next_plan_has_new_keys(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.allow(slot)
    key = order_key(LINEAGE, 1, "web", (slot.instance_type, slot.zones[0]), 1)
    r.cloud.launch(Launch(key, "web", slot.instance_type, slot.zones[0], 1, Owner("f" * 32, "else", "0")))
    outcome = r.apply(replace(slot, zones=slot.zones[:1]))
    assert outcome.exit_code == 6
    assert any(r.cloud.world.semantics.codes["mismatch"] in p for p in outcome.problems)
    r.converges(slot)


@every_cloud
def test_R8_an_open_order_is_resolved_as_it_was_noted_though_the_plan_has_changed(cloud: str) -> None:
    for now in (5, 3, 2):
        r = Rehearsal(cloud)
        with crashing():
            r.apply(r.slot(3), crash=Crasher(4))
        assert len(ours(r.cloud, LINEAGE)) == 3
        r.converges(r.slot(now))
        assert len(r.cloud.ledger.machines) == max(now, 3)


@every_cloud
@pytest.mark.parametrize("kind", [FaultKind.DENIED, FaultKind.QUOTA])
def test_R1_an_order_that_may_have_been_carried_out_is_not_given_up_because_it_is_refused_now(
    cloud: str, kind: FaultKind
) -> None:
    r = Rehearsal(cloud)
    r.heal(visibility_delay=60)
    slot = r.slot(3)
    with crashing():
        r.apply(slot, crash=Crasher(4))
    r.faults(rule("launch", kind), visibility_delay=60)
    outcome = r.apply(slot)
    assert outcome.exit_code in (0, 6), "a cloud that knows the key gives the machines"
    r.heal()
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 3

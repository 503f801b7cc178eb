"""E. Capacity, quota, partial fills: what is sold out is asked for elsewhere, and what is missing is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rehearsal import CLOUDS, Rehearsal, rule

from hcloud.fake.faults import FaultKind

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


@every_cloud
def test_E1_a_stock_out_is_not_retried_and_the_next_zone_is_asked(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.heal(stock={f"{slot.instance_type}@{slot.zones[0]}": 0})
    outcome = r.apply(slot)
    assert outcome.exit_code == 0
    assert r.calls("launch") == 2
    assert {m.zone for m in r.cloud.ledger.machines.values()} == {slot.zones[1]}


@every_cloud
def test_E1_after_the_zones_the_next_allowed_type_is_asked(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3, fallbacks=[r.types[1], r.types[2]])
    r.heal(stock={r.types[0]: 0, r.types[1]: 0})
    r.converges(slot)
    assert {m.instance_type for m in r.cloud.ledger.machines.values()} == {r.types[2]}
    assert r.calls("launch") == 5


@every_cloud
def test_E1_what_was_sold_out_is_remembered_for_three_minutes(cloud: str) -> None:
    r = Rehearsal(cloud)
    slots = (r.slot(1, "a"), r.slot(1, "b"), r.slot(1, "c"))
    r.heal(stock={f"{r.types[0]}@{r.zones[0]}": 0})
    assert r.apply(*slots).exit_code == 0
    assert r.calls("launch") == 4, "the first zone is asked once, not once a slot"
    memory = r.site().sold_out
    offering = (r.types[0], r.zones[0], slots[0].option)
    memory.note(offering, 1000.0)
    assert memory.holds(offering, 1179.0)
    assert not memory.holds(offering, 1180.0)


@every_cloud
def test_E2_a_stock_out_everywhere_ends_at_once_with_the_list_of_what_was_tried(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3, fallbacks=[r.types[1]])
    r.heal(stock={"*": 0})
    began = r.cloud.clock.now()
    outcome = r.apply(slot)
    assert (outcome.result, outcome.exit_code) == ("partial", 8)
    assert r.cloud.clock.now() - began <= 30
    assert len(outcome.shortfalls[0].tried) == len(slot.offerings) == r.calls("launch") == 4
    assert all(z in str(outcome.shortfalls[0].tried) for z in slot.zones)
    assert not r.cloud.ledger.machines


@every_cloud
def test_E3_a_quota_is_not_retried_and_is_named_with_what_is_needed_and_allowed(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.heal(quotas={"instances": 2})
    outcome = r.apply(slot)
    assert outcome.exit_code == 8
    assert r.calls("launch") == 1
    assert "instances: 3 needed, 0 of 2 in use" in outcome.shortfalls[0].tried[0]
    assert not r.cloud.ledger.machines
    assert r.disk.entries == []


@every_cloud
def test_E4_six_of_ten_are_remembered_four_are_told_missing_and_asked_for_next_time(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = replace(r.slot(10), zones=r.zones[:1])
    r.faults(rule("launch", FaultKind.PARTIAL, share=0.6))
    outcome = r.apply(slot)
    assert (outcome.result, outcome.exit_code) == ("partial", 6)
    assert r.disk.state is not None
    assert len(r.disk.state.records) == 6
    assert outcome.shortfalls[0].missing == 4
    r.heal()
    assert r.plan(slot).coming == 4
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 10


@every_cloud
def test_E4_what_one_zone_cannot_fill_the_next_one_does(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(10)
    r.heal(stock={f"{slot.instance_type}@{slot.zones[0]}": 6})
    r.converges(slot)
    assert sorted(m.zone for m in r.cloud.ledger.machines.values()) == [slot.zones[0]] * 6 + [slot.zones[1]] * 4
    assert r.calls("launch") == 2


@every_cloud
def test_E4_a_partial_fill_whose_reply_is_lost_is_told_in_full(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(10)
    stock = {f"{slot.instance_type}@{slot.zones[0]}": 6}
    r.faults(rule("launch", FaultKind.DROPPED_AFTER, calls=[1]), stock=stock)
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 10


@every_cloud
def test_E5_an_answer_without_machines_is_no_success(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.faults(rule("launch", FaultKind.PARTIAL, share=0))
    outcome = r.apply(slot)
    assert outcome.exit_code == 8
    assert outcome.shortfalls[0].missing == 3
    assert r.disk.state is not None
    assert r.disk.state.records == ()
    r.heal()
    r.converges(slot)


@every_cloud
def test_E7_an_operation_that_fails_later_leaves_nothing_remembered_as_live(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.faults(rule("launch", FaultKind.OPERATION_FAILS), operation_delay=20)
    assert r.apply(slot).exit_code == 8
    assert r.disk.state is not None
    assert r.disk.state.records == ()
    r.heal()
    r.converges(slot)


@every_cloud
def test_E1_a_fallback_beyond_the_budget_is_not_taken(cloud: str) -> None:
    from decimal import Decimal

    from hcloud.live.applying.guards import ChangeApproval

    r = Rehearsal(cloud)
    slot = r.slot(3, fallbacks=[r.types[1]])
    r.allow(slot)
    r.heal(stock={r.types[0]: 0})
    outcome = r.carry_out(r.plan(slot), approval=ChangeApproval(hourly=Decimal("0.30")))
    assert outcome.exit_code == 6
    assert any("go beyond the budget of $0.3000/h" in t for t in outcome.shortfalls[0].tried)
    assert not r.cloud.ledger.machines

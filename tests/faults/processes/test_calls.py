"""B7 and V8: how many requests it takes where nothing goes wrong."""

from __future__ import annotations

import pytest
from rehearsal import CLOUDS, Rehearsal

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


@every_cloud
def test_a_hundred_of_one_type_take_five_requests_and_a_thousand_unchanged_two(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(100)
    r.allow(slot, r.slot(1000))
    found = r.plan(slot)
    before = r.calls()
    assert r.carry_out(found).exit_code == 0
    assert r.calls() - before <= 5
    r.converges(r.slot(1000))
    before = r.calls()
    assert r.plan(r.slot(1000)).is_settled
    assert r.calls() - before == 2


@every_cloud
def test_an_apply_with_nothing_to_do_changes_nothing_and_writes_nothing(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.converges(slot)
    before, writes = r.calls("launch", "terminate"), r.disk.writes
    assert r.apply(slot).exit_code == 0
    assert (r.calls("launch", "terminate"), r.disk.writes) == (before, writes)

"""H, I, J: lost states, ends of too much at once, and plans that are not true any more."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from memory_store import MemoryDisk
from rehearsal import CLOUDS, Rehearsal

from hcloud.errors import DeniedByGuardError, EvidenceError, HcloudError, InputError, StaleError
from hcloud.live.applying.guards import ChangeApproval
from hcloud.model.holdings.change import Bar
from hcloud.model.holdings.state import State
from hcloud.planning.changes.diff import DiffInputs

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


@every_cloud
def test_H1_a_lost_state_beside_tagged_machines_is_never_n_to_add(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.converges(slot)
    r.disk = MemoryDisk()
    beginning = State("f" * 32, project="rehearsal")
    from hcloud.live.applying.apply import apply
    from hcloud.live.observe import observe
    from hcloud.planning.changes.diff import changes

    site = r.site(beginning=beginning)
    shown = changes([slot], observe(site))
    assert shown.changes == ()
    assert shown.blocking[0].bar is Bar.LOST_STATE
    assert "hcloud recover" in shown.blocking[0].why
    with pytest.raises(HcloudError, match="3 machines of project rehearsal"):
        apply(site, shown)
    assert r.calls("launch") == 1
    meant = changes([slot], observe(site), DiffInputs(beside=True))
    assert meant.coming == 3, "another state of the same project, on purpose"


@every_cloud
def test_I7_the_end_of_everything_needs_its_number_typed(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.converges(r.slot(3))
    for typed in (None, 0, 2, 4):
        with pytest.raises(DeniedByGuardError, match="3 of 3 machines would be terminated"):
            r.carry_out(r.plan(), approval=ChangeApproval(ends=typed))
    assert r.calls("terminate") == 0
    assert r.destroy(ends=3).exit_code == 0


@every_cloud
@pytest.mark.parametrize(
    ("stands", "wanted", "needs"), [(10, 8, False), (10, 7, True), (200, 180, False), (200, 179, True)]
)
def test_I7_more_than_a_fifth_or_twenty_needs_its_number_typed(
    cloud: str, stands: int, wanted: int, needs: bool
) -> None:
    r = Rehearsal(cloud)
    r.converges(r.slot(stands))
    found = r.plan(r.slot(wanted))
    if needs:
        with pytest.raises(DeniedByGuardError, match="would be terminated"):
            r.carry_out(found, approval=ChangeApproval())
        assert r.live() == stands
    else:
        assert r.carry_out(found, approval=ChangeApproval()).exit_code == 0
        assert r.live() == wanted


@every_cloud
def test_I7_protected_machines_are_never_ended(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.converges(slot)
    kept = sorted(r.cloud.ledger.machines)[0]
    r.cloud.edit({"retag": kept, "tags": {**r.cloud.ledger.machines[kept].tags, "hcloud-protected": "yes"}})
    shown = r.plan()
    assert kept not in shown.going
    assert (Bar.PROTECTED, (kept,)) in [(x.bar, x.ids) for x in shown.refusals]
    assert r.destroy().exit_code == 6
    assert r.cloud.ledger.machines[kept].asked_to_end is None
    assert r.live() == 1


@every_cloud
def test_I7_budgets_hold(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(5)
    r.allow(slot)
    cheap, dear = Decimal("0.49"), Decimal("0.50")
    for approval in (ChangeApproval(hourly=cheap), ChangeApproval(monthly=cheap * 730), ChangeApproval(increase=cheap)):
        with pytest.raises(DeniedByGuardError):
            r.carry_out(r.plan(slot), approval=approval)
    assert r.calls("launch") == 0
    assert r.carry_out(r.plan(slot), approval=ChangeApproval(dear, dear * 730, dear)).exit_code == 0
    less = r.plan(r.slot(4))
    assert (less.hourly_before, less.hourly_after) == (Decimal("0.50"), Decimal("0.40"))
    assert r.carry_out(less, approval=ChangeApproval(hourly=Decimal("0.10"))).exit_code == 0, "less is never too much"


@every_cloud
def test_I7_a_budget_cannot_be_checked_without_a_price(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.converges(r.slot(5))
    r.cloud.edit({"resize": sorted(r.cloud.ledger.machines)[0], "type": r.types[2]})
    found = r.plan(r.slot(5))
    assert found.unpriced == (r.types[2],)
    with pytest.raises(EvidenceError):
        r.carry_out(found, approval=ChangeApproval(hourly=Decimal(9)))


@every_cloud
@pytest.mark.parametrize("change", ["terminate", "resize", "retag", "state"])
def test_J1_a_plan_whose_cloud_or_state_has_moved_is_stale(cloud: str, change: str) -> None:
    r = Rehearsal(cloud)
    r.converges(r.slot(3))
    r.allow(r.slot(4))
    found, before = r.plan(r.slot(4)), r.calls("launch", "terminate")
    if change == "state":
        assert r.disk.state is not None
        r.disk.state = replace(r.disk.state, serial=r.disk.state.serial + 1)
    else:
        r.cloud.edit({change: sorted(r.cloud.ledger.machines)[0], "type": r.types[1], "tags": {}})
    with pytest.raises(StaleError, match="stale"):
        r.carry_out(found)
    assert r.calls("launch", "terminate") == before


@every_cloud
def test_J1_a_plan_stays_true_while_machines_only_start(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.heal(spin_up=100)
    r.converges(r.slot(3))
    r.allow(r.slot(4))
    found = r.plan(r.slot(4))
    r.cloud.clock.advance(200)
    assert r.carry_out(found).exit_code == 0


@every_cloud
def test_J2_a_plan_that_was_altered_is_refused(cloud: str) -> None:
    r = Rehearsal(cloud)
    found = r.plan(r.slot(3))
    altered = [
        replace(found, slots=(replace(found.slots[0], count=4),)),
        replace(found, changes=(replace(found.changes[0], count=4),)),
        replace(found, hourly_after=Decimal("0.01")),
        replace(found, base=replace(found.base, scope=replace(found.base.scope, account="other"))),
        replace(found, digest="0" * 64),
        replace(found, format_version="9.0"),
    ]
    for plan in altered:
        with pytest.raises(InputError, match="digest"):
            r.carry_out(plan)
    assert r.calls("launch") == 0


@every_cloud
def test_J2_a_plan_of_another_state_or_account_is_refused(cloud: str) -> None:
    r, other = Rehearsal(cloud), Rehearsal({"aws": "gcp", "gcp": "azure", "azure": "aws"}[cloud])
    found = other.plan(other.slot(3))
    with pytest.raises(StaleError):
        r.carry_out(found)
    assert r.calls("launch") == 0


@every_cloud
def test_J3_an_old_plan_is_refused_unless_said_otherwise(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(1)
    r.allow(slot)
    found = r.plan(slot)
    r.cloud.clock.advance(86_401)
    with pytest.raises(StaleError, match=r"24\.0 h old"):
        r.carry_out(found)
    assert r.carry_out(found, approval=ChangeApproval(oldest_seconds=1e6)).exit_code == 0

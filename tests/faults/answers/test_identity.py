"""F. Identity and time: credentials that end, accounts that differ, rights that are missing, clocks that jump."""

from __future__ import annotations

import pytest
from oracle import untagged_of_ours
from rehearsal import CLOUDS, LINEAGE, Crasher, Rehearsal, crashing, rule

from hcloud.errors import CredentialsError, DeniedError, StaleError
from hcloud.fake.faults import FaultKind
from hcloud.fake.in_memory.memory import OTHER_ACCOUNT
from hcloud.live.site import order_key

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


@every_cloud
@pytest.mark.parametrize("kind", [FaultKind.EXPIRED, FaultKind.SKEWED])
def test_F1_F6_credentials_that_end_at_any_call_stop_it_at_once_and_the_next_run_completes(
    cloud: str, kind: FaultKind
) -> None:
    for k in range(1, 9):
        r = Rehearsal(cloud)
        slots = (r.slot(2, "a"), r.slot(2, "b"))
        found = r.plan(*slots)
        r.allow(*slots)
        r.faults(rule("*", kind, from_call=k))
        began, asked = r.cloud.clock.now(), r.calls()
        try:
            outcome = r.carry_out(found)
            assert outcome.exit_code == (1 if outcome.error else 0)
            said: Exception | None = outcome.error
        except CredentialsError as error:
            said = error
        assert said is None or isinstance(said, CredentialsError)
        assert kind is FaultKind.EXPIRED or said is None or "clock" in str(said)
        assert r.cloud.clock.now() - began <= 5
        assert r.calls() - asked <= k, "asked again with credentials that are known to be bad"
        r.judge()
        r.heal()
        r.converges(*slots)
        assert len(r.cloud.ledger.machines) == 4


@every_cloud
def test_F2_another_account_is_refused(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    r.converges(slot)
    found, before = r.plan(), r.calls("launch", "terminate")
    r.principal = OTHER_ACCOUNT
    with pytest.raises(StaleError, match="belongs to"):
        r.plan(slot)
    with pytest.raises(StaleError, match="belongs to"):
        r.carry_out(found)
    assert r.calls("launch", "terminate") == before
    assert r.live() == 2


@every_cloud
def test_F3_where_nothing_can_be_listed_nothing_is_made(cloud: str) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(2)
    found = r.plan(slot)
    r.principal = "writer"
    r.heal(roles={"writer": ["scope", "launch", "terminate"]})
    with pytest.raises(DeniedError):
        r.carry_out(found)
    assert r.calls("launch") == 0


@every_cloud
def test_F4_what_may_not_be_launched_is_told_once(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.principal = "reader"
    r.heal(roles={"reader": ["scope", "machines", "look"]})
    outcome = r.apply(r.slot(2, "a"), r.slot(2, "b"))
    assert outcome.exit_code == 1
    assert isinstance(outcome.error, DeniedError)
    assert r.calls("launch") == 1


@every_cloud
@pytest.mark.parametrize("delay", [0.0, 60.0])
def test_F4_machines_made_without_their_tags_are_ended_at_once(cloud: str, delay: float) -> None:
    r = Rehearsal(cloud)
    slot = r.slot(3)
    r.faults(rule("launch", FaultKind.UNTAGGED), visibility_delay=delay)
    outcome = r.apply(slot)
    assert outcome.exit_code == 6
    assert "without the tags" in str(outcome.error)
    assert not untagged_of_ours(r.cloud)
    r.heal()
    r.converges(slot)


@every_cloud
@pytest.mark.parametrize("delay", [0.0, 60.0])
def test_F4_a_crash_anywhere_leaves_no_untagged_machine_after_the_next_run(cloud: str, delay: float) -> None:
    for at in range(1, 40):
        r = Rehearsal(cloud)
        slot = r.slot(3)
        r.faults(rule("launch", FaultKind.UNTAGGED), visibility_delay=delay)
        crasher = Crasher(at)
        with crashing():
            r.apply(slot, crash=crasher)
        r.heal(visibility_delay=delay)
        r.converges(slot)
        assert not untagged_of_ours(r.cloud)
        if not crasher.struck:
            return


@every_cloud
@pytest.mark.parametrize("jump", [-900.0, 900.0, -31_536_000.0, 31_536_000.0])
def test_F6_a_clock_that_jumps_between_crash_and_re_run_doubles_nothing(cloud: str, jump: float) -> None:
    for at in range(1, 40):
        r = Rehearsal(cloud)
        slot = r.slot(3)
        crasher = Crasher(at)
        with crashing():
            r.apply(slot, crash=crasher)
        r.skew = jump
        r.converges(slot)
        assert len(r.cloud.ledger.machines) == 3
        if not crasher.struck:
            return


def test_F6_keys_depend_on_what_is_ordered_and_on_nothing_else() -> None:
    one = order_key(LINEAGE, 1, "web", ("m5.large", "a"), 1)
    assert one == order_key(LINEAGE, 1, "web", ("m5.large", "a"), 1) == "0" * 0 + one
    assert len(one) == 32
    assert set(one) <= set("0123456789abcdef")
    others = {
        order_key("f" * 32, 1, "web", ("m5.large", "a"), 1),
        order_key(LINEAGE, 2, "web", ("m5.large", "a"), 1),
        order_key(LINEAGE, 1, "db", ("m5.large", "a"), 1),
        order_key(LINEAGE, 1, "web", ("m5.xlarge", "a"), 1),
        order_key(LINEAGE, 1, "web", ("m5.large", "b"), 1),
        order_key(LINEAGE, 1, "web", ("m5.large", "a"), 2),
    }
    assert len(others | {one}) == 7

"""D. Throttling and server errors: patience where it helps, in one place for all, and never for ever."""

from __future__ import annotations

import pytest
from oracle import v8_calls_are_bounded
from rehearsal import CLOUDS, Rehearsal, rule

from hcloud.errors import ThrottledError
from hcloud.fake.faults import FaultKind

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


def fault_free(cloud: str, spin_up: float = 0.0) -> tuple[int, float]:
    """Calls and seconds of an apply of four times two machines where nothing goes wrong."""
    r = Rehearsal(cloud)
    r.heal(spin_up=spin_up)
    began = r.cloud.clock.now()
    r.converges(*slots_of(r))
    return r.calls(), r.cloud.clock.now() - began


def slots_of(r: Rehearsal) -> tuple:  # type: ignore[type-arg]
    return tuple(r.slot(2, f"a{n}") for n in range(4))


@every_cloud
def test_D1_a_third_of_all_requests_throttled_is_right_and_takes_no_more_than_twice_as_long(cloud: str) -> None:
    calls, seconds = fault_free(cloud, spin_up=60)
    for seed in range(8):
        r = Rehearsal(cloud)
        r.faults(rule("*", FaultKind.THROTTLED, probability=0.3), seed=seed, spin_up=60)
        began = r.cloud.clock.now()
        assert r.apply(*slots_of(r)).exit_code == 0
        assert r.cloud.clock.now() - began <= 2 * seconds
        assert len(r.cloud.ledger.machines) == 8
        v8_calls_are_bounded(r.calls(), calls)


@every_cloud
@pytest.mark.parametrize("share", [0.7, 0.9])
def test_D2_nearly_everything_throttled_completes_or_stops_cleanly_within_five_minutes(
    cloud: str, share: float
) -> None:
    calls, _ = fault_free(cloud)
    for seed in range(8):
        r = Rehearsal(cloud)
        found = r.plan(*slots_of(r))
        r.allow(*slots_of(r))
        r.faults(rule("*", FaultKind.THROTTLED, probability=share), seed=seed)
        began, asked = r.cloud.clock.now(), r.calls()
        try:
            outcome = r.carry_out(found)
            assert outcome.exit_code in (0, 6, 1)
            if outcome.exit_code:
                assert isinstance(outcome.error, ThrottledError)
                assert f"throttled, {len(outcome.launched)} of 8 launched" in outcome.problems
                assert len(outcome.launched) == r.live() or outcome.result == "unknown"
        except ThrottledError:
            assert r.live() == 0
        assert r.cloud.clock.now() - began <= 300 + 30
        v8_calls_are_bounded(r.calls() - asked, calls)
        r.heal()
        r.converges(*slots_of(r))
        assert len(r.cloud.ledger.machines) == 8


@every_cloud
def test_D3_everything_throttled_for_a_minute_is_waited_out_with_few_calls(cloud: str) -> None:
    calls, _ = fault_free(cloud)
    r = Rehearsal(cloud)
    r.faults(rule("*", FaultKind.THROTTLED, until=60))
    assert r.apply(*slots_of(r)).exit_code == 0
    v8_calls_are_bounded(r.calls(), calls)
    assert sum(q.outcome == FaultKind.THROTTLED for q in r.cloud.ledger.requests) <= 10


@every_cloud
def test_D3_the_back_off_is_one_for_all_threads(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.workers = 4
    r.faults(rule("launch", FaultKind.THROTTLED, until=60))
    slots = tuple(r.slot(1, f"a{n}") for n in range(8))
    assert r.apply(*slots).exit_code == 0
    assert sum(q.outcome == FaultKind.THROTTLED for q in r.cloud.ledger.requests) <= 16, "each thread backed off alone"
    assert len(r.cloud.ledger.machines) == 8


@every_cloud
def test_D4_the_moment_that_the_cloud_names_is_kept_to_the_second(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.faults(rule("launch", FaultKind.THROTTLED, first=1, retry_after=30))
    assert r.apply(r.slot(1)).exit_code == 0
    first, second = (q.at for q in r.cloud.ledger.requests if q.operation == "launch")
    assert 30 <= second - first < 31


@every_cloud
def test_D5_bursts_of_server_errors_on_changes_are_tried_again_with_the_same_key(cloud: str) -> None:
    for kind in (FaultKind.SERVER_ERROR, FaultKind.UNAVAILABLE):
        r = Rehearsal(cloud)
        r.faults(rule("*", kind, mutating=True, first=3))
        assert r.apply(r.slot(2)).exit_code == 0
        assert len({m.token for m in r.cloud.ledger.machines.values()}) == 1
        assert len(r.cloud.ledger.machines) == 2
        r.faults(rule("*", kind, mutating=True, first=3))
        assert r.destroy().exit_code == 0
        assert r.live() == 0


@every_cloud
def test_D6_lists_that_are_throttled_while_launches_succeed_repeat_no_launch(cloud: str) -> None:
    r = Rehearsal(cloud)
    slots = slots_of(r)
    r.faults(rule("machines", FaultKind.THROTTLED, from_call=3))
    outcome = r.apply(*slots)
    assert outcome.exit_code == 6
    assert r.calls("launch") == 4
    r.heal()
    r.converges(*slots)
    assert len(r.cloud.ledger.machines) == 8

"""Long operations of Azure, and what failed and ended machines leave behind."""

from __future__ import annotations

import itertools

import pytest
from contract.rig import LINEAGE, OTHER_KEY, order
from contract.rigs.azure import AzureRig, unattached

from hcloud.errors import (
    NoCapacityError,
    QuotaError,
    ThrottledError,
    UnknownOutcomeError,
)
from hcloud.fake.azure.operations import Style
from hcloud.model.holdings.live import TAG_LINEAGE, MachineState
from hcloud.providers.azure.provider import AzureCloud
from hcloud.providers.throttled import AGAIN_SECONDS
from on_azure.life import LAUNCH, POLL, DeadlyClock, Killed, ids, launched, nothing_is_left

# N4


def test_N4_an_order_that_was_accepted_before_a_kill_is_taken_up_again(rig: AzureRig) -> None:
    rig.faults({"operation_delay": 60})
    cloud = AzureCloud(rig.cloud().settings, DeadlyClock(rig.fake.clock))
    with pytest.raises(Killed):
        cloud.launch(order(rig))
    cloud.close()
    assert launched(rig) == ids(rig)
    assert len(ids(rig)) == 3


def test_N4_an_order_that_failed_after_a_kill_is_told_and_removed(rig: AzureRig) -> None:
    rig.faults({"operation_delay": 60, "rules": [{"on": LAUNCH, "answer": "operation-fails"}]})
    cloud = AzureCloud(rig.cloud().settings, DeadlyClock(rig.fake.clock))
    with pytest.raises(Killed):
        cloud.launch(order(rig))
    cloud.close()
    rig.faults({})
    with pytest.raises(NoCapacityError, match="AllocationFailed"):
        rig.cloud().launch(order(rig))
    assert nothing_is_left(rig)


def test_an_order_that_ends_with_a_fault_of_azures_own_may_go_elsewhere(rig: AzureRig) -> None:
    """It was taken for a request that is wrong, which no retry mends."""
    rig.faults({"rules": [{"on": LAUNCH, "answer": "operation-fails", "code": "InternalExecutionError"}]})
    with pytest.raises(NoCapacityError, match="InternalExecutionError"):
        rig.cloud().launch(order(rig))
    assert nothing_is_left(rig)


@pytest.mark.parametrize("answer", ["not-found", "server-error", "unavailable", "nonsense", "dropped-before"])
def test_N4_an_address_that_is_forgotten_or_broken_is_given_up_for_the_resource(rig: AzureRig, answer: str) -> None:
    rig.faults({"operation_delay": 5, "rules": [{"on": POLL, "answer": answer}]})
    assert launched(rig) == ids(rig)
    assert len(rig.requests(POLL)) == 1


def test_N4_a_failure_that_only_the_resource_tells_is_found_in_the_machine_itself(rig: AzureRig) -> None:
    rules = [{"on": POLL, "answer": "not-found"}, {"on": LAUNCH, "answer": "operation-fails"}]
    rig.faults({"operation_delay": 5, "rules": rules})
    with pytest.raises(NoCapacityError, match="AllocationFailed"):
        rig.cloud().launch(order(rig))
    assert nothing_is_left(rig)


@pytest.mark.parametrize("style", list(Style))
def test_N4_every_way_of_telling_how_it_goes_is_understood(rig: AzureRig, style: Style) -> None:
    rig.fake.operations.styles = itertools.repeat(style)
    rig.faults({"operation_delay": 30})
    assert launched(rig) == ids(rig)
    rig.faults({"operation_delay": 30, "rules": [{"on": LAUNCH, "answer": "operation-fails"}]})
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig, OTHER_KEY))
    rig.faults({"operation_delay": 30})
    rig.cloud().terminate(ids(rig))
    rig.later(60)
    rig.cloud().machines(LINEAGE)
    assert nothing_is_left(rig)


def test_N4_of_two_addresses_that_disagree_the_status_is_right(rig: AzureRig) -> None:
    rig.fake.operations.styles = itertools.repeat(Style.DISAGREEING)
    rig.faults({"operation_delay": 60, "rules": [{"on": LAUNCH, "answer": "operation-fails"}]})
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig))


def test_N4_an_operation_that_never_ends_is_an_outcome_that_is_not_known(rig: AzureRig) -> None:
    rig.faults({"operation_delay": 1e6})
    with pytest.raises(UnknownOutcomeError, match="still being made"):
        rig.cloud().launch(order(rig))


# N6, E8


def test_N6_what_a_machine_that_stands_alone_leaves_is_removed(rig: AzureRig) -> None:
    rig.cloud().scope()
    rig.fake.edit({"launch": rig.type_name, "tags": {TAG_LINEAGE: LINEAGE}})
    rig.fake.edit({"launch": rig.type_name, "tags": {"owner": "somebody"}})
    [ours] = rig.cloud().machines(LINEAGE)
    done = rig.cloud().terminate([ours.id])
    assert done.ending == (ours.id,)
    assert unattached(rig.fake) == ()
    assert {len(rig.fake.ledger.extras[kind]) for kind in ("networkInterfaces", "disks")} == {1}


def test_N6_with_the_last_machine_of_an_order_everything_goes(rig: AzureRig) -> None:
    made = launched(rig)
    rig.cloud().terminate(made[:1])
    rig.cloud().terminate(made[1:])
    assert nothing_is_left(rig)
    assert rig.cloud().machines(LINEAGE) == ()


def test_N6_a_set_that_others_emptied_goes_with_the_next_end(rig: AzureRig) -> None:
    [first] = launched(rig, count=1)
    second = launched(rig, key=OTHER_KEY)
    rig.fake.edit({"terminate": first})
    rig.cloud().terminate(second)
    assert nothing_is_left(rig)


def test_N6_ends_that_were_accepted_before_an_error_are_told_by_the_next_call(rig: AzureRig) -> None:
    """Their time was lost with the error, and live work was charged until somebody saw that they were gone."""
    made, cloud = launched(rig, count=2), rig.cloud()
    rig.faults({"rules": [{"on": "NetworkInterfaces_List", "answer": "throttled"}]})
    with pytest.raises(UnknownOutcomeError, match="accepted, then"):
        cloud.terminate(made)
    asked = {m.id: int(m.asked_to_end or 0) for m in rig.rented()}
    rig.faults({})
    rig.later(15)
    for ask in (cloud.look, cloud.examine):
        assert {m.id: m.ended and int(m.ended.timestamp()) for m in ask(made)} == asked
    assert cloud.terminate(made).gone == (), "what it accepted the end of is no machine that it does not know"
    assert {i: int(at.timestamp()) for i, at in cloud.terminate(made).ended.items()} == asked


def _ends(rig: AzureRig) -> list[str]:
    return [r.operation for r in rig.requests(mutating=True) if "Delete" in r.operation]


@pytest.mark.parametrize("count", [1, 2])
def test_N6_an_end_that_was_accepted_before_a_kill_is_not_asked_for_again(rig: AzureRig, count: int) -> None:
    """When it was accepted only that process knew. The next one asks for no second end and counts no machine that is on
    its way out; without a time of its cloud it is charged until it is seen to be gone: never too little."""
    made = launched(rig, count=2)
    rig.faults({"operation_delay": 60, "end_delay": 60})
    killed = AzureCloud(rig.cloud().settings, DeadlyClock(rig.fake.clock))
    with pytest.raises(Killed):
        killed.terminate(made[:count])
    killed.close()
    asked = len(_ends(rig))
    assert asked == 1
    cloud = AzureCloud(rig.cloud().settings, rig.fake.clock)
    standing = [m.id for m in cloud.machines(LINEAGE) if m.state.is_live]
    assert standing == sorted(made[count:])
    assert not any(m.ended for m in cloud.look(made[:count]))
    cloud.terminate(made[:count])
    assert len(_ends(rig)) == asked
    rig.later(120)
    assert not cloud.look(made[:count]) or all(m.state is MachineState.ENDED for m in cloud.look(made[:count]))
    assert [m.id for m in cloud.machines(LINEAGE) if m.state.is_live] == standing
    cloud.close()


@pytest.mark.parametrize("delay", [0, 30])
def test_E8_nothing_stays_of_an_order_that_found_no_capacity(rig: AzureRig, delay: float) -> None:
    rig.faults({"stock": {rig.type_name: 0}, "operation_delay": delay})
    with pytest.raises(NoCapacityError, match="ZonalAllocationFailed"):
        rig.cloud().launch(order(rig))
    assert nothing_is_left(rig)


def test_E8_nothing_stays_of_the_part_that_failed(rig: AzureRig) -> None:
    rig.faults({"stock": {rig.type_name: 2}})
    found = rig.cloud().launch(order(rig, count=5))
    assert (len(found.machines), found.missing) == (2, 3)
    assert "ZonalAllocationFailed" in found.why
    assert unattached(rig.fake) == ()
    assert {m.id for m in rig.cloud().machines(LINEAGE)} == {m.id for m in found.machines}


def test_E8_what_cannot_be_removed_is_said(rig: AzureRig) -> None:
    rules = [{"on": "NetworkInterfaces_Delete", "answer": "denied"}]
    rig.faults({"stock": {rig.type_name: 0}, "rules": rules})
    with pytest.raises(UnknownOutcomeError, match="AuthorizationFailed"):
        rig.cloud().launch(order(rig))
    rig.faults({"stock": {rig.type_name: 0}})
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig))
    assert nothing_is_left(rig)


def test_E5_an_order_that_is_carried_out_with_nothing_is_no_success(rig: AzureRig) -> None:
    rig.fault("empty", LAUNCH)
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig))
    assert nothing_is_left(rig)


def test_E3_a_limit_is_told_with_what_is_needed_and_allowed(rig: AzureRig) -> None:
    rig.faults({"quotas": {"standardDSv5Family": 8}})
    with pytest.raises(QuotaError, match=r"standardDSv5Family.*Limit: 8.*Required: 12"):
        rig.cloud().launch(order(rig))
    assert nothing_is_left(rig)


def test_D2_machines_are_ended_where_most_requests_are_throttled(rig: AzureRig) -> None:
    """Every request of it would have to succeed at a time, were all begun anew by each that is throttled."""
    cloud, made = rig.cloud(), launched(rig)
    rig.fault("throttled", probability=0.5)
    cloud.terminate(made)
    assert nothing_is_left(rig)


def test_D3_nothing_but_throttling_is_left_to_whoever_asked(rig: AzureRig) -> None:
    cloud, began = rig.cloud(), rig.fake.clock.now()
    rig.fault("throttled")
    for _ in range(5):
        with pytest.raises(ThrottledError):
            cloud.machines(LINEAGE)
    assert rig.fake.clock.now() - began <= AGAIN_SECONDS
    assert len(rig.requests()) <= 20

"""What Azure does not say, says late or says to the wrong question: nothing is lost, and nothing is made twice."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest
from contract.rig import KEY, LINEAGE, OTHER_KEY, order
from contract.rigs.azure import AzureRig, unattached

from hcloud.errors import (
    CloudError,
    CredentialsError,
    MismatchError,
    NotFoundError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.catalog import Payment
from hcloud.providers.azure.provider import AzureCloud
from on_azure.life import LAUNCH, POLL, DeadlyClock, Killed, ids, launched, nothing_is_left

# R5, C1, C4, D4, F1


@pytest.mark.parametrize(
    ("on", "answer"),
    [
        ("VirtualMachineScaleSets_Get", "nonsense"),
        *(("VirtualMachineScaleSetVMs_List", a) for a in ("nonsense", "denied", "throttled", "expired-credentials")),
    ],
)
def test_R5_what_cannot_be_seen_after_an_order_was_accepted_is_unknown(rig: AzureRig, on: str, answer: str) -> None:
    rules = [{"on": on, "answer": answer}, {"on": POLL, "answer": "not-found"}]
    rig.faults({"rules": rules})
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    rig.faults({})
    assert launched(rig) == ids(rig)
    assert len(ids(rig)) == 3


def test_F4_dropped_tags_are_seen_in_the_answer_and_in_that_of_the_same_order_again(rig: AzureRig) -> None:
    rig.fault("untagged", LAUNCH)
    for _ in range(2):
        machines = rig.cloud().launch(order(rig)).machines
        assert {m.lineage for m in machines} == {""}
        rig.faults({})
    rig.cloud().terminate([m.id for m in machines])
    assert nothing_is_left(rig)


def test_R5_a_list_that_is_empty_is_no_proof_that_nothing_was_made(rig: AzureRig) -> None:
    rig.fault("empty", "VirtualMachineScaleSetVMs_List")
    with pytest.raises(UnknownOutcomeError, match="has more machines"):
        rig.cloud().launch(order(rig))
    assert len(ids(rig)) == 3


def test_C1_ending_one_machine_that_is_not_shown_yet_ends_no_other(rig: AzureRig) -> None:
    rig.faults({"visibility_delay": 3600})
    made = launched(rig)
    done = rig.cloud().terminate(made[:1])
    assert done.ending == tuple(made[:1])
    assert ids(rig) == made[1:]


def test_C1_all_machines_that_are_not_shown_yet_can_be_ended(rig: AzureRig) -> None:
    rig.faults({"visibility_delay": 3600})
    done = rig.cloud().terminate([rig.unknown_id, *launched(rig)])
    assert done.gone == (rig.unknown_id,)
    assert nothing_is_left(rig)


def test_C4_machines_without_tags_are_known_by_their_set(rig: AzureRig) -> None:
    made = launched(rig)
    for name in made:
        rig.fake.edit({"retag": name, "tags": {}})
    assert sorted(m.id for m in rig.cloud().machines(LINEAGE)) == made


def test_D4_a_poll_that_is_throttled_waits_as_long_as_it_is_told(rig: AzureRig) -> None:
    rig.faults({"rules": [{"on": POLL, "answer": "throttled", "retry_after": 30, "first": 1}]})
    rig.cloud().launch(order(rig))
    first, second = (r.at for r in rig.requests(POLL)[:2])
    assert 30 <= second - first < 31


def test_D4_a_throttled_end_says_when_to_come_back(rig: AzureRig) -> None:
    made = launched(rig)
    rig.fault("throttled", "VirtualMachineScaleSets_Delete*", retry_after=30)
    with pytest.raises(ThrottledError) as caught:
        rig.cloud().terminate(made)
    assert caught.value.retry_after == 30


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5])
def test_F1_credentials_that_end_midway_lose_nothing(rig: AzureRig, call: int) -> None:
    rig.fault("expired-credentials", from_call=call)
    with suppress(CredentialsError, UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    assert len(rig.requests()) <= call
    rig.faults({})
    assert launched(rig) == ids(rig)
    assert len(ids(rig)) == 3


def test_R8_the_set_of_another_order_is_left_alone(rig: AzureRig) -> None:
    made = launched(rig)
    with pytest.raises(MismatchError, match="Standard_D4s_v5, not Standard_D8s_v5"):
        rig.cloud().launch(replace(order(rig), instance_type="Standard_D8s_v5"))
    assert ids(rig) == made


# R1, R5, V1, V4: every request of a life, lost in every way

DISTINCT_OF_A_LAUNCH = (1, 2, 6, 7, 8, 9, 16)
"""Of 25: the order, its first and last poll, the list, the end of what failed, a poll, the end of a leftover."""
DISTINCT_OF_AN_END = (1, 2, 3, 4, 5, 6, 7)
"""Of 14: the looks before, both orders and the first poll; those that follow are alike."""


def lost(calls: tuple[int, ...]) -> list[tuple[int, str]]:
    """Each call with its answer lost; and in turn undone, unreadable or refused for now, of which every call knows."""
    others = itertools.cycle(("dropped-before", "nonsense", "throttled"))
    return [(call, answer) for call in calls for answer in ("dropped-after", next(others))]


@pytest.mark.parametrize(("call", "answer"), lost(DISTINCT_OF_A_LAUNCH))
def test_R1_whichever_request_of_a_launch_is_lost_the_same_order_settles_it(
    rig: AzureRig, call: int, answer: str
) -> None:
    rule = {"answer": answer, "calls": [call]}
    rig.faults({"stock": {rig.type_name: 2}, "operation_delay": 1, "rules": [rule]})
    with suppress(CloudError):
        rig.cloud().launch(order(rig))
    rig.faults({"stock": {rig.type_name: 2}})
    assert launched(rig) == ids(rig)
    assert len(ids(rig)) == 2
    assert unattached(rig.fake) == ()


@pytest.mark.parametrize(("call", "answer"), lost(DISTINCT_OF_AN_END))
def test_R1_whichever_request_of_an_end_is_lost_it_may_be_sent_again(rig: AzureRig, call: int, answer: str) -> None:
    first, others = launched(rig), launched(rig, key=OTHER_KEY)
    rig.faults({"operation_delay": 1, "rules": [{"answer": answer, "calls": [call]}]})
    with suppress(CloudError):
        rig.cloud().terminate([*first, *others[:1]])
    rig.faults({})
    rig.cloud().terminate([*first, *others[:1]])
    assert ids(rig) == others[1:]
    assert unattached(rig.fake) == ()


# F2, N7, I2, I4


def test_F2_another_subscription_sees_nothing_of_this_one(rig: AzureRig) -> None:
    launched(rig)
    settings = replace(rig.cloud().settings, subscription="5c1f0000-0000-4000-8000-000000000002")
    other = AzureCloud(settings, rig.fake.clock)
    assert other.scope().account != rig.cloud().scope().account
    assert other.machines("") == ()
    other.close()


def test_a_subscription_that_is_none_is_a_matter_of_credentials(rig: AzureRig) -> None:
    other = AzureCloud(replace(rig.cloud().settings, subscription="nobody"), rig.fake.clock)
    with pytest.raises(CredentialsError):
        other.scope()
    other.close()


def test_a_resource_group_that_is_not_there_is_not_found(rig: AzureRig) -> None:
    other = AzureCloud(replace(rig.cloud().settings, resource_group="nosuch"), rig.fake.clock)
    with pytest.raises(NotFoundError, match="nosuch"):
        other.launch(order(rig))
    other.close()


def test_I2_an_order_that_was_accepted_before_a_kill_is_bought_once(rig: AzureRig) -> None:
    quote = rig.cloud().quote(rig.commitment(KEY))
    rig.faults({"operation_delay": 60})
    cloud = AzureCloud(rig.cloud().settings, DeadlyClock(rig.fake.clock))
    with pytest.raises(Killed):
        cloud.buy(quote)
    cloud.close()
    assert rig.cloud().buy(quote).state == "pending"
    rig.later(61)
    assert rig.cloud().buy(quote).state == "active"
    assert len(rig.fake.ledger.purchases) == 1
    assert len(rig.requests("ReservationOrder_Purchase")) == 1


def test_I2_an_order_of_the_same_key_for_something_else_is_told(rig: AzureRig) -> None:
    cloud = rig.cloud()
    cloud.buy(cloud.quote(rig.commitment(KEY)))
    with pytest.raises(MismatchError):
        cloud.buy(cloud.quote(replace(rig.commitment(KEY), count=7)))
    assert len(rig.fake.ledger.purchases) == 1


def test_I1_a_purchase_that_cannot_be_looked_up_first_is_not_made(rig: AzureRig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    rig.fault("unavailable", "ReservationOrder_Get")
    with pytest.raises(UnavailableError):
        cloud.buy(quote)
    assert not rig.fake.ledger.purchases


def test_I2_the_price_of_a_reservation_paid_by_the_month_is_told_by_the_hour(rig: AzureRig) -> None:
    monthly = replace(rig.commitment(KEY), payment=Payment.NONE)
    quote = rig.cloud().quote(monthly)
    whole = rig.cloud().quote(rig.commitment(KEY))
    assert quote.upfront == 0
    assert abs(quote.hourly * 8760 - whole.upfront) < 1

"""What can go wrong in Azure only: long operations, what failed machines leave behind, and codes behind statuses."""

from __future__ import annotations

import itertools
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import pytest
import trustme
from azure.core.exceptions import ClientAuthenticationError
from contract.rig import KEY, LINEAGE, OTHER_KEY, order
from contract.rigs.azure import AzureRig

from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.fake.azure.cloud import FIRST_SUBSCRIPTION, FakeAzure
from hcloud.fake.azure.operations import Style
from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultPlan, Faults, fault_plan
from hcloud.fake.server import Running
from hcloud.model.catalog import Payment
from hcloud.model.live import TAG_LINEAGE
from hcloud.providers.azure.arm import meaning
from hcloud.providers.azure.provider import AzureCloud
from hcloud.providers.azure.settings import AzureSettings
from hcloud.readers.permissions import load_permissions

LAUNCH = AzureRig.words.launch
POLL = "Operations_Get"
CANARY = "canary-5b9f"


class Killed(BaseException):
    """The process ended here."""


class DeadlyClock:
    """Lets the process end the first time that it waits."""

    def __init__(self, clock: FakeClock) -> None:
        self.now, self.passed = clock.now, clock.passed

    def sleep(self, seconds: float) -> None:
        raise Killed


@pytest.fixture
def rig() -> Iterator[AzureRig]:
    found = AzureRig()
    found.open()
    found.reset()
    yield found
    found.close()


def ids(rig: AzureRig) -> list[str]:
    return sorted(m.id for m in rig.live())


def launched(rig: AzureRig, **changes: object) -> list[str]:
    return sorted(m.id for m in rig.cloud().launch(order(rig, **changes)).machines)  # type: ignore[arg-type]


def nothing_is_left(rig: AzureRig) -> bool:
    return rig.fake.unattached() == () and not any(rig.fake.ledger.extras.values())


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
    assert rig.fake.unattached() == ()
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
    assert rig.fake.unattached() == ()
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


# R5, C1, C4, D4, F1


@pytest.mark.parametrize("on", ["VirtualMachineScaleSetVMs_List", "VirtualMachineScaleSets_Get"])
@pytest.mark.parametrize("answer", ["nonsense", "server-error", "denied", "throttled", "expired-credentials"])
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


@pytest.mark.parametrize("answer", ["dropped-before", "dropped-after", "nonsense", "unavailable", "throttled"])
@pytest.mark.parametrize("call", range(1, 13))
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
    assert rig.fake.unattached() == ()


@pytest.mark.parametrize("answer", ["dropped-before", "dropped-after", "nonsense", "unavailable", "throttled"])
@pytest.mark.parametrize("call", range(1, 9))
def test_R1_whichever_request_of_an_end_is_lost_it_may_be_sent_again(rig: AzureRig, call: int, answer: str) -> None:
    first, others = launched(rig), launched(rig, key=OTHER_KEY)
    rig.faults({"operation_delay": 1, "rules": [{"answer": answer, "calls": [call]}]})
    with suppress(CloudError):
        rig.cloud().terminate([*first, *others[:1]])
    rig.faults({})
    rig.cloud().terminate([*first, *others[:1]])
    assert ids(rig) == others[1:]
    assert rig.fake.unattached() == ()


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


# L6, L8: the credential path, over TLS


class Credential:
    """A token credential as the SDK wants one."""

    def get_token(self, *scopes: str, **more: object) -> object:
        from azure.core.credentials import AccessToken

        assert scopes
        return AccessToken(CANARY, 4_000_000_000)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secured(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeAzure, AzureCloud]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    pem = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    fake = FakeAzure(FaultPlan.model_validate({"clock": {"speed": 0}}), scheme="https")
    with Running(fake, tls=context) as running:
        settings = AzureSettings(FIRST_SUBSCRIPTION, "eastus", endpoint=running.url, ca_file=str(pem))
        cloud = AzureCloud(settings, fake.clock, Credential())
        yield fake, cloud
        cloud.close()


def test_L8_over_TLS_every_request_carries_the_token(secured: tuple[FakeAzure, AzureCloud]) -> None:
    fake, cloud = secured
    rig = AzureRig
    made = cloud.launch(order(rig, count=2)).machines  # type: ignore[arg-type]
    assert len(cloud.machines(LINEAGE)) == 2
    cloud.terminate([m.id for m in made])
    assert {r.principal for r in fake.ledger.requests} == {CANARY}


@pytest.mark.parametrize("answer", ["redirect", "denied", "expired-credentials", "nonsense", "dropped-after"])
def test_L6_no_error_tells_the_token(secured: tuple[FakeAzure, AzureCloud], answer: str) -> None:
    fake, cloud = secured
    fake.faults = Faults(fault_plan({"rules": [{"answer": answer}]}, "test"), fake.clock.now())
    with pytest.raises(CloudError) as caught:
        cloud.launch(order(AzureRig, count=2))  # type: ignore[arg-type]
    assert CANARY not in f"{caught.getrepr(style='long', showlocals=False)}"


def test_L8_an_endpoint_whose_certificate_nobody_vouches_for_gets_nothing(
    secured: tuple[FakeAzure, AzureCloud],
) -> None:
    fake, cloud = secured
    distrusting = AzureCloud(replace(cloud.settings, ca_file=""), fake.clock, Credential())
    with pytest.raises(UnavailableError):
        distrusting.scope()
    distrusting.close()
    assert not fake.ledger.requests


def test_L8_no_token_is_sent_in_the_clear(rig: AzureRig) -> None:
    settings = rig.cloud("watcher").settings
    cloud = AzureCloud(settings, rig.fake.clock, Credential())
    cloud.scope()
    cloud.close()
    assert [r.principal for r in rig.requests()] == ["watcher"]


def test_F3_what_may_not_be_listed_is_denied(rig: AzureRig) -> None:
    rig.faults({"roles": {"blind": ["VirtualMachineScaleSets_*"]}})
    with pytest.raises(DeniedError, match="virtualMachines/read"):
        rig.cloud("blind").machines(LINEAGE)


def rights(*purposes: str) -> list[str]:
    return [p.name for p in load_permissions("azure").permissions if set(p.purposes) & set(purposes)]


def test_the_rights_that_hcloud_prints_are_enough(rig: AzureRig) -> None:
    roles = {"hand": rights("read", "launch", "terminate"), "purse": rights("buy"), "eye": rights("commitments")}
    rig.faults({"roles": roles, "stock": {rig.type_name: 2}})
    hand, purse = rig.cloud("hand"), rig.cloud("purse")
    hand.scope()
    assert hand.zones(rig.type_name)
    assert hand.quotas(rig.type_name)
    made = [m.id for m in hand.launch(order(rig)).machines]
    hand.terminate(made[:1])
    hand.terminate(made[1:])
    assert nothing_is_left(rig)
    quote = purse.quote(rig.commitment(KEY))
    purse.buy(quote)
    assert len(rig.cloud("eye").commitments()) == 1
    with pytest.raises(DeniedError):
        hand.buy(quote)


def test_I6_the_rights_to_look_change_nothing(rig: AzureRig) -> None:
    made = launched(rig)
    rig.faults({"roles": {"eye": rights("read")}})
    eye = rig.cloud("eye")
    assert sorted(m.id for m in eye.machines(LINEAGE)) == made
    with pytest.raises(DeniedError):
        eye.terminate(made)
    with pytest.raises(DeniedError):
        eye.launch(order(rig, OTHER_KEY))
    assert ids(rig) == made


class Asked:
    """An answer of those who hand out tokens."""

    status_code = 400
    reason = "Bad Request"
    headers: ClassVar[dict[str, str]] = {}

    def text(self) -> str:
        return '{"error": "invalid_client", "error_description": "AADSTS7000222: the client secret is expired."}'


@pytest.mark.parametrize("response", [None, Asked()])
def test_F1_a_token_that_cannot_be_had_is_a_matter_of_credentials(response: object) -> None:
    error = ClientAuthenticationError("AADSTS7000222: the client secret is expired.", response=response)
    found = meaning(error, Call("azure", "eastus", LAUNCH), mutating=True)
    assert isinstance(found, CredentialsError)
    assert "expired" in str(found)

"""AWS specifics on the wire: botocore against the fake account, judged by its ledger."""

from __future__ import annotations

import pytest
from contract.rig import KEY, LINEAGE, OTHER_KEY, order
from contract.rigs.aws import REGION, AwsRig

from hcloud.errors import (
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import MachineState
from hcloud.providers.aws.provider import AwsCloud
from hcloud.providers.aws.settings import AwsSettings

NONSENSE = ("html", "truncated", "empty", "json", "gzip", "proxy")


@pytest.mark.parametrize("which", NONSENSE)
def test_R5_a_launch_with_a_senseless_answer_is_settled_by_its_token(rig: AwsRig, which: str) -> None:
    rig.fault("nonsense", "RunInstances", first=1, code=which)
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    assert len(rig.cloud().launch(order(rig)).machines) == 3
    assert len(rig.rented()) == 3


@pytest.mark.parametrize("which", NONSENSE)
def test_R5_a_senseless_list_is_never_an_empty_one(rig: AwsRig, which: str) -> None:
    rig.cloud().launch(order(rig))
    rig.fault("nonsense", "DescribeInstances", code=which)
    with pytest.raises(UnavailableError):
        rig.cloud().machines(LINEAGE)


@pytest.mark.parametrize("which", NONSENSE)
def test_R5_an_end_with_a_senseless_answer_is_not_done(rig: AwsRig, which: str) -> None:
    made = [m.id for m in rig.cloud().launch(order(rig)).machines]
    rig.fault("nonsense", "TerminateInstances", code=which)
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().terminate(made)


def test_E1_a_stock_out_with_status_500_is_exactly_one_request(rig: AwsRig) -> None:
    rig.fault("no-capacity", "RunInstances")
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig))
    assert len(rig.requests()) == 1


def test_D2_what_is_throttled_is_sent_again_but_for_an_order(rig: AwsRig) -> None:
    """Live work asks once: where 70 % are throttled three machines stood after 110 s and 160 requests."""
    cloud = rig.cloud()
    made = [m.id for m in cloud.launch(order(rig)).machines]
    rig.fault("throttled", first=3)
    assert sorted(cloud.terminate(made).ending) == sorted(made)
    assert len(rig.requests("TerminateInstances")) == 4
    rig.fault("throttled", first=3)
    with pytest.raises(ThrottledError):
        cloud.launch(order(rig, key=OTHER_KEY))
    assert len(rig.requests("RunInstances")) == 2


def test_E4_a_fleet_that_comes_in_part_says_what_is_missing(rig: AwsRig) -> None:
    rig.fault("partial", "RunInstances", share=0.6)
    launched = rig.cloud().launch(order(rig, count=10))
    assert (len(launched.machines), launched.missing) == (6, 4)


def test_E5_success_without_a_machine_is_no_success(rig: AwsRig) -> None:
    rig.fault("empty", "RunInstances")
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    assert not rig.rented()


@pytest.mark.parametrize("answer", ["server-error", "unavailable"])
def test_D5_a_burst_of_server_errors_is_met_with_one_token(rig: AwsRig, answer: str) -> None:
    rig.fault(answer, "RunInstances", first=4)
    cloud = rig.cloud()
    for _ in range(4):
        with pytest.raises(UnknownOutcomeError):
            cloud.launch(order(rig))
    assert len(cloud.launch(order(rig)).machines) == 3
    assert {m.token for m in rig.rented()} == {KEY}
    assert len(rig.requests("RunInstances")) == 5


@pytest.mark.parametrize("code", ["RequestExpired", "ExpiredToken", "AuthFailure", "UnrecognizedClientException"])
def test_F1_expired_credentials_stop_after_one_request(rig: AwsRig, code: str) -> None:
    rig.fault("expired-credentials", code=code)
    for ask in (lambda: rig.cloud().scope(), lambda: rig.cloud().launch(order(rig))):
        with pytest.raises(CredentialsError) as caught:
            ask()
        assert "credentials" in caught.value.hint
    assert len(rig.requests()) == 2


def test_F2_the_account_is_the_one_of_the_credentials(rig: AwsRig) -> None:
    scope = rig.cloud().scope()
    assert (scope.account, scope.region) == (rig.fake.account, REGION)
    assert scope.endpoint.startswith("http://127.0.0.1:")


@pytest.mark.usefixtures("nobody")
def test_F5_without_credentials_nothing_is_asked_for(rig: AwsRig) -> None:
    cloud = AwsCloud(AwsSettings(REGION, rig.fake_url))
    with pytest.raises(CredentialsError):
        cloud.launch(order(rig))
    assert not rig.requests()


@pytest.mark.usefixtures("nobody")
def test_F5_half_of_a_key_is_no_credentials(rig: AwsRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDHALF")
    with pytest.raises(CredentialsError):
        AwsCloud(AwsSettings(REGION, rig.fake_url)).machines(LINEAGE)


def test_F6_a_wrong_clock_is_named_and_tokens_do_not_depend_on_it(rig: AwsRig) -> None:
    rig.fault("clock-skew", first=1)
    cloud = rig.cloud()
    with pytest.raises(CredentialsError) as caught:
        cloud.launch(order(rig))
    assert "clock" in caught.value.hint
    rig.later(400 * 86400)
    cloud.launch(order(rig))
    assert {m.token for m in rig.rented()} == {KEY}


def test_a_token_whose_machines_were_ended_is_spent(rig: AwsRig) -> None:
    cloud = rig.cloud()
    cloud.terminate([m.id for m in cloud.launch(order(rig)).machines])
    with pytest.raises(MismatchError):
        cloud.launch(order(rig))
    assert not rig.live()


def test_without_tokens_the_fake_launches_twice_as_plain_moto_does(rig: AwsRig) -> None:
    rig.faults({"tokens": False})
    rig.cloud().launch(order(rig))
    rig.cloud().launch(order(rig))
    assert len(rig.rented()) == 6


def test_ends_of_more_than_a_thousand_are_two_calls(rig: AwsRig) -> None:
    cloud = rig.cloud()
    for number in range(1, 4):
        cloud.launch(order(rig, f"{number:016x}" * 2, count=400))
    done = cloud.terminate([m.id for m in rig.rented()])
    assert len(done.ending) == 1200
    assert len(rig.requests("TerminateInstances")) == 2


def test_a_protected_machine_fails_the_end_of_all(rig: AwsRig) -> None:
    made = [m.id for m in rig.cloud().launch(order(rig)).machines]
    rig.fake.edit({"keep": made[1]})
    with pytest.raises(RefusedError):
        rig.cloud().terminate(made)
    assert len(rig.live()) == 3


def test_spot_machines_get_notice_and_end_two_minutes_later(rig: AwsRig) -> None:
    cloud = rig.cloud()
    rig.faults({"spot_notices": [60]})
    cloud.launch(order(rig, option=PurchaseOption.SPOT))
    cloud.launch(order(rig, OTHER_KEY))
    rig.later(61)
    [status] = {
        r["Status"]["Code"] for r in rig.client("ec2").describe_spot_instance_requests()["SpotInstanceRequests"]
    }
    assert status == "marked-for-termination"
    assert len(rig.live()) == 6
    rig.later(120)
    cloud.machines(LINEAGE)
    assert {m.spot for m in rig.live()} == {False}


def test_F4_who_may_not_tag_may_not_launch(rig: AwsRig) -> None:
    rig.faults({"roles": {"launcher": ["RunInstances", "GetParameters", "Describe*"]}})
    with pytest.raises(DeniedError, match="CreateTags"):
        rig.cloud("launcher").launch(order(rig))
    assert not rig.rented()


def test_F4_dropped_tags_are_seen_in_the_answer(rig: AwsRig) -> None:
    rig.fault("untagged", "RunInstances")
    assert {m.lineage for m in rig.cloud().launch(order(rig)).machines} == {""}


def test_C5_an_end_is_seen_as_late_as_everything(rig: AwsRig) -> None:
    cloud = rig.cloud()
    made = [m.id for m in cloud.launch(order(rig, count=1)).machines]
    rig.later(300)
    rig.faults({"visibility_delay": 30})
    cloud.terminate(made)
    rig.later(20)
    assert [m.state for m in cloud.machines(LINEAGE)] == [MachineState.RUNNING]
    rig.later(11)
    assert [m.state for m in cloud.machines(LINEAGE)] == [MachineState.ENDED]


def test_V8_many_machines_that_are_long_gone_take_two_requests(rig: AwsRig) -> None:
    gone = [f"i-f{number:016x}" for number in range(60)]
    [made] = rig.cloud().launch(order(rig, count=1)).machines
    done = rig.cloud().terminate([*gone, made.id])
    assert (done.ending, set(done.gone)) == ((made.id,), set(gone))
    assert len(rig.requests("TerminateInstances")) == 2

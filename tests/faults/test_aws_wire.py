"""AWS specifics on the wire: botocore against the fake account, judged by its ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from contract.rig import KEY, LINEAGE, OTHER_KEY, order
from contract.rigs.aws import REGION, AwsRig

from hcloud.errors import (
    CredentialsError,
    MismatchError,
    NoCapacityError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.live import CommitmentOrder
from hcloud.providers.aws.provider import AwsCloud
from hcloud.providers.aws.settings import AwsSettings


@pytest.fixture(scope="module")
def opened() -> Iterator[AwsRig]:
    rig = AwsRig()
    rig.open()
    yield rig
    rig.close()


@pytest.fixture
def rig(opened: AwsRig) -> AwsRig:
    opened.reset()
    return opened


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any credentials."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")


NONSENSE = ("html", "truncated", "empty", "json", "gzip", "page of a proxy")


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
    started = time.monotonic()
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig))
    assert len(rig.requests()) == 1
    assert time.monotonic() - started < 5


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
def test_F1_expired_credentials_stop_within_five_seconds(rig: AwsRig, code: str) -> None:
    rig.fault("expired-credentials", code=code)
    started = time.monotonic()
    for ask in (lambda: rig.cloud().scope(), lambda: rig.cloud().launch(order(rig))):
        with pytest.raises(CredentialsError) as caught:
            ask()
        assert "credentials" in caught.value.hint
    assert len(rig.requests()) == 2
    assert time.monotonic() - started < 5


def test_F2_the_account_is_the_one_of_the_credentials(rig: AwsRig) -> None:
    scope = rig.cloud().scope()
    assert (scope.account, scope.region) == (rig.fake.account, REGION)
    assert scope.endpoint.startswith("http://127.0.0.1:")


@pytest.mark.usefixtures("nobody")
def test_F5_without_credentials_there_is_an_answer_in_two_seconds(rig: AwsRig) -> None:
    cloud = AwsCloud(AwsSettings(REGION, rig.fake_url))
    started = time.monotonic()
    with pytest.raises(CredentialsError):
        cloud.launch(order(rig))
    assert time.monotonic() - started < 2
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
    for number in range(3):
        cloud.launch(order(rig, f"{number:032x}", count=400))
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


# commitments


def reserved(payment: Payment = Payment.PARTIAL, **changes: object) -> CommitmentOrder:
    made = CommitmentOrder(KEY, PurchaseOption.RESERVED, "m5.large", 1, payment, count=2)
    return replace(made, **changes)  # type: ignore[arg-type]


def savings(**changes: object) -> CommitmentOrder:
    option = PurchaseOption.INSTANCE_SAVINGS_PLAN
    made = CommitmentOrder(KEY, option, "m5.large", 1, Payment.PARTIAL, dollars_per_hour=Decimal("1.5"))
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("payment", list(Payment))
@pytest.mark.parametrize("make", [reserved, savings])
def test_what_is_bought_costs_what_was_quoted(rig: AwsRig, make: type, payment: Payment) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(make(payment=payment))
    bought = cloud.buy(quote)
    [held] = cloud.commitments()
    assert (held.id, held.upfront, held.hourly) == (bought.id, quote.upfront, quote.hourly)
    assert (held.state, held.payment, held.option) == ("active", payment, quote.order.option)


def test_I1_reserved_instances_have_no_token_and_are_sent_once(rig: AwsRig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(reserved())
    rig.fault("server-error", "PurchaseReservedInstancesOffering")
    with pytest.raises(UnknownOutcomeError):
        cloud.buy(quote)
    assert len(rig.requests("PurchaseReservedInstancesOffering")) == 1
    assert not rig.fake.ledger.purchases


def test_I4_the_limit_price_is_kept_by_the_cloud_too(rig: AwsRig) -> None:
    offering = rig.cloud().quote(reserved())
    with pytest.raises(Exception, match="LimitPrice"):
        rig.client("ec2").purchase_reserved_instances_offering(
            InstanceCount=2,
            ReservedInstancesOfferingId=offering.offering,
            LimitPrice={"Amount": offering.upfront - 1, "CurrencyCode": "USD"},
        )
    assert not rig.fake.ledger.purchases


def test_a_dry_run_buys_nothing(rig: AwsRig) -> None:
    offering = rig.cloud().quote(reserved()).offering
    with pytest.raises(Exception, match="DryRun"):
        rig.client("ec2").purchase_reserved_instances_offering(
            InstanceCount=1, ReservedInstancesOfferingId=offering, DryRun=True
        )
    assert not rig.fake.ledger.purchases


def test_active_reserved_instances_are_not_taken_back_and_queued_ones_are(rig: AwsRig) -> None:
    cloud = rig.cloud()
    active = cloud.buy(cloud.quote(reserved()))
    with pytest.raises(RefusedError, match="marketplace"):
        cloud.cancel(active.id)
    later = datetime.fromtimestamp(rig.fake.clock.now(), UTC) + timedelta(days=30)
    queued = cloud.buy(cloud.quote(reserved(starts=later)))
    assert sorted(c.state for c in cloud.commitments()) == ["active", "queued"]
    cloud.cancel(queued.id)
    assert sorted(c.state for c in cloud.commitments()) == ["active", "ended"]


def test_a_queued_savings_plan_is_deleted_and_an_old_one_is_not_taken_back(rig: AwsRig) -> None:
    cloud = rig.cloud()
    later = datetime.fromtimestamp(rig.fake.clock.now(), UTC) + timedelta(days=30)
    queued = cloud.buy(cloud.quote(savings(starts=later)))
    cloud.cancel(queued.id)
    assert [c.state for c in cloud.commitments()] == ["ended"]
    old = cloud.buy(cloud.quote(savings(key=OTHER_KEY)))
    rig.later(8 * 86400)
    with pytest.raises(RefusedError):
        cloud.cancel(old.id)


def test_I2_a_savings_plan_by_the_key_of_another_is_refused(rig: AwsRig) -> None:
    cloud = rig.cloud()
    cloud.buy(cloud.quote(savings()))
    with pytest.raises(RefusedError):
        cloud.buy(cloud.quote(savings(dollars_per_hour=Decimal(3))))
    assert len(rig.fake.ledger.purchases) == 1


def test_a_quote_looks_at_all_pages(rig: AwsRig) -> None:
    rig.page(1)
    assert rig.cloud().quote(reserved()).upfront > 0
    assert rig.cloud().quote(savings()).offering


# what the fake answers besides


def test_capacity_is_reserved_once_for_a_token(rig: AwsRig) -> None:
    ec2 = rig.client("ec2")
    asked = {"InstanceType": "m5.large", "InstancePlatform": "Linux/UNIX", "AvailabilityZone": f"{REGION}a"}
    first = ec2.create_capacity_reservation(InstanceCount=2, ClientToken="t", **asked)["CapacityReservation"]
    again = ec2.create_capacity_reservation(InstanceCount=2, ClientToken="t", **asked)["CapacityReservation"]
    assert first["CapacityReservationId"] == again["CapacityReservationId"]
    assert len(ec2.describe_capacity_reservations()["CapacityReservations"]) == 1
    with pytest.raises(Exception, match="IdempotentParameterMismatch"):
        ec2.create_capacity_reservation(InstanceCount=3, ClientToken="t", **asked)


def test_prices_come_from_the_shop_and_move_with_the_plan(rig: AwsRig) -> None:
    import json

    def hourly() -> Decimal:
        wanted = {"regionCode": REGION, "instanceType": "m5.large"}
        filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in wanted.items()]
        [product] = rig.client("pricing").get_products(ServiceCode="AmazonEC2", Filters=filters)["PriceList"]
        [term] = json.loads(product)["terms"]["OnDemand"].values()
        return Decimal(term["priceDimensions"]["Hrs"]["pricePerUnit"]["USD"])

    before = hourly()
    rig.faults({"price_factor": 2})
    assert hourly() == 2 * before


def test_machines_are_billed_by_the_second_with_a_minute_at_least(rig: AwsRig) -> None:
    from hcloud.model.catalog import BillingRule

    made = [m.id for m in rig.cloud().launch(order(rig, count=1)).machines]
    rig.later(90)
    rig.cloud().terminate(made)
    rig.later(3600)
    fake = rig.fake
    bill = fake.ledger.bill(fake.clock.now(), fake.hourly, BillingRule(1, 60))
    assert bill == Decimal("0.096") * 90 / 3600


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"MinCount": 0}, "MinCount"),
        ({"MinCount": 3, "MaxCount": 2}, "MinCount"),
        ({"InstanceType": "zz9.mega"}, "InstanceType"),
        ({"ImageId": "an image"}, "InvalidAMIID"),
        ({"SubnetId": "subnet-0"}, "InvalidSubnetID"),
        ({"ClientToken": "x" * 65}, "ClientToken"),
        ({"Placement": {"AvailabilityZone": "mars-1a"}}, "availability zone"),
        ({"DryRun": True}, "DryRunOperation"),
    ],
)
def test_the_fake_refuses_what_ec2_refuses(rig: AwsRig, changes: dict[str, object], code: str) -> None:
    asked = {"ImageId": "ami-12345678", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1, **changes}
    with pytest.raises(Exception, match=code):
        rig.client("ec2").run_instances(**asked)
    assert not rig.rented()


def test_an_instant_fleet_tells_its_errors_and_is_made_once_for_a_token(rig: AwsRig) -> None:
    rig.faults({"stock": {f"m5.large@{REGION}a": 1, f"m5.large@{REGION}b": 0}})
    overrides = [{"InstanceType": "m5.large", "AvailabilityZone": z} for z in rig.zones[:2]]
    asked = {
        "Type": "instant",
        "ClientToken": "fleet",
        "TargetCapacitySpecification": {"TotalTargetCapacity": 3, "DefaultTargetCapacityType": "on-demand"},
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": "x", "Version": "1"},
                "Overrides": overrides,
            }
        ],
    }
    first = rig.client("ec2").create_fleet(**asked)
    assert [len(i["InstanceIds"]) for i in first["Instances"]] == [1]
    assert [e["ErrorCode"] for e in first["Errors"]] == ["InsufficientInstanceCapacity"]
    assert rig.client("ec2").create_fleet(**asked)["FleetId"] == first["FleetId"]
    assert len(rig.rented()) == 1


def test_objects_are_written_on_condition_and_only_one_of_two_wins(rig: AwsRig) -> None:
    from concurrent.futures import ThreadPoolExecutor

    s3 = rig.client("s3")
    s3.create_bucket(Bucket="state", CreateBucketConfiguration={"LocationConstraint": REGION})
    first = s3.put_object(Bucket="state", Key="a/state.json", Body=b"1", IfNoneMatch="*")["ETag"]
    with pytest.raises(Exception, match="PreconditionFailed"):
        s3.put_object(Bucket="state", Key="a/state.json", Body=b"2", IfNoneMatch="*")

    def write(number: int) -> bool:
        with suppress(s3.exceptions.ClientError):
            s3.put_object(Bucket="state", Key="a/state.json", Body=b"%d" % number, IfMatch=first)
            return True
        return False

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, range(4))) == 1
    assert s3.get_object(Bucket="state", Key="a/state.json")["Body"].read() in (b"0", b"1", b"2", b"3")
    assert {r.operation for r in rig.requests()} == {"CreateBucket", "PutObject", "GetObject"}


def test_what_is_not_ours_is_motos(rig: AwsRig) -> None:
    assert rig.client("ec2").describe_vpcs()["Vpcs"]


def test_a_new_fake_has_no_objects_of_the_one_before(rig: AwsRig) -> None:
    rig.client("s3").create_bucket(Bucket="left", CreateBucketConfiguration={"LocationConstraint": REGION})
    rig.reset()
    assert rig.client("s3").list_buckets()["Buckets"] == []

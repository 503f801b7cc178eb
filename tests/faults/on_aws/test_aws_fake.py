"""What the fake account answers besides: it refuses what EC2 refuses, and leaves to moto what it does not know."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal

import pytest
from contract.rig import order
from contract.rigs.aws import REGION, AwsRig

from hcloud.fake.bill import bill
from hcloud.fake.tariffs import tariff_of


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
    made = [m.id for m in rig.cloud().launch(order(rig, count=1)).machines]
    rig.later(90)
    rig.cloud().terminate(made)
    rig.later(3600)
    fake = rig.fake
    now = int(fake.clock.now())
    assert bill(fake.ledger, tariff_of(fake), now - 7200, now).total == Decimal("0.096") * 90 / 3600


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
    asked = {"ImageId": "ami-12c6146b", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1, **changes}
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
                "LaunchTemplateSpecification": {"LaunchTemplateName": "template", "Version": "1"},
                "Overrides": overrides,
            }
        ],
    }
    with pytest.raises(Exception, match=r"InvalidLaunchTemplateName\.NotFoundException"):
        rig.client("ec2").create_fleet(**asked)
    said = {"ImageId": "ami-12c6146b"}
    rig.client("ec2").create_launch_template(LaunchTemplateName="template", LaunchTemplateData=said)
    first = rig.client("ec2").create_fleet(**asked)
    assert [len(i["InstanceIds"]) for i in first["Instances"]] == [1]
    assert [e["ErrorCode"] for e in first["Errors"]] == ["InsufficientInstanceCapacity"]
    assert rig.client("ec2").create_fleet(**asked)["FleetId"] == first["FleetId"]
    assert len(rig.rented()) == 1


def test_machines_that_the_ledger_would_not_have_are_launched_by_nobody(rig: AwsRig) -> None:
    wanted = {"InstanceType": "m5.large", "ImageId": "ami-12345678"}
    with pytest.raises(Exception, match="UnsupportedOperation"):
        rig.client("ec2").request_spot_instances(InstanceCount=1, LaunchSpecification=wanted)


def test_objects_are_written_on_condition_and_only_one_of_two_wins(rig: AwsRig) -> None:
    s3 = rig.client("s3")
    s3.create_bucket(Bucket="state", CreateBucketConfiguration={"LocationConstraint": REGION})
    first = s3.put_object(Bucket="state", Key="a/state.json", Body=b"1", IfNoneMatch="*")["ETag"]
    with pytest.raises(Exception, match="PreconditionFailed"):
        s3.put_object(Bucket="state", Key="a/state.json", Body=b"2", IfNoneMatch="*")

    def write(number: int) -> bool:
        with suppress(s3.exceptions.ClientError):
            s3.put_object(Bucket="state", Key="a/state.json", Body=b"by %d" % number, IfMatch=first)
            return True
        return False

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, range(4))) == 1
    assert s3.get_object(Bucket="state", Key="a/state.json")["Body"].read() in (b"by 0", b"by 1", b"by 2", b"by 3")
    assert {r.operation for r in rig.requests()} == {"CreateBucket", "PutObject", "GetObject"}


def test_what_is_not_ours_is_motos(rig: AwsRig) -> None:
    assert rig.client("ec2").describe_vpcs()["Vpcs"]


def test_a_new_fake_has_no_objects_of_the_one_before(rig: AwsRig) -> None:
    rig.client("s3").create_bucket(Bucket="left", CreateBucketConfiguration={"LocationConstraint": REGION})
    rig.reset()
    assert rig.client("s3").list_buckets()["Buckets"] == []


def test_a_console_says_what_was_put_there(rig: AwsRig) -> None:
    [made] = rig.cloud().launch(order(rig, count=1)).machines
    rig.rented()[0].detail["console"] = "ready"
    assert rig.client("ec2").get_console_output(InstanceId=made.id)["Output"] == "ready"

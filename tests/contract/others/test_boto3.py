"""boto3 as others use it against the fake AWS: what EC2 refuses is refused, and what it does is done."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hcloud.fake.aws.cloud import FakeAws
from hcloud.fake.aws.ec2.references import PUBLIC_IMAGE
from hcloud.fake.faults import ClockPlan, FaultPlan
from hcloud.fake.server import FakeServer

REGION = "eu-central-1"
ORDER = {"ImageId": PUBLIC_IMAGE, "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}


@pytest.fixture(scope="module")
def running() -> Iterator[FakeServer]:
    with FakeServer(FakeAws()) as found:
        yield found


@pytest.fixture
def fake(running: FakeServer) -> FakeAws:
    """An empty fake whose clock stands still."""
    found = FakeAws(FaultPlan(clock=ClockPlan(speed=0)))
    running.exchange(found)
    return found


@pytest.fixture(scope="module")
def connected(running: FakeServer) -> Any:
    return client(running, "ec2")


@pytest.fixture
def ec2(connected: Any, fake: FakeAws) -> Any:
    return connected


def client(running: FakeServer, service: str) -> Any:
    import boto3

    keys = {"aws_access_key_id": "tester", "aws_secret_access_key": "secret"}
    return boto3.client(service, region_name=REGION, endpoint_url=running.url, **keys)


def refusal(call: Any, **asked: object) -> str:
    """The code that a call is refused with."""
    with pytest.raises(ClientError) as caught:
        call(**asked)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(caught.value.response["Error"]["Code"])


UNKNOWN: list[tuple[dict[str, object], str]] = [
    ({"SecurityGroupIds": ["sg-0123456789abcdef0"]}, "InvalidGroup.NotFound"),
    ({"SecurityGroups": ["web"]}, "InvalidGroup.NotFound"),
    ({"SecurityGroupIds": ["web"]}, "InvalidGroupId.Malformed"),
    ({"KeyName": "nobody"}, "InvalidKeyPair.NotFound"),
    ({"ImageId": "ami-0123456789abcdef0"}, "InvalidAMIID.NotFound"),
    ({"ImageId": "debian"}, "InvalidAMIID.Malformed"),
    ({"SubnetId": "subnet-0123456789abcdef0"}, "InvalidSubnetID.NotFound"),
    ({"IamInstanceProfile": {"Name": "nobody"}}, "InvalidParameterValue"),
    ({"IamInstanceProfile": {"Arn": "arn:aws:iam::123456789012:instance-profile/no"}}, "InvalidParameterValue"),
    ({"LaunchTemplate": {"LaunchTemplateId": "lt-0123456789abcdef0"}}, "InvalidLaunchTemplateId.NotFound"),
    ({"LaunchTemplate": {"LaunchTemplateName": "none"}}, "InvalidLaunchTemplateName.NotFoundException"),
    ({"NetworkInterfaces": [{"DeviceIndex": 0, "Groups": ["sg-0123456789abcdef0"]}]}, "InvalidGroup.NotFound"),
]


def test_a_launch_that_refers_to_nothing_is_refused(ec2: Any, fake: FakeAws) -> None:
    for changes, code in UNKNOWN:
        assert refusal(ec2.run_instances, **(ORDER | changes)) == code, changes
        assert not fake.ledger.machines, changes


def test_what_is_asked_for_by_name_and_is_not_there_is_not_an_empty_answer(ec2: Any) -> None:
    for operation, asked, code in (
        (
            "describe_launch_templates",
            {"LaunchTemplateIds": ["lt-0123456789abcdef0"]},
            "InvalidLaunchTemplateId.NotFound",
        ),
        (
            "describe_launch_templates",
            {"LaunchTemplateNames": ["none"]},
            "InvalidLaunchTemplateName.NotFoundException",
        ),
        ("describe_subnets", {"SubnetIds": ["subnet-0123456789abcdef0"]}, "InvalidSubnetID.NotFound"),
        ("describe_security_groups", {"GroupIds": ["sg-0123456789abcdef0"]}, "InvalidGroup.NotFound"),
        ("describe_key_pairs", {"KeyNames": ["nobody"]}, "InvalidKeyPair.NotFound"),
        ("describe_volumes", {"VolumeIds": ["vol-0123456789abcdef0"]}, "InvalidVolume.NotFound"),
        ("stop_instances", {"InstanceIds": ["i-0123456789abcdef0"]}, "InvalidInstanceID.NotFound"),
    ):
        assert refusal(getattr(ec2, operation), **asked) == code, operation


def test_what_was_created_can_be_launched_with(running: FakeServer, ec2: Any, fake: FakeAws) -> None:
    group = ec2.create_security_group(GroupName="web", Description="for tests")["GroupId"]
    ec2.authorize_security_group_ingress(GroupId=group, IpProtocol="tcp", FromPort=22, ToPort=22, CidrIp="10.0.0.0/8")
    ec2.create_key_pair(KeyName="mine")
    iam = client(running, "iam")
    iam.create_instance_profile(InstanceProfileName="worker")
    [vpc] = ec2.describe_vpcs()["Vpcs"]
    assert vpc["IsDefault"]
    block = {"CidrBlock": "172.31.96.0/20", "AvailabilityZone": f"{REGION}b"}
    subnet = ec2.create_subnet(VpcId=vpc["VpcId"], **block)["Subnet"]["SubnetId"]
    image = ec2.register_image(Name="own", RootDeviceName="/dev/xvda")["ImageId"]
    data = {"ImageId": image, "InstanceType": "c5.large", "KeyName": "mine", "UserData": "aGVsbG8="}
    ec2.create_launch_template(LaunchTemplateName="web", LaunchTemplateData=data)
    more = {"SecurityGroupIds": [group], "SubnetId": subnet, "IamInstanceProfile": {"Name": "worker"}}
    template = {"LaunchTemplateName": "web"}
    made = ec2.run_instances(MinCount=1, MaxCount=1, LaunchTemplate=template, **more)["Instances"][0]
    [told] = ec2.describe_instances(InstanceIds=[made["InstanceId"]])["Reservations"][0]["Instances"]
    assert (told["ImageId"], told["InstanceType"], told["KeyName"]) == (image, "c5.large", "mine")
    assert told["SecurityGroups"] == [{"GroupId": group, "GroupName": "web"}]
    assert told["Placement"]["AvailabilityZone"] == f"{REGION}b"
    assert (told["SubnetId"], told["VpcId"]) == (subnet, vpc["VpcId"])
    assert told["IamInstanceProfile"]["Arn"].endswith(":instance-profile/worker")
    assert {m.detail["start_up"] for m in fake.ledger.machines.values()} == {"hello"}


def test_the_default_network_is_one_whoever_tells_of_it(ec2: Any) -> None:
    made = ec2.run_instances(**ORDER)["Instances"][0]
    [vpc] = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
    [group] = ec2.describe_security_groups(GroupIds=[made["SecurityGroups"][0]["GroupId"]])["SecurityGroups"]
    [subnet] = ec2.describe_subnets(SubnetIds=[made["SubnetId"]])["Subnets"]
    assert made["VpcId"] == vpc["VpcId"] == group["VpcId"] == subnet["VpcId"]
    assert group["GroupName"] == "default"
    assert {s["AvailabilityZone"] for s in ec2.describe_subnets()["Subnets"]} == {f"{REGION}{z}" for z in "abc"}


def test_a_machine_is_stopped_changed_and_started(ec2: Any, fake: FakeAws) -> None:
    one = ec2.run_instances(**ORDER)["Instances"][0]["InstanceId"]
    kind = {"InstanceId": one, "InstanceType": {"Value": "m5.xlarge"}}
    assert refusal(ec2.modify_instance_attribute, **kind) == "IncorrectInstanceState"
    [stopping] = ec2.stop_instances(InstanceIds=[one])["StoppingInstances"]
    assert (stopping["PreviousState"]["Name"], stopping["CurrentState"]["Name"]) == ("running", "stopped")
    ec2.modify_instance_attribute(**kind)
    fake.faults = type(fake.faults)(FaultPlan(spin_up=30), fake.clock.now())
    [starting] = ec2.start_instances(InstanceIds=[one])["StartingInstances"]
    assert (starting["PreviousState"]["Name"], starting["CurrentState"]["Name"]) == ("stopped", "pending")
    fake.clock.advance(31)
    [told] = ec2.describe_instances(InstanceIds=[one])["Reservations"][0]["Instances"]
    assert (told["State"]["Name"], told["InstanceType"]) == ("running", "m5.xlarge")
    ec2.terminate_instances(InstanceIds=[one])
    assert refusal(ec2.stop_instances, InstanceIds=[one]) == "IncorrectInstanceState"


def test_a_spot_machine_is_not_stopped(ec2: Any) -> None:
    one = ec2.run_instances(**ORDER, InstanceMarketOptions={"MarketType": "spot"})["Instances"][0]["InstanceId"]
    assert refusal(ec2.stop_instances, InstanceIds=[one]) == "UnsupportedOperation"


def test_attributes_are_told_as_they_were_changed(ec2: Any, fake: FakeAws) -> None:
    script = "#!/bin/sh\necho hello\n"
    one = ec2.run_instances(**ORDER, UserData=script, DisableApiTermination=True)["Instances"][0]["InstanceId"]

    def attribute(name: str) -> Any:
        found = ec2.describe_instance_attribute(InstanceId=one, Attribute=name)
        return found[name[:1].upper() + name[1:]]["Value"]

    assert b64decode(attribute("userData")).decode() == script
    assert attribute("instanceType") == "m5.large"
    assert attribute("instanceInitiatedShutdownBehavior") == "stop"
    assert attribute("disableApiTermination") is True
    assert refusal(ec2.terminate_instances, InstanceIds=[one]) == "OperationNotPermitted"
    ec2.modify_instance_attribute(InstanceId=one, DisableApiTermination={"Value": False})
    ec2.modify_instance_attribute(InstanceId=one, Attribute="sourceDestCheck", Value="false")
    assert (attribute("disableApiTermination"), attribute("sourceDestCheck")) == (False, False)
    unknown = {"InstanceId": one, "Groups": ["sg-0123456789abcdef0"]}
    assert refusal(ec2.modify_instance_attribute, **unknown) == "InvalidGroup.NotFound"
    ec2.terminate_instances(InstanceIds=[one])
    assert not fake.ledger.live(fake.clock.now())


def test_what_the_fake_does_not_do_with_its_machines_is_not_said_to_be_missing(ec2: Any) -> None:
    one = ec2.run_instances(**ORDER)["Instances"][0]["InstanceId"]
    assert refusal(ec2.get_password_data, InstanceId=one) == "UnsupportedOperation"


def test_waiters_and_tags(ec2: Any, fake: FakeAws) -> None:
    fake.clock.speed = 1000.0
    fake.faults = type(fake.faults)(FaultPlan(spin_up=20, end_delay=20), fake.clock.now())
    ids = [i["InstanceId"] for i in ec2.run_instances(**(ORDER | {"MinCount": 2, "MaxCount": 2}))["Instances"]]
    quick = {"Delay": 1, "MaxAttempts": 30}
    time.sleep(0.05)
    ec2.get_waiter("instance_running").wait(InstanceIds=ids, WaiterConfig=quick)
    ec2.create_tags(Resources=ids, Tags=[{"Key": "Name", "Value": "web"}])
    found = ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": ids}])["Tags"]
    assert {(t["ResourceId"], t["Value"]) for t in found} == {(i, "web") for i in ids}
    ec2.terminate_instances(InstanceIds=ids)
    time.sleep(0.05)
    ec2.get_waiter("instance_terminated").wait(InstanceIds=ids, WaiterConfig=quick)
    assert all(m.ended_at for m in fake.ledger.machines.values())


def test_what_terraform_asks_of_a_machine_is_answered(ec2: Any, fake: FakeAws) -> None:
    """The calls of its AWS provider for a resource aws_instance, in their order: created, refreshed, destroyed."""
    made = ec2.run_instances(
        **ORDER,
        ClientToken="terraform-20261122",
        UserData="#!/bin/sh",
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "web"}]}],
    )
    one = made["Instances"][0]["InstanceId"]
    [told] = ec2.describe_instances(InstanceIds=[one])["Reservations"][0]["Instances"]
    assert told["State"]["Name"] == "running"
    [kind] = ec2.describe_instance_types(InstanceTypes=[told["InstanceType"]])["InstanceTypes"]
    assert kind["InstanceType"] == "m5.large"
    assert ec2.describe_vpcs(VpcIds=[told["VpcId"]])["Vpcs"]
    mine = [{"Name": "attachment.instance-id", "Values": [one]}]
    [volume] = ec2.describe_volumes(Filters=mine)["Volumes"]
    assert volume["VolumeId"] == told["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]
    assert told["BlockDeviceMappings"][0]["DeviceName"] == told["RootDeviceName"]
    assert ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [one]}])["Tags"]
    for name in ("disableApiStop", "disableApiTermination", "instanceInitiatedShutdownBehavior", "userData"):
        ec2.describe_instance_attribute(InstanceId=one, Attribute=name)
    assert not ec2.describe_instance_credit_specifications(InstanceIds=[one])["InstanceCreditSpecifications"]
    assert not ec2.describe_iam_instance_profile_associations()["IamInstanceProfileAssociations"]
    for name in ("DisableApiStop", "DisableApiTermination"):
        ec2.modify_instance_attribute(InstanceId=one, **{name: {"Value": False}})
    ec2.terminate_instances(InstanceIds=[one])
    [told] = ec2.describe_instances(InstanceIds=[one])["Reservations"][0]["Instances"]
    assert told["State"]["Name"] == "terminated"
    assert not ec2.describe_volumes(Filters=mine)["Volumes"]

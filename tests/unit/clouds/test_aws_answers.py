"""Lists of machines read by us say what the SDK's own parser says of the same bytes, as far as hcloud asks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import ResponseParserError, create_parser

from hcloud.fake.aws.world import service_model
from hcloud.providers.aws.answers import ANSWERS, READ, AnswerParsers, moment

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<{0} xmlns="http://ec2.amazonaws.com/doc/2016-11-15">{1}</{0}>'
MACHINE = """<item><instanceId>i-1</instanceId><imageId>ami-1</imageId>
<instanceState><code>16</code><name>running</name></instanceState><instanceType>m5.large</instanceType>
<launchTime>2026-11-22T18:57:30.000Z</launchTime><placement><availabilityZone>us-east-1a</availabilityZone>
<tenancy>default</tenancy></placement><networkInterfaceSet><item><attachment><attachTime>2026-11-22T18:57:30.000Z
</attachTime></attachment></item></networkInterfaceSet><tagSet><item><key>a</key><value/></item>
<item><key>b</key><value>&lt;é&gt;</value></item></tagSet><somethingNew>1</somethingNew></item>"""
SPOT = """<item><instanceId>i-2</instanceId><instanceLifecycle>spot</instanceLifecycle><tagSet/><instanceState>
<name>terminated</name></instanceState><reason>User initiated (2026-11-22 19:00:00 GMT)</reason></item>"""
LISTS = (
    "<reservationSet/>",
    "",
    f"<reservationSet><item><instancesSet>{MACHINE}{SPOT}</instancesSet></item><item><instancesSet/></item>"
    "<item/></reservationSet><nextToken>more</nextToken>",
)


def read(body: str, operation: str, status: int = 200) -> tuple[Any, Any]:
    """What we say of an answer, and what the SDK does."""
    shape = service_model("ec2").operation_model(operation).output_shape
    response = {
        "body": body.encode(),
        "headers": {"a": "b"},
        "status_code": status,
    }
    ours, usual = AnswerParsers().create_parser("ec2"), create_parser("ec2")
    return ours.parse(response, shape), usual.parse(response, shape)


def kept(shape: Any, value: Any) -> Any:
    """What of an answer is read: the members named in ``READ``."""
    if shape.type_name == "list":
        return [kept(shape.member, v) for v in value]
    if shape.type_name != "structure":
        return value
    return {n: kept(shape.members[n], v) for n, v in value.items() if n in READ[shape.name]}


@pytest.mark.parametrize("inner", LISTS)
def test_a_list_says_what_the_sdk_says(inner: str) -> None:
    ours, usual = read(HEAD.format("DescribeInstancesResponse", inner), "DescribeInstances")
    shape = service_model("ec2").operation_model("DescribeInstances").output_shape
    told = ours.pop("ResponseMetadata")
    assert ours == kept(shape, {n: v for n, v in usual.items() if n != "ResponseMetadata"})
    assert told == {n: v for n, v in usual["ResponseMetadata"].items() if n != "RequestId"}


def test_a_launch_says_what_the_sdk_says() -> None:
    ours, usual = read(HEAD.format("RunInstancesResponse", f"<instancesSet>{MACHINE}</instancesSet>"), "RunInstances")
    shape = service_model("ec2").operation_model("RunInstances").output_shape
    assert ours["Instances"] == kept(shape, {"Instances": usual["Instances"]})["Instances"]
    assert ours["Instances"][0]["Tags"] == [{"Key": "a", "Value": ""}, {"Key": "b", "Value": "<é>"}]


def test_errors_and_other_answers_are_read_by_the_sdk() -> None:
    error = "<Response><Errors><Error><Code>C</Code><Message>M</Message></Error></Errors></Response>"
    ours, usual = read(error, "DescribeInstances", 400)
    assert ours == usual
    assert ours["Error"] == {"Code": "C", "Message": "M"}
    inner = "<instancesSet><item><instanceId>i-1</instanceId></item></instancesSet>"
    ours, usual = read(HEAD.format("TerminateInstancesResponse", inner), "TerminateInstances")
    assert ours == usual
    with pytest.raises(ResponseParserError):
        read(HEAD.format("DescribeInstancesResponse", "<reservationSet>")[:-9], "DescribeInstances")


def test_what_is_read_has_these_names_and_kinds_in_the_model() -> None:
    """A member that a later SDK gives another kind, which ours would read as text, is seen here."""
    model = ServiceModel(Loader().load_service_model("ec2", "service-2"), "ec2")
    kinds: Mapping[str, str] = {"LaunchTime": "timestamp", "Placement": "structure", "State": "structure"}
    lists = ("Reservations", "Instances", "Tags")
    for name, members in READ.items():
        shape = model.shape_for(name)
        for member in members:
            wanted = "list" if member in lists else kinds.get(member, "string")
            assert shape.members[member].type_name == wanted
    assert set(ANSWERS) <= set(READ)


@pytest.mark.parametrize("text", ["2026-11-22T18:57:30.000Z", "2026-11-22T18:57:30Z", "2026-11-22T20:57:30+02:00"])
def test_moments_are_read(text: str) -> None:
    assert moment(text) == datetime(2026, 11, 22, 18, 57, 30, tzinfo=UTC)


def test_moments_in_other_forms_are_read_by_the_sdk() -> None:
    others: tuple[str | float, ...] = ("Sun, 22 Nov 2026 18:57:30 GMT", 1795373850, "1795373850")
    for other in others:
        assert moment(other) == datetime(2026, 11, 22, 18, 57, 30, tzinfo=UTC)

"""Amazon's command line against the fake AWS: a life of two machines, as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hcloud.fake.aws.cloud import FakeAws
from hcloud.fake.aws.ec2.references import PUBLIC_IMAGE
from hcloud.fake.server import FakeServer
from hcloud.usecases.tools.fake import environment

Aws = Callable[..., Any]
TYPED = Path(__file__).with_name("typed_commands.py")


@pytest.fixture(scope="module")
def running() -> Iterator[FakeServer]:
    with FakeServer(FakeAws()) as found:
        yield found


@pytest.fixture(scope="module")
def shell(running: FakeServer) -> Iterator[subprocess.Popen[str]]:
    """The process that commands are typed into."""
    settled = {"AWS_DEFAULT_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PAGER": ""}
    nowhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_MAX_ATTEMPTS": "1"}
    kept = {n: os.environ[n] for n in ("PATH", "HOME", "TMPDIR") if n in os.environ}
    env = kept | settled | nowhere | dict(environment("aws", running.url))
    command, pipe = [sys.executable, str(TYPED)], subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True) as found:
        yield found
        assert found.stdin is not None
        found.stdin.close()


@pytest.fixture
def aws(running: FakeServer, shell: subprocess.Popen[str]) -> Aws:
    """Runs a command and gives what it prints; where it is ``refused``, what it says then."""
    running.exchange(FakeAws())

    def run(*words: str, refused: bool = False) -> Any:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(json.dumps([*words, "--output", "json"]) + "\n")
        shell.stdin.flush()
        told = json.loads(shell.stdout.readline())
        assert bool(told["code"]) is refused, told["err"]
        return told["err"] if refused else json.loads(told["out"] or "null")

    return run


def test_what_people_type(aws: Aws, running: FakeServer) -> None:
    """One test: the command line takes longer to load than all that is typed."""
    a_life_typed_by_hand(aws, running)
    for typed in (
        what_is_not_there_is_said_in_ec2s_words,
        what_was_created_by_hand_is_launched_with,
        a_state_in_a_bucket_is_looked_at,
    ):
        running.exchange(FakeAws())
        typed(aws)


def a_life_typed_by_hand(aws: Aws, running: FakeServer) -> None:
    tags = "ResourceType=instance,Tags=[{Key=Name,Value=web}]"
    words = ("--image-id", PUBLIC_IMAGE, "--instance-type", "m5.large", "--count", "2")
    made = aws("ec2", "run-instances", *words, "--tag-specifications", tags, "--user-data", "#!/bin/sh")
    ids = [i["InstanceId"] for i in made["Instances"]]
    one = ids[0]
    aws("ec2", "wait", "instance-running", "--instance-ids", *ids)
    aws("ec2", "create-tags", "--resources", one, "--tags", "Key=team,Value=shop")
    shown = aws("ec2", "describe-instances", "--filters", "Name=tag:team,Values=shop")["Reservations"][0]["Instances"]
    assert [(i["InstanceId"], i["State"]["Name"]) for i in shown] == [(one, "running")]
    aws("ec2", "stop-instances", "--instance-ids", one)
    aws("ec2", "modify-instance-attribute", "--instance-id", one, "--instance-type", "Value=c5.large")
    asked = ("--instance-id", one, "--attribute", "instanceType")
    assert aws("ec2", "describe-instance-attribute", *asked)["InstanceType"]["Value"] == "c5.large"
    [starting] = aws("ec2", "start-instances", "--instance-ids", one)["StartingInstances"]
    assert starting["PreviousState"]["Name"] == "stopped"
    aws("ec2", "terminate-instances", "--instance-ids", *ids)
    aws("ec2", "wait", "instance-terminated", "--instance-ids", *ids)
    fake = running.cloud
    assert not fake.ledger.live(fake.clock.now())
    assert {m.instance_type for m in fake.ledger.machines.values()} == {"m5.large", "c5.large"}


def what_is_not_there_is_said_in_ec2s_words(aws: Aws) -> None:
    order = ("ec2", "run-instances", "--image-id", PUBLIC_IMAGE, "--instance-type", "m5.large")
    for words, said in (
        (("--key-name", "nobody"), "InvalidKeyPair.NotFound"),
        (("--launch-template", "LaunchTemplateName=none"), "InvalidLaunchTemplateName.NotFoundException"),
    ):
        assert said in aws(*order, *words, refused=True)


def what_was_created_by_hand_is_launched_with(aws: Aws) -> None:
    aws("ec2", "create-security-group", "--group-name", "web", "--description", "for tests")
    aws("ec2", "create-key-pair", "--key-name", "mine")
    data = json.dumps({"ImageId": PUBLIC_IMAGE, "InstanceType": "m5.large"})
    aws("ec2", "create-launch-template", "--launch-template-name", "web", "--launch-template-data", data)
    words = ("--launch-template", "LaunchTemplateName=web", "--key-name", "mine", "--security-groups", "web")
    [made] = aws("ec2", "run-instances", *words)["Instances"]
    assert (made["KeyName"], made["SecurityGroups"][0]["GroupName"]) == ("mine", "web")


def a_state_in_a_bucket_is_looked_at(aws: Aws) -> None:
    aws(
        "s3api",
        "create-bucket",
        "--bucket",
        "state",
        "--create-bucket-configuration",
        "LocationConstraint=eu-central-1",
    )
    assert [b["Name"] for b in aws("s3api", "list-buckets")["Buckets"]] == ["state"]
    assert aws("sts", "get-caller-identity")["Account"] == "123456789012"

"""Our live verbs on moto, a fake AWS that is not ours: a whole life with its state in a bucket, judged by moto.

What it does not have (reserved instances, and with them ``report`` of what is rented) is said in a sentence.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hcloud.cli.main import run
from hcloud.fake.aws.ec2.references import PUBLIC_IMAGE

REGION = "eu-central-1"
CONFIGURATION = {
    "live": {"cloud": "aws", "region": REGION, "project": "shop", "state": "s3://states/shop"},
    "fleet": [{"address": "web", "instance_type": "m5.large", "count": 3}],
    "prices": {"max_age": "10000d"},  # the bundled ones, however old this program is
}
Verb = Callable[..., Any]


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(moto: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """A client of boto3 for a service; moto is empty but for the bucket of the state."""
    import boto3

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    named = {"AWS_ENDPOINT_URL": moto, "AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret"}
    for name, value in {**named, "AWS_EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(name, value)

    def client(service: str) -> Any:
        return boto3.client(service, region_name=REGION)

    __import__("requests").post(f"{moto}/moto-api/reset", timeout=60).raise_for_status()
    client("s3").create_bucket(Bucket="states", CreateBucketConfiguration={"LocationConstraint": REGION})
    Path("hcloud.yaml").write_text(yaml.safe_dump(CONFIGURATION), encoding="utf-8")
    return client


@pytest.fixture
def verb(aws: Any, capsys: pytest.CaptureFixture[str]) -> Verb:
    """Runs a verb and gives its document."""

    def ask(*words: str, code: int = 0) -> Any:
        ended = run([*words, "--json"])
        told = capsys.readouterr()
        assert ended == code, told.out + told.err
        return json.loads(told.out or told.err.splitlines()[-1])

    return ask


def live(ec2: Any) -> set[str]:
    """What runs on moto."""
    wanted = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    found = ec2.describe_instances(Filters=wanted)["Reservations"]
    return {i["InstanceId"] for r in found for i in r["Instances"]}


def test_on_moto_a_life_a_lost_state_and_what_it_lacks(
    aws: Any, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    """One test: moto and boto3 take as long to load as all of it does."""
    a_life_from_plan_to_destroy(aws("ec2"), verb)
    a_lost_state_is_rebuilt_and_what_nobody_holds_is_found_and_not_ended_with_it(aws, verb, capsys)
    what_moto_does_not_have_is_said_in_a_sentence(capsys)


def a_life_from_plan_to_destroy(ec2: Any, verb: Verb) -> None:
    verb("plan", "--out", "plan.json", "--detailed-exitcode", code=2)
    assert not live(ec2)
    made = verb("apply", "plan.json", "-y")
    assert (made["result"], set(made["launched"])) == ("converged", live(ec2))
    assert len(live(ec2)) == 3
    assert sum(g["count"] for g in verb("status")["standing"]) == 3
    assert not verb("drift")["drift"]
    verb("plan", "--detailed-exitcode")
    gone = sorted(live(ec2))[0]
    ec2.terminate_instances(InstanceIds=[gone])
    assert gone in json.dumps(verb("drift", "--detailed-exitcode", code=2))
    assert len(verb("apply", "-y")["launched"]) == 1
    assert len(live(ec2)) == 3
    ended = verb("destroy", "-y", "--ends", "3")
    assert (ended["result"], live(ec2)) == ("converged", set())


def a_lost_state_is_rebuilt_and_what_nobody_holds_is_found_and_not_ended_with_it(
    aws: Any, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    verb("apply", "-y")
    ec2 = aws("ec2")
    before = live(ec2)
    s3 = aws("s3")
    for found in s3.list_objects_v2(Bucket="states")["Contents"]:
        s3.delete_object(Bucket="states", Key=found["Key"])
    assert run(["apply", "-y"]) != 0, "a state that is gone is no new beginning"
    assert run(["recover", "-y"]) == 0
    capsys.readouterr()
    assert sum(g["count"] for g in verb("status")["standing"]) == 3
    verb("plan", "--detailed-exitcode")
    assert live(ec2) == before
    tags = [{"Key": "hcloud-project", "Value": "shop"}, {"Key": "hcloud-lineage", "Value": "fedcba98" * 4}]
    order = {"ImageId": PUBLIC_IMAGE, "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
    tagged = [{"ResourceType": "instance", "Tags": tags}]
    stray = ec2.run_instances(**order, TagSpecifications=tagged)["Instances"][0]["InstanceId"]
    stranger = ec2.run_instances(**order)["Instances"][0]["InstanceId"]
    assert stray in json.dumps(verb("gc"))
    verb("destroy", "-y", "--ends", "3")
    assert live(ec2) == {stray, stranger}


def what_moto_does_not_have_is_said_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["commit", "plan", "reserved-instance:m5.large:1:none:2"]) != 0
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert "<html" not in told.err.lower()
    assert "a bug in hcloud" not in told.err

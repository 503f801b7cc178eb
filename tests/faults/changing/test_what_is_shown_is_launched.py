"""J. A plan says what its machines are launched with, and apply launches them with that or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from staging import Staging

from benchmarks.children import Child
from benchmarks.processes import CLOUDS, LAUNCH, PROJECT, TYPES, Stage
from hcloud.fake.aws.ec2.references import PUBLIC_IMAGE
from hcloud.fake.aws.world import DEFAULT_GROUP, subnet_in
from hcloud.model.holdings.live import TAG_PROJECT

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
FLEET = {"web": 2}
ZONES = tuple(f"us-east-1{letter}" for letter in "abcdef")
NETWORKS = "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/hcloud/providers/Microsoft.Network"
IDENTITIES = NETWORKS.replace("Microsoft.Network", "Microsoft.ManagedIdentity/userAssignedIdentities")
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "aws": {
        "image": PUBLIC_IMAGE,
        "subnets": {zone: subnet_in(zone) for zone in ZONES},
        "security_groups": [DEFAULT_GROUP],
        "key_name": "ops",
        "instance_profile": "web",
    },
    "gcp": {
        "image": "projects/shop/global/images/web-1",
        "network": "global/networks/shop",
        "subnetwork": "",
        "service_account": "web@shop.iam.gserviceaccount.com",
        "external_address": False,
    },
    "azure": {
        "image": "Canonical:ubuntu-24_04-lts:server:24.04.100",
        "subnet": f"{NETWORKS}/virtualNetworks/hcloud/subnets/default",
        "admin_user": "ops",
        "ssh_public_key": "ssh-ed25519 AAAAC3Nza ops",
        "identity": f"{IDENTITIES}/nodes",
    },
}
OTHER: Mapping[str, Mapping[str, Any]] = {
    "aws": {
        "image": "ami-0bbbbbbbbbbbbbbbb",
        "subnets": {},
        "security_groups": [],
        "key_name": "",
        "instance_profile": "admin",
    },
    "gcp": {
        "image": "projects/shop/global/images/web-2",
        "network": "global/networks/default",
        "subnetwork": "projects/shop/regions/europe-west1/subnetworks/a",
        "service_account": "admin@shop.iam.gserviceaccount.com",
        "external_address": True,
    },
    "azure": {
        "image": "Canonical:ubuntu-24_04-lts:server:24.04.99",
        "subnet": f"{NETWORKS}/virtualNetworks/other/subnets/default",
        "admin_user": "root2",
        "ssh_public_key": "ssh-ed25519 AAAAC3Nza mallory",
        "identity": f"{IDENTITIES}/admin",
        "resource_group": "elsewhere",
    },
}
SCRIPT = "#!/bin/sh\necho password=hunter2\n"


def prepare(stage: Stage) -> None:
    """Make in the account what the settings name and no account has of itself."""
    if stage.cloud == "gcp":
        for name in ("image", "network", "service_account"):
            stage.front.edit({"create": SETTINGS["gcp"][name]})
    if stage.cloud != "aws":
        return
    url = stage.environment()["AWS_ENDPOINT_URL"]
    keys = {"aws_access_key_id": "tester", "aws_secret_access_key": "secret"}
    ec2, iam = (boto3.client(s, region_name="us-east-1", endpoint_url=url, **keys) for s in ("ec2", "iam"))
    ec2.create_key_pair(KeyName="ops")
    iam.create_instance_profile(InstanceProfileName="web")
    with stage.ledger.held():
        stage.ledger.requests.clear()


def planned(stage: Stage, **settings: Any) -> Mapping[str, Any]:
    """A plan in plan.json, made under these settings."""
    prepare(stage)
    stage.want(FLEET, settings={**SETTINGS[stage.cloud], **settings})
    child = stage.run("plan", "--out", "plan.json")
    assert child.code == 0, child.said
    document: Mapping[str, Any] = json.loads((stage.directory / "plan.json").read_text())
    return document


def refused(stage: Stage, setting: str, *arguments: str, project: str = PROJECT) -> Child:
    """Applying is refused for this setting, and the cloud was not asked for any machine."""
    child = stage.run("apply", "plan.json", "-y", *arguments, HYC_LIVE__PROJECT=project)
    assert child.code == 4, child.said
    assert f"live.{setting}: " in " ".join(child.stderr.split())
    assert "plan again" in child.stderr
    assert not stage.ledger.machines
    assert not [r for r in stage.requests() if r.mutating]
    return child


@every_cloud
def test_J1_machines_are_launched_with_exactly_what_the_plan_says(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, FLEET)
    template = planned(stage)["template"]
    assert stage.run("apply", "plan.json", "-y").code == 0
    machines = list(stage.ledger.machines.values())
    assert len(machines) == 2
    assert template["images"] == [
        {"name": SETTINGS[cloud]["image"], "id": SETTINGS[cloud]["image"], "instance_types": [TYPES[cloud]]}
    ]
    for machine in machines:
        assert machine.detail["image"] == SETTINGS[cloud]["image"]
        assert {k: machine.tags[k] for k in template["tags"]} == template["tags"]
        assert machine.tags[TAG_PROJECT] == PROJECT
        for name, value in template["settings"].items():
            known = {"instance_profile": "profile", "subnets": "subnet"}.get(name, name)
            wanted = value[machine.zone] if name == "subnets" else value
            there: Any = machine.detail[known]
            if name == "security_groups":
                there = [group for group, _ in there]
            assert list(there) == wanted if isinstance(wanted, list) else there == wanted, name


def test_J1_a_setting_that_is_another_than_in_the_plan_launches_nothing(staged: Staging) -> None:
    stage = staged(cloud := "azure", FLEET)
    planned(stage)
    name = next(iter(OTHER[cloud]))  # each of them is told apart in the test of several
    stage.want(FLEET, settings={**SETTINGS[cloud], name: OTHER[cloud][name]})
    refused(stage, f"settings.{name}")
    stage.want(FLEET, settings=SETTINGS[cloud])
    assert stage.run("apply", "plan.json", "-y").code == 0, "set back, the plan holds again"
    assert len(stage.ledger.machines) == 2


def test_J1_another_project_than_in_the_plan_launches_nothing(staged: Staging) -> None:
    stage = staged(cloud := "gcp", FLEET)
    planned(stage)
    child = refused(stage, "project", project="other")
    assert f"live.project: {PROJECT} in the plan, other now" in " ".join(child.stderr.split())
    refused(stage, "project", "--resume", project="other")
    assert stage.run("apply", "plan.json", "-y").code == 0
    again = stage.run("plan", "--out", "plan.json", HYC_LIVE__PROJECT="other")
    assert again.code == 0, "nothing is launched, so nothing is tagged"
    stage.want({"web": 3}, settings=SETTINGS[cloud])
    again = stage.run("plan", HYC_LIVE__PROJECT="other")
    assert again.code == 4
    assert f"the state belongs to project {PROJECT}" in again.stderr


@every_cloud
def test_J1_several_differences_are_all_named(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, FLEET)
    planned(stage)
    stage.want(FLEET, project="other", settings=OTHER[cloud])
    child = refused(stage, "project", project="other")
    for name in OTHER[cloud]:
        assert f"live.settings.{name}: " in " ".join(child.stderr.split())


@every_cloud
def test_J1_an_alias_that_moved_on_launches_the_image_of_the_plan(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, FLEET)
    stage.want(FLEET)
    assert stage.run("plan", "--out", "plan.json").code == 0
    [image] = json.loads((stage.directory / "plan.json").read_text())["template"]["images"]
    assert image["id"] != image["name"]
    stage.front.behind.images.renew(image["name"].removeprefix("resolve:ssm:"))  # type: ignore[attr-defined]
    assert stage.run("apply", "plan.json", "-y").code == 0
    assert {m.detail["image"] for m in stage.ledger.machines.values()} == {image["id"]}


@every_cloud
def test_J1_an_image_that_is_gone_since_launches_nothing(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, FLEET)
    stage.want(FLEET)
    assert stage.run("plan", "--out", "plan.json").code == 0
    [image] = json.loads((stage.directory / "plan.json").read_text())["template"]["images"]
    stage.front.behind.images.withdrawn.add(image["id"])  # type: ignore[attr-defined]
    child = stage.run("apply", "plan.json", "-y")
    assert child.code == 6, child.said
    assert not stage.ledger.machines
    assert image["id"] in " ".join(child.said.split())


@every_cloud
def test_J1_user_data_is_launched_and_neither_in_the_plan_nor_in_the_state(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, FLEET)
    (stage.directory / "boot.sh").write_text(SCRIPT)
    stage.want(FLEET, user_data="boot.sh")
    assert stage.run("plan", "--out", "plan.json").code == 0
    document = json.loads((stage.directory / "plan.json").read_text())
    assert document["template"]["user_data"] == hashlib.sha256(SCRIPT.encode()).hexdigest()
    (stage.directory / "boot.sh").write_text(SCRIPT.replace("echo", "curl"))
    refused(stage, "user_data")
    (stage.directory / "boot.sh").write_text(SCRIPT)
    assert stage.run("apply", "plan.json", "-y").code == 0
    assert {m.detail["start_up"] for m in stage.ledger.machines.values()} == {SCRIPT}
    for path in stage.directory.rglob("*"):
        if path.is_file() and path.name != "boot.sh":
            assert b"hunter2" not in path.read_bytes(), path


@every_cloud
def test_A1_an_order_without_an_answer_is_sent_again_with_the_template_it_was_noted_with(
    cloud: str, staged: Staging
) -> None:
    stage = staged(cloud, FLEET, rules=[{"on": LAUNCH[cloud], "answer": "dropped-before"}])
    (stage.directory / "boot.sh").write_text(SCRIPT)
    prepare(stage)
    stage.want(FLEET, settings=SETTINGS[cloud], user_data="boot.sh")
    child = stage.run("apply", "-y")
    assert child.code == 6, child.said
    assert not stage.ledger.machines
    stage.faults()
    stage.want(FLEET, settings=OTHER[cloud], user_data="boot.sh")
    child = stage.run("apply", "-y")
    assert child.code == 0, child.said
    assert {m.detail["image"] for m in stage.ledger.machines.values()} == {SETTINGS[cloud]["image"]}
    assert {m.detail["start_up"] for m in stage.ledger.machines.values()} == {SCRIPT}
    assert len(stage.ledger.machines) == 2


def test_A1_an_order_without_an_answer_is_not_sent_again_with_other_user_data(staged: Staging) -> None:
    stage = staged(cloud := "gcp", FLEET, rules=[{"on": LAUNCH[cloud], "answer": "dropped-before"}])
    (stage.directory / "boot.sh").write_text(SCRIPT)
    stage.want(FLEET, user_data="boot.sh")
    assert stage.run("apply", "-y").code == 6
    stage.faults()
    (stage.directory / "boot.sh").write_text("#!/bin/sh\nreboot\n")
    child = stage.run("apply", "-y")
    assert child.code == 6, child.said
    assert "live.user_data" in " ".join(child.said.split())
    assert not stage.ledger.machines
    (stage.directory / "boot.sh").write_text(SCRIPT)
    assert stage.run("apply", "-y").code == 0
    assert len(stage.ledger.machines) == 2


def test_J2_a_template_that_was_edited_or_taken_out_is_refused(staged: Staging) -> None:
    stage = staged(cloud := "gcp", FLEET)
    document = planned(stage)
    text = json.dumps(document).replace(SETTINGS[cloud]["image"], OTHER[cloud]["image"])
    stage.want(FLEET, settings={**SETTINGS[cloud], "image": OTHER[cloud]["image"]})
    bare = json.dumps({key: value for key, value in document.items() if key != "template"})
    for altered, said in ((text, "digest"), (bare, "was altered after it was made, or is of another version")):
        (stage.directory / "plan.json").write_text(altered)
        child = stage.run("apply", "plan.json", "-y")
        assert child.code == 1
        assert said in child.stderr
    assert not stage.ledger.machines

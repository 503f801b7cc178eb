"""Templates of plans: every setting of a provider that reaches a machine is in them, and orders are made from them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from hcloud.errors import UsageError
from hcloud.model.holdings.live import Launch, LaunchImage, LaunchTemplate, Owner, Setting
from hcloud.planning.changes.launched_with import departures, written
from hcloud.providers.aws import settings as aws
from hcloud.providers.aws.translate import launch_request
from hcloud.providers.aws.translate import template as aws_template
from hcloud.providers.azure import settings as azure
from hcloud.providers.azure.settings import AzureSettings
from hcloud.providers.azure.translate import latest_version, order_digest, set_body
from hcloud.providers.gcp import settings as gcp
from hcloud.providers.gcp.translate import bulk_insert, image_family, image_path

WHO_AND_WHERE = {
    "aws": {"region", "endpoint", "profile", "access_key"},
    "gcp": {"project", "region", "zones", "endpoint", "principal"},
    "azure": {"subscription", "location", "endpoint", "principal", "ca_file"},
}
"""What says whose cloud is asked and where; a plan is bound to it by its scope, and its zones by its slots."""
ORDER = Launch("ab" * 16, "web", "m5.large", "eu-central-1a", 2, Owner("1" * 32, "shop", "0" * 12))
TEMPLATE = LaunchTemplate((LaunchImage("name", "the-plan's", ("m5.large",)),))


@pytest.mark.parametrize(
    ("cloud", "own", "module"),
    [("aws", aws.AwsSettings, aws), ("gcp", gcp.GoogleSettings, gcp), ("azure", azure.AzureSettings, azure)],
)
def test_every_setting_is_in_the_plan_or_says_who_and_where(cloud: str, own: Any, module: Any) -> None:
    assert {f.name for f in fields(own)} == {"image", *module.LAUNCHED_WITH, *WHO_AND_WHERE[cloud]}


def test_requests_are_made_of_the_template_and_not_of_the_settings() -> None:
    mine = aws.AwsSettings("eu-central-1", image="ami-1", key_name="mine", security_groups=("sg-1",))
    theirs: dict[str, Setting] = {
        "subnets": {},
        "security_groups": ("sg-2",),
        "key_name": "",
        "instance_profile": "web",
    }
    sent = launch_request(replace(ORDER, template=replace(TEMPLATE, settings=theirs)), mine)
    assert (sent["ImageId"], sent["SecurityGroupIds"]) == ("the-plan's", ["sg-2"])
    assert (sent["IamInstanceProfile"], "KeyName" in sent) == ({"Name": "web"}, False)
    google = gcp.GoogleSettings("shop", "europe-west3", network="mine", service_account="me@shop")
    settings: dict[str, Setting] = {
        "network": "theirs",
        "subnetwork": "",
        "service_account": "",
        "external_address": True,
    }
    body: Any = bulk_insert(replace(ORDER, template=replace(TEMPLATE, settings=settings)), google)
    made = body["instance_properties"]
    assert made["disks"][0]["initialize_params"]["source_image"] == "the-plan's"
    assert made["network_interfaces"][0]["network"] == "theirs"
    assert "service_accounts" not in made
    here = AzureSettings("s", "eastus", resource_group="mine", ssh_public_key="ssh-rsa mine")
    of_azure: dict[str, Setting] = {
        "resource_group": "theirs",
        "subnet": "/net",
        "admin_user": "ops",
        "ssh_public_key": "",
    }
    image = (LaunchImage("name", "a:b:c:1", ("m5.large",)),)
    profile: Any = set_body(replace(ORDER, template=replace(TEMPLATE, images=image, settings=of_azure)), here)
    profile = profile["properties"]["virtualMachineProfile"]
    assert profile["storageProfile"]["imageReference"]["version"] == "1"
    assert profile["osProfile"]["adminUsername"] == "ops"
    assert "ssh" not in profile["osProfile"]["linuxConfiguration"]


def test_another_template_under_the_same_key_is_another_order() -> None:
    assert order_digest(ORDER) != order_digest(replace(ORDER, template=TEMPLATE))
    assert order_digest(replace(ORDER, template=TEMPLATE)) == order_digest(replace(ORDER, template=replace(TEMPLATE)))


def test_images_of_two_architectures_are_both_in_the_plan() -> None:
    found = aws_template(["m6i.large", "m6g.large", "m5.large"], aws.AwsSettings("eu-central-1")).images
    assert [(i.name.rpartition("-")[2], i.instance_types) for i in found] == [
        ("arm64", ("m6g.large",)),
        ("x86_64", ("m5.large", "m6i.large")),
    ]
    one = replace(TEMPLATE, images=found)
    [differs] = departures(one, replace(one, images=(*found[:1], replace(found[1], instance_types=("m5.large",)))))
    assert str(differs).startswith("live.settings.image of m6i.large: resolve:ssm:")


def test_what_stands_behind_a_name_does_not_count_as_a_difference() -> None:
    moved = replace(TEMPLATE, images=(replace(TEMPLATE.images[0], id="another"),))
    assert departures(TEMPLATE, moved) == ()


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), ("", "nothing"), (("b", "a"), "b, a"), ({"z": "1", "a": "2"}, "a=2, z=1")]
)
def test_settings_are_told_in_one_line(value: Any, text: str) -> None:
    assert written(value) == text


def test_names_of_images_on_google() -> None:
    assert image_family("projects/debian-cloud/global/images/family/debian-12", "shop") == ("debian-cloud", "debian-12")
    assert image_family("global/images/family/web", "shop") == ("shop", "web")
    link = "https://www.googleapis.com/compute/v1/projects/shop/global/images/family/web"
    assert image_family(link, "own") == ("shop", "web")
    assert image_family("projects/shop/global/images/web-1", "own") == ("", "")
    assert image_path("https://www.googleapis.com/compute/v1/projects/shop/global/images/web-1") == (
        "projects/shop/global/images/web-1"
    )
    assert image_path("global/images/web-1") == "global/images/web-1"


def test_the_latest_version_is_the_highest_number() -> None:
    assert latest_version(["24.04.99", "24.04.100", "24.04.9", ""]) == "24.04.100"
    assert latest_version([]) == ""


def test_a_private_key_is_no_public_one() -> None:
    with pytest.raises(UsageError, match="holds a private key") as refused:
        AzureSettings("s", "eastus", ssh_public_key="-----BEGIN OPENSSH PRIVATE KEY-----\nabc")
    assert "abc" not in str(refused.value)

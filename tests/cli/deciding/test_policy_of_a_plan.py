"""hcloud iam print: what the settings of a plan take, and nothing that only hcloud.yaml of now would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hcloud.cli.main import run

ACCOUNT = "123456789012"
LATEST = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
TYPES = {"aws": "m5.large", "gcp": "n2-standard-4", "azure": "Standard_D4s_v5"}


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)


def configured(cloud: str, **settings: Any) -> None:
    fleet = [{"address": "web", "instance_type": TYPES[cloud], "count": 1}]
    document = {"live": {"cloud": f"fake:{cloud}", "project": "demo", "settings": settings}, "fleet": fleet}
    Path("hcloud.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")


def policy(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert run(["iam", "print", *words]) == 0
    return json.loads(capsys.readouterr().out)


def parameters(document: Any) -> list[str]:
    return [s["Resource"] for s in document["Statement"] if s["Action"] == "ssm:GetParameters"]


@pytest.mark.parametrize(
    ("image", "resource"),
    [
        ("resolve:ssm:/acme/base", f"arn:aws:ssm:us-east-1:{ACCOUNT}:parameter/acme/base"),
        ("resolve:ssm:base:3", f"arn:aws:ssm:us-east-1:{ACCOUNT}:parameter/base"),
        ("resolve:ssm:/aws/service/ecs/x", "arn:aws:ssm:us-east-1::parameter/aws/service/ecs/x"),
        ("resolve:ssm:arn:aws:ssm:us-east-1:9:parameter/x", "arn:aws:ssm:us-east-1:9:parameter/x"),
        (LATEST, "arn:aws:ssm:us-east-1::parameter" + LATEST.removeprefix("resolve:ssm:")),
    ],
)
def test_the_parameter_that_an_image_is_named_by_may_be_read_and_no_other(
    image: str, resource: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured("aws", image=image)
    words = ["--cloud", "aws", "--account", ACCOUNT, "--region", "us-east-1"]
    found = policy(capsys, *words)
    assert parameters(found) == [resource]
    assert len({s["Sid"] for s in found["Statement"]}) == len(found["Statement"])
    assert parameters(policy(capsys, *words, "--for", "terminate")) == []


def test_an_ami_needs_no_parameter_and_no_image_needs_amazons(capsys: pytest.CaptureFixture[str]) -> None:
    configured("aws", image="ami-0123456789abcdef0")
    assert parameters(policy(capsys, "--cloud", "aws")) == []
    configured("aws")
    assert parameters(policy(capsys, "--cloud", "aws")) == [
        "arn:aws:ssm:*::parameter/aws/service/ami-amazon-linux-latest/*"
    ]


def test_a_policy_for_a_plan_is_made_from_what_the_plan_launches(capsys: pytest.CaptureFixture[str]) -> None:
    configured("aws", image="resolve:ssm:/acme/base", instance_profile="worker")
    assert run(["plan", "--out", "plan.json"]) == 0
    for settings in ({}, {"image": "ami-0123456789abcdef0"}):
        configured("aws", **settings)
        found = policy(capsys, "plan.json")
        assert [r.rpartition(":")[2] for r in parameters(found)] == ["parameter/acme/base"]
        assert "iam:PassRole" in {s["Action"] for s in found["Statement"]}


def test_a_role_for_a_plan_is_made_from_what_the_plan_launches(capsys: pytest.CaptureFixture[str]) -> None:
    configured("gcp")
    assert run(["plan", "--out", "plan.json"]) == 0
    configured("gcp", service_account="w@p.iam.gserviceaccount.com", external_address=True)
    before = set(policy(capsys, "plan.json")["includedPermissions"])
    assert not before & {"iam.serviceAccounts.actAs", "compute.subnetworks.useExternalIp", "compute.images.useReadOnly"}
    configured("gcp", service_account="w@p.iam.gserviceaccount.com", image="projects/p/global/images/web-1")
    assert run(["plan", "--out", "plan.json"]) == 0
    configured("gcp")
    after = set(policy(capsys, "plan.json")["includedPermissions"])
    assert after - before == {"iam.serviceAccounts.actAs", "compute.images.useReadOnly"}


GROUP = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/web/providers/Microsoft.Compute"


@pytest.mark.parametrize(
    ("image", "reads"),
    [
        ("Canonical:ubuntu-24_04-lts:server:latest", set()),
        (f"{GROUP}/images/web", {"images"}),
        (f"{GROUP.lower()}/images/web", {"images"}),
        (f"{GROUP}/galleries/own/images/web/versions/1.0.0", {"galleries/images", "galleries/images/versions"}),
    ],
)
def test_an_image_of_ones_own_in_azure_may_be_read(
    image: str, reads: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {f"Microsoft.Compute/{name}/read" for name in reads}
    configured("azure", image=image)
    before = policy(capsys, "--cloud", "azure")["Actions"]
    assert {a for a in before if "images/" in a} == expected
    assert not [a for a in policy(capsys, "--cloud", "azure", "--for", "terminate")["Actions"] if "images/" in a]
    assert run(["plan", "--out", "plan.json"]) == 0
    configured("azure")
    assert {a for a in policy(capsys, "plan.json")["Actions"] if "images/" in a} == expected

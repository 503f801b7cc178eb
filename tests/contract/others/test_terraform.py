"""Terraform's AWS provider against the fake AWS, where a folder of providers is named; nothing is ever downloaded.

It takes two minutes, one of a processor: the provider starts in five seconds, and waits ten after each change.
What it asks is asked by boto3, too, everywhere and at once: test_boto3.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import NO_TERRAFORM

from hcloud.fake.aws.cloud import FakeAws
from hcloud.fake.aws.ec2.references import PUBLIC_IMAGE
from hcloud.fake.server import FakeServer

NAMED = "HYC_BENCH_TERRAFORM_PLUGINS"
PROVIDER = "registry.terraform.io/hashicorp/aws"
CONFIGURATION = """
terraform {{
  required_providers {{
    aws = {{ source = "hashicorp/aws" }}
  }}
}}
provider "aws" {{
  region = "eu-central-1"
  access_key = "rehearsal"
  secret_key = "rehearsal"
  skip_metadata_api_check = true
  endpoints {{
    ec2 = "{url}"
    iam = "{url}"
    sts = "{url}"
  }}
}}
resource "aws_instance" "web" {{
  ami = "{image}"
  instance_type = "m5.large"
  user_data = "#!/bin/sh"
  tags = {{ Name = "web" }}
}}
"""


PLUGINS = Path(os.environ.get(NAMED, "/nowhere"))
THERE = (PLUGINS / PROVIDER).is_dir() and shutil.which("terraform") is not None
Terraform = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fake() -> FakeAws:
    return FakeAws()


@pytest.fixture
def terraform(fake: FakeAws, tmp_path: Path) -> Iterator[Terraform]:
    """Runs terraform on one machine."""
    kept = {n: os.environ[n] for n in ("PATH", "TMPDIR") if n in os.environ}
    quiet = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "AWS_EC2_METADATA_DISABLED": "true", "GOGC": "400"}
    env = kept | quiet | {"HOME": str(tmp_path)}

    def run(verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["terraform", verb, "-input=false", "-no-color", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, check=False, capture_output=True, text=True, timeout=250)

    with FakeServer(fake) as running:
        (tmp_path / "main.tf").write_text(CONFIGURATION.format(url=running.url, image=PUBLIC_IMAGE))
        begun = run("init", f"-plugin-dir={PLUGINS}")
        assert begun.returncode == 0, begun.stderr
        yield run


@pytest.mark.long
@pytest.mark.skipif(not THERE, reason=NO_TERRAFORM)
@pytest.mark.timeout(600)
def test_terraform_creates_plans_nothing_more_and_destroys(fake: FakeAws, terraform: Terraform) -> None:
    made = terraform("apply", "-auto-approve")
    assert made.returncode == 0, made.stderr
    [machine] = fake.ledger.live(fake.clock.now())
    assert (machine.instance_type, machine.tags, machine.detail["start_up"]) == (
        "m5.large",
        {"Name": "web"},
        "#!/bin/sh",
    )
    shown = terraform("plan", "-detailed-exitcode")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    gone = terraform("destroy", "-auto-approve", "-refresh=false")
    assert gone.returncode == 0, gone.stderr
    assert not fake.ledger.live(fake.clock.now())
    assert {r.outcome for r in fake.ledger.requests} == {"ok"}

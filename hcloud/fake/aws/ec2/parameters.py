"""The public parameters of the fake that name images."""

from __future__ import annotations

from hcloud.fake.aws.models import Wire
from hcloud.fake.aws.world import Ask, AwsWorld

PUBLIC = "/aws/service/"
MOST_NAMES = 10
REFERENCE = "resolve:ssm:"
PARAMETER_IMAGES = "ami-0a3f61c2"  # ours: what all images behind parameters begin with, so that they are known again


def get_parameters(ask: Ask) -> Wire:
    """Parameters by name; those that there are not are told as invalid."""
    names = [str(n) for n in ask.wire.get("Names", [])][:MOST_NAMES]
    known = [n for n in names if n.startswith(PUBLIC)]
    found = [{"Name": n, "Type": "String", "Value": image_behind(ask.world, n), "Version": 1} for n in known]
    return {"Parameters": found, "InvalidParameters": [n for n in names if n not in known]}


def image_behind(world: AwsWorld, name: str) -> str:
    """The AMI that a parameter names now."""
    return PARAMETER_IMAGES + world.images.digits(name)[:9]


def resolved(world: AwsWorld, image: str) -> str:
    """The AMI of a launch, which may name a parameter instead."""
    return image_behind(world, image.removeprefix(REFERENCE)) if image.startswith(REFERENCE) else image

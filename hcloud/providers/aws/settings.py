"""Where and as whom hcloud speaks to AWS, and what its machines are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hcloud.errors import UsageError
from hcloud.model.endpoint import checked_endpoint
from hcloud.providers.on_machine import OnMachine

LAUNCHED_WITH = ("subnets", "security_groups", "key_name", "instance_profile")
DISK = "as the image says"


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """``endpoint`` is empty for Amazon's own. ``image`` is an AMI, or empty for the latest Amazon Linux.

    ``subnets`` are ids by zone; a zone without one uses its default subnet. ``access_key`` (id and secret) is for fake
    clouds; otherwise ``profile``, or what the SDK finds by itself, says who we are.
    """

    region: str
    endpoint: str = ""
    profile: str = ""
    image: str = ""
    subnets: Mapping[str, str] = field(default_factory=dict)
    security_groups: tuple[str, ...] = ()
    key_name: str = ""
    instance_profile: str = ""
    access_key: tuple[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if re.fullmatch(r"[a-z]{2,3}(-[a-z]+)+-\d{1,2}", self.region) is None:
            raise UsageError(f"{self.region!r} is no AWS region", hint="write one like eu-central-1")
        if self.endpoint:
            checked_endpoint(self.endpoint, "live.endpoint")


ON_MACHINE = OnMachine(
    reads="aws ssm get-parameter --with-decryption --query Parameter.Value --output text --name /{name}/{what}",
    right="ssm:GetParameter on arn:aws:ssm:*:*:parameter/{name}/* (and kms:Decrypt on a key of your own)",
    identity="live.settings.instance_profile",
    tool="aws (version 2)",
)

"""The one default subnet of each zone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hcloud.fake.aws.denial import DenialError
from hcloud.fake.aws.models import Wire
from hcloud.fake.aws.world import Ask


def subnet_in(zone: str) -> str:
    """The id of the default subnet of a zone, always the same."""
    return "subnet-" + hashlib.sha256(zone.encode()).hexdigest()[:17]


def zone_of(subnet: str, zones: Sequence[str]) -> str:
    """The zone a subnet is in; refuses one that is not of these zones."""
    for zone in zones:
        if subnet_in(zone) == subnet:
            return zone
    raise DenialError("InvalidSubnetID.NotFound", f"The subnet ID '{subnet}' does not exist")


def describe_subnets(ask: Ask) -> Wire:
    """All of them."""
    page, token = ask.page(list(ask.world.shop.zones(ask.region)))
    found = [
        {
            "SubnetId": subnet_in(zone),
            "AvailabilityZone": zone,
            "VpcId": "vpc-" + "0" * 17,
            "State": "available",
            "DefaultForAz": True,
            "CidrBlock": f"10.0.{number}.0/24",
            "AvailableIpAddressCount": 251,
        }
        for number, zone in enumerate(page)
    ]
    return {"Subnets": found, "NextToken": token}

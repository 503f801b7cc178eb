"""The default network of a region: one default subnet in each zone, and one security group."""

from __future__ import annotations

import hashlib

DEFAULT_VPC = "vpc-" + "0" * 17
DEFAULT_GROUP = "sg-" + "0" * 17


def subnet_in(zone: str) -> str:
    """The id of the default subnet of a zone, always the same."""
    return "subnet-" + hashlib.sha256(zone.encode()).hexdigest()[:17]

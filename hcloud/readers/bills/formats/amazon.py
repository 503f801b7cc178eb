"""The words of AWS in bills: usage types, operations, regions and terms.

Sources: AWS Cost and Usage Report user guide (data dictionary), Amazon EC2 User Guide (AMI billing information fields),
read November 2026.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hcloud.catalog.shapes import family_of
from hcloud.model.bill import Service, UsageKind
from hcloud.model.catalog import Payment, Provider
from hcloud.readers.bills.lines import Stream

_SYSTEMS = {
    "": "linux", "00g0": "linux", "0800": "linux", "0002": "windows", "0010": "rhel", "1010": "rhel-ha",
    "000g": "sles", "0g00": "ubuntu-pro", "0004": "linux-sql-standard", "0100": "linux-sql-enterprise",
    "0200": "linux-sql-web", "0006": "windows-sql-standard", "0102": "windows-sql-enterprise",
    "0202": "windows-sql-web", "0014": "rhel-sql-standard", "0110": "rhel-sql-enterprise", "0210": "rhel-sql-web",
    "1014": "rhel-ha-sql-standard", "1110": "rhel-ha-sql-enterprise",
}  # fmt: skip
"""By the code in an operation; licences that the user brings (00g0, 0800) cost what Linux costs."""
_REGIONS = {
    "USE1": "us-east-1", "USE2": "us-east-2", "USW1": "us-west-1", "USW2": "us-west-2", "UGE1": "us-gov-east-1",
    "UGW1": "us-gov-west-1", "CAN1": "ca-central-1", "CAN2": "ca-west-1", "MXC1": "mx-central-1", "SAE1": "sa-east-1",
    "EU": "eu-west-1", "EUW1": "eu-west-1", "EUW2": "eu-west-2", "EUW3": "eu-west-3", "EUC1": "eu-central-1",
    "EUC2": "eu-central-2", "EUN1": "eu-north-1", "EUS1": "eu-south-1", "EUS2": "eu-south-2", "AFS1": "af-south-1",
    "MES1": "me-south-1", "MEC1": "me-central-1", "ILC1": "il-central-1", "APE1": "ap-east-1", "APN1": "ap-northeast-1",
    "APN2": "ap-northeast-2", "APN3": "ap-northeast-3", "APS1": "ap-southeast-1", "APS2": "ap-southeast-2",
    "APS3": "ap-south-1", "APS4": "ap-southeast-3", "APS5": "ap-south-2", "APS6": "ap-southeast-4",
    "APS7": "ap-southeast-5", "CNN1": "cn-north-1", "CNW1": "cn-northwest-1",
}  # fmt: skip
_USAGE = re.compile(
    r"(?:(?P<region>[A-Z]{2,4}\d?)-)?(?:[A-Z]{3}\d-)?(?P<what>BoxUsage|SpotUsage|DedicatedUsage|HostBoxUsage|HeavyUsage|UnusedBox|"
    r"UnusedDed|Reservation|DedicatedRes)(?::(?P<type>[\w.-]+))?"
)
_SERVERLESS = re.compile(
    r"(?:(?P<region>[A-Z]{2,4}\d?)-)?(?P<spot>SpotUsage-)?(?:(?P<fargate>Fargate(?:-ARM|-Windows)?)-"
    r"(?P<unit>vCPU-Hours|GB-Hours)(?::perCPU)?|(?P<lambda>Lambda-(?:Provisioned-)?GB-Second(?:-ARM)?))"
)
_TENANCY = {
    "DedicatedUsage": "dedicated",
    "UnusedDed": "dedicated",
    "DedicatedRes": "dedicated",
    "HostBoxUsage": "host",
}
_OLDEST = "m1.small"
"""What a usage type without an instance type stands for."""
CAPACITY = frozenset({"UnusedBox", "UnusedDed", "Reservation", "DedicatedRes"})
_SECONDS = 1 / 3600
TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
PAYMENTS = {"No Upfront": Payment.NONE, "Partial Upfront": Payment.PARTIAL, "All Upfront": Payment.ALL}
YEARS = {"1yr": 1, "3yr": 3}


@dataclass(frozen=True, slots=True)
class Ran:
    """What ran: the kind, what its quantity adds to, hours a unit, and the word of the usage type."""

    kind: UsageKind
    stream: Stream
    per: float
    word: str


def system_of(operation: str) -> str | None:
    """The operating system of an operation, ``RunInstances:0002``; None for a code that is not known."""
    parts = [p for p in operation.split(":")[1:] if not p.startswith("SV")]
    return _SYSTEMS.get(parts[0] if parts else "")


def region_of(said: str, zone: str, prefix: str) -> str | None:
    """The region: as said, else of the zone, else of the usage type's prefix; None for a prefix that is not known."""
    if said:
        return said
    if zone:
        return zone.rstrip("abcdefghijklmnopqrstuvwxyz") or zone
    return _REGIONS.get(prefix or "USE1")


def ran(usage_type: str, operation: str, account: str, region: str, zone: str) -> Ran | str | None:
    """What a line of use says that ran: None for what is no machine, a sentence for a machine that is not known."""
    found = _USAGE.fullmatch(usage_type)
    if found is None:
        return _serverless(usage_type, account, region, zone)
    place, system = region_of(region, zone, found["region"] or ""), system_of(operation)
    name = found["type"] or _OLDEST
    if place is None:
        return f"lines of a region that is not known ({usage_type})"
    if system is None:
        return f"lines of an operating system that is not known ({operation})"
    if not TYPE.fullmatch(name):
        return f"lines of an instance type that is not known ({name})"
    tenancy = _TENANCY.get(found["what"], "shared")
    kind = UsageKind(Provider.AWS, account, place, family_of(Provider.AWS, name), name, system, tenancy)
    stream = Stream.SPOT if found["what"] == "SpotUsage" else Stream.HOURS
    return Ran(kind, stream, 1.0, found["what"])


def _serverless(usage_type: str, account: str, region: str, zone: str) -> Ran | str | None:
    found = _SERVERLESS.fullmatch(usage_type)
    if found is None:
        return None
    place = region_of(region, zone, found["region"] or "")
    if place is None:
        return f"lines of a region that is not known ({usage_type})"
    if found["lambda"]:
        family = "lambda-arm" if found["lambda"].endswith("-ARM") else "lambda"
        kind = UsageKind(Provider.AWS, account, place, family, "", service=Service.LAMBDA)
        return Ran(kind, Stream.MEMORY, _SECONDS, "Lambda")
    family, system = found["fargate"].lower().removesuffix("-windows"), "linux"
    if found["fargate"].endswith("Windows"):
        system = "windows"
    if found["spot"]:
        return f"lines of Fargate Spot ({usage_type})"
    kind = UsageKind(Provider.AWS, account, place, family, "", system, service=Service.FARGATE)
    return Ran(kind, Stream.HOURS if found["unit"] == "vCPU-Hours" else Stream.MEMORY, 1.0, "Fargate")

"""What may run at once: service quotas in vCPUs by class of instance type, and capacity that is reserved."""

from __future__ import annotations

from typing import Any

from hcloud.fake.aws.ec2.references import known_type
from hcloud.fake.aws.world import Ask, DenialError, Wire, moment, region_of

STANDARD = "ACDHIMRTZ"
USUAL_LIMIT = 1_000_000  # ours: a limit that is in nobody's way
# Class letters, then the quota codes of on-demand and of spot.
_CODES = {
    "Standard": ("L-1216C47A", "L-34B43A08"),
    "G": ("L-DB2E81BA", "L-3819A6DF"),
    "P": ("L-417A185B", "L-7212CCBC"),
    "F": ("L-74FC7D96", "L-88CF9481"),
    "X": ("L-7295265B", "L-E3A00192"),
}


def class_of(instance_type: str) -> str:
    """The class that a type is counted in: Standard, or the letter of its family."""
    letter = instance_type[:1].upper()
    if letter in STANDARD:
        return "Standard"
    return letter if letter in _CODES else "G"


def limit_of(ask: Ask, instance_type: str, *, spot: bool) -> int | None:
    """The limit that the fault plan states for the class of a type, None where it states none."""
    return ask.world.faults.plan.quotas.get(_CODES[class_of(instance_type)][spot])


def used(ask: Ask, instance_type: str, *, spot: bool) -> int:
    """vCPUs of the class that run in this region."""
    shop, wanted = ask.world.shop, class_of(instance_type)
    return sum(
        shop.vcpus(m.instance_type)
        for m in ask.world.ledger.live(ask.now)
        if m.spot == spot and region_of(m) == ask.region and class_of(m.instance_type) == wanted
    )


def get_service_quota(ask: Ask) -> Wire:
    """One quota of EC2."""
    for quota in _quotas(ask):
        if ask.wire.get("ServiceCode") == "ec2" and quota["QuotaCode"] == ask.wire.get("QuotaCode"):
            return {"Quota": quota}
    raise DenialError("NoSuchResourceException", "There is no such quota.")


def list_service_quotas(ask: Ask) -> Wire:
    """All quotas of EC2 that this fake counts."""
    page, token = ask.page(_quotas(ask) if ask.wire.get("ServiceCode") == "ec2" else [], 100)
    return {"Quotas": page, **({"NextToken": token} if token else {})}


def _quotas(ask: Ask) -> list[Wire]:
    return [
        {
            "ServiceCode": "ec2",
            "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaCode": code,
            "QuotaName": f"All {group} Spot Instance Requests" if spot else f"Running On-Demand {group} instances",
            "Value": float(ask.world.faults.plan.quotas.get(code, USUAL_LIMIT)),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
        for group, codes in _CODES.items()
        for spot, code in enumerate(codes)
    ]


def create_capacity_reservation(ask: Ask) -> Wire:
    """Reserve capacity, once for a client token."""
    token, count = str(ask.wire.get("ClientToken", "")), int(ask.wire["InstanceCount"])
    name, zone = str(ask.wire["InstanceType"]), str(ask.wire.get("AvailabilityZone", ""))
    before = next((r for r in _all(ask) if token and r["token"] == token), None)
    if before is not None and ask.world.faults.plan.tokens:
        if (before["InstanceType"], before["TotalInstanceCount"], before["AvailabilityZone"]) != (name, count, zone):
            raise DenialError("IdempotentParameterMismatch", "The client token was used with other parameters before.")
        return {"CapacityReservation": _told(before)}
    known_type(ask, name)
    stock = ask.world.faults.stock(name, zone)
    if stock is not None and stock < count:
        raise DenialError("InsufficientInstanceCapacity", "Insufficient capacity.", 500)
    made: dict[str, Any] = {
        "CapacityReservationId": f"cr-{ask.world.ledger.next_number():017x}",
        "OwnerId": ask.world.account,
        "InstanceType": name,
        "InstancePlatform": ask.wire["InstancePlatform"],
        "AvailabilityZone": zone,
        "TotalInstanceCount": count,
        "AvailableInstanceCount": count,
        "State": "active",
        "CreateDate": moment(ask.now).isoformat(),
        "Tags": [t for s in ask.wire.get("TagSpecifications", []) for t in s.get("Tags", [])],
        "token": token,
        "region": ask.region,
    }
    ask.world.ledger.extras[made["CapacityReservationId"]] = made
    return {"CapacityReservation": _told(made)}


def _all(ask: Ask) -> list[dict[str, Any]]:
    extras = ask.world.ledger.extras
    return [dict(e) for n, e in sorted(extras.items()) if n.startswith("cr-") and e["region"] == ask.region]


def _told(reservation: dict[str, Any]) -> Wire:
    return {k: v for k, v in reservation.items() if k not in ("token", "region")}


def describe_capacity_reservations(ask: Ask) -> Wire:
    """All of them, in pages."""
    ids = ask.wire.get("CapacityReservationIds")
    found = [_told(r) for r in _all(ask) if not ids or r["CapacityReservationId"] in ids]
    page, token = ask.page(found, 1000)
    return {"CapacityReservations": page, "NextToken": token}


def cancel_capacity_reservation(ask: Ask) -> Wire:
    """Give one back."""
    found = ask.world.ledger.extras.get(str(ask.wire["CapacityReservationId"]))
    if found is None:
        raise DenialError("InvalidCapacityReservationId.NotFound", "There is no such capacity reservation")
    found["State"] = "cancelled"
    return {"Return": True}

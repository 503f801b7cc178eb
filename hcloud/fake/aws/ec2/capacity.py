"""On-demand capacity reservations: created by client token, described, cancelled."""

from __future__ import annotations

from typing import Any

from hcloud.fake.aws.denial import DenialError
from hcloud.fake.aws.models import Wire
from hcloud.fake.aws.world import Ask, moment


def create_capacity_reservation(ask: Ask) -> Wire:
    """Reserve capacity, once for a client token."""
    token, count = str(ask.wire.get("ClientToken", "")), int(ask.wire["InstanceCount"])
    name, zone = str(ask.wire["InstanceType"]), str(ask.wire.get("AvailabilityZone", ""))
    before = next((r for r in _all(ask) if token and r["token"] == token), None)
    if before is not None and ask.world.faults.plan.tokens:
        if (before["InstanceType"], before["TotalInstanceCount"], before["AvailabilityZone"]) != (name, count, zone):
            raise DenialError("IdempotentParameterMismatch", "The client token was used with other parameters before.")
        return {"CapacityReservation": _told(before)}
    if name not in {t.name for t in ask.world.shop.types_of(ask.region)}:
        raise DenialError("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
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

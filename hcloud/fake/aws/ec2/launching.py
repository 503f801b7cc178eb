"""RunInstances and CreateFleet: tokens, quotas, stock and partial fills."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hcloud.fake.aws.ec2.capacity import limit_of, used
from hcloud.fake.aws.ec2.machines import described, end
from hcloud.fake.aws.ec2.references import (
    check_key,
    checked_image,
    known_type,
    profile_name,
    security_groups,
    template_data,
    with_template,
    zone_of,
)
from hcloud.fake.aws.world import Ask, DenialError, TokenAnswer, Wire, subnet_in
from hcloud.fake.faults import FaultKind
from hcloud.fake.ledger import Rented
from hcloud.fake.world import NewMachine

TOKEN_LASTS_SECONDS = 86400.0
LONGEST_TOKEN = 64
LARGEST_USER_DATA = 16384
MOST_TAGS = 50
USUAL_TYPE = "m1.small"  # EC2's own, where none is said


@dataclass(frozen=True, slots=True)
class Ec2Launch:
    """What is to be launched; ``least`` is how many there must be."""

    instance_type: str
    zone: str
    least: int
    most: int
    spot: bool
    tags: Mapping[str, str]
    token: str
    detail: Mapping[str, object]


def run_instances(ask: Ask) -> Wire:
    """Launch machines of one type; the same token again tells of the same machines."""
    order = _order(replace(ask, wire=with_template(ask, ask.wire)))
    told = _told_before(ask, order.token)
    if told is None:
        ask.refuse_dry_run()
        if ask.struck(FaultKind.EMPTY):
            return {"Instances": [], "OwnerId": ask.world.account, "ReservationId": _new_id(ask, "r-")}
        told = launch(ask, order)
        _remember(ask, order.token, [m.id for m in told])
    first = str(told[0].detail.get("reservation", ""))
    instances = [described(ask, m, fresh=True) for m in told]
    return {"ReservationId": first, "OwnerId": ask.world.account, "Groups": [], "Instances": instances}


def _order(ask: Ask) -> Ec2Launch:
    wire = ask.wire
    least, most = int(wire["MinCount"]), int(wire["MaxCount"])
    if not 1 <= least <= most:
        raise DenialError(
            "InvalidParameterValue", f"Invalid value '{least}' for MinCount; it must be from 1 to MaxCount"
        )
    image, key_name = str(wire.get("ImageId", "")), str(wire.get("KeyName") or "")
    image = checked_image(ask, image)
    name = known_type(ask, str(wire.get("InstanceType") or USUAL_TYPE))
    market = wire.get("InstanceMarketOptions", {})
    # an address of its own is asked for with the network interface that gets it
    network: Wire = next(iter(wire.get("NetworkInterfaces", ())), {})
    subnet = str(wire.get("SubnetId") or network.get("SubnetId") or "")
    zone = _zone(ask, subnet, wire.get("Placement", {}).get("AvailabilityZone") or "")
    check_key(ask, key_name)
    groups = wire.get("SecurityGroupIds") or network.get("Groups") or ()
    detail = {
        "image": image,
        "subnet": subnet or subnet_in(zone),
        "start_up": _user_data(str(wire.get("UserData", ""))),
        "key_name": key_name,
        "security_groups": security_groups(ask, groups, wire.get("SecurityGroups", ())),
        "profile": profile_name(wire.get("IamInstanceProfile", {})),
        "region": ask.region,
        **_chosen(wire),
    }
    token = _checked_token(str(wire.get("ClientToken", "")))
    spot = market.get("MarketType") == "spot"
    return Ec2Launch(name, zone, least, most, spot, tags_of(wire), token, detail)


_KEPT = {
    "DisableApiTermination": "kept",
    "DisableApiStop": "stop_kept",
    "EbsOptimized": "ebs_optimized",
    "InstanceInitiatedShutdownBehavior": "shutdown",
}


def _chosen(wire: Wire) -> dict[str, object]:
    """What a launch says of a machine's attributes, where it says something."""
    found: dict[str, object] = {kept: wire[name] for name, kept in _KEPT.items() if name in wire}
    disk: Wire = next((b["Ebs"] for b in wire.get("BlockDeviceMappings", ()) if b.get("Ebs")), {})
    return {**found, **({"disk": {k: v for k, v in disk.items() if k != "SnapshotId"}} if disk else {})}


def _checked_token(token: str) -> str:
    if len(token) > LONGEST_TOKEN or not token.isascii():
        raise DenialError("InvalidParameterValue", "ClientToken must have no more than 64 ASCII characters")
    return token


def _zone(ask: Ask, subnet: str, named: str) -> str:
    zones = ask.world.shop.zones(ask.region)
    zone = zone_of(ask, subnet) if subnet else named or zones[0]
    if zone not in zones:
        raise DenialError("InvalidParameterValue", f"Invalid availability zone: [{named}]")
    if subnet and named and named != zone:
        raise DenialError("InvalidParameterCombination", f"{subnet} is not in {named}")
    return zone


def _user_data(encoded: str) -> str:
    import base64

    try:
        script = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise DenialError("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data") from None
    if len(script) > LARGEST_USER_DATA:
        raise DenialError("InvalidParameterValue", "User data is limited to 16384 bytes")
    return script.decode("utf-8", "replace")


def tags_of(wire: Wire) -> dict[str, str]:
    """The tags for instances in a request."""
    found: dict[str, str] = {}
    for each in wire.get("TagSpecifications", []):
        if each.get("ResourceType") == "instance":
            found.update(checked_tags(each.get("Tags", [])))
    return found


def checked_tags(given: list[dict[str, Any]]) -> dict[str, str]:
    """Tags by key, within the limits of EC2."""
    found = {str(t.get("Key", "")): str(t.get("Value", "")) for t in given}
    if any(not k or len(k) > 128 or k.startswith("aws:") or len(v) > 256 for k, v in found.items()):
        raise DenialError("InvalidParameterValue", "Tag keys have 1 to 128 characters, values no more than 256")
    if len(found) != len(given):
        raise DenialError("InvalidParameterValue", "Duplicate tag key")
    if len(found) > MOST_TAGS:
        raise DenialError("TagLimitExceeded", "The maximum number of tags for a resource is 50")
    return found


# tokens


def _told_before(ask: Ask, token: str) -> list[Rented] | None:
    world = ask.world
    told = world.tokens.get((ask.operation, ask.region, token))
    if told is None or not token or not world.faults.plan.tokens:
        return None
    machines = [world.ledger.machines[i] for i in told.ids]
    if all(m.ended_at is not None and ask.now > m.ended_at + TOKEN_LASTS_SECONDS for m in machines):
        return None
    if told.asked != _fingerprint(ask.wire):
        raise DenialError("IdempotentParameterMismatch", "The client token was used with other parameters before.")
    if machines and all(m.asked_to_end is not None for m in machines):
        raise DenialError("IdempotentInstanceTerminated", "The instance launched with this token was terminated.")
    return machines


def _remember(ask: Ask, token: str, ids: list[str]) -> None:
    if token:
        ask.world.tokens[ask.operation, ask.region, token] = TokenAnswer(_fingerprint(ask.wire), tuple(ids))


def _fingerprint(wire: Wire) -> str:
    return json.dumps({k: v for k, v in wire.items() if k != "ClientToken"}, sort_keys=True, default=str)


# making


def launch(ask: Ask, order: Ec2Launch) -> list[Rented]:
    """Make as many as there are quota and stock for, at least ``least``; otherwise none."""
    _check_quota(ask, order)
    left = _left(ask, order)
    if left < order.least:
        raise DenialError(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {order.instance_type} capacity in the zone you requested "
            f"({order.zone}).",
            500,
        )
    reservation = _new_id(ask, "r-")
    return [_made(ask, order, reservation) for _ in range(left)]


def _check_quota(ask: Ask, order: Ec2Launch) -> None:
    limit = limit_of(ask, order.instance_type, spot=order.spot)
    need = ask.world.shop.vcpus(order.instance_type) * order.least
    if limit is None or used(ask, order.instance_type, spot=order.spot) + need <= limit:
        return
    code, what = (
        ("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
        if order.spot
        else (
            "VcpuLimitExceeded",
            f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance "
            "bucket that the specified instance type belongs to.",
        )
    )
    raise DenialError(code, what)


def _left(ask: Ask, order: Ec2Launch) -> int:
    left = ask.world.room(order.instance_type, order.zone, order.most, ask.rule)
    limit = limit_of(ask, order.instance_type, spot=order.spot)
    if limit is None:
        return left
    spare = limit - used(ask, order.instance_type, spot=order.spot)
    return min(left, spare // max(ask.world.shop.vcpus(order.instance_type), 1))


def _made(ask: Ask, order: Ec2Launch, reservation: str) -> Rented:
    tags = {} if ask.struck(FaultKind.UNTAGGED) else order.tags
    detail = {**order.detail, "reservation": reservation}
    identity = _new_id(ask, "i-")
    machine = ask.world.rent(
        NewMachine(identity, order.instance_type, order.zone, order.spot, tags, order.token, ask.principal, detail)
    )
    if ask.struck(FaultKind.OPERATION_FAILS):
        end(ask.world, machine, ask.now + 1, "Server.InsufficientInstanceCapacity")
    return machine


def _new_id(ask: Ask, prefix: str) -> str:
    return f"{prefix}{ask.world.ledger.next_number():017x}"


# fleets


def create_fleet(ask: Ask) -> Wire:
    """An instant fleet: from its overrides in their order, with an error for each that had too few."""
    wire = ask.wire
    if wire.get("Type") != "instant":
        raise DenialError("UnsupportedOperation", "This fake makes instant fleets only")
    token = _checked_token(str(wire.get("ClientToken", "")))
    told = _told_before(ask, token)
    if told is not None:
        return {"FleetId": str(told[0].detail["fleet"]), "Errors": [], "Instances": _by_override(told)}
    ask.refuse_dry_run()
    fleet = f"fleet-{ask.world.ledger.next_number():032x}"
    made, errors = _filled(ask, token, fleet)
    _remember(ask, token, [m.id for m in made])
    return {"FleetId": fleet, "Errors": errors, "Instances": _by_override(made)}


def _filled(ask: Ask, token: str, fleet: str) -> tuple[list[Rented], list[Wire]]:
    target = ask.wire["TargetCapacitySpecification"]
    wanted, spot = int(target["TotalTargetCapacity"]), target.get("DefaultTargetCapacityType") == "spot"
    made: list[Rented] = []
    errors: list[Wire] = []
    for config in ask.wire["LaunchTemplateConfigs"]:
        template = config.get("LaunchTemplateSpecification")
        data = template_data(ask, template) if template else {}
        for override in config.get("Overrides") or [{}]:
            if len(made) == wanted:
                break
            order = _of_override(ask, {**data, **override}, token)
            order = replace(order, most=wanted - len(made), spot=spot, detail={**order.detail, "fleet": fleet})
            try:
                made += launch(ask, order)
            except DenialError as denial:
                errors.append({"ErrorCode": denial.code, "ErrorMessage": denial.message, "Lifecycle": _lifecycle(spot)})
    return made, errors


def _of_override(ask: Ask, wire: Wire, token: str) -> Ec2Launch:
    """One machine as a launch template and its override have it."""
    image, zone = wire.get("ImageId"), wire.get("AvailabilityZone") or ""
    image = checked_image(ask, str(image)) if image else None
    placed = _zone(ask, wire.get("SubnetId") or "", zone)
    name = known_type(ask, str(wire.get("InstanceType") or USUAL_TYPE))
    detail = {
        "region": ask.region,
        "image": image,
        "start_up": _user_data(str(wire.get("UserData", ""))),
        "security_groups": security_groups(ask, wire.get("SecurityGroupIds", ())),
    }
    return Ec2Launch(name, placed, 1, 1, False, tags_of(ask.wire), token, detail)


def _lifecycle(spot: bool) -> str:
    return "spot" if spot else "on-demand"


def _by_override(machines: list[Rented]) -> list[Wire]:
    groups: dict[tuple[str, str], list[Rented]] = {}
    for machine in machines:
        groups.setdefault((machine.instance_type, machine.zone), []).append(machine)
    return [
        {"InstanceIds": [m.id for m in group], "InstanceType": name, "Lifecycle": _lifecycle(group[0].spot)}
        for (name, _), group in groups.items()
    ]

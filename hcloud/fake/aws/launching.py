"""RunInstances and CreateFleet: tokens, quotas, stock and partial fills."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from hcloud.fake.aws.denial import DenialError
from hcloud.fake.aws.machines import described, end
from hcloud.fake.aws.models import Wire
from hcloud.fake.aws.parameters import resolved
from hcloud.fake.aws.quotas import limit_of, used
from hcloud.fake.aws.subnets import subnet_in, zone_of
from hcloud.fake.aws.world import Ask, Told
from hcloud.fake.faults import Kind
from hcloud.fake.ledger import Rented

TOKEN_LASTS_SECONDS = 86400.0
LONGEST_TOKEN = 64
LARGEST_USER_DATA = 16384
MOST_TAGS = 50
_IMAGE = re.compile(r"ami-[0-9a-f]{8}(?:[0-9a-f]{9})?|resolve:ssm:/\S+")


@dataclass(frozen=True, slots=True)
class Order:
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
    order = _order(ask)
    told = _told_before(ask, order.token)
    if told is None:
        _refuse_dry_run(ask)
        if ask.struck(Kind.EMPTY):
            return {"Instances": [], "OwnerId": ask.world.account, "ReservationId": _new_id(ask, "r-")}
        told = launch(ask, order)
        _remember(ask, order.token, [m.id for m in told])
    first = str(told[0].detail.get("reservation", ""))
    instances = [described(ask, m, fresh=True) for m in told]
    return {"ReservationId": first, "OwnerId": ask.world.account, "Groups": [], "Instances": instances}


def _order(ask: Ask) -> Order:
    wire = ask.wire
    least, most = int(wire["MinCount"]), int(wire["MaxCount"])
    if not 1 <= least <= most:
        raise DenialError(
            "InvalidParameterValue", f"Invalid value '{least}' for MinCount; it must be from 1 to MaxCount"
        )
    image = _checked_image(ask, str(wire.get("ImageId", "")))
    name = _known_type(ask, str(wire.get("InstanceType", "")))
    market = wire.get("InstanceMarketOptions", {})
    zone = _zone(ask, wire)
    detail = {
        "image": image,
        "subnet": wire.get("SubnetId") or subnet_in(zone),
        "start_up": _user_data(str(wire.get("UserData", ""))),
        "key_name": wire.get("KeyName", ""),
        "security_groups": tuple(wire.get("SecurityGroupIds", ())),
        "profile": wire.get("IamInstanceProfile", {}).get("Name", ""),
        "region": ask.region,
    }
    token = _checked_token(str(wire.get("ClientToken", "")))
    spot = market.get("MarketType") == "spot"
    return Order(name, zone, least, most, spot, tags_of(wire), token, detail)


def _checked_image(ask: Ask, image: str) -> str:
    if not image:
        raise DenialError("MissingParameter", "The request must contain the parameter ImageId")
    if _IMAGE.fullmatch(image) is None:
        raise DenialError("InvalidAMIID.Malformed", f'Invalid id: "{image}" (expecting "ami-...")')
    found = resolved(ask.world, image)
    if found in ask.world.images.withdrawn:
        raise DenialError("InvalidAMIID.NotFound", f"The image id '[{found}]' does not exist")
    return found


def _known_type(ask: Ask, name: str) -> str:
    if name not in {t.name for t in ask.world.shop.types_of(ask.region)}:
        raise DenialError("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    return name


def _checked_token(token: str) -> str:
    if len(token) > LONGEST_TOKEN or not token.isascii():
        raise DenialError("InvalidParameterValue", "ClientToken must have no more than 64 ASCII characters")
    return token


def _zone(ask: Ask, wire: Wire) -> str:
    zones = ask.world.shop.zones(ask.region)
    subnet, named = wire.get("SubnetId") or "", wire.get("Placement", {}).get("AvailabilityZone") or ""
    zone = str(zone_of(subnet, zones) if subnet else named or zones[0])
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


def _refuse_dry_run(ask: Ask) -> None:
    if ask.wire.get("DryRun"):
        raise DenialError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


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
        ask.world.tokens[ask.operation, ask.region, token] = Told(_fingerprint(ask.wire), tuple(ids))


def _fingerprint(wire: Wire) -> str:
    return json.dumps({k: v for k, v in wire.items() if k != "ClientToken"}, sort_keys=True, default=str)


# making


def launch(ask: Ask, order: Order) -> list[Rented]:
    """Make as many as there are quota and stock for, at least ``least``; otherwise none."""
    _check_quota(ask, order)
    left = _left(ask, order)
    partial = ask.struck(Kind.PARTIAL)
    if partial is not None:
        left = min(left, floor(order.most * partial.share))
    if left < order.least:
        raise DenialError(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {order.instance_type} capacity in the zone you requested "
            f"({order.zone}).",
            500,
        )
    reservation = _new_id(ask, "r-")
    return [_made(ask, order, reservation) for _ in range(min(order.most, left))]


def _check_quota(ask: Ask, order: Order) -> None:
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


def _left(ask: Ask, order: Order) -> int:
    world = ask.world
    by_stock = world.faults.stock(order.instance_type, order.zone)
    taken = sum(1 for m in world.ledger.live(ask.now) if (m.instance_type, m.zone) == (order.instance_type, order.zone))
    limit = limit_of(ask, order.instance_type, spot=order.spot)
    left = order.most if by_stock is None else by_stock - taken
    if limit is not None:
        spare = limit - used(ask, order.instance_type, spot=order.spot)
        left = min(left, spare // max(world.shop.vcpus(order.instance_type), 1))
    return left


def _made(ask: Ask, order: Order, reservation: str) -> Rented:
    world, plan = ask.world, ask.world.faults.plan
    machine = Rented(
        id=_new_id(ask, "i-"),
        instance_type=order.instance_type,
        zone=order.zone,
        spot=order.spot,
        tags={} if ask.struck(Kind.UNTAGGED) else dict(order.tags),
        token=order.token,
        principal=ask.principal,
        made_at=ask.now,
        visible_at=ask.now + plan.visibility_delay,
        tagged_at=ask.now + plan.visibility_delay + plan.tag_delay,
        running_at=ask.now + plan.spin_up,
        detail={**order.detail, "reservation": reservation},
    )
    world.ledger.machines[machine.id] = machine
    if ask.struck(Kind.OPERATION_FAILS):
        end(world, machine, ask.now + 1, "Server.InsufficientInstanceCapacity")
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
    _refuse_dry_run(ask)
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
        for override in config.get("Overrides", []):
            if len(made) == wanted:
                break
            name = _known_type(ask, str(override.get("InstanceType", "")))
            detail = {"fleet": fleet, "region": ask.region, "image": override.get("ImageId"), "start_up": ""}
            order = Order(
                name, _zone(ask, _placed(override)), 1, wanted - len(made), spot, tags_of(ask.wire), token, detail
            )
            try:
                made += launch(ask, order)
            except DenialError as denial:
                errors.append({"ErrorCode": denial.code, "ErrorMessage": denial.message, "Lifecycle": _lifecycle(spot)})
    return made, errors


def _placed(override: Wire) -> Wire:
    return {"SubnetId": override.get("SubnetId"), "Placement": {"AvailabilityZone": override.get("AvailabilityZone")}}


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

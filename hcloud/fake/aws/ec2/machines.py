"""Machines of the fake EC2: what they look like now, by the clock and the delays of the fault plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from hcloud.fake.aws.world import DEFAULT_GROUP, DEFAULT_VPC, Ask, AwsWorld, DenialError, Wire, moment
from hcloud.fake.faults import FaultKind
from hcloud.fake.ledger import Rented
from hcloud.fake.world import MAINTAINED

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
TAKEN_FROM_SPOT = "Server.SpotInstanceTermination"
ROOT_DEVICE = "/dev/xvda"
_ID_LENGTH = (8, 17)


def state_of(machine: Rented, now: float) -> str:
    """The state at a moment."""
    if machine.ended_at is not None and now >= machine.ended_at:
        return "terminated"
    if machine.asked_to_end is not None and now >= machine.asked_to_end:
        return "shutting-down"
    if machine.detail.get("stopped"):
        return "stopped"
    if machine.running_at is None or now < machine.running_at:
        return "pending"
    return "running"


def seen_state(ask: Ask, machine: Rented) -> str:
    """The state that lists show: they lag behind by the visibility delay, and by what a rule adds."""
    late = ask.world.faults.plan.visibility_delay + ask.behind.ended
    return state_of(machine, max(ask.now - late, machine.made_at))


def is_listed(ask: Ask, machine: Rented) -> bool:
    """Whether lists show it: not yet at first, not any more some time after its end."""
    over = machine.ended_at
    gone = over is not None and ask.now - ask.behind.ended > over + ask.world.faults.plan.linger
    return machine.visible_at <= ask.now - ask.behind.made and not gone


def settle_taken(world: AwsWorld) -> None:
    """End the machines whose notice has run out."""
    for machine, at in world.taken_away():
        end(world, machine, at, "Server.ScheduledStop" if MAINTAINED in machine.detail else TAKEN_FROM_SPOT)


def end(world: AwsWorld, machine: Rented, at: float, reason: str) -> None:
    """Begin the end of a machine; one that is ending already stays as it is."""
    if machine.asked_to_end is None:
        machine.asked_to_end = at
        machine.ended_at = at + world.faults.plan.end_delay
        machine.detail["reason"] = reason


def changed(ask: Ask, machine: Rented, change: Callable[[Rented], None]) -> Wire:
    """Change a machine, and tell of its state before and after."""
    before = state_of(machine, ask.now)
    change(machine)
    after = state_of(machine, ask.now)
    return {
        "InstanceId": machine.id,
        "PreviousState": {"Code": CODES[before], "Name": before},
        "CurrentState": {"Code": CODES[after], "Name": after},
    }


def by_user(at: float) -> str:
    """How EC2 says that somebody asked for the end of a machine, with the time; of its own it says none."""
    return f"User initiated ({moment(at):%Y-%m-%d %H:%M:%S} GMT)"


def of_ids(ask: Ask, ids: list[str]) -> list[Rented]:
    """The machines of these ids; refuses all where one is malformed or not known here."""
    for given in ids:
        kind, _, digits = given.partition("-")
        if kind != "i" or len(digits) not in _ID_LENGTH or not all(c in "0123456789abcdef" for c in digits):
            raise DenialError("InvalidInstanceID.Malformed", f'Invalid id: "{given}"')
    found = {m.id: m for m in ask.machines}
    missing = [i for i in ids if i not in found or not is_listed(ask, found[i])]
    if missing:
        text = f"The instance ID '{missing[0]}' does not exist"
        if len(missing) > 1:
            text = f"The instance IDs '{', '.join(missing)}' do not exist"
        raise DenialError("InvalidInstanceID.NotFound", text)
    return [found[i] for i in ids]


def matching(ask: Ask, machines: list[Rented]) -> list[Rented]:
    """Those that all filters of the request let through."""
    readers: dict[str, Callable[[Rented], Sequence[str]]] = {
        "instance-state-name": lambda m: [seen_state(ask, m)],
        "instance-type": lambda m: [m.instance_type],
        "instance-id": lambda m: [m.id],
        "availability-zone": lambda m: [m.zone],
        "client-token": lambda m: [m.token],
        "reservation-id": lambda m: [str(m.detail.get("reservation", ""))],
        "instance-lifecycle": lambda m: ["spot"] if m.spot else [],
        "tag-key": lambda m: list(seen_tags(ask, m)),
    }

    def reader(name: str) -> Callable[[Rented], Sequence[str]] | None:
        kind, _, key = name.partition(":")
        if kind != "tag" or not key:
            return readers.get(name)
        return lambda machine: [value for k, value in seen_tags(ask, machine).items() if k == key]

    return ask.filtered(machines, reader)


def seen_tags(ask: Ask, machine: Rented) -> dict[str, str]:
    """The tags that lists show."""
    return machine.tags if machine.tagged_at <= ask.now - ask.behind.made else {}


def described(ask: Ask, machine: Rented, *, fresh: bool = False) -> Wire:
    """A machine as EC2 tells of it; ``fresh`` is the answer to its launch, which is never late."""
    state = state_of(machine, ask.now) if fresh else seen_state(ask, machine)
    tags = machine.tags if fresh else seen_tags(ask, machine)
    told: Wire = {
        "InstanceId": machine.id,
        "ImageId": machine.detail.get("image"),
        "State": {"Code": CODES[state], "Name": state},
        "InstanceType": machine.instance_type,
        "LaunchTime": moment(machine.made_at),
        "PlatformDetails": "Linux/UNIX",
        "Placement": {"AvailabilityZone": machine.zone, "Tenancy": "default", "GroupName": ""},
        "ClientToken": machine.token,
        "Monitoring": {"State": "disabled"},
        **_equipment(ask, machine, gone=state == "terminated"),
        "Tags": [{"Key": k, "Value": v} for k, v in sorted(tags.items())],
        "InstanceLifecycle": "spot" if machine.spot else None,
        "SpotInstanceRequestId": _spot_request(machine) if machine.spot else None,
        "StateTransitionReason": machine.detail.get("reason", ""),
    }
    if ask.struck(FaultKind.UNKNOWN_WORDS):
        told["State"] = {"Code": 999, "Name": "hibernating-deeply"}
    return told


def _equipment(ask: Ask, machine: Rented, *, gone: bool) -> Wire:
    """What a machine is made of; of one that has ended neither disk nor network is told any more."""
    detail = machine.detail
    told: Wire = {
        "KeyName": detail.get("key_name") or None,
        "RootDeviceName": ROOT_DEVICE,
        "RootDeviceType": "ebs",
        "EbsOptimized": bool(detail.get("ebs_optimized")),
        "Architecture": ask.world.shop.arch(machine.instance_type),
        "VirtualizationType": "hvm",
    }
    if gone:
        return told
    groups = detail.get("security_groups") or ((DEFAULT_GROUP, "default"),)
    return {
        **told,
        "SubnetId": detail.get("subnet"),
        "VpcId": DEFAULT_VPC,
        "PrivateIpAddress": _address(machine),
        "SourceDestCheck": bool(detail.get("source_check", True)),
        "SecurityGroups": [{"GroupId": i, "GroupName": n} for i, n in groups],  # type: ignore[attr-defined]
        "BlockDeviceMappings": disks(machine),
        "IamInstanceProfile": profile_of(ask, machine),
    }


def profile_of(ask: Ask, machine: Rented) -> Wire | None:
    """The instance profile of a machine, where it has one."""
    name = machine.detail.get("profile")
    if not name:
        return None
    return {"Arn": f"arn:aws:iam::{ask.world.account}:instance-profile/{name}", "Id": f"AIPA{name}".upper()}


def disks(machine: Rented) -> list[Wire]:
    """The one disk of a machine as its own description has it."""
    delete = disk_asked_for(machine).get("DeleteOnTermination", True)
    ebs = {"VolumeId": volume_of(machine), "Status": "attached", "DeleteOnTermination": delete}
    return [{"DeviceName": ROOT_DEVICE, "Ebs": {**ebs, "AttachTime": moment(machine.made_at)}}]


def disk_asked_for(machine: Rented) -> Wire:
    """What the launch said of the disk."""
    found = machine.detail.get("disk")
    return found if isinstance(found, dict) else {}


def volume_of(machine: Rented) -> str:
    """The id of a machine's disk."""
    return "vol-" + machine.id.removeprefix("i-")


def _address(machine: Rented) -> str:
    number = int(machine.id.removeprefix("i-"), 16) % 65_000 + 4
    return f"172.31.{number >> 8}.{number & 255}"


def _spot_request(machine: Rented) -> str:
    return "sir-" + machine.id.removeprefix("i-")[-8:]


def spot_request(machine: Rented) -> Wire:
    """The request behind a spot machine, which tells of notices."""
    noticed = machine.detail.get("notice_at")
    code = "fulfilled" if noticed is None else "marked-for-termination"
    ended = machine.asked_to_end is not None
    if ended:
        code = "instance-terminated-no-capacity" if noticed else "instance-terminated-by-user"
    changed: datetime = moment(noticed if isinstance(noticed, float) else machine.made_at)
    return {
        "SpotInstanceRequestId": _spot_request(machine),
        "InstanceId": machine.id,
        "State": "closed" if ended else "active",
        "Status": {"Code": code, "Message": code, "UpdateTime": changed},
        "Type": "one-time",
        "CreateTime": moment(machine.made_at),
    }


def scheduled(machine: Rented) -> list[Wire]:
    """The events that are scheduled for a machine."""
    at = machine.detail.get(MAINTAINED)
    if not isinstance(at, float) or machine.asked_to_end is not None:
        return []
    what = {"Code": "instance-retirement", "Description": "The instance is running on degraded hardware"}
    return [{"InstanceEventId": f"instance-event-{machine.id[2:]}", **what, "NotBefore": moment(at)}]


def reservations(ask: Ask, machines: list[Rented]) -> list[Wire]:
    """Machines by the launch that they came with."""
    groups: dict[str, list[Rented]] = {}
    for machine in machines:
        groups.setdefault(str(machine.detail.get("reservation", "r-0")), []).append(machine)
    owner = ask.world.account
    return [
        {"ReservationId": name, "OwnerId": owner, "Groups": [], "Instances": [described(ask, m) for m in group]}
        for name, group in groups.items()
    ]

"""Starting, stopping and changing machines of the fake EC2, and what is asked about one of them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from hcloud.fake.aws.behind import is_used, told
from hcloud.fake.aws.ec2.machines import (
    ROOT_DEVICE,
    changed,
    disk_asked_for,
    disks,
    is_listed,
    of_ids,
    profile_of,
    state_of,
    volume_of,
)
from hcloud.fake.aws.ec2.references import known_type, security_groups
from hcloud.fake.aws.world import Ask, DenialError, Wire, by_column, moment
from hcloud.fake.ledger import Rented

ROOT_GIB = 8  # of Amazon Linux


def stop_instances(ask: Ask) -> Wire:
    """Let machines stand still: all of them, or none where one cannot."""
    found = _of(ask)
    for machine in found:
        if machine.spot:
            words = f"You can't stop the Spot Instance '{machine.id}' because it is associated with a one-time Spot "
            words += "Instance request. Only those of persistent Spot Instance requests can be stopped."
            raise DenialError("UnsupportedOperation", words)
        if machine.detail.get("stop_kept"):
            words = f"The instance '{machine.id}' may not be stopped. Modify its 'disableApiStop' instance attribute."
            raise DenialError("OperationNotPermitted", words)
        _check_state(ask, machine, "stopped", ("running", "stopped"))
    return {"StoppingInstances": [changed(ask, m, lambda m: m.detail.update(stopped=True)) for m in found]}


def start_instances(ask: Ask) -> Wire:
    """Let machines run again that were stopped."""
    found = _of(ask)
    for machine in found:
        _check_state(ask, machine, "started", ("running", "pending", "stopped"))

    def start(machine: Rented) -> None:
        if machine.detail.pop("stopped", False):
            machine.running_at = ask.now + ask.world.faults.plan.spin_up

    return {"StartingInstances": [changed(ask, m, start) for m in found]}


def reboot_instances(ask: Ask) -> Wire:
    """Nothing of a machine that lists show changes with a reboot."""
    for machine in _of(ask):
        _check_state(ask, machine, "rebooted", ("running",))
    return {}


def _of(ask: Ask) -> list[Rented]:
    found = of_ids(ask, list(dict.fromkeys(str(i) for i in ask.wire.get("InstanceIds", []))))
    ask.refuse_dry_run()
    return found


def _check_state(ask: Ask, machine: Rented, what: str, allowed: tuple[str, ...]) -> None:
    if state_of(machine, ask.now) not in allowed:
        words = f"The instance '{machine.id}' is not in a state from which it can be {what}."
        raise DenialError("IncorrectInstanceState", words)


# attributes

_ATTRIBUTES: Mapping[str, Callable[[Rented], Any]] = {
    "instanceType": lambda m: {"InstanceType": {"Value": m.instance_type}},
    "kernel": lambda _: {"KernelId": {}},
    "ramdisk": lambda _: {"RamdiskId": {}},
    "userData": lambda m: {"UserData": {"Value": b64encode(_script(m)).decode()} if _script(m) else {}},
    "disableApiTermination": lambda m: {"DisableApiTermination": {"Value": bool(m.detail.get("kept"))}},
    "disableApiStop": lambda m: {"DisableApiStop": {"Value": bool(m.detail.get("stop_kept"))}},
    "instanceInitiatedShutdownBehavior": lambda m: {
        "InstanceInitiatedShutdownBehavior": {"Value": m.detail.get("shutdown") or "stop"}
    },
    "rootDeviceName": lambda _: {"RootDeviceName": {"Value": ROOT_DEVICE}},
    "blockDeviceMapping": lambda m: {"BlockDeviceMappings": disks(m)},
    "productCodes": lambda _: {"ProductCodes": []},
    "sourceDestCheck": lambda m: {"SourceDestCheck": {"Value": bool(m.detail.get("source_check", True))}},
    "groupSet": lambda m: {"Groups": [{"GroupId": i, "GroupName": n} for i, n in _groups(m)]},
    "ebsOptimized": lambda m: {"EbsOptimized": {"Value": bool(m.detail.get("ebs_optimized"))}},
    "sriovNetSupport": lambda _: {"SriovNetSupport": {"Value": "simple"}},
    "enclaveOptions": lambda _: {"EnclaveOptions": {"Enabled": False}},
}


def describe_instance_attribute(ask: Ask) -> Wire:
    """One attribute of one machine."""
    [machine] = of_ids(ask, [str(ask.wire["InstanceId"])])
    name = str(ask.wire["Attribute"])
    if name not in _ATTRIBUTES:
        raise DenialError("InvalidParameterValue", f"Value ({name}) for parameter attribute is invalid.")
    return {"InstanceId": machine.id, **_ATTRIBUTES[name](machine)}


_FLAGS = {"DisableApiTermination": "kept", "DisableApiStop": "stop_kept", "SourceDestCheck": "source_check"}
_ONLY_STOPPED = ("InstanceType", "EbsOptimized", "UserData")
_BY_MEMBER = {"userData": "UserData", "groupSet": "Groups"}


def modify_instance_attribute(ask: Ask) -> Wire:
    """Change attributes of one machine; what a machine starts with can be changed only while it is stopped."""
    [machine] = of_ids(ask, [str(ask.wire["InstanceId"])])
    given = {k: v for k, v in ask.wire.items() if k not in ("InstanceId", "DryRun", "Attribute", "Value")}
    if name := str(ask.wire.get("Attribute", "")):
        if name not in _ATTRIBUTES:
            raise DenialError("InvalidParameterValue", f"Value ({name}) for parameter attribute is invalid.")
        given[_BY_MEMBER.get(name, name[:1].upper() + name[1:])] = {"Value": ask.wire.get("Value", "")}
    if len(given) != 1:
        raise DenialError("InvalidParameterCombination", "Fields for exactly one attribute must be specified")
    [(name, value)] = given.items()
    if name in _ONLY_STOPPED and state_of(machine, ask.now) != "stopped":
        raise DenialError("IncorrectInstanceState", f"The instance '{machine.id}' is not in the 'stopped' state.")
    _modify(ask, machine, name, value)
    return {}


def _modify(ask: Ask, machine: Rented, name: str, value: Any) -> None:
    plain = value.get("Value") if isinstance(value, dict) else value
    if name in _FLAGS or name == "EbsOptimized":
        kept = _FLAGS.get(name, "ebs_optimized")
        machine.detail[kept] = plain if isinstance(plain, bool) else str(plain).lower() == "true"
    elif name == "InstanceType":
        machine.instance_type = known_type(ask, str(plain))
    elif name == "InstanceInitiatedShutdownBehavior":
        if plain not in ("stop", "terminate"):
            raise DenialError("InvalidParameterValue", f"Value ({plain}) for parameter value is invalid.")
        machine.detail["shutdown"] = plain
    elif name == "UserData":
        script = plain if isinstance(plain, bytes) else b64decode(str(plain or ""))
        machine.detail["start_up"] = script.decode("utf-8", "replace")
    elif name == "Groups" and isinstance(value, list):
        machine.detail["security_groups"] = security_groups(ask, [str(g) for g in value])
    else:
        raise DenialError("UnsupportedOperation", f"This fake changes no {name} of a machine")


# what stands beside a machine


def describe_volumes(ask: Ask) -> Wire:
    """The disk of each machine, and volumes that were created beside."""
    found = [_volume(m) for m in ask.machines if m.is_there(ask.now) and is_listed(ask, m)]
    found = ask.filtered(found, _volume_reader)
    wanted = [str(i) for i in ask.wire.get("VolumeIds", [])]
    ours = {v["VolumeId"] for v in found}
    if others := [i for i in wanted if i not in ours]:
        found += told("ec2", ask.region, "DescribeVolumes", {"VolumeIds": others})["Volumes"]
    elif not wanted and is_used():
        found += told("ec2", ask.region, "DescribeVolumes", {"Filters": ask.wire.get("Filters", [])})["Volumes"]
    page, token = ask.page([v for v in found if not wanted or v["VolumeId"] in wanted])
    return {"Volumes": page, "NextToken": token}


_VOLUME_FILTERS = {
    "attachment.instance-id": "InstanceId",
    "attachment.device": "Device",
    "attachment.status": "State",
    "availability-zone": "AvailabilityZone",
    "status": "State",
    "volume-id": "VolumeId",
    "volume-type": "VolumeType",
}


def _volume_reader(name: str) -> Callable[[Wire], list[str]] | None:
    column = _VOLUME_FILTERS.get(name)
    if column is None:
        return None
    return lambda volume: [str((volume["Attachments"][0] if name.startswith("attachment.") else volume)[column])]


def _volume(machine: Rented) -> Wire:
    chosen = disk_asked_for(machine)
    [attached] = disks(machine)
    made = moment(machine.made_at)
    return {
        "VolumeId": volume_of(machine),
        "Size": chosen.get("VolumeSize", ROOT_GIB),
        "VolumeType": chosen.get("VolumeType", "gp3"),
        "Iops": chosen.get("Iops", 3000),
        "Throughput": chosen.get("Throughput", 125),
        "Encrypted": bool(chosen.get("Encrypted")),
        "State": "in-use",
        "AvailabilityZone": machine.zone,
        "CreateTime": made,
        "Attachments": [
            {
                "InstanceId": machine.id,
                "VolumeId": volume_of(machine),
                "Device": ROOT_DEVICE,
                "State": "attached",
                "AttachTime": made,
                "DeleteOnTermination": attached["Ebs"]["DeleteOnTermination"],
            }
        ],
    }


def describe_instance_credit_specifications(ask: Ask) -> Wire:
    """How machines of burstable types are charged for bursts: without limit, as T3 is where nothing is said."""
    found = of_ids(ask, [str(i) for i in ask.wire.get("InstanceIds", [])])
    burstable = [m for m in found if m.instance_type.startswith("t")]
    return {"InstanceCreditSpecifications": [{"InstanceId": m.id, "CpuCredits": "unlimited"} for m in burstable]}


def describe_iam_instance_profile_associations(ask: Ask) -> Wire:
    """Which machine has which profile."""
    rows: list[Wire] = [
        {
            "AssociationId": f"iip-assoc-{machine.id.removeprefix('i-')}",
            "InstanceId": machine.id,
            "IamInstanceProfile": profile,
            "State": "associated",
        }
        for machine in ask.machines
        if machine.is_there(ask.now) and (profile := profile_of(ask, machine))
    ]
    columns = {"instance-id": "InstanceId", "state": "State"}
    return {"IamInstanceProfileAssociations": ask.filtered(rows, by_column(columns))}


def _groups(machine: Rented) -> tuple[tuple[str, str], ...]:
    found = machine.detail.get("security_groups")
    return found if isinstance(found, tuple) else ()


def _script(machine: Rented) -> bytes:
    return str(machine.detail.get("start_up", "")).encode()

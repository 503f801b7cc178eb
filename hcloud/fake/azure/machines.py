"""Making and ending machines in the fake Azure, with stock, limits and all that is made around a machine."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from hcloud.fake.azure.estate import DISKS, INTERFACES, LOCATION, MACHINES, NAME, AzureLocation, AzureResource, Estate
from hcloud.fake.azure.shapes import ZONES, AzureSize, shape
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, branch, listed, text
from hcloud.fake.faults import FaultKind
from hcloud.fake.world import NewMachine

CORES = "cores"
SPOT_CORES = "lowPriorityCores"
DEFAULT_LIMIT = 100_000  # ours
PUBLISHERS = ("Canonical", "Debian", "MicrosoftWindowsServer", "RedHat", "SUSE", "almalinux", "resf")
"""Whose platform images there are: those of Ubuntu, Debian, Windows and the free and paid kinds of Linux."""


@dataclass(frozen=True, slots=True)
class MachineOrder:
    """Machines of one kind that a request is for. ``profile`` is the part of its body that describes a machine."""

    place: AzureLocation
    shape: AzureSize
    count: int
    spot: bool
    tags: dict[str, str]
    profile: Document
    token: str
    principal: str


@dataclass(frozen=True, slots=True)
class CapacityGrant:
    """How many of them there are, and Azure's error for the rest."""

    count: int
    error: Document | None = None


def wanted_from(asked: ArmRequest, type_name: str, count: int, profile: Document) -> MachineOrder:
    """What a request is for; raises Refused where it is wrong."""
    found = shape(type_name)
    if found is None:
        raise Refused(400, "InvalidParameter", f"The value {type_name} provided for the VM size is not valid.")
    zones = [str(z) for z in listed(asked.body, "zones")]
    location = text(asked.body, "location").lower().replace(" ", "")
    if not location:
        raise Refused(400, "LocationRequired", "The location property is required for this definition.")
    if len(zones) > 1 or any(z not in ZONES for z in zones):
        raise Refused(400, "InvalidParameter", f"The zones {zones} are not valid here.")
    tags = {str(k): str(v) for k, v in branch(asked.body, "tags").items()}
    place = AzureLocation(asked.params["subscription"], asked.params["group"], location, next(iter(zones), ""))
    spot = text(profile, "priority") == "Spot"
    profile = {**profile, "identities": [*branch(asked.body, "identity", "userAssignedIdentities")]}
    return MachineOrder(place, found, count, spot, tags, profile, asked.params["name"], asked.principal)


def _check_image(estate: Estate, profile: Document) -> None:
    image = str(_made_of(profile)["image"])
    if image.startswith("/"):
        if estate.find(image) is None:
            words = f"The gallery image {image} is not available in {LOCATION} region."
            raise Refused(404, "GalleryImageNotFound", words)
    elif image in estate.images.withdrawn or (image and image.partition(":")[0] not in PUBLISHERS):
        words = (
            f"The platform image '{image}' is not available. Verify that all fields in the storage profile are correct."
        )
        raise Refused(404, "PlatformImageNotFound", words)


def granted(estate: Estate, wanted: MachineOrder, asked: ArmRequest) -> CapacityGrant:
    """How many machines a request gets; raises Refused where a limit forbids it, or there is no such image."""
    _check_image(estate, wanted.profile)
    check_limits(estate, wanted, asked.now)
    code = "ZonalAllocationFailed" if wanted.place.zone else "AllocationFailed"
    message = f"Allocation failed: not enough capacity for {wanted.shape.name} in {wanted.place.zone_name}."
    short: Document = {"code": (asked.rule.code if asked.rule else "") or code, "message": message}
    if asked.fault is FaultKind.OPERATION_FAILS:
        return CapacityGrant(0, short)
    if asked.fault is FaultKind.EMPTY:
        return CapacityGrant(0)
    count = estate.room(wanted.shape.name, wanted.place.zone_name, wanted.count, asked.rule)
    return CapacityGrant(count, short if count < wanted.count else None)


def limits(estate: Estate, place: AzureLocation, now: float) -> dict[str, tuple[int, int]]:
    """The limits on cores of a location: used and allowed, by their names."""
    used: dict[str, int] = {CORES: 0, SPOT_CORES: 0}
    for machine in estate.ledger.machines.values():
        found = shape(machine.instance_type)
        if found and machine.is_there(now) and machine.detail.get("subscription") == place.subscription:
            used[CORES] += found.vcpus
            name = SPOT_CORES if machine.spot else found.family
            used[name] = used.get(name, 0) + found.vcpus
    return {name: (count, limit_of(estate, name)) for name, count in used.items()}


def limit_of(estate: Estate, name: str) -> int:
    """What the fault plan allows of cores by the name of their limit, in whatever case; much where it says nothing."""
    allowed = {known.lower(): limit for known, limit in estate.faults.plan.quotas.items()}
    return allowed.get(name.lower(), DEFAULT_LIMIT)


def check_limits(estate: Estate, wanted: MachineOrder, now: float) -> None:
    """Refuse what a limit on cores does not allow, in Azure's words."""
    found = limits(estate, wanted.place, now)
    needed = wanted.count * wanted.shape.vcpus
    for name in (SPOT_CORES,) if wanted.spot else (CORES, wanted.shape.family):
        used, limit = found.get(name, (0, limit_of(estate, name)))
        if used + needed > limit:
            said = (
                f"Operation could not be completed as it results in exceeding approved {name} quota. "
                f"Location: {wanted.place.location}, Current Limit: {limit}, Current Usage: {used}, "
                f"Additional Required: {needed}, (Minimum) New Limit Required: {used + needed}."
            )
            raise Refused(409, "OperationNotAllowed", said)


def make(estate: Estate, wanted: MachineOrder, name: str, home: AzureResource | None, now: float) -> AzureResource:
    """A machine that runs, with whatever interface and disk its request describes."""
    machine = put_up(estate, wanted, name, home, now)
    detail = {
        "subscription": wanted.place.subscription,
        "resource_group": wanted.place.group,
        "start_up": _start_up(wanted.profile),
        **_made_of(wanted.profile),
    }
    kind, zone = wanted.shape.name, wanted.place.zone_name
    machine.rented = estate.rent(
        NewMachine(machine.short_id, kind, zone, wanted.spot, wanted.tags, wanted.token, wanted.principal, detail)
    )
    return machine


def put_up(estate: Estate, wanted: MachineOrder, name: str, home: AzureResource | None, now: float) -> AzureResource:
    """The machine as a resource, running or not."""
    plan = estate.faults.plan
    properties: Document = {
        "hardwareProfile": {"vmSize": wanted.shape.name},
        "networkProfile": {"networkInterfaces": _interfaces(estate, wanted, name, home)},
        "storageProfile": {"osDisk": _disk(estate, wanted, name)},
        **({"priority": "Spot", "evictionPolicy": "Delete"} if wanted.spot else {}),
        **({"virtualMachineScaleSet": {"id": home.id}} if home else {}),
    }
    document: Document = {
        "location": wanted.place.location,
        "tags": dict(wanted.tags),
        "properties": properties,
        **({"zones": [wanted.place.zone]} if wanted.place.zone else {}),
    }
    return estate.add(
        AzureResource(
            id=f"{wanted.place.home}/providers/{MACHINES}/{name}",
            kind=MACHINES,
            document=document,
            made_at=now,
            ready_at=now + plan.spin_up,
            visible_at=now + plan.visibility_delay,
            tagged_at=now + plan.tag_delay,
            home=home.id if home else "",
        )
    )


def leave_behind(estate: Estate, wanted: MachineOrder, home: AzureResource, now: float) -> None:
    """What a machine leaves that could not be allocated: itself as a failed one with what was made for it, and an
    interface and a disk that belong to nothing."""
    broken = put_up(estate, wanted, f"{home.name}_{estate.ledger.next_number():08x}", home, now)
    broken.failed, broken.ready_at = "AllocationFailed", home.ready_at
    stray = f"{home.name}_{estate.ledger.next_number():08x}"
    for kind, name in ((INTERFACES, f"{home.name}-nic-{stray[-8:]}"), (DISKS, f"{stray}_OsDisk_1")):
        _bare(estate, wanted, kind, name, now)


def launch_by_hand(estate: Estate, type_name: str, tags: dict[str, str], now: float) -> AzureResource:
    """A machine as a person makes one in the portal: alone, and nothing goes with it when it ends."""
    subscriptions = [r for r in estate.resources.values() if r.kind.endswith("/subscriptions")]
    place = AzureLocation(subscriptions[0].name, NAME, LOCATION, ZONES[0])
    found = shape(type_name)
    if found is None:
        raise Refused(400, "InvalidParameter", f"there is no {type_name}")
    wanted = MachineOrder(place, found, 1, False, tags, {}, "", "somebody")
    return make(estate, wanted, f"by-hand-{estate.ledger.next_number():08x}", None, now)


def _interfaces(estate: Estate, wanted: MachineOrder, name: str, home: AzureResource | None) -> list[object]:
    given = listed(wanted.profile, "networkProfile", "networkInterfaces")
    if given:
        for nic in given:
            found = estate.find(text(nic, "id"))
            if found is None:
                raise Refused(400, "InvalidResourceReference", f"Resource {text(nic, 'id')} was not found.")
            found.properties["virtualMachine"] = {"id": f"{wanted.place.home}/providers/{MACHINES}/{name}"}
        return given
    configurations = listed(wanted.profile, "networkProfile", "networkInterfaceConfigurations") or [{}]
    made: list[object] = []
    for configuration in configurations:
        stem = text(configuration, "name") or f"{name}-nic"
        nic = _bare(estate, wanted, INTERFACES, f"{stem}-{name[-8:]}" if home else stem, 0.0)
        nic.document["tags"] = branch(configuration, "tags")
        nic.properties["virtualMachine"] = {"id": f"{wanted.place.home}/providers/{MACHINES}/{name}"}
        option = text(configuration, "properties", "deleteOption") or "Detach"
        made.append({"id": nic.id, "properties": {"primary": True, "deleteOption": option}})
    return made


def _disk(estate: Estate, wanted: MachineOrder, name: str) -> Document:
    described = branch(wanted.profile, "storageProfile", "osDisk")
    disk = _bare(estate, wanted, DISKS, text(described, "name") or f"{name}_OsDisk_1", 0.0)
    disk.document["managedBy"] = f"{wanted.place.home}/providers/{MACHINES}/{name}"
    option = text(described, "deleteOption") or "Detach"
    return {"name": disk.name, "createOption": "FromImage", "deleteOption": option, "managedDisk": {"id": disk.id}}


def _bare(estate: Estate, wanted: MachineOrder, kind: str, name: str, now: float) -> AzureResource:
    document: Document = {"location": wanted.place.location, "tags": dict(wanted.tags), "properties": {}}
    return estate.add(AzureResource(f"{wanted.place.home}/providers/{kind}/{name}", kind, document, now, now))


def _made_of(profile: Document) -> dict[str, object]:
    """What the ledger notes of a machine's image, network and user."""
    reference = branch(profile, "storageProfile", "imageReference")
    named = ":".join(text(reference, part) for part in ("publisher", "offer", "sku", "version"))
    nics = listed(profile, "networkProfile", "networkInterfaceConfigurations")
    addresses = listed(nics[0], "properties", "ipConfigurations") if nics else []
    keys = listed(profile, "osProfile", "linuxConfiguration", "ssh", "publicKeys")
    return {
        "image": text(reference, "id") or named.strip(":"),
        "subnet": text(addresses[0], "properties", "subnet", "id") if addresses else "",
        "admin_user": text(profile, "osProfile", "adminUsername"),
        "ssh_public_key": text(keys[0], "keyData") if keys else "",
        "identity": next((str(name) for name in listed(profile, "identities")), ""),
    }


def _start_up(profile: Document) -> str:
    try:
        return base64.b64decode(text(profile, "osProfile", "customData"), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Refused(400, "InvalidParameter", "Custom data in OSProfile must be in Base64 encoding.") from None

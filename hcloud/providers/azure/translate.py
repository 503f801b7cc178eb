"""Between hcloud's orders and Azure's documents; pure, in both directions."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import TAG_KEY, TAG_LINEAGE, Launch, LaunchTemplate, Machine, MachineState, Notice
from hcloud.providers.azure.documents import Document, branch, items, moment, tags_of, text, words
from hcloud.providers.azure.settings import DISK, LAUNCHED_WITH, AzureSettings
from hcloud.providers.templates import as_planned, by_image, template_of

ORDER_TAG = "hcloud-order"
"""On a scale set: what was ordered under its key, so that another order under the same key is noticed."""
# The version of the network API in which the set makes its interfaces; a set that is flexible has to name one
NETWORK_API_VERSION = "2022-11-01"
_SET_NAME = re.compile(r"hc-[0-9a-f]{32}")
_ID = re.compile(r".*/resourceGroups/([^/]+)/providers/[^/]+/[^/]+/([^/]+)", re.IGNORECASE)
_STATES = {
    "creating": MachineState.PENDING,
    "succeeded": MachineState.RUNNING,
    "updating": MachineState.RUNNING,
    "migrating": MachineState.RUNNING,
    "deleting": MachineState.STOPPING,
}
_POWER = {
    "PowerState/starting": MachineState.PENDING,
    "PowerState/stopping": MachineState.STOPPED,
    "PowerState/stopped": MachineState.STOPPED,
    "PowerState/deallocating": MachineState.STOPPED,
    "PowerState/deallocated": MachineState.STOPPED,
}
FAILED = ("failed", "canceled")


def set_name(key: str) -> str:
    """The name of the scale set of an order: the key itself, so that sending it again finds it."""
    return f"hc-{key}"


def own_name(document: Document) -> str:
    """The name of a machine: the last part of its id."""
    return short_id(text(document, "id")).rpartition("/")[2]


def set_name_in(name: str) -> str:
    """The name of our scale set that a machine's, interface's or disk's name begins with; empty without one."""
    found = _SET_NAME.match(name)
    return found.group() if found else ""


def short_id(resource_id: str) -> str:
    """``group/name`` of a full id: Azure changes the case of groups between answers, names of machines are unique in
    them."""
    found = _ID.match(resource_id)
    return f"{found.group(1).lower()}/{found.group(2)}" if found else resource_id


def zone_name(location: str, zone: str) -> str:
    """``eastus-1`` for zone 1 of a location, the location itself where there is no zone."""
    return f"{location}-{zone}" if zone else location


def zone_number(location: str, zone: str) -> str:
    """The other way round."""
    return zone.removeprefix(location).removeprefix("-")


def order_digest(order: Launch) -> str:
    """What identifies an order apart from its key."""
    what = [order.instance_type, order.zone, order.count, order.option.value, order.address, order.owner.lineage]
    made_of = [] if order.template is None else [asdict(order.template)]
    return hashlib.sha256(json.dumps([*what, order.start_up, *made_of], sort_keys=True).encode()).hexdigest()[:32]


def template(instance_types: Sequence[str], settings: AzureSettings) -> LaunchTemplate:
    """What machines of these types are launched with."""
    told = replace(settings, subnet=settings.subnet_id)
    return template_of(told, LAUNCHED_WITH, by_image(instance_types, lambda _: settings.image), DISK)


def planned_settings(order: Launch, settings: AzureSettings) -> AzureSettings:
    """The settings that an order is carried out with: its plan's."""
    return as_planned(settings, LAUNCHED_WITH, order)


def is_latest(reference: Mapping[str, str]) -> bool:
    """Whether an image is named as the latest of its kind."""
    return reference.get("version", "").lower() == "latest"


def latest_version(names: Iterable[str]) -> str:
    """The highest of versions like ``24.04.202511120``, by their numbers; empty without any."""
    return max((n for n in names if n), key=_version_numbers, default="")


def _version_numbers(name: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else -1 for part in name.split("."))


_BOOT_LOG = {"bootDiagnostics": {"enabled": True}}
"""Azure keeps what the machine writes to its console: without it nobody could see what a start-up script says."""


def _identity(name: str) -> dict[str, object]:
    return {"type": "UserAssigned", "userAssignedIdentities": {name: {}}}


def set_body(order: Launch, settings: AzureSettings) -> dict[str, object]:
    """The request that makes a scale set with all machines of an order."""
    name, settings = set_name(order.key), planned_settings(order, settings)
    zone = zone_number(settings.location, order.zone)
    tags = {**order.tags(), ORDER_TAG: order_digest(order)}
    return {
        "location": settings.location,
        "sku": {"name": order.instance_type, "tier": "Standard", "capacity": order.count},
        "tags": tags,
        **({"zones": [zone]} if zone else {}),
        **({"identity": _identity(settings.identity)} if settings.identity else {}),
        "properties": {
            "orchestrationMode": "Flexible",
            "platformFaultDomainCount": 1,
            "singlePlacementGroup": False,
            "virtualMachineProfile": {
                **_priority(order.option),
                "osProfile": _os_profile(order, settings),
                **({"diagnosticsProfile": _BOOT_LOG} if order.start_up else {}),
                "storageProfile": {
                    "imageReference": settings.image_reference(),
                    "osDisk": {"createOption": "FromImage", "caching": "ReadWrite", "deleteOption": "Delete"},
                },
                "networkProfile": {
                    "networkApiVersion": NETWORK_API_VERSION,
                    "networkInterfaceConfigurations": [_interface(name, settings, tags)],
                },
            },
        },
    }


def _priority(option: PurchaseOption) -> dict[str, object]:
    if option is not PurchaseOption.SPOT:
        return {"priority": "Regular"}
    # Deleted rather than stopped when it is taken away; -1: up to the on-demand price
    return {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": -1.0}}


def _os_profile(order: Launch, settings: AzureSettings) -> dict[str, object]:
    linux: dict[str, object] = {"disablePasswordAuthentication": True}
    if settings.ssh_public_key:
        path = f"/home/{settings.admin_user}/.ssh/authorized_keys"
        linux["ssh"] = {"publicKeys": [{"path": path, "keyData": settings.ssh_public_key}]}
    found: dict[str, object] = {
        "computerNamePrefix": computer_prefix(order.key),
        "adminUsername": settings.admin_user,
        "linuxConfiguration": linux,
    }
    if order.start_up:
        found["customData"] = base64.b64encode(order.start_up.encode()).decode()
    return found


def _interface(name: str, settings: AzureSettings, tags: Mapping[str, str]) -> dict[str, object]:
    address = {"name": "internal", "properties": {"primary": True, "subnet": {"id": settings.subnet_id}}}
    return {
        "name": f"{name}-nic",
        "tags": dict(tags),
        "properties": {"primary": True, "deleteOption": "Delete", "ipConfigurations": [address]},
    }


def differences(order: Launch, document: Document) -> tuple[str, ...]:
    """In what the scale set that stands under an order's key is not what the order makes."""
    profile = branch(document, "properties", "virtualMachineProfile")
    spot = text(profile, "priority") == "Spot"
    location = text(document, "location")
    pairs = [
        ("type", text(document, "sku", "name"), order.instance_type),
        ("zone", zone_name(location, next(iter(words(document, "zones")), "")), order.zone),
        ("option", "spot" if spot else "on-demand", order.option.value),
    ]
    tags = tags_of(document)
    if not (TAG_LINEAGE in tags or ORDER_TAG in tags):
        # Tags may have been dropped on the way; what else only an order of ours gives a set tells whose it is
        pairs.append(("maker", "hcloud" if _bears_marks(order.key, profile) else "somebody else", "hcloud"))
    else:
        pairs += [
            ("key", tags.get(TAG_KEY, ""), order.key),
            ("lineage", tags.get(TAG_LINEAGE, ""), order.owner.lineage),
            ("order", tags.get(ORDER_TAG, ""), order_digest(order)),
        ]
    return tuple(f"{what} {there or 'none'}, not {wanted}" for what, there, wanted in pairs if there != wanted)


def _bears_marks(key: str, profile: Document) -> bool:
    nics = items(profile, "networkProfile", "networkInterfaceConfigurations")
    prefix = text(profile, "osProfile", "computerNamePrefix")
    return prefix == computer_prefix(key) and f"{set_name(key)}-nic" in {text(nic, "name") for nic in nics}


def computer_prefix(key: str) -> str:
    """What the names of an order's machines begin with, as they call themselves."""
    return f"hc{key[:7]}"


def set_of(machine: Document) -> str:
    """``group/name`` of the scale set a machine belongs to; empty where it stands alone."""
    found = text(machine, "properties", "virtualMachineScaleSet", "id")
    return short_id(found) if found else ""


def capacity_of(document: Document) -> int | None:
    """How many machines a scale set says it has; None where it does not say."""
    found = branch(document, "sku").get("capacity")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def state_word(document: Document) -> str:
    """The provisioning state, in lower case."""
    return text(document, "properties", "provisioningState").lower()


def machine_from(document: Document, set_tags: Mapping[str, str] | None = None) -> Machine:
    """A machine as a list tells it; ``set_tags`` are its scale set's, which stand in where it shows none of ours: not
    for one that somebody put into the set, which has a name of its own."""
    properties = branch(document, "properties")
    tags = tags_of(document)
    if TAG_LINEAGE not in tags and set_tags and set_name_in(own_name(document)):
        tags = {**tags, **set_tags}
    tags.pop(ORDER_TAG, None)
    zone = next(iter(words(document, "zones")), "")
    return Machine(
        id=short_id(text(document, "id")),
        instance_type=text(properties, "hardwareProfile", "vmSize") or text(document, "sku", "name"),
        zone=zone_name(text(document, "location"), zone),
        state=_state(document),
        option=PurchaseOption.SPOT if text(properties, "priority") == "Spot" else PurchaseOption.ON_DEMAND,
        launched=moment(properties, "timeCreated"),
        tags=tags,
    )


def member_from(document: Document, order: Launch, tags: Mapping[str, str]) -> Machine:
    """A machine as the list of its scale set tells it: type and option are the order's, tags those of the set."""
    return Machine(
        id=short_id(text(document, "id")),
        instance_type=order.instance_type,
        zone=order.zone,
        state=_state(document),
        option=order.option,
        launched=moment(document, "properties", "timeCreated"),
        tags={name: value for name, value in tags.items() if name != ORDER_TAG},
    )


def _state(document: Document) -> MachineState:
    provisioning = _STATES.get(state_word(document), MachineState.UNKNOWN)
    if provisioning is MachineState.STOPPING:
        return provisioning
    for status in items(document, "properties", "instanceView", "statuses"):
        if text(status, "code") in _POWER:
            return _POWER[text(status, "code")]
    return provisioning


def zones_of(sku: Document, location: str) -> tuple[str, ...]:
    """The zones where a type can be had, by its entry in the list of SKUs; none where the location is closed to it."""
    here = [place for place in items(sku, "locationInfo") if text(place, "location").lower() == location]
    zones = {zone for place in here for zone in words(place, "zones")}
    closed: set[str] = set()
    for restriction in items(sku, "restrictions"):
        if text(restriction, "type") == "Location":
            return ()
        closed.update(words(restriction, "restrictionInfo", "zones"))
    if not here or (zones and not zones - closed):
        return ()
    return tuple(sorted(zone_name(location, zone) for zone in zones - closed)) or (location,)


def notice_of(document: Document) -> Notice | None:
    """The planned maintenance that a machine's status tells of; None where there is none, or it is over."""
    coming = branch(document, "properties", "instanceView", "maintenanceRedeployStatus")
    starts = moment(coming, "maintenanceWindowStartTime")
    if starts is None or text(coming, "lastOperationResultCode") == "MaintenanceCompleted":
        return None
    return Notice(short_id(text(document, "id")), "Azure maintains its host", starts)

"""How the fake Google shows machines, types, zones and regions; and how the Google of a later year might."""

from __future__ import annotations

from zlib import crc32

from hcloud.fake.gcp import quotas
from hcloud.fake.gcp.catalog import MIB_PER_GIB, GcpMachineType, region_of
from hcloud.fake.gcp.operations import BASE, stamp
from hcloud.fake.gcp.world import GcpWorld
from hcloud.fake.ledger import Rented
from hcloud.fake.world import MAINTAINED

UNKNOWN_STATE = "HIBERNATING_DEEPLY"


def state(world: GcpWorld, machine: Rented, ago: float = 0.0) -> str:
    """Google's word for how a machine is, or was. TERMINATED is one that is stopped: those that are over are not
    shown."""
    now = world.now - ago
    if machine.asked_to_end is not None and now >= machine.asked_to_end:
        return "STOPPING"
    stopped = machine.detail.get("stopped_at")
    if isinstance(stopped, float) and now >= stopped:
        return "TERMINATED"
    running = machine.running_at if machine.running_at is not None else float("inf")
    if now >= running:
        return "RUNNING"
    return "PROVISIONING" if now < (machine.made_at + running) / 2 else "STAGING"


def instance(world: GcpWorld, machine: Rented, ago: float = 0.0) -> dict[str, object]:
    """A machine as look-ups show it, or lists that show how it was so many seconds ago."""
    name, zone = str(machine.detail["name"]), machine.zone
    place = f"{BASE}/projects/{world.place.project}/zones/{zone}"
    coming = _maintenance(machine)
    script = str(machine.detail.get("start_up", ""))
    return {
        "kind": "compute#instance",
        "id": str(machine.detail["number"]),
        "name": name,
        "zone": place,
        "machineType": f"{place}/machineTypes/{machine.instance_type}",
        "status": state(world, machine, ago),
        "creationTimestamp": stamp(machine.made_at),
        "labels": dict(machine.tags),
        "labelFingerprint": fingerprint(machine),
        "metadata": {"items": [{"key": "startup-script", "value": script}] if script else []},
        "scheduling": {
            "provisioningModel": "SPOT" if machine.spot else "STANDARD",
            "preemptible": machine.spot,
            "automaticRestart": not machine.spot,
            "onHostMaintenance": "TERMINATE" if machine.spot or coming else "MIGRATE",
        },
        **({"resourceStatus": {"upcomingMaintenance": coming}} if coming else {}),
        "selfLink": f"{place}/instances/{name}",
    }


def _maintenance(machine: Rented) -> dict[str, object]:
    """The maintenance of its host that is to come; those that can move to another host are told nothing."""
    at = machine.detail.get(MAINTAINED)
    if not isinstance(at, float):
        return {}
    window = {"windowStartTime": stamp(at), "windowEndTime": stamp(at + 3600), "latestWindowStartTime": stamp(at)}
    return {"type": "SCHEDULED", "maintenanceStatus": "PENDING", "canReschedule": False, **window}


def fingerprint(machine: Rented) -> str:
    """What changes when its labels do."""
    return f"{crc32(repr(sorted(machine.tags.items())).encode()):08x}"


def machine_type(world: GcpWorld, shape: GcpMachineType, zone: str) -> dict[str, object]:
    """A machine type in a zone."""
    return {
        "kind": "compute#machineType",
        "name": shape.name,
        "zone": zone,
        "guestCpus": shape.vcpus,
        "memoryMb": int(shape.memory_gib * MIB_PER_GIB),
        "isSharedCpu": shape.shared,
        "selfLink": f"{BASE}/projects/{world.place.project}/zones/{zone}/machineTypes/{shape.name}",
    }


def zone(world: GcpWorld, name: str) -> dict[str, object]:
    """A zone."""
    place = f"{BASE}/projects/{world.place.project}"
    return {
        "kind": "compute#zone",
        "name": name,
        "status": "UP",
        "region": f"{place}/regions/{region_of(name)}",
        "selfLink": f"{place}/zones/{name}",
    }


def region(world: GcpWorld, name: str) -> dict[str, object]:
    """A region with its quotas."""
    place = f"{BASE}/projects/{world.place.project}"
    return {
        "kind": "compute#region",
        "name": name,
        "status": "UP",
        "zones": [f"{place}/zones/{z}" for z in world.place.zones(name)],
        "quotas": quotas.regional(world, name),
        "selfLink": f"{place}/regions/{name}",
    }


def project(world: GcpWorld) -> dict[str, object]:
    """The project with its quotas."""
    name = world.place.project
    return {
        "kind": "compute#project",
        "name": name,
        "quotas": quotas.everywhere(world),
        "selfLink": f"{BASE}/projects/{name}",
    }


def strange(document: object) -> object:
    """The same with fields and states that no client knows; operations stay readable, so that waiting ends."""
    if isinstance(document, list):
        return [strange(d) for d in document]
    if not isinstance(document, dict):
        return document
    changed = {k: strange(v) for k, v in document.items()}
    if document.get("kind") in ("compute#instance", "compute#commitment"):
        changed["status"] = UNKNOWN_STATE
    if str(document.get("kind", "")).startswith("compute#"):
        changed["fieldOfALaterYear"] = {"words": ["new"], "number": 7}
    return changed

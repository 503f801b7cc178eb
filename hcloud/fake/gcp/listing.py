"""Lists of the fake Google: filtered, in pages, of one zone or of all, and empty where a fault wants them so."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from hcloud.fake.faults import FaultKind, Lag
from hcloud.fake.gcp import documents
from hcloud.fake.gcp.operations import BASE, stamp
from hcloud.fake.gcp.wire.filters import parse_filter
from hcloud.fake.gcp.wire.refusals import invalid
from hcloud.fake.gcp.world import LARGEST_PAGE, GcpRequest, GcpWorld
from hcloud.fake.ledger import Rented
from hcloud.fake.world import SPOT_NOTICE_SECONDS

FIRST_IMAGE = 20261101


@dataclass(slots=True)
class _ListedMachine:
    """A machine in a list, put into words where its page is shown: a list of thousands has dozens of pages."""

    world: GcpWorld
    machine: Rented
    behind: Lag
    labelled: bool

    def get(self, name: str, /) -> object:
        """What filters know of it: labels show on a machine from the first, and are found a while later."""
        if name == "labels":
            return self.machine.tags if self.labelled else {}
        return self.machine.detail["name"] if name == "name" else self.document().get(name)

    def document(self) -> dict[str, object]:
        """How it is shown."""
        return documents.instance(self.world, self.machine, self.behind.ended)


Told = dict[str, object] | _ListedMachine


def page(world: GcpWorld, call: GcpRequest, kind: str, found: Sequence[Told]) -> dict[str, object]:
    """The page of a list that was asked for."""
    items, token = _cut(world, call, found)
    return {"kind": f"compute#{kind}List", **({"items": items} if items else {}), **token}


def aggregated(world: GcpWorld, call: GcpRequest, kind: str, found: Sequence[Told]) -> dict[str, object]:
    """The page of a list over all zones, by zone; zones with nothing on it say so."""
    items, token = _cut(world, call, found)
    here: dict[str, list[object]] = {}
    for item in items:
        here.setdefault(str(item["zone"]).rsplit("/", 1)[-1], []).append(item)
    nothing = {"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for this scope on this page."}
    scopes: dict[str, dict[str, object]] = {
        f"zones/{zone}": {kind: here[zone]} if zone in here else {"warning": nothing} for zone in world.place.zones()
    }
    return {"kind": f"compute#{kind}AggregatedList", "items": scopes, **token}


def _cut(world: GcpWorld, call: GcpRequest, found: Sequence[Told]) -> tuple[list[dict[str, object]], dict[str, str]]:
    if call.rule and call.rule.answer is FaultKind.EMPTY:
        return [], {}
    if wanted := call.query.get("filter", ""):
        accepts = parse_filter(wanted)
        found = [d for d in found if accepts(d)]
    size = call.query.get("maxResults", str(LARGEST_PAGE))
    if not size.isdecimal() or int(size) > LARGEST_PAGE:
        raise invalid("maxResults", size, f"It must be from 0 to {LARGEST_PAGE}.")
    start = _start(call.query.get("pageToken", ""))
    end = start + min(int(size) or LARGEST_PAGE, world.largest_page)
    shown = [d.document() if isinstance(d, _ListedMachine) else d for d in found[start:end]]
    return shown, {"nextPageToken": _token(end)} if end < len(found) else {}


def _token(start: int) -> str:
    return base64.urlsafe_b64encode(f"from {start}".encode()).decode()


def _start(token: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(token).decode().removeprefix("from ")) if token else 0
    except ValueError:
        raise invalid("pageToken", token, "The page token is not one of this list.") from None


def instances(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The machines of a zone."""
    zone = world.zone(call)
    return page(world, call, "instance", _instances(world, call, zone))


def all_instances(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The machines of all zones."""
    return aggregated(world, call, "instances", _instances(world, call))


def _instances(world: GcpWorld, call: GcpRequest, zone: str = "") -> list[_ListedMachine]:
    behind = Lag.of(call.rule)
    then = world.now - behind.made
    return [_ListedMachine(world, m, behind, then >= m.tagged_at) for m in world.seen(behind) if zone in ("", m.zone)]


def machine_types(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The machine types of a zone."""
    zone = world.zone(call)
    return page(world, call, "machineType", _types(world, zone))


def all_machine_types(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The machine types of all zones."""
    found = [d for zone in world.place.zones() for d in _types(world, zone)]
    return aggregated(world, call, "machineTypes", found)


def _types(world: GcpWorld, zone: str) -> list[dict[str, object]]:
    if zone not in world.types:
        world.types[zone] = [documents.machine_type(world, s, zone) for _, s in sorted(world.place.shapes.items())]
    return world.types[zone]


def machine_type(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """A machine type."""
    zone = world.zone(call)
    return documents.machine_type(world, world.shape(call.route.path["name"], zone), zone)


def zones(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """All zones."""
    return page(world, call, "zone", [documents.zone(world, z) for z in world.place.zones()])


def zone(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """A zone."""
    return documents.zone(world, world.zone(call))


def regions(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """All regions."""
    return page(world, call, "region", [documents.region(world, r) for r in world.place.regions])


def region(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """A region with its quotas."""
    return documents.region(world, world.region(call))


def zone_operations(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The operations of a zone, with those by which Google took spot machines away."""
    zone = world.zone(call)
    own = [o.document(world.place.project, world.now) for o in world.operations.of(f"zones/{zone}", world.now)]
    return page(world, call, "operation", own + _preemptions(world, zone))


def region_operations(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The operations of a region."""
    found = world.operations.of(f"regions/{world.region(call)}", world.now)
    return page(world, call, "operation", [o.document(world.place.project, world.now) for o in found])


def operation(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """An operation of a zone or region."""
    path = call.route.path
    scope = f"zones/{world.zone(call)}" if "zone" in path else f"regions/{world.region(call)}"
    return world.operations.get(scope, path["name"], world.now).document(world.place.project, world.now)


def _preemptions(world: GcpWorld, zone: str) -> list[dict[str, object]]:
    place = f"{BASE}/projects/{world.place.project}/zones/{zone}"
    noticed = [m for m in world.ledger.machines.values() if m.zone == zone and "notice_at" in m.detail]
    taken = {m.id: float(str(m.detail["notice_at"])) + SPOT_NOTICE_SECONDS for m in noticed}
    return [
        {
            "kind": "compute#operation",
            "name": f"systemevent-{m.detail['number']}",
            "operationType": "compute.instances.preempted",
            "targetLink": f"{place}/instances/{m.detail['name']}",
            "zone": place,
            "status": "DONE",
            "insertTime": stamp(taken[m.id]),
            "statusMessage": "Instance was preempted.",
        }
        for m in noticed
        if world.now >= taken[m.id]
    ]


def image_of_family(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The latest image of a family, of whatever project."""
    project, family = call.route.path["project"], call.route.path["family"]
    number = world.images.number(f"projects/{project}/global/images/family/{family}")
    name = f"{family}-v{FIRST_IMAGE + number}"
    return {
        "kind": "compute#image",
        "id": str(FIRST_IMAGE + number),
        "name": name,
        "family": family,
        "status": "READY",
        "selfLink": f"{BASE}/projects/{project}/global/images/{name}",
    }

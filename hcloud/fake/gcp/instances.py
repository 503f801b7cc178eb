"""Machines of the fake Google: inserted one by one or many at once, relabelled, stopped, deleted, listened to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

from hcloud.fake.faults import FaultKind
from hcloud.fake.gcp import documents, quotas
from hcloud.fake.gcp.catalog import GcpMachineType
from hcloud.fake.gcp.operations import BASE, OperationFault
from hcloud.fake.gcp.wire.bodies import BulkInsert, InstanceBody, NetworkInterface, Properties, SetLabels, read_body
from hcloud.fake.gcp.wire.refusals import STOCK_OUT, RefusalError, already_there, invalid
from hcloud.fake.gcp.world import GcpRequest, GcpWorld
from hcloud.fake.world import NewMachine

DEFAULT_NETWORK = "global/networks/default"
DEFAULT_ACCOUNT = "default"
_DEFAULT_SUBNETWORK = re.compile(r"regions/[^/]+/subnetworks/default")
_PUBLIC = re.compile(r"projects/(debian|ubuntu-os|rocky-linux|centos|rhel|suse|cos|windows|fedora-coreos)-cloud/")


def check_references(world: GcpWorld, properties: Properties, where: str) -> None:
    """Refuse machines that refer to what there is not; ``where`` is the place of the properties in the request."""
    for number, disk in enumerate(properties.disks):
        image = disk.initialize_params.source_image if disk.initialize_params else ""
        name = _from(image, "projects/")
        there = name in world.by_hand or _PUBLIC.match(name) is not None
        if image and (image in world.images.withdrawn or not there):
            place = f"{where}.disks[{number}].initializeParams.sourceImage"
            raise invalid(place, image, "The referenced image resource cannot be found.")
    for number, interface in enumerate(properties.network_interfaces):
        _check_network(world, interface, f"{where}.networkInterfaces[{number}]")
    for account in properties.service_accounts:
        if account.email != DEFAULT_ACCOUNT and account.email not in world.by_hand:
            words = (
                f"The user does not have access to service account '{account.email}'. Ask a project owner to grant you "
            )
            raise RefusalError(400, "SERVICE_ACCOUNT_ACCESS_DENIED", words + "the iam.serviceAccountUser role on it")


def _check_network(world: GcpWorld, interface: NetworkInterface, place: str) -> None:
    network, subnetwork = _from(interface.network, "global/"), _from(interface.subnetwork, "regions/")
    if network and network != DEFAULT_NETWORK and network not in world.by_hand:
        raise invalid(f"{place}.network", interface.network, "The referenced network resource cannot be found.")
    known = _DEFAULT_SUBNETWORK.fullmatch(subnetwork) is not None or subnetwork in world.by_hand
    if interface.subnetwork and not known:
        why = "The referenced subnetwork resource cannot be found."
        raise invalid(f"{place}.subnetwork", interface.subnetwork, why)


def _from(name: str, part: str) -> str:
    """A name without what stands before a part of it: hosts, versions and projects may be left out."""
    return name[name.index(part) :] if part in name else name


_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class _Order:
    """What is asked for once its body was understood."""

    zone: str
    shape: GcpMachineType
    names: tuple[str, ...]
    minimum: int
    properties: Properties


def insert(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """One machine."""
    zone, body = world.zone(call), read_body(InstanceBody, call.raw)
    prefix = f"zones/{zone}/machineTypes/"
    if prefix not in body.machine_type:
        raise invalid("resource.machineType", body.machine_type, f"It must be a URL with {prefix}.")
    shape = _shape(world, body.machine_type.partition(prefix)[2])
    order = _Order(zone, shape, (body.name,), 1, body)
    made, ending = _fill(world, call, order)
    _make(world, call, order, made)
    return world.begin(call, "insert", f"zones/{zone}/instances/{body.name}", ending)


def bulk_insert(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """As many machines as there are, the minimum at least, or none."""
    zone, body = world.zone(call), read_body(BulkInsert, call.raw)
    shape = _shape(world, body.instance_properties.machine_type, "resource.instanceProperties.machineType")
    minimum = body.count if body.min_count is None else body.min_count
    if minimum > body.count:
        raise invalid("resource.minCount", minimum, "It must not be more than count.")
    order = _Order(zone, shape, _names(world, zone, body), minimum, body.instance_properties)
    made, ending = _fill(world, call, order)
    _make(world, call, order, made)
    status = {
        "status": "DONE",
        "targetVmCount": body.count,
        "createdVmCount": made,
        "failedToCreateVmCount": body.count - made,
        "deletedVmCount": 0,
    }
    extra = {"instancesBulkInsertOperationMetadata": {"perLocationStatus": {f"zones/{zone}": status}}}
    return world.begin(call, "bulkInsert", f"zones/{zone}", OperationFault(ending.errors, ending.status, extra))


def _shape(world: GcpWorld, name: str, where: str = "resource.machineType") -> GcpMachineType:
    shape = world.place.shapes.get(name)
    if shape is None:
        raise invalid(where, name, "The referenced machine type does not exist.")
    return shape


def _names(world: GcpWorld, zone: str, body: BulkInsert) -> tuple[str, ...]:
    if bool(body.per_instance_properties) == bool(body.name_pattern):
        raise invalid("resource.namePattern", body.name_pattern, "Give a pattern or per-instance properties.")
    if body.per_instance_properties:
        if len(body.per_instance_properties) != body.count:
            raise invalid("resource.count", body.count, "It must be the number of per-instance properties.")
        return tuple(body.per_instance_properties)
    return tuple(islice(_numbered(world, zone, body.name_pattern or ""), body.count))


def _numbered(world: GcpWorld, zone: str, pattern: str) -> Iterator[str]:
    """Names of a pattern, counted from behind the highest that is taken."""
    before, digits = pattern.partition("#")[0], pattern.count("#")
    after = pattern[len(before) + digits :]
    names = [str(m.detail["name"]) for m in world.standing() if m.zone == zone]
    middles = [n[len(before) : len(n) - len(after)] for n in names if n.startswith(before) and n.endswith(after)]
    highest = max((int(m) for m in middles if m.isdecimal()), default=0)
    for number in count(highest + 1):
        yield f"{before}{number:0{digits}d}{after}"[:_LONGEST_NAME]


def _fill(world: GcpWorld, call: GcpRequest, order: _Order) -> tuple[int, OperationFault]:
    """How many of an order are made, and how its operation ends."""
    _check(world, order)
    wanted = len(order.names)
    answer = call.rule.answer if call.rule else None
    if answer in (FaultKind.NO_CAPACITY, FaultKind.OPERATION_FAILS):
        return 0, _stock_out(world, order.zone, call.rule.code if call.rule else "")
    if too_many := quotas.exceeded(world, order.zone, order.shape, wanted, order.properties.spot):
        return 0, too_many
    made = world.room(order.shape.name, order.zone, wanted, call.rule)
    return (made, OperationFault()) if made >= order.minimum else (0, _stock_out(world, order.zone))


def _check(world: GcpWorld, order: _Order) -> None:
    properties = order.properties
    if not any(d.boot and d.has_origin for d in properties.disks):
        raise invalid("resource.disks", "", "A boot disk with a source or a source image is required.")
    if not properties.network_interfaces:
        raise invalid("resource.networkInterfaces", "", "At least one network interface is required.")
    check_references(
        world, properties, "resource" if isinstance(properties, InstanceBody) else "resource.instanceProperties"
    )
    scheduling = properties.scheduling
    if properties.spot and (scheduling.automatic_restart or scheduling.on_host_maintenance != "TERMINATE"):
        raise invalid("resource.scheduling", "", "Spot machines are not restarted and not migrated.")
    for name in order.names:
        if world.taken(order.zone, name):
            raise already_there(f"projects/{world.place.project}/zones/{order.zone}/instances/{name}")


def _stock_out(world: GcpWorld, zone: str, code: str = "") -> OperationFault:
    where = f"projects/{world.place.project}/zones/{zone}"
    words = f"The zone '{where}' does not have enough resources available to fulfill the request."
    return OperationFault(({"code": code or STOCK_OUT, "message": words},), 503)


def _make(world: GcpWorld, call: GcpRequest, order: _Order, made: int) -> None:
    properties = order.properties
    for name in order.names[:made]:
        detail: dict[str, object] = {
            "name": name,
            "number": world.ledger.next_number(),
            "start_up": properties.start_up(),
            "end": properties.scheduling.instance_termination_action,
            "image": next((d.initialize_params.source_image for d in properties.disks if d.initialize_params), ""),
            "network": properties.network_interfaces[0].network,
            "subnetwork": properties.network_interfaces[0].subnetwork,
            "external_address": bool(properties.network_interfaces[0].access_configs),
            "service_account": next((a.email for a in properties.service_accounts), ""),
        }
        world.rent(
            NewMachine(
                id=f"{order.zone}/{name}",
                zone=order.zone,
                instance_type=order.shape.name,
                spot=properties.spot,
                tags={} if call.rule and call.rule.answer is FaultKind.UNTAGGED else dict(properties.labels),
                token=call.request_id,
                principal=call.principal,
                detail=detail,
            )
        )


def get(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """A machine."""
    return documents.instance(world, world.machine(world.zone(call), call.route.path["name"]))


def delete(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Its end."""
    machine = world.machine(world.zone(call), call.route.path["name"])
    target = f"zones/{machine.zone}/instances/{machine.detail['name']}"
    if call.rule and call.rule.answer is FaultKind.OPERATION_FAILS:
        error = {"code": call.rule.code or "INTERNAL_ERROR", "message": "Internal error: the machine was not deleted."}
        return world.begin(call, "delete", target, OperationFault((error,), 500))
    world.end(machine)
    return world.begin(call, "delete", target)


def set_labels(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Other labels, for one who has seen the present ones."""
    machine = world.machine(world.zone(call), call.route.path["name"])
    body = read_body(SetLabels, call.raw)
    if body.label_fingerprint != documents.fingerprint(machine):
        raise RefusalError(412, "conditionNotMet", "Labels fingerprint either invalid or resource labels have changed")
    machine.tags = dict(body.labels)
    return world.begin(call, "setLabels", f"zones/{machine.zone}/instances/{machine.detail['name']}")


def stop(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Let it stand still; its disk stays, and so does the machine."""
    machine = world.machine(world.zone(call), call.route.path["name"])
    machine.detail["stopped_at"] = world.now
    return world.begin(call, "stop", f"zones/{machine.zone}/instances/{machine.detail['name']}")


def start(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Let it run again."""
    machine = world.machine(world.zone(call), call.route.path["name"])
    machine.detail.pop("stopped_at", None)
    machine.running_at = world.now + world.faults.plan.spin_up
    return world.begin(call, "start", f"zones/{machine.zone}/instances/{machine.detail['name']}")


def serial_port(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """What it wrote to its console, from a byte on."""
    machine = world.machine(world.zone(call), call.route.path["name"])
    written = str(machine.detail.get("console", "")).encode()
    start_at = call.query.get("start", "0")
    if not start_at.lstrip("-").isdecimal():
        raise invalid("start", start_at, "It must be a number.")
    first = min(max(int(start_at), 0), len(written))
    place = f"{BASE}/projects/{world.place.project}/zones/{machine.zone}/instances/{machine.detail['name']}"
    return {
        "kind": "compute#serialPortOutput",
        "contents": written[first:].decode(errors="replace"),
        "start": str(first),
        "next": str(len(written)),
        "selfLink": f"{place}/serialPort",
    }

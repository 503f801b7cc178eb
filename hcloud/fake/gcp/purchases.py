"""Commitments and reservations of the fake Google: bought once, listed for ever, and commitments never given back."""

from __future__ import annotations

from decimal import Decimal

from hcloud.fake.clock import midnight_after
from hcloud.fake.faults import FaultKind
from hcloud.fake.gcp import catalog, listing
from hcloud.fake.gcp.operations import BASE, OperationFault, stamp
from hcloud.fake.gcp.wire.bodies import CommitmentBody, ReservationBody, read_body
from hcloud.fake.gcp.wire.refusals import STOCK_OUT, already_there, invalid, unknown_resource
from hcloud.fake.gcp.world import GcpRequest, GcpWorld
from hcloud.fake.ledger import BoughtCommitment
from hcloud.model.catalog import PurchaseOption

YEARS = {"TWELVE_MONTH": 1, "THIRTY_SIX_MONTH": 3}
_DAY = 86_400.0
_MEMORY_STEP_MIB = 256


def insert_commitment(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Buy a commitment."""
    region, body = world.region(call), read_body(CommitmentBody, call.raw)
    if body.type not in catalog.FAMILIES.values():
        raise invalid("resource.type", body.type, "There is no commitment of this type.")
    amounts = {r.type: r.amount for r in body.resources}
    if not {"VCPU", "MEMORY"} <= set(amounts) or amounts["MEMORY"] % _MEMORY_STEP_MIB:
        raise invalid("resource.resources", amounts, "vCPUs and memory in steps of 256 MB are needed.")
    target = f"regions/{region}/commitments/{body.name}"
    if body.name in world.ledger.purchases:
        raise already_there(f"projects/{world.place.project}/{target}")
    if call.rule and call.rule.answer in (FaultKind.OPERATION_FAILS, FaultKind.NO_CAPACITY):
        error = {"code": call.rule.code or STOCK_OUT, "message": "The commitment could not be created."}
        return world.begin(call, "insert", target, OperationFault((error,), 503))
    years, now = YEARS[body.plan], world.now
    gib = Decimal(amounts["MEMORY"]) / catalog.MIB_PER_GIB
    hourly = catalog.hourly(Decimal(amounts["VCPU"]), gib, str(years))
    world.ledger.purchases[body.name] = BoughtCommitment(
        id=body.name,
        option=PurchaseOption.COMMITTED_USE,
        offering=f"{body.type}/{body.plan}",
        instance_type=body.type,
        count=amounts["VCPU"],
        hourly=world.price(hourly),
        upfront=Decimal(0),
        term_seconds=int(years * 365 * _DAY),
        bought_at=now,
        starts_at=midnight_after(now),
        key=call.request_id,
        principal=call.principal,
        detail={
            "region": region,
            "number": world.ledger.next_number(),
            "body": body.model_dump(mode="json", by_alias=True),
        },
    )
    return world.begin(call, "insert", target)


def _commitment(world: GcpWorld, bought: BoughtCommitment) -> dict[str, object]:
    body = bought.detail["body"]
    shown = dict(body) if isinstance(body, dict) else {}
    ends = bought.starts_at + bought.term_seconds
    status = "NOT_YET_ACTIVE" if world.now < bought.starts_at else "ACTIVE" if world.now < ends else "EXPIRED"
    place = f"{BASE}/projects/{world.place.project}/regions/{bought.detail['region']}"
    amounts = [{**r, "amount": str(r["amount"])} for r in shown.get("resources", [])]
    return {
        **shown,
        "kind": "compute#commitment",
        "id": str(bought.detail["number"]),
        "region": place,
        "resources": amounts,
        "status": status,
        "statusMessage": "",
        "creationTimestamp": stamp(bought.bought_at),
        "startTimestamp": stamp(bought.starts_at),
        "endTimestamp": stamp(ends),
        "selfLink": f"{place}/commitments/{bought.id}",
    }


def commitments(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The commitments of a region."""
    region = world.region(call)
    held = [p for _, p in sorted(world.ledger.purchases.items()) if p.detail.get("region") == region]
    return listing.page(world, call, "commitment", [_commitment(world, p) for p in held])


def commitment(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """A commitment."""
    region, name = world.region(call), call.route.path["name"]
    found = world.ledger.purchases.get(name)
    if found is None or found.detail.get("region") != region:
        raise unknown_resource(f"projects/{world.place.project}/regions/{region}/commitments/{name}")
    return _commitment(world, found)


def insert_reservation(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Hold capacity ready."""
    zone, body = world.zone(call), read_body(ReservationBody, call.raw)
    world.shape(body.specific_reservation.instance_properties.machine_type, zone)
    target = f"zones/{zone}/reservations/{body.name}"
    if target in world.reservations:
        raise already_there(f"projects/{world.place.project}/{target}")
    if call.rule and call.rule.answer in (FaultKind.OPERATION_FAILS, FaultKind.NO_CAPACITY):
        error = {"code": call.rule.code or STOCK_OUT, "message": "The zone does not have enough resources."}
        return world.begin(call, "insert", target, OperationFault((error,), 503))
    shown = body.model_dump(mode="json", by_alias=True)
    specific = shown["specificReservation"]
    place = f"{BASE}/projects/{world.place.project}"
    world.reservations[target] = {
        **shown,
        "kind": "compute#reservation",
        "zone": f"{place}/zones/{zone}",
        "specificReservation": {**specific, "count": str(specific["count"]), "inUseCount": "0"},
        "status": "READY",
        "creationTimestamp": stamp(world.now),
        "selfLink": f"{place}/{target}",
    }
    world.ledger.extras[target] = world.reservations[target]
    return world.begin(call, "insert", target)


def reservations(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """The reservations of a zone."""
    prefix = f"zones/{world.zone(call)}/"
    found = [r for t, r in sorted(world.reservations.items()) if t.startswith(prefix)]
    return listing.page(world, call, "reservation", found)


def _held(world: GcpWorld, call: GcpRequest) -> str:
    target = f"zones/{world.zone(call)}/reservations/{call.route.path['name']}"
    if target not in world.reservations:
        raise unknown_resource(f"projects/{world.place.project}/{target}")
    return target


def reservation(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """A reservation."""
    return world.reservations[_held(world, call)]


def delete_reservation(world: GcpWorld, call: GcpRequest) -> dict[str, object]:
    """Hold it ready no longer."""
    target = _held(world, call)
    del world.reservations[target]
    world.ledger.extras.pop(target, None)
    return world.begin(call, "delete", target)

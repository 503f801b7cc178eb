"""The fake Google as a whole: takes a request, lets go wrong what the plan says, acts, notes it, and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from hcloud.fake.faults import FaultKind, FaultRule, InterceptedRequest
from hcloud.fake.gcp import bill, documents, instances, listing, monitoring, purchases
from hcloud.fake.gcp.catalog import region_of
from hcloud.fake.gcp.operations import LONGEST_WAIT_SECONDS
from hcloud.fake.gcp.wire.refusals import RefusalError, before_acting, forbidden, unknown_resource
from hcloud.fake.gcp.wire.routes import find_route
from hcloud.fake.gcp.world import GcpRequest, GcpWorld
from hcloud.fake.ledger import Rented
from hcloud.fake.server import HttpAnswer, Received, answered_after, json_answer, principal_of
from hcloud.fake.world import NewMachine, tags_in

PUBLIC = ("images.getFromFamily",)
"""What is asked of other projects, too."""
Handler = Callable[[GcpWorld, GcpRequest], dict[str, object]]
_HANDLERS: Mapping[str, Handler] = {
    "projects.get": lambda world, _: documents.project(world),
    "regions.list": listing.regions,
    "regions.get": listing.region,
    "zones.list": listing.zones,
    "zones.get": listing.zone,
    "machineTypes.aggregatedList": listing.all_machine_types,
    "machineTypes.list": listing.machine_types,
    "machineTypes.get": listing.machine_type,
    "instances.aggregatedList": listing.all_instances,
    "instances.list": listing.instances,
    "instances.insert": instances.insert,
    "instances.bulkInsert": instances.bulk_insert,
    "instances.get": instances.get,
    "instances.delete": instances.delete,
    "instances.setLabels": instances.set_labels,
    "instances.stop": instances.stop,
    "instances.start": instances.start,
    "instances.getSerialPortOutput": instances.serial_port,
    "images.getFromFamily": listing.image_of_family,
    "zoneOperations.list": listing.zone_operations,
    "zoneOperations.get": listing.operation,
    "zoneOperations.wait": listing.operation,
    "regionOperations.list": listing.region_operations,
    "regionOperations.get": listing.operation,
    "regionOperations.wait": listing.operation,
    "reservations.list": purchases.reservations,
    "reservations.insert": purchases.insert_reservation,
    "reservations.get": purchases.reservation,
    "reservations.delete": purchases.delete_reservation,
    "regionCommitments.list": purchases.commitments,
    "regionCommitments.insert": purchases.insert_commitment,
    "regionCommitments.get": purchases.commitment,
    "services.skus.list": bill.skus,
    "timeSeries.list": monitoring.time_series,
}


class FakeGoogle(GcpWorld):
    """Compute Engine for one project, as ``hcloud.fake.server`` runs it."""

    name = "gcp"

    def answer(self, received: Received) -> HttpAnswer:
        """What Google says to a request."""
        route = find_route(received.method, received.path)
        if route is None:
            return unknown_resource(received.path).answer()
        call = GcpRequest(route, received.path, received.query, received.body, principal_of(received))
        asked = _asked(call)

        def wait(rule: FaultRule | None) -> None:
            call.rule = rule
            self._dawdle(call)

        answer = self.serve(asked, lambda _: (*self._outcome(call, asked), call.acted), wait)
        return answered_after(call.rule, answer)

    def edit(self, change: Mapping[str, object]) -> object:
        """What a person does behind hcloud's back; machines go by zone/name, or by name alone."""
        with self.ledger.held():
            if "create" in change:
                self.by_hand.add(str(change["create"]))
                return {"created": change["create"]}
            if "launch" in change:
                return {"launched": self._launched(change).id}
            for verb in ("terminate", "retag", "resize"):
                if verb in change:
                    return self._changed(verb, str(change[verb]), change)
        return {"error": "nothing to do"}

    def _dawdle(self, call: GcpRequest) -> None:
        """Let time pass: a wait lasts until its operation is done, or as long as Google waits."""
        if not call.route.operation.endswith(".wait") or self._refused(call):
            return
        path = call.route.path
        scope = f"zones/{path['zone']}" if "zone" in path else f"regions/{path['region']}"
        try:
            with self.ledger.held():
                left = self.operations.get(scope, path["name"], self.now).done_at - self.now
        except RefusalError:
            return
        if left > 0:
            self.clock.sleep(min(left, LONGEST_WAIT_SECONDS))

    def _refused(self, call: GcpRequest) -> HttpAnswer | None:
        route = call.route
        return before_acting(call.rule, route.operation, ordering=route.ordering) if call.rule else None

    def _outcome(self, call: GcpRequest, asked: InterceptedRequest) -> tuple[HttpAnswer, str]:
        struck = call.rule.answer.value if call.rule else "ok"
        refused = self._refused(call)
        if refused is not None:
            return refused, struck
        try:
            if not self.faults.allows(asked):
                raise forbidden(call.route.operation, f"projects/{self.place.project}")
            for _ in range(2 if struck == FaultKind.TWICE else 1):
                found = self._acted(call)
        except RefusalError as refusal:
            return refusal.answer(), refusal.reason
        return json_answer(documents.strange(found) if struck == FaultKind.UNKNOWN_WORDS else found), struck

    def _acted(self, call: GcpRequest) -> dict[str, object]:
        """Do it, or give the operation of the same request that came before."""
        project = call.route.path.get("project", self.place.project)
        if project != self.place.project and call.route.operation not in PUBLIC:
            raise unknown_resource(f"projects/{project}")
        if call.route.mutating and call.request_id:
            before = self.operations.replayed(call.request_id, call.about, self.now)
            if before is not None:
                return before.document(self.place.project, self.now)
        return _HANDLERS[call.route.operation](self, call)

    def _find(self, identity: str) -> Rented | None:
        named = (m for m in self.standing() if m.detail["name"] == identity)
        return self.ledger.machines.get(identity) or next(named, None)

    def _changed(self, verb: str, identity: str, change: Mapping[str, object]) -> object:
        machine = self._find(identity)
        if machine is None:
            return {"error": f"there is no {identity}"}
        if verb == "terminate":
            self.end(machine)
            self.note_delete(machine, "a person")
        elif verb == "retag":
            machine.tags = tags_in(change)
        else:
            machine.instance_type = str(change.get("type", machine.instance_type))
        return {verb: machine.id}

    def _launched(self, change: Mapping[str, object]) -> Rented:
        zone = str(change.get("zone") or self.place.zones(self.place.region)[0])
        number = self.ledger.next_number()
        name, tags = str(change.get("name") or f"by-hand-{number}"), tags_in(change)
        kind, spot = str(change["launch"]), bool(change.get("spot"))
        detail: dict[str, object] = {"name": name, "number": number, "by_hand": True, "region": region_of(zone)}
        return self.rent(NewMachine(f"{zone}/{name}", kind, zone, spot, tags, "", "a person", detail))


def _asked(call: GcpRequest) -> InterceptedRequest:
    route = call.route
    wanted = _wanted_type(call.raw) if route.ordering else ""
    return InterceptedRequest(route.operation, route.mutating, call.principal, wanted, route.path.get("zone", ""))


def _wanted_type(raw: bytes) -> str:
    try:
        body = json.loads(raw or b"{}")
    except ValueError:
        return ""
    properties = body.get("instanceProperties", body) if isinstance(body, dict) else {}
    found = properties.get("machineType", "") if isinstance(properties, dict) else ""
    return str(found).rsplit("/", 1)[-1]

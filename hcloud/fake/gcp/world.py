"""The fake Google's state: what stands in its zones, what is reserved there, and how both look at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcloud.fake.faults import FaultPlan, FaultRule, Lag
from hcloud.fake.gcp.catalog import GcpMachineType, GcpProject
from hcloud.fake.gcp.operations import GcpOperation, GcpOperations, OperationFault, about
from hcloud.fake.gcp.wire.refusals import unknown_resource
from hcloud.fake.gcp.wire.routes import GcpRoute
from hcloud.fake.ledger import Rented
from hcloud.fake.world import MAINTAINED, FakeWorld, Images

LARGEST_PAGE, LARGEST_PRICE_PAGE, LARGEST_POINTS = 500, 5000, 100_000  # Google's own


@dataclass(slots=True)
class GcpRequest:
    """A request on its way: what it asks for, by whom, what goes wrong with it, and whether it changed something."""

    route: GcpRoute
    path: str
    query: Mapping[str, str]
    raw: bytes
    principal: str
    rule: FaultRule | None = None
    acted: bool = False

    @property
    def about(self) -> str:
        """What it is about, so that it is known when it comes again."""
        return about(self.route.operation, self.path, self.raw)

    @property
    def request_id(self) -> str:
        """Its idempotency handle."""
        return self.query.get("requestId", "")


class GcpWorld(FakeWorld):
    """Everything that the handlers of requests share; all of it is touched with the ledger's lock held."""

    def __init__(self, plan: FaultPlan | None = None, place: GcpProject | None = None) -> None:
        super().__init__(plan)
        self.place = place or GcpProject()
        self.operations = GcpOperations()
        self.reservations: dict[str, dict[str, object]] = {}
        self.images = Images()
        self.by_hand: set[str] = set()
        self.types: dict[str, list[dict[str, object]]] = {}
        self.largest_page = LARGEST_PAGE
        self.largest_price_page = LARGEST_PRICE_PAGE
        self.largest_points = LARGEST_POINTS

    def shape_of(self, instance_type: str) -> GcpMachineType | None:
        """A type of this project's place."""
        return self.place.shapes.get(instance_type)

    def zone(self, call: GcpRequest) -> str:
        """The zone in a request's path; raises RefusalError where there is none of that name."""
        zone = call.route.path["zone"]
        if zone not in self.place.zones():
            raise unknown_resource(f"projects/{self.place.project}/zones/{zone}")
        return zone

    def region(self, call: GcpRequest) -> str:
        """The same for a region."""
        region = call.route.path["region"]
        if region not in self.place.regions:
            raise unknown_resource(f"projects/{self.place.project}/regions/{region}")
        return region

    def standing(self, ago: float = 0.0) -> tuple[Rented, ...]:
        """All machines that are not over, or were not so many seconds ago, by zone and name, seen or not."""
        then = self.now - ago
        found = (m for m in self.ledger.machines.values() if m.is_there(then))
        return tuple(sorted(found, key=lambda m: (m.zone, str(m.detail["name"]))))

    def seen(self, behind: Lag) -> tuple[Rented, ...]:
        """Those that a list shows that is so far behind."""
        then = self.now - behind.made
        return tuple(m for m in self.standing(behind.ended) if then >= m.visible_at and "#" not in m.id)

    def machine(self, zone: str, name: str) -> Rented:
        """A machine that is shown; raises RefusalError where there is none."""
        found = self.ledger.machines.get(f"{zone}/{name}")
        if found is None or not found.is_there(self.now) or self.now < found.visible_at:
            raise unknown_resource(f"projects/{self.place.project}/zones/{zone}/instances/{name}")
        return found

    def taken(self, zone: str, name: str) -> bool:
        """Whether a name is in use, seen or not."""
        found = self.ledger.machines.get(f"{zone}/{name}")
        return found is not None and found.is_there(self.now)

    def end(self, machine: Rented) -> None:
        """Begin its end; it stays STOPPING for as long as the plan says."""
        if machine.asked_to_end is None or machine.asked_to_end > self.now:
            machine.asked_to_end = self.now
            machine.ended_at = self.now + self.faults.plan.end_delay

    def note_delete(self, machine: Rented, user: str) -> None:
        """The operation by which somebody else deleted a machine."""
        number, target = self.ledger.next_number(), f"zones/{machine.zone}/instances/{machine.detail['name']}"
        name, done = f"operation-{int(self.now * 1000)}-{number:012x}", machine.ended_at or self.now
        operation = GcpOperation(name, number, "delete", f"zones/{machine.zone}", target, user, self.now, done)
        self.operations.add(operation, "", remember=False)

    def settle(self) -> None:
        """Take machines away when their notice is over: for good, or stopped where they were ordered so."""
        for machine, over in self.taken_away():
            if machine.detail.get("end") == "STOP" and MAINTAINED not in machine.detail:
                machine.detail["stopped_at"] = over
            else:
                machine.asked_to_end, machine.ended_at = over, over + self.faults.plan.end_delay

    def shape(self, name: str, zone: str) -> GcpMachineType:
        """A machine type; raises RefusalError where there is none."""
        found = self.place.shapes.get(name)
        if found is None:
            raise unknown_resource(f"projects/{self.place.project}/zones/{zone}/machineTypes/{name}")
        return found

    def begin(
        self, call: GcpRequest, kind: str, target: str, ending: OperationFault | None = None
    ) -> dict[str, object]:
        """Start an operation in the zone or region of a request and answer with it."""
        path, number, now = call.route.path, self.ledger.next_number(), self.now
        scope = f"zones/{path['zone']}" if "zone" in path else f"regions/{path['region']}"
        operation = GcpOperation(
            name=f"operation-{int(now * 1000)}-{number:012x}",
            number=number,
            kind=kind,
            scope=scope,
            target=target,
            user=call.principal or "hcloud@fake",
            begun=now,
            done_at=now + self.faults.plan.operation_delay,
            request_id=call.request_id,
            ending=ending or OperationFault(),
        )
        self.operations.add(operation, call.about, remember=self.faults.plan.tokens)
        call.acted = True
        return operation.document(self.place.project, now, fresh=True)

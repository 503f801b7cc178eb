"""The fake Azure as a server asks it: routing, roles, faults and the ledger around what the requests do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from email.utils import formatdate

from hcloud.fake.azure.estate import (
    ADDRESSES,
    DISKS,
    GROUPS,
    INTERFACES,
    MACHINES,
    NETWORKS,
    SETS,
    AzureResource,
    Estate,
)
from hcloud.fake.azure.machines import launch_by_hand
from hcloud.fake.azure.operations import CAPACITY, AzureOperations
from hcloud.fake.azure.plain import Lists, Metrics, Plain
from hcloud.fake.azure.reservations import FakeReservations
from hcloud.fake.azure.scale_sets import ScaleSets
from hcloud.fake.azure.shapes import SPOT_FACTOR, shape
from hcloud.fake.azure.virtual_machines import POWER, VirtualMachines, resize, retag
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, after, before, branch, listed, text
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, InterceptedRequest
from hcloud.fake.ledger import Rented
from hcloud.fake.server import HttpAnswer, Received, json_answer, principal_of
from hcloud.fake.world import tags_in

Handler = Callable[[ArmRequest], HttpAnswer]
SUBSCRIPTION = "/subscriptions/{subscription}"
GROUP = f"{SUBSCRIPTION}/resourceGroups/{{group}}"
METRICS = f"{GROUP}/providers/{MACHINES}/{{name}}/providers/Microsoft.Insights/metrics"
IMAGES = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read"
DIAGNOSTICS = "RetrieveBootDiagnosticsData"
CAPACITY_GROUPS = "Microsoft.Compute/capacityReservationGroups"
_PLAIN = {
    NETWORKS: "VirtualNetworks",
    INTERFACES: "NetworkInterfaces",
    ADDRESSES: "PublicIPAddresses",
    DISKS: "Disks",
    CAPACITY_GROUPS: "CapacityReservationGroups",
}
_NESTED = {
    (NETWORKS, "subnets"): "Subnets",
    (CAPACITY_GROUPS, "capacityReservations"): "CapacityReservations",
}


@dataclass(frozen=True, slots=True)
class AzureRoute:
    """A method and a path: ``operation`` is the name in Azure's specification, ``right`` what a role has to hold."""

    method: str
    path: re.Pattern[str]
    operation: str
    right: str
    handler: Handler
    mutating: bool


def routes(estate: Estate, operations: AzureOperations) -> tuple[AzureRoute, ...]:
    """All of them."""
    return (
        *_machines(VirtualMachines(estate, operations)),
        route("GET", METRICS, "Metrics_List", Metrics(estate).listed, "Microsoft.Insights/metrics/read"),
        *_sets(ScaleSets(estate, operations)),
        *_resources(estate, operations),
        *_reservations(FakeReservations(estate, operations)),
        *_lists(Lists(estate), operations),
    )


def route(method: str, path: str, operation: str, handler: Handler, right: str = "") -> AzureRoute:
    """One of them; only a GET changes nothing, but for prices that are asked for by POST."""
    named = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path.replace(".", r"\."))
    mutating = method != "GET" and "alculate" not in operation
    verb = {"GET": "read", "PUT": "write", "PATCH": "write", "DELETE": "delete", "POST": "action"}[method]
    kind = path.partition("/providers/")[2] or f"Microsoft.Resources{path}"
    right = right or f"{re.sub(r'/?{[^}]*}', '', kind)}/{verb}"
    return AzureRoute(method, re.compile(named, re.IGNORECASE), operation, right, handler, mutating)


def _of_kind(kind: str, prefix: str, handlers: VirtualMachines | ScaleSets) -> Iterator[AzureRoute]:
    """What is asked of machines and of sets alike: lists, and one by its name."""
    home, name = f"{GROUP}/providers/{kind}", f"{GROUP}/providers/{kind}/{{name}}"
    location = f"{SUBSCRIPTION}/providers/Microsoft.Compute/locations/{{location}}/{kind.rpartition('/')[2]}"
    yield route("GET", f"{SUBSCRIPTION}/providers/{kind}", f"{prefix}ListAll", handlers.listed)
    yield route("GET", location, f"{prefix}ListByLocation", handlers.listed, f"{kind}/read")
    yield route("GET", home, f"{prefix}List", handlers.listed)
    yield route("PUT", name, f"{prefix}CreateOrUpdate", handlers.put)
    yield route("PATCH", name, f"{prefix}Update", handlers.patch)
    yield route("GET", name, f"{prefix}Get", handlers.get)
    yield route("DELETE", name, f"{prefix}Delete", handlers.delete)


def _machines(machines: VirtualMachines) -> Iterator[AzureRoute]:
    name, prefix = f"{GROUP}/providers/{MACHINES}/{{name}}", "VirtualMachines_"
    yield from _of_kind(MACHINES, prefix, machines)
    yield route("GET", f"{name}/instanceView", f"{prefix}InstanceView", machines.instance_view)
    told = route("POST", f"{name}/retrieveBootDiagnosticsData", f"{prefix}{DIAGNOSTICS}", machines.diagnostics)
    yield replace(told, mutating=False)
    log = route("GET", f"{name}/serialConsoleLog", f"{prefix}SerialConsoleLog", machines.serial_console_log)
    yield replace(log, right=told.right)
    for verb in POWER:
        yield route("POST", f"{name}/{verb}", f"{prefix}{verb[0].upper()}{verb[1:]}", machines.power)


def _sets(sets: ScaleSets) -> Iterator[AzureRoute]:
    name, prefix = f"{GROUP}/providers/{SETS}/{{name}}", "VirtualMachineScaleSets_"
    yield from _of_kind(SETS, prefix, sets)
    yield route("POST", f"{name}/delete", f"{prefix}DeleteInstances", sets.delete_instances)
    yield route("GET", f"{name}/virtualMachines", "VirtualMachineScaleSetVMs_List", sets.members)


def _resources(estate: Estate, operations: AzureOperations) -> Iterator[AzureRoute]:
    for kind, prefix in _PLAIN.items():
        plain = Plain(estate, operations, kind)
        yield route("GET", f"{SUBSCRIPTION}/providers/{kind}", f"{prefix}_ListAll", plain.listed)
        name = "ListByResourceGroup" if "Compute" in kind else "List"
        yield route("GET", f"{GROUP}/providers/{kind}", f"{prefix}_{name}", plain.listed)
        yield from _plain(f"{GROUP}/providers/{kind}/{{name}}", prefix, plain)
    for (kind, child), prefix in _NESTED.items():
        plain = Plain(estate, operations, f"{kind}/{child}")
        yield route("GET", f"{GROUP}/providers/{kind}/{{parent}}/{child}", f"{prefix}_List", plain.listed)
        yield from _plain(f"{GROUP}/providers/{kind}/{{parent}}/{child}/{{name}}", prefix, plain)
    yield from _plain(f"{SUBSCRIPTION}/resourceGroups/{{name}}", "ResourceGroups", Plain(estate, operations, GROUPS))


def _plain(path: str, prefix: str, plain: Plain) -> Iterator[AzureRoute]:
    yield route("PUT", path, f"{prefix}_CreateOrUpdate", plain.put)
    yield route("GET", path, f"{prefix}_Get", plain.get)
    yield route("DELETE", path, f"{prefix}_Delete", plain.delete)


def _reservations(found: FakeReservations) -> Iterator[AzureRoute]:
    orders = f"{CAPACITY}/reservationOrders"
    yield route("POST", f"{CAPACITY}/calculatePrice", "ReservationOrder_Calculate", found.calculate)
    yield route("GET", f"{CAPACITY}/reservations", "Reservation_ListAll", found.held)
    yield route("GET", orders, "ReservationOrder_List", found.orders)
    yield route("PUT", f"{orders}/{{order}}", "ReservationOrder_Purchase", found.purchase)
    yield route("GET", f"{orders}/{{order}}", "ReservationOrder_Get", found.order)
    yield route("GET", f"{orders}/{{order}}/reservations", "Reservation_List", found.held)
    yield route("POST", f"{orders}/{{order}}/calculateRefund", "CalculateRefund_Post", found.refund)
    yield route("POST", f"{orders}/{{order}}/return", "Return_Post", found.give_back)
    yield route("GET", f"{SUBSCRIPTION}{CAPACITY}/catalogs", "GetCatalog", found.catalog)


def _lists(lists: Lists, operations: AzureOperations) -> Iterator[AzureRoute]:
    home = f"{SUBSCRIPTION}/providers/Microsoft.Compute"
    yield route("GET", SUBSCRIPTION, "Subscriptions_Get", lists.subscription, "Microsoft.Resources/subscriptions/read")
    yield route("GET", f"{home}/skus", "ResourceSkus_List", lists.skus)
    kind = "/publishers/{publisher}/artifacttypes/vmimage/offers/{offer}/skus/{sku}/versions"
    yield route(
        "GET", f"{home}/locations/{{location}}{kind}", "VirtualMachineImages_List", lists.image_versions, IMAGES
    )
    yield route("GET", f"{home}/locations/{{location}}/usages", "Usage_List", lists.usages)
    rights = {
        f"{home}/locations/-": "Microsoft.Compute/locations/operations/read",
        CAPACITY: "Microsoft.Capacity/operations/read",
    }
    for under, right in rights.items():
        yield route("GET", f"{under}/operations/{{number}}", "Operations_Get", operations.status, right)
        yield route("GET", f"{under}/operationResults/{{number}}", "Operations_Get", operations.result, right)


class FakeAzure(Estate):
    """Implements hcloud.fake.server.FakeCloud. ``scheme`` is what its own addresses in answers begin with.

    Every subscription whose id is a GUID is there, with a resource group and a network by the name of hcloud.
    """

    def __init__(self, plan: FaultPlan | None = None, scheme: str = "http") -> None:
        super().__init__(plan)
        self.scheme = scheme
        self.operations = AzureOperations(self)
        self._routes = routes(self, self.operations)

    def answer(self, received: Received) -> HttpAnswer:
        """What Azure says to a request, and at what time of its own."""
        answer = self._said(received)
        return replace(answer, headers={**answer.headers, "date": formatdate(self.clock.now(), usegmt=True)})

    def _said(self, received: Received) -> HttpAnswer:
        found = self._route(received)
        if found is None:
            said = f"No resource type or method was found for {received.method} {received.path}."
            return Refused(404, "InvalidResourceType", said).answer()
        route, params = found
        asked = self._asked(received, params)
        return self.serve(_ruled(route, asked), lambda rule: self._answered(route, self._asked(received, params, rule)))

    def edit(self, change: Mapping[str, object]) -> object:
        """A person's change in the portal."""
        now = self.clock.now()
        with self.ledger.held():
            self.settle()
            tags = tags_in(change)
            if "launch" in change:
                if not self.resources:
                    self.prepare(f"/subscriptions/{FIRST_SUBSCRIPTION}")
                made = launch_by_hand(self, str(change["launch"]), tags, now)
                return {"launched": made.short_id}
            name = next(str(change[verb]) for verb in ("terminate", "retag", "resize") if verb in change)
            machine = self._machine(name)
            if "terminate" in change:
                self.end(machine, now, 0.0)
                self.settle()
            elif "retag" in change:
                retag(machine, tags)
            else:
                resize(machine, str(change["type"]))
            return {"changed": name}

    def hourly(self, machine: Rented) -> Decimal:
        """What a machine costs an hour here."""
        found = shape(machine.instance_type)
        price = found.hourly if found else Decimal(0)
        return self.price(price) * (SPOT_FACTOR if machine.spot else 1)

    def _machine(self, short_id: str) -> AzureResource:
        found = [m for m in self.of_kind(MACHINES) if m.short_id == short_id]
        if not found:
            raise Refused(404, "ResourceNotFound", f"There is no machine {short_id}.")
        return found[0]

    def _route(self, received: Received) -> tuple[AzureRoute, Mapping[str, str]] | None:
        for route in self._routes:
            if route.method == received.method and (found := route.path.fullmatch(received.path)):
                return route, found.groupdict()
        return None

    def _asked(self, received: Received, params: Mapping[str, str], rule: FaultRule | None = None) -> ArmRequest:
        return ArmRequest(
            method=received.method,
            path=received.path,
            params=params,
            query=received.query,
            headers=received.headers,
            body=_body(received, rule),
            now=self.clock.now(),
            principal=principal_of(received),
            base=f"{self.scheme}://{received.headers.get('host', '127.0.0.1')}",
            rule=rule,
        )

    def _answered(self, route: AzureRoute, asked: ArmRequest) -> tuple[HttpAnswer, str, bool]:
        outcome, acted = "ok", False
        try:
            answer = self._early(route, asked)
            if answer is None:
                answer = route.handler(asked)
                acted = route.mutating
                if asked.fault is FaultKind.TWICE:
                    answer = route.handler(asked)
        except Refused as refused:
            answer, outcome = refused.answer(), refused.code
        if asked.rule is not None:
            answer, outcome = after(asked.rule, answer), asked.rule.answer.value
        return answer, outcome, acted

    def _early(self, route: AzureRoute, asked: ArmRequest) -> HttpAnswer | None:
        """What is answered before anything is done."""
        if asked.rule is not None and (answer := before(asked.rule)):
            return answer
        if not asked.query.get("api-version"):
            raise Refused(400, "MissingApiVersionParameter", "The api-version query parameter is required.")
        rights = [InterceptedRequest(name, route.mutating, asked.principal) for name in (route.operation, route.right)]
        if not any(self.faults.allows(right) for right in rights):
            said = f"The client '{asked.principal}' does not have authorization to perform action '{route.right}'."
            raise Refused(403, "AuthorizationFailed", said)
        # Making a group is the one request under a group that is not there yet
        if route.operation != "ResourceGroups_CreateOrUpdate":
            self.prepare(asked.path)
        else:
            self.prepare(asked.path.partition("/resourceGroups")[0])
        if asked.fault is FaultKind.EMPTY and "_List" in route.operation:
            return json_answer({"value": []})
        return None


FIRST_SUBSCRIPTION = "5c1f0000-0000-4000-8000-000000000001"


def _ruled(route: AzureRoute, asked: ArmRequest) -> InterceptedRequest:
    """A request as rules see it."""
    profile = branch(asked.body, "properties", "hardwareProfile")
    type_name = text(asked.body, "sku", "name") or text(profile, "vmSize")
    zones = [str(z) for z in listed(asked.body, "zones")]
    location = text(asked.body, "location").lower()
    zone = f"{location}-{zones[0]}" if zones else location
    return InterceptedRequest(route.operation, route.mutating, asked.principal, type_name, zone)


def _body(received: Received, rule: FaultRule | None) -> Document:
    """What was sent, without any tags where the fault is that they are dropped."""
    try:
        body = received.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return {}
    if rule is not None and rule.answer is FaultKind.UNTAGGED:
        body.pop("tags", None)
        network = branch(body, "properties", "virtualMachineProfile", "networkProfile")
        for configuration in listed(network, "networkInterfaceConfigurations"):
            branch(configuration).pop("tags", None)
    return body

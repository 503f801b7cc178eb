"""Which path of the Resource Manager is which operation of the fake Azure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hcloud.fake.azure.estate import ADDRESSES, DISKS, GROUPS, INTERFACES, MACHINES, NETWORKS, SETS, Estate
from hcloud.fake.azure.monitoring import Metrics
from hcloud.fake.azure.operations import CAPACITY, AzureOperations
from hcloud.fake.azure.plain import Lists, Plain
from hcloud.fake.azure.reservations import FakeReservations
from hcloud.fake.azure.scale_sets import ScaleSets
from hcloud.fake.azure.virtual_machines import POWER, VirtualMachines
from hcloud.fake.azure.wire import ArmRequest
from hcloud.fake.server import HttpAnswer

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

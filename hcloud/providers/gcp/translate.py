"""Between hcloud's values and Compute Engine's, both ways, with names and handles that follow from the order alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import TAG_KEY, TAG_LINEAGE, Launch, LaunchTemplate, Machine, MachineState, Notice
from hcloud.providers.gcp.documents import Document, member, of_kind
from hcloud.providers.gcp.settings import DISK, LAUNCHED_WITH, GoogleSettings
from hcloud.providers.templates import as_planned, by_image, template_of

PAGE = 500  # Google's largest
ENDS = ("compute.instances.preempted", "delete")
NAMES_A_LOOK = 40  # ours: keeps the address of the request under 4 kB
_NAMESPACE = UUID("9e0b4c57-5f53-4b3c-9a53-2f0d6d3a7c11")  # ours: drawn once, so that our handles are nobody else's
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_FAMILY = re.compile(
    r"(?:https://[^/]+/compute/[^/]+/)?(?:projects/(?P<project>[^/]+)/)?global/images/family/(?P<family>[^/]+)"
)
_STATES: Mapping[str, MachineState] = {
    "PROVISIONING": MachineState.PENDING,
    "STAGING": MachineState.PENDING,
    "PENDING": MachineState.PENDING,
    "RUNNING": MachineState.RUNNING,
    "REPAIRING": MachineState.RUNNING,
    "STOPPING": MachineState.STOPPING,
    "PENDING_STOP": MachineState.STOPPING,
    "DEPROVISIONING": MachineState.STOPPING,
    # what is stopped or suspended keeps its disk and can start again: Google's TERMINATED is not an end
    "TERMINATED": MachineState.STOPPED,
    "STOPPED": MachineState.STOPPED,
    "SUSPENDING": MachineState.STOPPED,
    "SUSPENDED": MachineState.STOPPED,
}


def request_id(*about: str) -> str:
    """A handle that is the same for the same words, and never the zero UUID."""
    return str(uuid5(_NAMESPACE, "\n".join(about)))


def names(key: str, count: int) -> tuple[str, ...]:
    """The names of the machines of an order."""
    return tuple(f"hc-{key}-{number:04d}" for number in range(1, count + 1))


def identity(zone: str, name: str) -> str:
    """What a machine goes by here: Google's names are unique in a zone only."""
    return f"{zone}/{name}"


def place(identity_: str) -> tuple[str, str] | None:
    """The zone and name of a machine's id; None for what is no such id."""
    zone, sign, name = identity_.partition("/")
    return (zone, name) if sign and zone and name and "/" not in name else None


def bundles(identities: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Ids in bundles of which a single request can ask for."""
    known = sorted({i for i in identities if place(i)})
    for start in range(0, len(known), NAMES_A_LOOK):
        yield tuple(known[start : start + NAMES_A_LOOK])


def filter_of_names(identities: Sequence[str]) -> str:
    """A filter for machines of these names, in whatever zone."""
    found = sorted({i.partition("/")[2] for i in identities})
    return " OR ".join(f'(name = "{name}")' for name in found)


def filter_of_ends(identities: Sequence[str]) -> str:
    """A filter for the operations by which machines of these names ended: taken away by Google, or deleted."""
    found = sorted({i.partition("/")[2] for i in identities})
    kinds = "|".join(map(re.escape, ENDS))
    return f'(operationType eq "{kinds}") (targetLink eq ".*/instances/({"|".join(found)})")'


def ends(operations: Iterable[Any]) -> dict[str, datetime | None]:
    """When machines ended, by id, as operations that are over and met no error tell it."""
    done = [o for o in operations if is_done(o) and not o.error.errors and o.operation_type in ENDS]
    return {identity(last(o.zone), last(o.target_link)): moment(o.insert_time) for o in done}


def filter_of_lineage(lineage: str) -> str:
    """A filter for machines of a lineage; of any where it is empty."""
    return f'labels.{TAG_LINEAGE} = "{lineage}"' if lineage else f"labels.{TAG_LINEAGE}:*"


def filter_of_key(key: str) -> str:
    """A filter for the machines of an order."""
    return f'labels.{TAG_KEY} = "{key}"'


def bulk_insert(order: Launch, settings: GoogleSettings) -> dict[str, object]:
    """The body that orders machines: as many as there are, one at least, each by its name."""
    return {
        "count": order.count,
        "min_count": 1,
        "per_instance_properties": {name: {} for name in names(order.key, order.count)},
        "instance_properties": _properties(order, settings),
    }


def template(instance_types: Sequence[str], settings: GoogleSettings) -> LaunchTemplate:
    """What machines of these types are launched with."""
    return template_of(settings, LAUNCHED_WITH, by_image(instance_types, lambda _: settings.image), DISK)


def image_family(name: str, project: str) -> tuple[str, str]:
    """The project and family of an image that is named by its family; both empty for an image itself."""
    found = _FAMILY.fullmatch(name)
    return (found["project"] or project, found["family"]) if found else ("", "")


def image_path(link: str) -> str:
    """An image as a request names it, without the host and version of a link to it."""
    before, sign, after = link.partition("projects/")
    return f"{sign}{after}" if sign and before.startswith("https://") else link


def _properties(order: Launch, settings: GoogleSettings) -> dict[str, object]:
    settings = as_planned(settings, LAUNCHED_WITH, order)
    disk = {"boot": True, "auto_delete": True, "initialize_params": {"source_image": settings.image}}
    found: dict[str, object] = {
        "machine_type": order.instance_type,
        "labels": order.tags(),
        "disks": [disk],
        "network_interfaces": [_network(settings)],
    }
    if order.start_up:
        found["metadata"] = {"items": [{"key": "startup-script", "value": order.start_up}]}
    if settings.service_account:
        found["service_accounts"] = [{"email": settings.service_account, "scopes": list(_SCOPES)}]
    if order.option is PurchaseOption.SPOT:
        found["scheduling"] = {
            "provisioning_model": "SPOT",
            "instance_termination_action": "DELETE",
            "on_host_maintenance": "TERMINATE",
            "automatic_restart": False,
        }
    return found


def _network(settings: GoogleSettings) -> dict[str, object]:
    """The subnetwork alone where one is named: its network follows from it."""
    found: dict[str, object] = (
        {"subnetwork": settings.subnetwork} if settings.subnetwork else {"network": settings.network}
    )
    if settings.external_address:
        found["access_configs"] = [{"name": "External NAT", "type_": "ONE_TO_ONE_NAT"}]
    return found


@dataclass(frozen=True, slots=True)
class ZonesPage:
    """What a page of a list over all zones tells: machines, and the places that could not be asked."""

    machines: tuple[Machine, ...]
    lost: tuple[str, ...]


def page_of_zones(page: Document) -> ZonesPage:
    """What such a page tells."""
    scopes = {place: of_kind(scope, dict) for place, scope in member(page, "items", dict).items()}
    lost = [p for p, scope in scopes.items() if member(member(scope, "warning", dict), "code", str) == "UNREACHABLE"]
    lost += [of_kind(place, str) for place in member(page, "unreachables", list)]
    return ZonesPage(tuple(m for scope in scopes.values() for m in _machines(scope, "instances")), tuple(lost))


def notices_of_zones(page: Document) -> tuple[Notice, ...]:
    """What a page of a list over all zones tells of maintenance that is to come, or goes on, and that ends a machine:
    others move to another host meanwhile, and notice nothing."""
    scopes = (of_kind(scope, dict) for scope in member(page, "items", dict).values())
    told = (of_kind(i, dict) for scope in scopes for i in member(scope, "instances", list))
    return tuple(notice for instance in told if (notice := _notice(instance)) is not None)


def _notice(instance: Document) -> Notice | None:
    coming = member(member(instance, "resourceStatus", dict), "upcomingMaintenance", dict)
    if not coming or member(member(instance, "scheduling", dict), "onHostMaintenance", str) == "MIGRATE":
        return None
    name = identity(last(member(instance, "zone", str)), member(instance, "name", str))
    return Notice(name, "Google maintains its host", moment(member(coming, "windowStartTime", str)))


def page_of_zone(page: Document) -> tuple[Machine, ...]:
    """The machines that a page of a list of one zone tells."""
    return _machines(page, "items")


def _machines(document: Document, name: str) -> tuple[Machine, ...]:
    return tuple(machine(of_kind(i, dict)) for i in member(document, name, list))


def machine(instance: Document) -> Machine:
    """A machine as Compute Engine tells it."""
    zone, name = last(member(instance, "zone", str)), member(instance, "name", str)
    scheduling = member(instance, "scheduling", dict)
    spot = member(scheduling, "preemptible", bool) or member(scheduling, "provisioningModel", str) == "SPOT"
    return Machine(
        id=identity(zone, name),
        instance_type=last(member(instance, "machineType", str)),
        zone=zone,
        state=_STATES.get(member(instance, "status", str), MachineState.UNKNOWN),
        option=PurchaseOption.SPOT if spot else PurchaseOption.ON_DEMAND,
        launched=moment(member(instance, "creationTimestamp", str)),
        tags={label: of_kind(value, str) for label, value in member(instance, "labels", dict).items()},
    )


def unseen(order: Launch, name: str) -> Machine:
    """A machine that Compute Engine says it has made and does not show yet."""
    return Machine(
        id=identity(order.zone, name),
        instance_type=order.instance_type,
        zone=order.zone,
        state=MachineState.PENDING,
        option=order.option,
        launched=None,
        tags=order.tags(),
    )


def last(url: str) -> str:
    """What Google's addresses end in: the name of the thing."""
    return url.rsplit("/", 1)[-1]


def region_of(zone: str) -> str:
    """The region that a zone is in."""
    return zone.rsplit("-", 1)[0]


def moment(text: str) -> datetime | None:
    """A time as Google writes it; None where there is none that can be read."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None


@dataclass(frozen=True, slots=True)
class OperationEnd:
    """What an operation came to: errors by code and words, and for an order of many how many it was for and got."""

    errors: tuple[tuple[str, str], ...] = ()
    status: int = 0
    wanted: int | None = None
    made: int | None = None

    @property
    def why(self) -> str:
        """Google's words for what went wrong; its figures where it has none."""
        if self.errors:
            return "; ".join(f"{code}: {words}" if words else code for code, words in self.errors)
        return f"Google made {self.made} of {self.wanted} and gives no reason" if self.wanted is not None else ""


def is_done(operation: Any) -> bool:
    """Whether an operation is over; a status that is not known here is not the end."""
    return getattr(operation.status, "name", "") == "DONE"


def ended(operation: Any) -> OperationEnd:
    """What an operation that is over came to."""
    counts = list(operation.instances_bulk_insert_operation_metadata.per_location_status.values())
    return OperationEnd(
        errors=tuple((e.code, e.message) for e in operation.error.errors),
        status=operation.http_error_status_code,
        wanted=sum(c.target_vm_count for c in counts) if counts else None,
        made=sum(c.created_vm_count - c.deleted_vm_count for c in counts) if counts else None,
    )

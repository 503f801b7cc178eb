"""Everything that stands in the fake Azure: resources by their id, and the machines among them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hcloud.fake.azure.shapes import shape
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, branch, text
from hcloud.fake.faults import FaultPlan, Lag
from hcloud.fake.ledger import Rented
from hcloud.fake.server import HttpAnswer, json_answer
from hcloud.fake.world import FakeWorld, Images

LOCATION = "eastus"
NAME = "hcloud"  # of the resource group and the network that each subscription has from the first
MACHINES = "Microsoft.Compute/virtualMachines"
SETS = "Microsoft.Compute/virtualMachineScaleSets"
INTERFACES = "Microsoft.Network/networkInterfaces"
ADDRESSES = "Microsoft.Network/publicIPAddresses"
DISKS = "Microsoft.Compute/disks"
NETWORKS = "Microsoft.Network/virtualNetworks"
GROUPS = "Microsoft.Resources/resourceGroups"
PAGE_SIZE = 250  # ours: Azure does not say how long its pages are
UP_TO_DATE = Lag()
_PARTS = re.compile(r"/subscriptions/([^/]+)(?:/resourceGroups/([^/]+))?", re.IGNORECASE)


@dataclass(slots=True)
class AzureResource:
    """One resource: ``document`` is what its owner sent, ``ready_at`` when it leaves Creating, ``failed`` the code it
    ends up with then, ``asked_at`` when its end began and ``gone_at`` when it is over. ``home`` is the id of the scale
    set it belongs to."""

    id: str
    kind: str
    document: Document
    made_at: float
    ready_at: float
    visible_at: float = 0.0
    tagged_at: float = 0.0
    failed: str = ""
    asked_at: float | None = None
    gone_at: float | None = None
    etag: int = 1
    home: str = ""
    uniform: bool = False
    power: str = "running"
    rented: Rented | None = None

    @property
    def name(self) -> str:
        """The last part of its id."""
        return self.id.rsplit("/", 1)[-1]

    @property
    def group(self) -> str:
        """Its resource group, in lower case."""
        found = _PARTS.match(self.id)
        return (found.group(2) or "").lower() if found else ""

    @property
    def short_id(self) -> str:
        """``group/name``."""
        return f"{self.group}/{self.name}"

    @property
    def properties(self) -> Document:
        """What it is made of."""
        found = self.document.setdefault("properties", {})
        return found if isinstance(found, dict) else {}

    @property
    def tags(self) -> dict[str, str]:
        return {str(k): str(v) for k, v in branch(self.document, "tags").items()}

    def is_kept(self, now: float) -> bool:
        """Whether nobody had asked for its end by then."""
        return self.asked_at is None or now < self.asked_at

    def state(self, now: float) -> str:
        if self.asked_at is not None and now >= self.asked_at:
            return "Deleting"
        if now < self.ready_at:
            return "Creating"
        return "Failed" if self.failed else "Succeeded"

    def shown(self, now: float, *, in_list: bool = False, behind: Lag = UP_TO_DATE) -> Document:
        """How it is answered: lists show tags late, and write groups in capitals as Azure's do."""
        made = datetime.fromtimestamp(self.made_at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "1+00:00"
        state = {"provisioningState": self.state(max(now - behind.ended, self.made_at)), "timeCreated": made}
        found = {
            **self.document,
            "id": _capitals(self.id) if in_list else self.id,
            "name": self.name,
            "type": self.kind,
            "properties": {**self.properties, **state},
            "etag": f'"{self.etag}"',
        }
        if in_list and now - behind.made < self.tagged_at:
            found.pop("tags", None)
        return found


def _capitals(resource_id: str) -> str:
    return re.sub(r"(?<=/resourceGroups/)[^/]+", lambda m: m.group().upper(), resource_id)


class Estate(FakeWorld):
    """The resources, the ledger beside them, and what the plan says about time."""

    name = "azure"

    def __init__(self, plan: FaultPlan | None = None) -> None:
        super().__init__(plan)
        self.resources: dict[str, AzureResource] = {}
        self.past: dict[str, AzureResource] = {}
        self.page_size = PAGE_SIZE
        self.images = Images()
        self.shape_of = shape

    def settle(self) -> None:
        """Let happen what was due: ends that are over, and machines that had notice."""
        now, over = self.now, {id(rented): at for rented, at in self.taken_away()}
        for machine in [m for m in self.of_kind(MACHINES) if id(m.rented) in over] if over else ():
            self.end(machine, over[id(machine.rented)], 0.0)
        for resource in [r for r in self.resources.values() if r.gone_at is not None and r.gone_at <= now]:
            self.forget(resource)

    def add(self, resource: AzureResource) -> AzureResource:
        """Put up a resource."""
        self.resources[resource.id.lower()] = resource
        self.past.pop(resource.id.lower(), None)
        if resource.kind != MACHINES:
            self.ledger.extras.setdefault(resource.kind.rsplit("/", 1)[-1], {})[resource.id] = resource.document
        return resource

    def forget(self, resource: AzureResource) -> None:
        """Take a resource away; machines and sets are kept for lists that are behind."""
        self.resources.pop(resource.id.lower(), None)
        if resource.kind in (MACHINES, SETS):
            self.past[resource.id.lower()] = resource
        self.ledger.extras.get(resource.kind.rsplit("/", 1)[-1], {}).pop(resource.id, None)
        if resource.kind == MACHINES:
            self._detach(resource)

    def end(self, machine: AzureResource, at: float, delay: float) -> None:
        """Ask for the end of a machine; what goes with it goes when it is over."""
        if machine.gone_at is None:
            machine.asked_at, machine.gone_at = at, at + delay
            if machine.rented and machine.rented.asked_to_end is None:
                machine.rented.asked_to_end, machine.rented.ended_at = at, at + delay

    def _detach(self, machine: AzureResource) -> None:
        nics = branch(machine.properties, "networkProfile").get("networkInterfaces")
        for nic in nics if isinstance(nics, list) else []:
            self._let_go(text(nic, "id"), text(nic, "properties", "deleteOption") == "Delete")
        disk = branch(machine.properties, "storageProfile", "osDisk")
        self._let_go(text(disk, "managedDisk", "id"), text(disk, "deleteOption") == "Delete")

    def _let_go(self, resource_id: str, with_it: bool) -> None:
        found = self.resources.get(resource_id.lower())
        if found is None:
            return
        if with_it:
            self.forget(found)
        found.properties.pop("virtualMachine", None)
        found.document.pop("managedBy", None)

    def of_kind(self, kind: str, under: str = "") -> Iterator[AzureResource]:
        """Resources of a kind, those under a path only where one is given, by id."""
        under = under.lower()
        for key in sorted(self.resources):
            found = self.resources[key]
            if found.kind == kind and key.startswith(under):
                yield found

    def listed(self, kind: str, under: str, asked: ArmRequest) -> list[AzureResource]:
        """Those that a list shows, which may be behind."""
        behind = Lag.of(asked.rule)
        then = asked.now - behind.ended
        over = (r for key, r in self.past.items() if r.kind == kind and key.startswith(under.lower()))
        ended = [r for r in over if r.gone_at is not None and r.gone_at > then]
        there = list(self.of_kind(kind, under))  # in order already
        found = sorted([*there, *ended], key=lambda r: r.id.lower()) if ended else there
        return [r for r in found if asked.now - behind.made >= r.made_at]

    def members(self, home: AzureResource, asked: ArmRequest | None = None) -> list[AzureResource]:
        """The machines of a scale set, ending ones too; with ``asked`` those that a list shows."""
        machines = self.of_kind(MACHINES) if asked is None else self.listed(MACHINES, "", asked)
        return [m for m in machines if m.home.lower() == home.id.lower()]

    def find(self, resource_id: str) -> AzureResource | None:
        """A resource by its id, in whatever case."""
        return self.resources.get(resource_id.lower())

    def at(self, path: str, now: float) -> AzureResource:
        """A resource that is there for all to see; raises Refused."""
        found = self.find(path)
        if found is None or now < found.visible_at:
            raise Refused(404, "ResourceNotFound", f"The Resource '{path}' was not found.")
        return found

    def prepare(self, path: str) -> None:
        """Give a subscription that is asked about its group and network; raises Refused where the group is missing."""
        subscription, group = (_PARTS.match(path) or re.fullmatch("()()", "")).groups()  # type: ignore[union-attr]
        if not subscription:
            return
        try:
            uuid.UUID(subscription)
        except ValueError:
            said = f"The provided subscription identifier '{subscription}' is malformed or invalid."
            raise Refused(400, "InvalidSubscriptionId", said) from None
        home = f"/subscriptions/{subscription}/resourceGroups/{NAME}"
        if self.find(f"/subscriptions/{subscription}") is None:
            self._found(subscription, home)
        if group and self.find(f"/subscriptions/{subscription}/resourceGroups/{group}") is None:
            raise Refused(404, "ResourceGroupNotFound", f"Resource group '{group}' could not be found.")

    def _found(self, subscription: str, home: str) -> None:
        subnet = f"{home}/providers/{NETWORKS}/{NAME}/subnets/default"
        for resource_id, kind in (
            (f"/subscriptions/{subscription}", "Microsoft.Resources/subscriptions"),
            (home, GROUPS),
            (f"{home}/providers/{NETWORKS}/{NAME}", NETWORKS),
            (subnet, f"{NETWORKS}/subnets"),
        ):
            self.resources[resource_id.lower()] = AzureResource(resource_id, kind, {"location": LOCATION}, 0.0, 0.0)

    def page(
        self, asked: ArmRequest, found: Sequence[Any], shown: Callable[[Any], Document] = lambda document: document
    ) -> HttpAnswer:
        """One page of a list, with the address of the next. Only what is on it is ``shown``: a list of thousands has
        dozens of pages."""
        start = int(asked.query.get("$skiptoken") or 0)
        answer: Document = {"value": [shown(one) for one in found[start : start + self.page_size]]}
        if start + self.page_size < len(found):
            query = "&".join(f"{k}={v}" for k, v in asked.query.items() if k != "$skiptoken").replace(" ", "%20")
            answer["nextLink"] = f"{asked.base}{asked.path}?{query}&$skiptoken={start + self.page_size}"
        return json_answer(answer)


@dataclass(frozen=True, slots=True)
class AzureLocation:
    """Where a request makes something."""

    subscription: str
    group: str
    location: str
    zone: str = ""

    @property
    def home(self) -> str:
        """The id of its resource group."""
        return f"/subscriptions/{self.subscription}/resourceGroups/{self.group}"

    @property
    def zone_name(self) -> str:
        """Its zone as plans and the ledger call it: ``eastus-1``."""
        return f"{self.location}-{self.zone}" if self.zone else self.location

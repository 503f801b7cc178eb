"""The fake Azure's resources that only have to be kept (groups, networks, interfaces, disks, capacity reservations),
and how busy its monitor says that machines are."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime

from hcloud.fake.azure.estate import NETWORKS, AzureLocation, AzureResource, Estate
from hcloud.fake.azure.machines import limit_of, limits
from hcloud.fake.azure.operations import AzureHandlers, AzureOperations
from hcloud.fake.azure.scale_sets import conditions, scope_of
from hcloud.fake.azure.shapes import ZONES, AzureSize, shapes
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, branch, listed, text
from hcloud.fake.server import HttpAnswer, json_answer
from hcloud.fake.world import LoadSamples

FIRST_IMAGE = 100  # so that the order of text is not that of numbers


class Plain(AzureHandlers):
    """The requests of one kind of them."""

    def __init__(self, estate: Estate, operations: AzureOperations, kind: str) -> None:
        super().__init__(estate, operations)
        self._kind = kind

    def put(self, asked: ArmRequest) -> HttpAnswer:
        """Make or replace one."""
        existing = self._estate.find(asked.path)
        conditions(existing, asked)
        if parent := self._parent(asked.path):
            self._estate.at(parent, asked.now)
        self._check_references(asked)
        body = copy.deepcopy(asked.body)
        made = AzureResource(
            asked.path, self._kind, body, asked.now, asked.now, etag=existing.etag + 1 if existing else 1
        )
        self._estate.add(made)
        if self._kind == NETWORKS:
            self._add_subnets(made, asked)
        status = 200 if existing else 201
        return json_answer(made.shown(asked.now), status)

    def _check_references(self, asked: ArmRequest) -> None:
        """Refuse an interface in a subnet, with an address or under rules that there are not."""
        parts = [branch(p, "properties") for p in listed(asked.body, "properties", "ipConfigurations")]
        named = [text(p, kind, "id") for p in parts for kind in ("subnet", "publicIPAddress")]
        for name in filter(None, [*named, text(asked.body, "properties", "networkSecurityGroup", "id")]):
            if self._estate.find(name) is None:
                words = f"Resource {name} referenced by resource {asked.path} was not found."
                raise Refused(400, "InvalidResourceReference", words)

    def get(self, asked: ArmRequest) -> HttpAnswer:
        return json_answer(self._estate.at(asked.path, asked.now).shown(asked.now))

    def listed(self, asked: ArmRequest) -> HttpAnswer:
        """Those of a group or a subscription, or under another resource."""
        under = self._parent(asked.path + "/-") or scope_of(asked)
        return self._estate.page(asked, [r.shown(asked.now) for r in self._estate.of_kind(self._kind, under)])

    def delete(self, asked: ArmRequest) -> HttpAnswer:
        """Remove one that nothing is attached to."""
        found = self._estate.find(asked.path)
        if found is None:
            return HttpAnswer(204)
        if branch(found.properties, "virtualMachine") or text(found.document, "managedBy"):
            code = "NicInUse" if "networkInterfaces" in self._kind else "OperationNotAllowed"
            raise Refused(409, code, f"{found.id} is attached to a machine.")
        for inside in [r for k, r in self._estate.resources.items() if k.startswith(f"{found.id.lower()}/")]:
            self._estate.forget(inside)
        found.asked_at = asked.now
        found.gone_at = self._later(asked)
        return self._operations.accept(asked, self._operations.begin(found.id, found.gone_at))

    def _parent(self, path: str) -> str:
        """The path of the resource that one of a nested kind belongs to."""
        return path.rsplit("/", 2)[0] if self._kind.count("/") > 1 else ""

    def _add_subnets(self, network: AzureResource, asked: ArmRequest) -> None:
        for subnet in listed(network.document, "properties", "subnets"):
            path = f"{network.id}/subnets/{text(subnet, 'name')}"
            self._estate.add(AzureResource(path, f"{NETWORKS}/subnets", dict(branch(subnet)), asked.now, asked.now))


class Lists:
    """What Azure tells about a subscription and a location."""

    def __init__(self, estate: Estate) -> None:
        self._estate = estate

    def subscription(self, asked: ArmRequest) -> HttpAnswer:
        number = asked.params["subscription"]
        home = f"/subscriptions/{number}"
        return json_answer({"id": home, "subscriptionId": number, "displayName": "fake", "state": "Enabled"})

    def usages(self, asked: ArmRequest) -> HttpAnswer:
        """The limits on cores."""
        place = AzureLocation(asked.params["subscription"], "", asked.params["location"].lower())
        known = limits(self._estate, place, asked.now)
        names = [*known, *(n for n in {s.family: 0 for s in shapes()} if n not in known)]
        found: list[Document] = []
        for name in names:
            used, limit = known.get(name, (0, limit_of(self._estate, name)))
            value = {"value": name, "localizedValue": name}
            found.append({"name": value, "currentValue": used, "limit": limit, "unit": "Count"})
        return self._estate.page(asked, found)

    def image_versions(self, asked: ArmRequest) -> HttpAnswer:
        """The versions of an image, which come as a bare list and in the order of text."""
        kind = ":".join(asked.params[part] for part in ("publisher", "offer", "sku"))
        newest = self._estate.images.number(f"{kind}:latest")
        location, names = (
            asked.params["location"],
            [f"24.04.{FIRST_IMAGE + number}" for number in range(-1, newest + 1)],
        )
        versions = [{"name": name, "location": location, "id": f"{asked.path}/{name}"} for name in sorted(names)]
        return HttpAnswer(200, json.dumps(versions).encode(), {"content-type": "application/json"})

    def skus(self, asked: ArmRequest) -> HttpAnswer:
        """The sizes there are; the location is that of the filter."""
        location = asked.query.get("$filter", "").partition("'")[2].rstrip("'").lower()
        return self._estate.page(asked, [_sku(shape, location or "eastus") for shape in shapes()])


def _sku(shape: AzureSize, location: str) -> Document:
    capabilities = {"vCPUs": str(shape.vcpus), "MemoryGB": str(shape.memory_gib)}
    return {
        "resourceType": "virtualMachines",
        "name": shape.name,
        "tier": "Standard",
        "size": shape.name.removeprefix("Standard_"),
        "family": shape.family,
        "locations": [location],
        "locationInfo": [{"location": location, "zones": list(reversed(ZONES))}],
        "capabilities": [{"name": name, "value": value} for name, value in capabilities.items()],
        "restrictions": [],
    }


DAY = 86_400
KEPT = 93 * DAY
LONGEST_SPAN = 30 * DAY
INTERVALS = {"PT1M": 60, "PT5M": 300, "PT15M": 900, "PT1H": 3600, "P1D": DAY}
METRIC = "Percentage CPU"


class Metrics:
    """The requests for metrics of a machine."""

    def __init__(self, estate: Estate) -> None:
        self._estate = estate

    def listed(self, asked: ArmRequest) -> HttpAnswer:
        """Means of one metric over a time; of an interval without any, the time alone."""
        machine = self._estate.at(asked.path.partition("/providers/Microsoft.Insights")[0], asked.now)
        query = asked.query
        seconds = INTERVALS.get(query.get("interval", ""))
        if query.get("metricnames") != METRIC or query.get("aggregation") != "Average" or seconds is None:
            raise Refused(400, "BadRequest", "This fake has means of Percentage CPU only.")
        start, end = _span(query.get("timespan", ""))
        if end - start > LONGEST_SPAN or start < asked.now - KEPT - DAY:
            raise Refused(400, "BadRequest", "The timespan is too long, or begins too early.")
        rented = machine.rented
        found: dict[int, float] = {}
        if rented is not None:
            load = self._estate.load_of(rented)
            found = dict(LoadSamples(rented, load, start, min(end, int(asked.now)), seconds))
        data = [_point(time, found.get(time)) for time in range(start, end, seconds)]
        metric = {"name": {"value": METRIC}, "unit": "Percent", "timeseries": [{"metadatavalues": [], "data": data}]}
        return json_answer({"timespan": query["timespan"], "interval": query["interval"], "value": [metric]})


def _point(time: int, value: float | None) -> Document:
    told: Document = {"timeStamp": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return told if value is None else {**told, "average": value}


def _span(text: str) -> tuple[int, int]:
    try:
        start, end = (int(datetime.fromisoformat(part).timestamp()) for part in text.split("/"))
    except ValueError:
        raise Refused(400, "BadRequest", f"The timespan {text!r} is invalid.") from None
    return start, end

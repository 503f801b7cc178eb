"""The fake Azure as a server asks it: routing, roles, faults and the ledger around what the requests do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from email.utils import formatdate

from hcloud.fake.azure.estate import INTERFACES, MACHINES, AzureResource, Estate
from hcloud.fake.azure.machines import launch_by_hand
from hcloud.fake.azure.operations import AzureOperations
from hcloud.fake.azure.routes import AzureRoute, routes
from hcloud.fake.azure.shapes import SPOT_FACTOR, shape
from hcloud.fake.azure.virtual_machines import resize, retag
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, after, before, branch, listed, text
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, InterceptedRequest
from hcloud.fake.ledger import Rented
from hcloud.fake.server import HttpAnswer, Received, json_answer

PRINCIPAL_HEADER = "x-hcloud-principal"


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
            tags = {str(k): str(v) for k, v in branch(dict(change), "tags").items()}
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

    def unattached(self) -> tuple[str, ...]:
        """The ids of interfaces and disks that belong to no machine: what somebody forgot to remove."""
        with self.ledger.held():
            self.settle()
            interfaces = [r for r in self.of_kind(INTERFACES) if not branch(r.properties, "virtualMachine")]
            disks = [
                r for r in self.resources.values() if r.kind.endswith("/disks") and not r.document.get("managedBy")
            ]
            return tuple(sorted(r.id for r in (*interfaces, *disks)))

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
            principal=_principal(received),
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


def _principal(received: Received) -> str:
    """Whose request it is: the bearer token stands for a role, and a header where no token is sent."""
    kind, _, token = received.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" and token else received.headers.get(PRINCIPAL_HEADER, "")


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

"""The fake Azure's scale sets, flexible and uniform."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

from hcloud.fake.azure.estate import MACHINES, SETS, AzureResource, Estate
from hcloud.fake.azure.machines import CapacityGrant, granted, leave_behind, make, wanted_from
from hcloud.fake.azure.operations import AzureHandlers
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, branch, listed, text
from hcloud.fake.faults import Lag
from hcloud.fake.server import HttpAnswer, json_answer

MOST_MACHINES = 1000


def conditions(existing: AzureResource | None, asked: ArmRequest) -> None:
    """Refuse what If-Match and If-None-Match forbid."""
    none_match, match = asked.headers.get("if-none-match", ""), asked.headers.get("if-match", "")
    if none_match == "*" and existing is not None:
        raise Refused(412, "PreconditionFailed", f"The resource {existing.id} exists already.")
    if match and (existing is None or match not in ("*", f'"{existing.etag}"')):
        raise Refused(412, "PreconditionFailed", "The resource was changed, or is not there.")


class ScaleSets(AzureHandlers):
    """Their requests."""

    def put(self, asked: ArmRequest) -> HttpAnswer:
        """Make one with all its machines, or change one."""
        existing = self._estate.find(asked.path)
        conditions(existing, asked)
        if existing is not None:
            return self._changed(existing, asked)
        capacity = _capacity(asked.body)
        profile = branch(asked.body, "properties", "virtualMachineProfile")
        _check(self._estate, asked.body, profile)
        wanted = wanted_from(asked, text(asked.body, "sku", "name"), capacity, profile)
        given = granted(self._estate, wanted, asked)
        made = AzureResource(asked.path, SETS, copy.deepcopy(asked.body), asked.now, self._later(asked))
        made.tagged_at = asked.now + self._estate.faults.plan.tag_delay
        made.uniform = text(asked.body, "properties", "orchestrationMode") != "Flexible"
        self._estate.add(made)
        self._fill(made, given, asked)
        if given.error is not None:
            made.failed = text(given.error, "code")
            leave_behind(self._estate, wanted, made, asked.now)
        operation = self._operations.begin(made.id, made.ready_at, given.error)
        return self._operations.accept(asked, operation, self._shown(made, asked.now), 201)

    def patch(self, asked: ArmRequest) -> HttpAnswer:
        """Change tags or capacity."""
        found = self._estate.at(asked.path, asked.now)
        conditions(found, asked)
        return self._changed(found, asked)

    def get(self, asked: ArmRequest) -> HttpAnswer:
        return json_answer(self._shown(self._estate.at(asked.path, asked.now), asked.now))

    def listed(self, asked: ArmRequest) -> HttpAnswer:
        """Those of a group, a subscription or a location."""
        here = [s for s in self._estate.listed(SETS, scope_of(asked), asked) if in_location(s, asked)]
        behind = Lag.of(asked.rule)
        standing = (m for m in self._estate.listed(MACHINES, "", asked) if m.is_kept(asked.now - behind.ended))
        counts = Counter(m.home.lower() for m in standing)
        shown = [_told(s.shown(asked.now, in_list=True, behind=behind), counts[s.id.lower()]) for s in here]
        return self._estate.page(asked, shown)

    def members(self, asked: ArmRequest) -> HttpAnswer:
        """The machines of one; of a flexible one they come without tags (a known gap of the real list)."""
        home = self._estate.at(asked.path.rsplit("/", 1)[0], asked.now)
        shown = []
        for machine in self._estate.members(home, asked):
            document = machine.shown(asked.now, behind=Lag.of(asked.rule))
            if not home.uniform:
                document.pop("tags", None)
            shown.append({**document, "instanceId": machine.name.rpartition("_")[2] if home.uniform else machine.name})
        return self._estate.page(asked, shown)

    def delete(self, asked: ArmRequest) -> HttpAnswer:
        """End one with all its machines."""
        found = self._estate.find(asked.path)
        if found is None:
            return HttpAnswer(204)
        delay = self._estate.faults.plan.end_delay
        for machine in self._estate.members(found):
            self._estate.end(machine, asked.now, delay)
        if found.gone_at is None:
            found.asked_at, found.gone_at = asked.now, self._later(asked, delay)
        return self._operations.accept(asked, self._operations.begin(found.id, found.gone_at))

    def delete_instances(self, asked: ArmRequest) -> HttpAnswer:
        """End some machines of one."""
        home = self._estate.at(asked.path.rsplit("/", 1)[0], asked.now)
        names = [str(n) for n in listed(asked.body, "instanceIds")]
        if not names:
            raise Refused(400, "InvalidParameter", "The list of instance ids is empty.")
        members = {(m.name.rpartition("_")[2] if home.uniform else m.name): m for m in self._estate.members(home)}
        for name in names:
            if name not in members and name != "*":
                raise Refused(400, "InvalidParameter", f"The provided instanceId {name} is not an active instance.")
        delay = self._estate.faults.plan.end_delay
        for machine in members.values() if "*" in names else [members[n] for n in names]:
            self._estate.end(machine, asked.now, delay)
        return self._operations.accept(asked, self._operations.begin(home.id, self._later(asked, delay)))

    def _changed(self, found: AzureResource, asked: ArmRequest) -> HttpAnswer:
        if found.gone_at is not None:
            raise Refused(409, "OperationPreempted", f"{found.id} is being deleted.")
        if "tags" in asked.body:
            found.document["tags"] = branch(asked.body, "tags")
        error = None
        if "sku" in asked.body:
            error = self._resized(found, _capacity(asked.body), asked)
        found.etag += 1
        operation = self._operations.begin(found.id, self._later(asked), error)
        return self._operations.accept(asked, operation, self._shown(found, asked.now), 200)

    def _resized(self, found: AzureResource, capacity: int, asked: ArmRequest) -> Document | None:
        alive = [m for m in self._estate.members(found) if m.gone_at is None]
        for machine in alive[capacity:]:
            self._estate.end(machine, asked.now, self._estate.faults.plan.end_delay)
        if capacity <= len(alive):
            return None
        profile = branch(found.document, "properties", "virtualMachineProfile")
        like = replace(asked, body=found.document)
        wanted = wanted_from(like, text(found.document, "sku", "name"), capacity - len(alive), profile)
        given = granted(self._estate, wanted, like)
        self._fill(found, given, like)
        return given.error

    def _fill(self, home: AzureResource, given: CapacityGrant, asked: ArmRequest) -> None:
        profile = branch(asked.body, "properties", "virtualMachineProfile")
        wanted = wanted_from(asked, text(asked.body, "sku", "name"), given.count, profile)
        for _ in range(given.count):
            name = f"{home.name}_{self._estate.ledger.next_number():08x}"
            make(self._estate, wanted, name, home, asked.now).uniform = home.uniform

    def _shown(self, home: AzureResource, now: float) -> Document:
        return _told(home.shown(now), sum(1 for m in self._estate.members(home) if m.is_kept(now)))


def _told(shown: Document, alive: int) -> Document:
    """A set with the number of machines that it has as its capacity; those that failed count until they are removed."""
    profile = branch(shown, "properties", "virtualMachineProfile")
    # What is sent to machines is never shown again
    told = {k: v for k, v in branch(profile, "osProfile").items() if k not in ("customData", "adminPassword")}
    shown["properties"] = {**branch(shown, "properties"), "virtualMachineProfile": {**profile, "osProfile": told}}
    return {**shown, "sku": {**branch(shown, "sku"), "capacity": alive}}


def scope_of(asked: ArmRequest) -> str:
    """The path that what a list holds is under."""
    group = asked.params.get("group")
    return f"/subscriptions/{asked.params['subscription']}/" + (f"resourceGroups/{group}/" if group else "")


def in_location(resource: AzureResource, asked: ArmRequest) -> bool:
    """Whether a list of a location, or of anything wider, holds a resource."""
    location = asked.params.get("location", "")
    return not location or str(resource.document.get("location", "")).lower() == location.lower()


def _capacity(body: Document) -> int:
    found = branch(body, "sku").get("capacity")
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= MOST_MACHINES:
        raise Refused(400, "InvalidParameter", f"The value {found} of parameter 'sku.capacity' is out of range.")
    return found


def _check(estate: Estate, body: Document, profile: Document) -> None:
    flexible = text(body, "properties", "orchestrationMode") == "Flexible"
    network = branch(profile, "networkProfile")
    if flexible and not isinstance(branch(body, "properties").get("platformFaultDomainCount"), int):
        raise Refused(400, "InvalidParameter", "Required parameter 'platformFaultDomainCount' is missing (null).")
    if flexible and not text(network, "networkApiVersion"):
        raise Refused(400, "InvalidParameter", "networkApiVersion is required for flexible orchestration.")
    if not branch(profile, "storageProfile", "imageReference"):
        raise Refused(400, "InvalidParameter", "Required parameter 'imageReference' is missing (null).")
    configurations = listed(network, "networkInterfaceConfigurations")
    if not configurations:
        raise Refused(400, "InvalidParameter", "Required parameter 'networkInterfaceConfigurations' is missing (null).")
    for configuration in configurations:
        for address in listed(configuration, "properties", "ipConfigurations"):
            subnet = text(address, "properties", "subnet", "id")
            if estate.find(subnet) is None:
                raise Refused(400, "InvalidResourceReference", f"Resource {subnet} referenced was not found.")

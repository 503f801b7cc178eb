"""The fake Azure's machines, each by its own name."""

from __future__ import annotations

from datetime import UTC, datetime

from hcloud.fake.azure.estate import MACHINES, AzureResource
from hcloud.fake.azure.machines import granted, make, put_up, wanted_from
from hcloud.fake.azure.operations import AzureHandlers
from hcloud.fake.azure.scale_sets import conditions, in_location, scope_of
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, branch, text
from hcloud.fake.faults import Lag
from hcloud.fake.server import HttpAnswer, json_answer
from hcloud.fake.world import MAINTAINED

POWER = {"deallocate": "deallocated", "powerOff": "stopped", "start": "running"}


class VirtualMachines(AzureHandlers):
    """Their requests."""

    def put(self, asked: ArmRequest) -> HttpAnswer:
        """Make one, or change one."""
        existing = self._estate.find(asked.path)
        conditions(existing, asked)
        if existing is not None:
            return self._changed(existing, asked)
        profile = branch(asked.body, "properties")
        if not branch(profile, "networkProfile"):
            raise Refused(400, "InvalidParameter", "Required parameter 'networkProfile' is missing (null).")
        wanted = wanted_from(asked, text(profile, "hardwareProfile", "vmSize"), 1, profile)
        given = granted(self._estate, wanted, asked)
        name = asked.params["name"]
        # A machine that could not be allocated stays as a failed resource, and its interface stays attached to it
        into = make if given.count else put_up
        made = into(self._estate, wanted, name, None, asked.now)
        over = self._later(asked)
        if not given.count:
            made.failed, made.ready_at = "AllocationFailed", over
        operation = self._operations.begin(made.id, over, given.error)
        return self._operations.accept(asked, operation, made.shown(asked.now), 201)

    def patch(self, asked: ArmRequest) -> HttpAnswer:
        """Change tags, size, or what goes with it when it ends."""
        found = self._estate.at(asked.path, asked.now)
        conditions(found, asked)
        return self._changed(found, asked)

    def get(self, asked: ArmRequest) -> HttpAnswer:
        found = self._estate.at(asked.path, asked.now)
        view = {"instanceView": self._view(found, asked.now)} if asked.query.get("$expand") == "instanceView" else {}
        shown = found.shown(asked.now)
        return json_answer({**shown, "properties": {**branch(shown, "properties"), **view}})

    def instance_view(self, asked: ArmRequest) -> HttpAnswer:
        return json_answer(self._view(self._estate.at(asked.path.rsplit("/", 1)[0], asked.now), asked.now))

    def listed(self, asked: ArmRequest) -> HttpAnswer:
        """Those of a group, a subscription or a location; machines of uniform sets are not among them."""
        home = asked.query.get("$filter", "").partition("'")[2].rstrip("'").lower()
        behind = Lag.of(asked.rule)
        found = [
            machine
            for machine in self._estate.listed(MACHINES, scope_of(asked), asked)
            if asked.now - behind.made >= machine.visible_at
            and not machine.uniform
            and (not home or machine.home.lower() == home)
            and in_location(machine, asked)
        ]
        viewed = asked.query.get("statusOnly") == "true"
        return self._estate.page(asked, found, lambda m: self._in_list(m, asked.now, behind, viewed=viewed))

    def _in_list(self, machine: AzureResource, now: float, behind: Lag, *, viewed: bool) -> Document:
        shown = machine.shown(now, in_list=True, behind=behind)
        view = {"instanceView": self._view(machine, now)} if viewed else {}
        return {**shown, "properties": {**branch(shown, "properties"), **view}}

    def delete(self, asked: ArmRequest) -> HttpAnswer:
        """End one; what does not go with it stays behind, attached to nothing."""
        found = self._estate.find(asked.path)
        if found is None:
            return HttpAnswer(204)
        delay = self._estate.faults.plan.end_delay
        self._estate.end(found, asked.now, delay)
        return self._operations.accept(asked, self._operations.begin(found.id, self._later(asked, delay)))

    def power(self, asked: ArmRequest) -> HttpAnswer:
        """Start or stop one."""
        path, _, verb = asked.path.rpartition("/")
        found = self._estate.at(path, asked.now)
        found.power = {k.lower(): v for k, v in POWER.items()}[verb.lower()]
        return self._operations.accept(asked, self._operations.begin(found.id, self._later(asked)))

    def diagnostics(self, asked: ArmRequest) -> HttpAnswer:
        """Where its console's log is, signed; a person without boot diagnostics is told that there is none."""
        path = asked.path.rsplit("/", 1)[0]
        found = self._estate.at(path, asked.now)
        if found.rented is None or not found.rented.detail.get("start_up"):
            raise Refused(409, "OperationNotAllowed", "Boot diagnostics are not enabled for this machine.")
        return json_answer({"serialConsoleLogBlobUri": f"{asked.base}{path}/serialConsoleLog?api-version=1&sig=fake"})

    def serial_console_log(self, asked: ArmRequest) -> HttpAnswer:
        """What it has written; nothing unless start-up scripts are executed."""
        found = self._estate.at(asked.path.rsplit("/", 1)[0], asked.now)
        if asked.query.get("sig") != "fake" or found.rented is None:
            raise Refused(403, "AuthenticationFailed", "The signature does not fit.")
        written = str(found.rented.detail.get("console", ""))
        return HttpAnswer(200, written.encode(), {"content-type": "text/plain"})

    def _changed(self, found: AzureResource, asked: ArmRequest) -> HttpAnswer:
        if "tags" in asked.body:
            retag(found, {str(k): str(v) for k, v in branch(asked.body, "tags").items()})
        size = text(asked.body, "properties", "hardwareProfile", "vmSize")
        if size:
            resize(found, size)
        for name in ("networkProfile", "storageProfile"):
            if given := branch(asked.body, "properties", name):
                found.properties[name] = {**branch(found.properties, name), **given}
        found.etag += 1
        operation = self._operations.begin(found.id, self._later(asked))
        return self._operations.accept(asked, operation, found.shown(asked.now), 200)

    def _view(self, machine: AzureResource, now: float) -> Document:
        state = machine.state(now)
        code = f"ProvisioningState/{state.lower()}"
        if state == "Failed":
            return {"statuses": [{"code": f"{code}/{machine.failed}", "message": "Allocation failed."}]}
        power = "starting" if state == "Creating" else machine.power
        at = machine.rented.detail.get(MAINTAINED) if machine.rented else None
        coming = {"maintenanceRedeployStatus": _maintenance(at)} if isinstance(at, float) else {}
        return {"statuses": [{"code": code}, {"code": f"PowerState/{power}"}], **coming}


def _maintenance(at: float) -> Document:
    begins, ends = (datetime.fromtimestamp(t, UTC).isoformat() for t in (at, at + 3600))
    window = {"maintenanceWindowStartTime": begins, "maintenanceWindowEndTime": ends}
    return {"isCustomerInitiatedMaintenanceAllowed": True, **window, "lastOperationResultCode": "None"}


def retag(machine: AzureResource, tags: dict[str, str]) -> None:
    """Give a machine other tags."""
    machine.document["tags"] = dict(tags)
    if machine.rented:
        machine.rented.tags = dict(tags)


def resize(machine: AzureResource, size: str) -> None:
    """Make a machine another size."""
    machine.properties["hardwareProfile"] = {"vmSize": size}
    if machine.rented:
        machine.rented.instance_type = size

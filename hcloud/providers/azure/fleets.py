"""Orders as scale sets: each is one flexible set whose name is the order's key, so one request makes its machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from azure.core import MatchConditions

from hcloud.control.ports import Clock
from hcloud.errors import MismatchError, NoCapacityError, NotFoundError, UnknownOutcomeError
from hcloud.model.holdings.live import Launch, LaunchOutcome, Machine
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import Document, items, tags_of, text
from hcloud.providers.azure.errors import FAULTS, Reply, failure
from hcloud.providers.azure.leftovers import Dependants, Leftovers
from hcloud.providers.azure.operations import GONE, OperationPoller, OperationResult
from hcloud.providers.azure.translate import (
    FAILED,
    capacity_of,
    differences,
    member_from,
    own_name,
    planned_settings,
    set_body,
    set_name,
    set_name_in,
    short_id,
    state_word,
)

CREATE = "VirtualMachineScaleSets_CreateOrUpdate"
VISIBLE_SECONDS = 300.0  # ours: so long a list may lag behind what was made
LOOK_AGAIN_SECONDS = 5.0  # ours

Made = tuple[tuple[Machine, ...], Document]
"""The machines there are of an order, and Azure's error where some are missing."""


@dataclass(frozen=True, slots=True)
class Fleets:
    """Makes scale sets, and takes up those that an earlier try made."""

    arm: Arm
    clock: Clock
    follower: OperationPoller
    leftovers: Leftovers
    planned_group: str = ""

    @property
    def group(self) -> str:
        """The resource group machines are made in: the order's plan's, else that of the settings."""
        return self.planned_group or self.arm.settings.resource_group

    def launch(self, order: Launch) -> LaunchOutcome:
        """Make the set of an order, or take up the one that stands under its key."""
        return replace(self, planned_group=planned_settings(order, self.arm.settings).resource_group)._launch(order)

    def _launch(self, order: Launch) -> LaunchOutcome:
        name = set_name(order.key)
        sets = self.arm.compute.virtual_machine_scale_sets
        try:
            accepted = self.arm.change(
                CREATE,
                sets.begin_create_or_update,
                self.group,
                name,
                set_body(order, self.arm.settings),
                match_condition=MatchConditions.IfMissing,
            )
        except MismatchError:
            return self._concluded(order, *self._taken_up(order, name))
        with self.arm.once_accepted(CREATE):
            ending = self.follower.follow(accepted, lambda: self.state(self.group, name))
            # The tags as Azure took them, which need not be those that were sent
            here = accepted.document if text(accepted.document, "id") else self.document(self.group, name)
            made = self._made(order, ending, tags_of(here))
        return self._concluded(order, *made)

    def state(self, group: str, name: str) -> str:
        """The provisioning state of a set; GONE without one."""
        try:
            return state_word(self.document(group, name))
        except NotFoundError:
            return GONE

    def document(self, group: str, name: str) -> Document:
        """A set as it stands."""
        sets = self.arm.compute.virtual_machine_scale_sets
        return self.arm.read("VirtualMachineScaleSets_Get", sets.get, group, name)

    def delete(self, group: str, name: str) -> OperationResult:
        """End a set with every machine in it, and wait for it."""
        sets = self.arm.compute.virtual_machine_scale_sets
        try:
            accepted = self.arm.change("VirtualMachineScaleSets_Delete", sets.begin_delete, group, name)
        except NotFoundError:
            return OperationResult()
        return self.follower.follow(accepted, lambda: self.state(group, name))

    def _taken_up(self, order: Launch, name: str) -> Made:
        """Go on with a set that is there already, whatever became of the request that made it."""
        call = self.arm.call(CREATE)
        with self.arm.once_accepted(CREATE):
            document = self.document(self.group, name)
            if found := differences(order, document):
                raise MismatchError(f"scale set {name} is of another order: {', '.join(found)}", call)
            here = Reply(200, document=document)
            ending = self.follower.follow(here, lambda: self.state(self.group, name))
            if state_word(document) == "deleting":
                said = f"the order came to nothing before, and scale set {name} was being removed"
                raise NoCapacityError(said, call)
            return self._made(order, ending, tags_of(document))

    def under_key(self, order: Launch) -> tuple[str, ...]:
        """The ids of the machines in the set that has the order's name; none without one."""
        group = planned_settings(order, self.arm.settings).resource_group
        return replace(self, planned_group=group)._member_ids(set_name(order.key))

    def _member_ids(self, name: str) -> tuple[str, ...]:
        try:
            self.document(self.group, name)
            return tuple(short_id(text(m, "id")) for m in self._all_members(name))
        except NotFoundError:
            return ()

    def _concluded(self, order: Launch, machines: tuple[Machine, ...], error: Document) -> LaunchOutcome:
        """The machines there are; where there is none, why not."""
        call = self.arm.call(CREATE)
        missing = order.count - len(machines)
        if machines:
            return LaunchOutcome(machines, missing, str(failure(call, error)) if missing else "")
        code = text(error, "code")
        if not code or code in FAULTS:  # nothing is left of it: it may go elsewhere, or later
            raise NoCapacityError(text(error, "message") or f"none of {order.count} was made", replace(call, code=code))
        raise failure(call, error)

    def _made(self, order: Launch, ending: OperationResult, tags: Mapping[str, str]) -> Made:
        """What machines the set has in the end, and nothing else: whatever failed is removed."""
        name = set_name(order.key)
        if not ending.over:
            raise UnknownOutcomeError(f"scale set {name} is still being made", self.arm.call(CREATE))
        everything = self._all_members(name, order.count)
        members = [m for m in everything if set_name_in(own_name(m)) == name]  # not what somebody put into the set
        failed = [m for m in members if state_word(m) in FAILED]
        found = (member_from(m, order, tags) for m in members if m not in failed)
        machines = tuple(sorted(found, key=lambda m: m.id))
        if len(machines) >= order.count and not failed:
            return machines, {}
        error = self._cause(ending, failed)
        alone = len(members) == len(everything)
        if not machines and alone and not self.delete(self.group, name).over:
            said = f"scale set {name} failed and is still being removed"
            raise UnknownOutcomeError(said, self.arm.call(CREATE))
        if failed and (machines or not alone):
            self._end_failed(name, failed)
        self.leftovers.remove([self.group], Dependants(sets=frozenset({name})))
        return machines, error

    def _cause(self, ending: OperationResult, failed: list[Document]) -> Document:
        """Why machines are missing: what the operation ended with, or else what a failed machine says of itself."""
        if text(ending.error, "code") or not failed:
            return ending.error or {"code": "", "message": "Azure made fewer machines than were ordered"}
        machines = self.arm.compute.virtual_machines
        name = text(failed[0], "name")
        view = self.arm.read("VirtualMachines_InstanceView", machines.instance_view, self.group, name)
        for status in items(view, "statuses"):
            told = text(status, "code").split("/")
            if told[:2] == ["ProvisioningState", "failed"] and len(told) == 3:
                return {"code": told[2], "message": text(status, "message") or f"{name} failed"}
        return ending.error

    def _end_failed(self, name: str, failed: list[Document]) -> None:
        sets = self.arm.compute.virtual_machine_scale_sets
        ids = {"instanceIds": sorted(text(m, "instanceId") or text(m, "name") for m in failed)}
        operation = "VirtualMachineScaleSets_DeleteInstances"
        accepted = self.arm.change(operation, sets.begin_delete_instances, self.group, name, ids)
        self.follower.follow(accepted, lambda: self.state(self.group, name))

    def members(self, group: str, name: str) -> tuple[Document, ...]:
        """The machines of a set that are not on their way out, as a list shows them."""
        members = self.arm.compute.virtual_machine_scale_set_vms
        found = self.arm.pages("VirtualMachineScaleSetVMs_List", members.list, group, name)
        return tuple(m for m in found if state_word(m) != "deleting")

    def _all_members(self, name: str, enough: int | None = None) -> tuple[Document, ...]:
        """The members once there are as many as the set says it has, or ``enough``: lists lag behind, and one that is
        behind must not be taken for machines that were not made."""
        until = self.clock.passed() + VISIBLE_SECONDS
        while True:
            members = self.members(self.group, name)
            if enough is not None and len(members) >= enough:
                return members
            capacity = capacity_of(self.document(self.group, name))
            if capacity is not None and len(members) >= capacity:
                return members
            if self.clock.passed() >= until:
                said = f"scale set {name} says that it has more machines than the {len(members)} that are listed"
                raise UnknownOutcomeError(said, self.arm.call(CREATE))
            self.clock.sleep(LOOK_AGAIN_SECONDS)

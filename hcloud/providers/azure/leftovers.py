"""What machines leave behind in Azure when they fail or end: network interfaces, addresses and disks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hcloud.errors import NotFoundError, UnknownOutcomeError
from hcloud.model.holdings.live import TAG_LINEAGE
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import Document, branch, items, tags_of, text
from hcloud.providers.azure.errors import Reply
from hcloud.providers.azure.operations import GONE, OperationPoller, Wait
from hcloud.providers.azure.translate import set_name_in, short_id, state_word

MOST_NAMED = 5  # ours: in a message


@dataclass(frozen=True, slots=True)
class Dependants:
    """By what leftovers are known: names of scale sets of ours that theirs begin with, ids (``group/name``), or the tag
    of a lineage where the scale set that they are named after is not ``standing`` any more."""

    sets: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    lineages: frozenset[str] = frozenset()
    standing: frozenset[str] = frozenset()

    def has(self, resource: Document) -> bool:
        """Whether a resource is one of them."""
        home = set_name_in(text(resource, "name"))
        if home and home in self.sets:
            return True
        earlier = bool(home) and home not in self.standing and tags_of(resource).get(TAG_LINEAGE) in self.lineages
        return earlier or short_id(text(resource, "id")) in self.ids


def made_for(machine: Document) -> frozenset[str]:
    """The ids of the interfaces and the system disk of a machine."""
    profile = branch(machine, "properties")
    found = [text(nic, "id") for nic in items(profile, "networkProfile", "networkInterfaces")]
    found.append(text(profile, "storageProfile", "osDisk", "managedDisk", "id"))
    return frozenset(short_id(name) for name in found if name)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Finds and removes them, and looks again afterwards."""

    arm: Arm
    follower: OperationPoller

    def remove(self, groups: Iterable[str], dependants: Dependants) -> None:
        """Remove what is attached to nothing any more; raises UnknownOutcomeError naming what would not go."""
        for group in sorted(set(groups)):
            if not self._removed(group, dependants):
                continue
            left = [*self._interfaces(group, dependants), *self._disks(group, dependants)]
            if left:
                names = ", ".join(text(resource, "name") for resource in left[:MOST_NAMED])
                raise UnknownOutcomeError(f"left behind in {group}: {names}", self.arm.call("NetworkInterfaces_Delete"))

    def _removed(self, group: str, dependants: Dependants) -> bool:
        """Whether there was anything; an address can only go after its interface, a disk at once."""
        interfaces, disks = self._interfaces(group, dependants), self._disks(group, dependants)
        waits = [self._delete("NetworkInterfaces", group, text(nic, "name")) for nic in interfaces]
        waits += [self._delete("Disks", group, text(disk, "name")) for disk in disks]
        self._wait(waits)
        addresses = [a for nic in interfaces for a in items(nic, "properties", "ipConfigurations")]
        public = [text(address, "properties", "publicIPAddress", "id") for address in addresses]
        self._wait([self._delete("PublicIPAddresses", group, p.rsplit("/", 1)[-1]) for p in public if p])
        return bool(interfaces or disks)

    def _wait(self, waits: Iterable[Wait]) -> None:
        for accepted, state in waits:
            self.follower.follow(accepted, state)

    def _interfaces(self, group: str, dependants: Dependants) -> list[Document]:
        found = self.arm.pages("NetworkInterfaces_List", self.arm.network.network_interfaces.list, group)
        return [nic for nic in found if dependants.has(nic) and not branch(nic, "properties", "virtualMachine")]

    def _disks(self, group: str, dependants: Dependants) -> list[Document]:
        found = self.arm.pages("Disks_ListByResourceGroup", self.arm.compute.disks.list_by_resource_group, group)
        return [disk for disk in found if dependants.has(disk) and not text(disk, "managedBy")]

    def _client(self, kind: str) -> Any:
        network, compute = self.arm.network, self.arm.compute
        clients = {"NetworkInterfaces": network.network_interfaces, "PublicIPAddresses": network.public_ip_addresses}
        return clients.get(kind, compute.disks)

    def _delete(self, kind: str, group: str, name: str) -> Wait:
        try:
            accepted = self.arm.change(f"{kind}_Delete", self._client(kind).begin_delete, group, name)
        except NotFoundError:
            accepted = Reply(204)
        return accepted, lambda: self._state(kind, group, name)

    def _state(self, kind: str, group: str, name: str) -> str:
        try:
            return state_word(self.arm.read(f"{kind}_Get", self._client(kind).get, group, name)) or "deleting"
        except NotFoundError:
            return GONE

"""What machines leave behind in Azure when they fail or end: network interfaces, addresses and disks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hcloud.errors import NotFoundError, UnknownOutcomeError
from hcloud.model.live import TAG_LINEAGE
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import Document, branch, items, tags_of, text
from hcloud.providers.azure.operations import GONE, Follower
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
    follower: Follower

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
        interfaces, disks = self._interfaces(group, dependants), self._disks(group, dependants)
        for interface in interfaces:
            self._delete("NetworkInterfaces", self.arm.network.network_interfaces, group, interface)
            for address in items(interface, "properties", "ipConfigurations"):
                if public := text(address, "properties", "publicIPAddress", "id"):
                    named = {"name": public.rsplit("/", 1)[-1]}
                    self._delete("PublicIPAddresses", self.arm.network.public_ip_addresses, group, named)
        for disk in disks:
            self._delete("Disks", self.arm.compute.disks, group, disk)
        return bool(interfaces or disks)

    def _interfaces(self, group: str, dependants: Dependants) -> list[Document]:
        found = self.arm.pages("NetworkInterfaces_List", self.arm.network.network_interfaces.list, group)
        return [nic for nic in found if dependants.has(nic) and not branch(nic, "properties", "virtualMachine")]

    def _disks(self, group: str, dependants: Dependants) -> list[Document]:
        found = self.arm.pages("Disks_ListByResourceGroup", self.arm.compute.disks.list_by_resource_group, group)
        return [disk for disk in found if dependants.has(disk) and not text(disk, "managedBy")]

    def _delete(self, kind: str, client: object, group: str, resource: Mapping[str, object]) -> None:
        name = text(resource, "name")
        try:
            accepted = self.arm.change(f"{kind}_Delete", client.begin_delete, group, name)  # type: ignore[attr-defined]
        except NotFoundError:
            return
        self.follower.follow(accepted, lambda: self._state(kind, client, group, name))

    def _state(self, kind: str, client: object, group: str, name: str) -> str:
        try:
            return state_word(self.arm.read(f"{kind}_Get", client.get, group, name)) or "deleting"  # type: ignore[attr-defined]
        except NotFoundError:
            return GONE

"""What machines of the fake Google refer to: networks, subnetworks, images and service accounts must be there.

What every project has is known here, and Google's public images; the rest is put up by hand: ``{"create":
"global/networks/web"}``, and in the same way regions/R/subnetworks/S, projects/P/global/images/I and the e-mail of a
service account.
"""

from __future__ import annotations

import re

from hcloud.fake.gcp.wire.bodies import NetworkInterface, Properties
from hcloud.fake.gcp.wire.refusals import RefusalError, invalid
from hcloud.fake.gcp.world import GcpWorld

DEFAULT_NETWORK = "global/networks/default"
DEFAULT_ACCOUNT = "default"
_DEFAULT_SUBNETWORK = re.compile(r"regions/[^/]+/subnetworks/default")
_PUBLIC = re.compile(r"projects/(debian|ubuntu-os|rocky-linux|centos|rhel|suse|cos|windows|fedora-coreos)-cloud/")


def check_references(world: GcpWorld, properties: Properties, where: str) -> None:
    """Refuse machines that refer to what there is not; ``where`` is the place of the properties in the request."""
    for number, disk in enumerate(properties.disks):
        image = disk.initialize_params.source_image if disk.initialize_params else ""
        name = _from(image, "projects/")
        there = name in world.by_hand or _PUBLIC.match(name) is not None
        if image and (image in world.images.withdrawn or not there):
            place = f"{where}.disks[{number}].initializeParams.sourceImage"
            raise invalid(place, image, "The referenced image resource cannot be found.")
    for number, interface in enumerate(properties.network_interfaces):
        _check_network(world, interface, f"{where}.networkInterfaces[{number}]")
    for account in properties.service_accounts:
        if account.email != DEFAULT_ACCOUNT and account.email not in world.by_hand:
            words = (
                f"The user does not have access to service account '{account.email}'. Ask a project owner to grant you "
            )
            raise RefusalError(400, "SERVICE_ACCOUNT_ACCESS_DENIED", words + "the iam.serviceAccountUser role on it")


def _check_network(world: GcpWorld, interface: NetworkInterface, place: str) -> None:
    network, subnetwork = _from(interface.network, "global/"), _from(interface.subnetwork, "regions/")
    if network and network != DEFAULT_NETWORK and network not in world.by_hand:
        raise invalid(f"{place}.network", interface.network, "The referenced network resource cannot be found.")
    known = _DEFAULT_SUBNETWORK.fullmatch(subnetwork) is not None or subnetwork in world.by_hand
    if interface.subnetwork and not known:
        why = "The referenced subnetwork resource cannot be found."
        raise invalid(f"{place}.subnetwork", interface.subnetwork, why)


def _from(name: str, part: str) -> str:
    """A name without what stands before a part of it: hosts, versions and projects may be left out."""
    return name[name.index(part) :] if part in name else name

"""What a user says about Google Cloud: project, region and zones, and what machines are made of."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.model.endpoint import checked_endpoint, is_here

IMAGE = "projects/debian-cloud/global/images/family/debian-12"
NETWORK = "global/networks/default"
LAUNCHED_WITH = ("network", "subnetwork", "service_account", "external_address")
DISK = "as large as the image, deleted with its machine"


@dataclass(frozen=True, slots=True)
class GoogleSettings:
    """``zones`` limits the region's; ``endpoint`` is empty for Google's own. ``principal`` is only told to an endpoint
    on this machine, where nobody is asked for credentials. Without ``external_address`` machines are reached from
    within their network only; ``service_account`` is the e-mail of whom they are to Google, nobody where empty."""

    project: str
    region: str
    zones: tuple[str, ...] = ()
    endpoint: str = ""
    image: str = IMAGE
    network: str = NETWORK
    subnetwork: str = ""
    service_account: str = ""
    external_address: bool = False
    principal: str = ""

    def __post_init__(self) -> None:
        if self.endpoint:
            checked_endpoint(self.endpoint, "live.endpoint")

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine, where nobody is asked for credentials."""
        return is_here(self.endpoint)

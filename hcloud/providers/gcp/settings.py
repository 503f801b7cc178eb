"""What a user says about Google Cloud: project, region and zones, and what machines are made of."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from hcloud.errors import UsageError

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

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine; raises UsageError for one elsewhere that is not encrypted."""
        parts = urlsplit(self.endpoint)
        if parts.hostname and _is_loopback(parts.hostname):
            return True
        if self.endpoint and parts.scheme != "https":
            raise UsageError(f"the endpoint {self.endpoint} is elsewhere and not encrypted", hint="use https://")
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

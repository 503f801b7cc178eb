"""What a user says about Google Cloud: project, region and zones, and what machines are made of."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.model.endpoint import checked_endpoint, is_here
from hcloud.providers.on_machine import OnMachine

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


_TAKEN = """\
# https://cloud.google.com/compute/docs/instances/spot (preempted), .../metadata/getting-live-migration-notice
taken() {
  if [ "$(told preempted)" = TRUE ]; then
    echo "Google takes the spot machine back"
  elif [ "$(told maintenance-event)" = TERMINATE_ON_HOST_MAINTENANCE ]; then
    echo "Google ends it to maintain its host"
  fi
}
told() {
  curl -sf -m 2 --noproxy '*' -H 'Metadata-Flavor: Google' \\
    "http://metadata.google.internal/computeMetadata/v1/instance/$1"
}
"""
ON_MACHINE = OnMachine(
    reads="gcloud --quiet secrets versions access latest --secret {name}-{what}",
    right="secretmanager.versions.access on the secrets {name}-munge-key and {name}-controller",
    identity="live.settings.service_account",
    tool="gcloud",
    taken=_TAKEN,
)

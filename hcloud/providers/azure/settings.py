"""What hcloud has to be told of a place in Azure, and how the names of its zones, images and subnets are read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hcloud.errors import UsageError
from hcloud.model.endpoint import checked_endpoint, is_plain
from hcloud.providers.on_machine import OnMachine

PUBLIC_ENDPOINT = "https://management.azure.com"
DEFAULT_NAME = "hcloud"  # ours: of the resource group and the virtual network where none is named
DEFAULT_IMAGE = "Canonical:ubuntu-24_04-lts:server:latest"
LAUNCHED_WITH = ("resource_group", "subnet", "admin_user", "ssh_public_key", "identity")
DISK = "as large as the image, deleted with its machine"


@dataclass(frozen=True, slots=True)
class AzureSettings:
    """Where machines are made and what of. ``image`` is publisher:offer:sku:version or the id of an image; ``subnet``
    the id of a subnet, or empty for ``hcloud/default`` in the resource group; ``identity`` is the id of the
    user-assigned identity that machines sign in with, empty for none; ``principal`` names a role of a fake; ``ca_file``
    holds the authorities to trust where the endpoint's are not the usual ones."""

    subscription: str
    location: str
    resource_group: str = DEFAULT_NAME
    endpoint: str = ""
    image: str = DEFAULT_IMAGE
    subnet: str = ""
    admin_user: str = DEFAULT_NAME
    ssh_public_key: str = ""
    identity: str = ""
    principal: str = ""
    ca_file: str = ""

    def __post_init__(self) -> None:
        for name in ("subscription", "location", "resource_group"):
            if not getattr(self, name):
                raise UsageError(f"azure needs a {name.replace('_', ' ')}", hint="name it in the configuration")
        if re.fullmatch(r"[a-z0-9]{1,60}", self.location, re.ASCII) is None:
            hint = "write it as Azure does: eastus, westeurope, ..."
            raise UsageError(f"{self.location!r} is no Azure location", hint=hint)
        if "PRIVATE KEY" in self.ssh_public_key:
            raise UsageError("ssh_public_key holds a private key", hint="use the public key: its file ends in .pub")
        if self.endpoint:
            checked_endpoint(self.endpoint, "live.endpoint")

    @property
    def base_url(self) -> str:
        """Where requests go."""
        return (self.endpoint or PUBLIC_ENDPOINT).rstrip("/")

    @property
    def is_fake(self) -> bool:
        """Whether the endpoint is unencrypted, and so one on this machine: no credential is ever sent there."""
        return is_plain(self.base_url)

    @property
    def subnet_id(self) -> str:
        """The subnet machines are put into."""
        network = "Microsoft.Network/virtualNetworks/hcloud/subnets/default"
        return (
            self.subnet
            or f"/subscriptions/{self.subscription}/resourceGroups/{self.resource_group}/providers/{network}"
        )

    def image_reference(self) -> dict[str, str]:
        """The image as a request body has it."""
        if self.image.startswith("/"):
            return {"id": self.image}
        parts = self.image.split(":")
        if len(parts) != 4 or not all(parts):
            raise UsageError(f"{self.image!r} is no image", hint=f"write publisher:offer:sku:version ({DEFAULT_IMAGE})")
        return dict(zip(("publisher", "offer", "sku", "version"), parts, strict=True))


_TAKEN = """\
# https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events; those of other machines are told, too
taken() {
  name="$(told 'instance/compute/name?api-version=2021-02-01&format=text')" && [ -n "$name" ] || return 0
  told 'scheduledevents?api-version=2020-07-01' | tr -d ' \\t\\r\\n' | tr '{' '\\n' | grep -F "\\"$name\\"" |
    sed -n 's/.*"EventType":"\\(Preempt\\|Terminate\\|Redeploy\\|Reboot\\)".*/Azure tells of: \\1/p' | head -n 1
}
told() { curl -sf -m 5 --noproxy '*' -H Metadata:true "http://169.254.169.254/metadata/$1"; }
"""
ON_MACHINE = OnMachine(
    reads=(
        "az login --identity >/dev/null && "
        "az keyvault secret show --vault-name {name} --name slurm-{what} --query value --output tsv"
    ),
    right="the role Key Vault Secrets User on the secrets slurm-munge-key and slurm-controller of {name}",
    identity="live.settings.identity",
    tool="az",
    taken=_TAKEN,
)

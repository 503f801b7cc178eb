"""Clouds that tell a machine alone that they take it away: how it hears of that, and drains its own node."""

from __future__ import annotations

from hcloud.model.catalog import Provider
from hcloud.providers.aws.on_machine import ON_MACHINE as AWS
from hcloud.providers.azure.on_machine import ON_MACHINE as AZURE
from hcloud.providers.gcp.on_machine import ON_MACHINE as GOOGLE
from hcloud.providers.on_machine import OnMachine

ON_MACHINES: dict[str, OnMachine] = {Provider.AWS: AWS, Provider.GCP: GOOGLE, Provider.AZURE: AZURE}
_HEED = """\
  if [ -z "$heeded" ] && why="$(taken)" && [ -n "$why" ]; then
    scontrol update nodename={node} state=drain reason="cloud: $why" && heeded=1
  fi
"""


def listening(cloud: str) -> str:
    """A function of a shell, ``taken``, which prints why the cloud is going to take the machine away, or nothing; empty
    where the cloud tells whoever asks it from elsewhere."""
    return ON_MACHINES[cloud].taken if cloud in ON_MACHINES else ""


def heeding(cloud: str, node: str) -> str:
    """What a machine does again and again: it drains its node once its cloud tells that it takes the machine away."""
    return _HEED.format(node=node) if listening(cloud) else ""

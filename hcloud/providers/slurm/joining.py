"""The start-up script with which a machine joins Slurm under its node name, and leaves it before its cloud takes it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from hcloud.errors import UsageError
from hcloud.model.catalog import Provider
from hcloud.providers.aws.settings import ON_MACHINE as AWS
from hcloud.providers.azure.settings import ON_MACHINE as AZURE
from hcloud.providers.gcp.settings import ON_MACHINE as GOOGLE
from hcloud.providers.on_machine import OnMachine
from hcloud.providers.slurm.client import SEARCHED
from hcloud.providers.slurm.site import SlurmSite

REGISTER_AGAIN_SECONDS = 5
"""Ours: how soon a node is known again to a slurmctld that was killed."""

_HEAD = """\
#!/bin/sh
# hcloud: this machine joins Slurm as {node}
PATH={path}
export PATH
"""
_HERE = """\
mkdir -p {marks}
echo "$HYC_MACHINE" > {marks}/{node}
chmod 644 {marks}/{node}
export SLURM_CONF={conf}
join() {{ slurmd -D -b -N {node} & slurmd=$!; }}
"""
_CLOUD = """\
umask 077
until munge_key="$({munge_key})" && [ -n "$munge_key" ]; do sleep 2; done
until controller="$({controller})" && [ -n "$controller" ]; do sleep 2; done
printf %s "$munge_key" | base64 -d > /etc/munge/munge.key
chown munge: /etc/munge/munge.key
unset munge_key
umask 022
systemctl restart munge 2>/dev/null || {{ mkdir -p /run/munge; chown munge: /run/munge; \\
  setpriv --reuid munge --regid munge --init-groups munged; }}
export SLURM_CONF=/run/slurm/conf/slurm.conf
join() {{ slurmd -D -b -N {node} --conf-server "$controller" & slurmd=$!; }}
"""
_KEEP = """\
trap 'kill $slurmd; exit 0' TERM
{listen}join
{tell}# A slurmctld that was killed may have forgotten that this node is up, and does not ask; and one that expects the
# node takes no slurmd that began before it did. A slurmd that begins anew registers; jobs run on meanwhile.
while sleep {every}; do
{heed}  if kill -0 $slurmd 2>/dev/null; then
    case "$(scontrol -o show node {node} 2>/dev/null)" in
      *DRAIN*) continue ;;
      *POWERED_DOWN*|*POWERING_UP*) kill $slurmd; wait $slurmd ;;
      *) continue ;;
    esac
  fi
  join
done
"""
ON_MACHINES: dict[str, OnMachine] = {Provider.AWS: AWS, Provider.GCP: GOOGLE, Provider.AZURE: AZURE}
_HEED = """\
  if [ -z "$heeded" ] && why="$(taken)" && [ -n "$why" ]; then
    scontrol update nodename={node} state=drain reason="cloud: $why" && heeded=1
  fi
"""
MUNGE_KEY, CONTROLLER = "munge-key", "controller"
"""What machines of a cloud read with their own role: the key in base64, and HOST:PORT of slurmctld."""


@dataclass(frozen=True, slots=True)
class Probing:
    """The parts of a start-up script that measure the machine, before it joins, and tell of it afterwards."""

    measure: str = ""
    tell: str = ""


def script(site: SlurmSite, node: str, conf: Path | None, probing: Probing | None = None) -> str:
    """The same at every call for the same node: the key of an order stands for it. Holds no secret: a machine of a
    cloud reads munge's key and slurmctld's address by itself."""
    probing = probing or Probing()
    head = _HEAD.format(node=node, path=SEARCHED) + probing.measure
    cloud = site.store.partition(":")[0]
    told = {"tell": probing.tell, "listen": listening(cloud), "heed": heeding(cloud, node)}
    keep = _KEEP.format(node=node, every=REGISTER_AGAIN_SECONDS, **told)
    if not site.store:
        where = str(conf) if conf is not None else "/etc/slurm/slurm.conf"
        return head + _HERE.format(node=node, conf=shlex.quote(where), marks=shlex.quote(f"{site.folder}/marks")) + keep
    read = {what.replace("-", "_"): reading(site.store, what) for what in (MUNGE_KEY, CONTROLLER)}
    return head + _CLOUD.format(node=node, **read) + keep


def reading(store: str, what: str) -> str:
    """The command that reads a secret from a store; UsageError for a store there is not."""
    cloud, _, name = store.partition(":")
    if cloud not in ON_MACHINES or not name.strip("/"):
        raise UsageError(f"{store}: is no store of secrets", hint=f"{', '.join(f'{c}:NAME' for c in ON_MACHINES)}")
    return ON_MACHINES[cloud].reads.format(name=shlex.quote(name.strip("/")), what=what)


def needs(store: str, version: str) -> tuple[str, ...]:
    """What machines of a cloud need to join: their role's minimal permissions, who gives them the role, and what their
    image holds."""
    cloud, _, name = store.partition(":")
    able = ON_MACHINES[cloud]
    return (
        f"the machines' role may do one thing: {able.right.format(name=name.strip('/'))}",
        f"{able.identity} of hcloud.yaml gives machines that role",
        f"the image holds slurmd and scontrol {version}, munged with the user munge, setpriv, base64, {able.tool}"
        f"{', curl' if listening(cloud) else ''}",
        "ports 6817 (slurmctld) and 6818 (slurmd), or those of slurm.conf, are open between slurmctld and machines",
    )


def listening(cloud: str) -> str:
    """A function of a shell, ``taken``, which prints why the cloud is going to take the machine away, or nothing; empty
    where the cloud tells whoever asks it from elsewhere."""
    return ON_MACHINES[cloud].taken if cloud in ON_MACHINES else ""


def heeding(cloud: str, node: str) -> str:
    """What a machine does again and again: it drains its node once its cloud tells that it takes the machine away."""
    return _HEED.format(node=node) if listening(cloud) else ""

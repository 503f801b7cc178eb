"""How a Slurm cluster and hcloud know each other: the partition, the names of nodes, and the folder both write to."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

PREFIX = PARTITION = "hc"
MARK = "hcloud"
"""What job_submit.lua writes into a job's admin comment: hcloud may place it."""
DONE = "hcloud:over"
"""The same of a job that hcloud will not place any more."""
_ODD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Machines of one type: vCPUs and MiB of one, how many node names the reserve has, and how many there are for
    machines that are rented when needed."""

    type_name: str
    vcpus: int
    memory: int
    reserved: int
    on_demand: int


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """``folder`` is where claims of nodes and begins of jobs are noted; slurmctld's user writes there too.
    ``first_port`` is for nodes that are processes of this machine: each slurmd has a port of its own; None elsewhere.
    ``spin_up`` is how long a machine may take until it has joined."""

    folder: Path
    groups: tuple[NodeGroup, ...] = ()
    partition: str = PARTITION
    prefix: str = PREFIX
    first_port: int | None = None
    spin_up: int = 600
    shut_down: int = 30
    command: tuple[str, ...] = (sys.executable, "-m", "hcloud")

    def stem(self, type_name: str, *, reserved: bool) -> str:
        """What the names of nodes of a type begin with; the reserve has names of its own."""
        return f"{self.prefix}{'r' if reserved else ''}-{slug(type_name)}-"

    def is_ours(self, node: str) -> bool:
        """Whether hcloud says when a node comes and goes."""
        return node.startswith((f"{self.prefix}-", f"{self.prefix}r-"))

    @property
    def claims(self) -> Path:
        """A file for each node that has a machine."""
        return self.folder / "nodes"

    @property
    def tickets(self) -> Path:
        """A file for each job that may begin."""
        return self.folder / "tickets"

    @property
    def begun(self) -> Path:
        """A file for each job that began: slurmctld's prolog moved it here."""
        return self.folder / "begun"

    @property
    def bell(self) -> Path:
        """Written to where something happened that is worth a look."""
        return self.folder / "bell"


def slug(type_name: str) -> str:
    """The name of a type as a part of a node's name."""
    return _ODD.sub("-", type_name.lower()).strip("-")

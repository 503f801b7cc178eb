"""How a Slurm cluster and hcloud know each other: the partition, the names of nodes, and the folder both write to."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hcloud.errors import FileError, InputError
from hcloud.model.json_text import FORMAT_VERSION, parsed, written

PREFIX = PARTITION = "hc"
FILE_NAME = "hcloud-site.json"
"""Beside slurm.conf: what 'hcloud slurm config' was told, for all that works with the cluster later."""
MARK = "hcloud"
"""What job_submit.lua writes into a job's admin comment: hcloud may place it."""
DONE = "hcloud:over"
"""The same of a job that hcloud will not place any more."""
PARKED_SECONDS = 3 * 365 * 86_400
"""So far ahead is the begin time of a job that waits for hcloud where slurmctld is to say its priority."""
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
    ``spin_up`` is how long a machine may take until it has joined, ``shut_down`` until it is gone. ``store`` is where
    machines of a cloud read munge's key and slurmctld's address: aws:NAME, gcp:NAME or azure:VAULT. With both the
    machines are those of a fake cloud, which run here and join as those of the cloud do. ``probe`` says that rented
    machines measure themselves for a second before they join. ``keeps_order`` says that jobs wait for hcloud with a
    begin time far ahead, and not held: slurmctld tells no priority of a held job."""

    folder: Path
    groups: tuple[NodeGroup, ...] = ()
    partition: str = PARTITION
    prefix: str = PREFIX
    first_port: int | None = None
    spin_up: int = 600
    shut_down: int = 30
    store: str = ""
    probe: bool = True
    keeps_order: bool = False
    command: tuple[str, ...] = (sys.executable, "-m", "hcloud")

    @property
    def is_marked(self) -> bool:
        """Whether what runs on a machine is known by a mark: machines of this machine share its processes."""
        return self.first_port is not None and not self.store

    def stem(self, type_name: str, *, reserved: bool) -> str:
        """What the names of nodes of a type begin with; the reserve has names of its own."""
        return f"{self.prefix}{'r' if reserved else ''}-{slug(type_name)}-"

    def is_ours(self, node: str) -> bool:
        """Whether hcloud says when a node comes and goes."""
        return node.startswith((f"{self.prefix}-", f"{self.prefix}r-"))

    def group(self, type_name: str) -> NodeGroup | None:
        """The nodes of a type."""
        return next((group for group in self.groups if group.type_name == type_name), None)

    def names(self, type_name: str, *, reserved: bool) -> tuple[str, ...]:
        """All node names that machines of a type may have."""
        group = self.group(type_name)
        count = 0 if group is None else group.reserved if reserved else group.on_demand
        return tuple(f"{self.stem(type_name, reserved=reserved)}{n}" for n in range(count))

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


def site_text(site: SlurmSite) -> str:
    """A site as its file has it."""
    document = {"format_version": FORMAT_VERSION, **asdict(site), "folder": str(site.folder)}
    return written(document, indent=2) + "\n"


def load_site(path: Path) -> SlurmSite:
    """The site that 'hcloud slurm config' wrote. FileError where there is none, InputError for what is none."""
    try:
        found = parsed(path.read_text(encoding="utf-8"))
        return _site(found)
    except FileNotFoundError as error:
        raise FileError(
            f"{path}: does not exist: 'hcloud slurm config' has not set up this cluster", hint=WRITE
        ) from error
    except OSError as error:
        raise FileError.of(error, path, "read") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: is no site of 'hcloud slurm config': {error}", hint=WRITE_AGAIN) from error


WRITE_AGAIN = "hcloud slurm config --out FOLDER_OF_SLURM_CONF writes it"
WRITE = f"{WRITE_AGAIN}; set SLURM_CONF if slurm.conf is elsewhere"


def _site(found: Mapping[str, Any]) -> SlurmSite:
    if found["format_version"] != FORMAT_VERSION:
        raise ValueError(f"format {found['format_version']}")
    rest = {
        name: value for name, value in found.items() if name not in ("format_version", "folder", "groups", "command")
    }
    groups = tuple(NodeGroup(**group) for group in found["groups"])
    return SlurmSite(Path(found["folder"]), groups, command=tuple(found["command"]), **rest)

"""What slurmctld accepts in slurm.conf, so that nothing else is written: pure, and measured on slurmctld 22.05."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from hcloud.errors import Problem
from hcloud.providers.slurm.config import CONF
from hcloud.providers.slurm.site import NodeGroup, SlurmSite, slug
from hcloud.units import counted

_Said = tuple[str, str, str]

MOST_IN_A_RANGE = 65_536
"""Hosts in one pair of brackets of a NodeName; slurmctld ends with "Too many hosts in range" above."""
MOST_VCPUS = 65_535
"""CPUs of a NodeName: 16 bits."""
LAST_PORT = 65_535
_BREAKS_A_LINE = re.compile(r'["#\\\x00-\x1f\x7f]')
"""What ends a quoted value or a line of slurm.conf; slurmctld takes comments out before it reads quotes."""


def not_accepted(site: SlurmSite, *paths: str) -> tuple[Problem, ...]:
    """What slurmctld would refuse of a site whose files name ``paths``, or read as something else; empty for none."""
    found = (*_of_paths(paths), *_of_names(site), *_of_counts(site), *(p for g in site.groups for p in _of_size(g)))
    return tuple(Problem(CONF, *said) for said in found)


def _of_paths(paths: tuple[str, ...]) -> Iterator[_Said]:
    for path in paths:
        if found := _BREAKS_A_LINE.search(path):
            yield "folder", repr(path), f"slurm.conf cannot name a path with {found.group()!r}"


def _of_names(site: SlurmSite) -> Iterator[_Said]:
    if site.partition.lower() == "default":
        yield "partition", site.partition, "Slurm reads this name as the defaults of all partitions"
    for name, many in Counter(slug(group.type_name) for group in site.groups).items():
        alike = ", ".join(group.type_name for group in site.groups if slug(group.type_name) == name)
        if many > 1:
            yield "types", alike, f"all would have the node names {site.prefix}-{name}-N"
        if not name:
            yield "type", alike, "a name needs a letter a-z or a digit: nodes are named after it"


def _of_counts(site: SlurmSite) -> Iterator[_Said]:
    total = sum(group.reserved + group.on_demand for group in site.groups)
    if not total:
        yield f"partition {site.partition}", "no nodes", "every type has 0 reserved and 0 on-demand"
    for group in site.groups:
        if (most := max(group.reserved, group.on_demand)) > MOST_IN_A_RANGE:
            yield (
                f"type {group.type_name}",
                f"{counted(most, 'node')}",
                f"a NodeName line has {MOST_IN_A_RANGE:,} at most",
            )
    if site.first_port is not None and site.first_port + total - 1 > LAST_PORT:
        places = f"a port each, of the {LAST_PORT - site.first_port + 1:,} from {site.first_port} on"
        yield f"partition {site.partition}", f"{counted(total, 'node')} on this machine", places


def _of_size(group: NodeGroup) -> Iterator[_Said]:
    if group.vcpus > MOST_VCPUS:
        yield f"type {group.type_name}", f"{counted(group.vcpus, 'vCPU')}", f"a node has {MOST_VCPUS:,} at most"
    if group.memory < group.vcpus:
        yield f"type {group.type_name}", f"{group.memory:,} MiB", "1 MiB a vCPU is the least"

"""What of a site is missing in a cluster's settings: pure, by names and values as slurm.conf and scontrol tell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcloud.providers.slurm import config
from hcloud.providers.slurm.site import SlurmSite

OLDEST = (21, 8)
"""The first version with power_down_force and with a partition's own SuspendTime."""
LISTS = ("SlurmctldParameters", "PrivateData", "JobSubmitPlugins")
"""Settings that hold several words; those of others may stand beside ours."""
WHY: Mapping[str, str] = {
    "JobSubmitPlugins": "job_submit.lua holds the jobs of hcloud's partition",
    "PrologSlurmctld": "without it a slurmctld that was killed may begin a job twice",
    "ResumeProgram": "Slurm's power saving is off without it, and nodes cannot come and go",
    "SuspendProgram": "Slurm's power saving is off without it, and nodes cannot come and go",
    "ResumeFailProgram": "a node that did not come in time stays down~ for ever",
    "TaskProlog": "what a job starts may outlast its machine where there are no control groups",
    "SlurmctldParameters": "nodes get their addresses when they register, and are known as off soon",
    "PrivateData": "squeue and sinfo do not show which nodes are powered down",
    "ReturnToService": "a node that was down stays so when it is back",
    "JobRequeue": "every job would count as restartable, even where its user did not allow it",
    "SuspendExcNodes": "Slurm would power reserved nodes down",
}
ADVISED = ("JobRequeue", "ReturnToService", "SuspendExcNodes")
"""Without these hcloud works, less well."""
FREE = ("ResumeTimeout", "SuspendTimeout", "ResumeRate", "SuspendRate", "TreeWidth")
"""Settings that another value does not harm."""


@dataclass(frozen=True, slots=True)
class MissingSetting:
    """A setting that is not as hcloud needs it: the line to add, and what happens without it."""

    name: str
    line: str
    found: str
    why: str
    needed: bool


def missing(site: SlurmSite, place: str, found: Mapping[str, str]) -> tuple[MissingSetting, ...]:
    """What is to be added to slurm.conf; ``found`` has the names in small letters."""
    return tuple(
        MissingSetting(name, f"{name}={config.quoted(_joined(name, value, has))}", has, WHY[name], name not in ADVISED)
        for name, value in config.settings(site, place).items()
        if name not in FREE and not _holds(name, value, has := _said(found, name))
    )


def _said(found: Mapping[str, str], name: str) -> str:
    value = found.get(name.lower(), "")
    return "" if value in ("(null)", "none") else value


def _holds(name: str, wanted: str, found: str) -> bool:
    if name in LISTS:
        return set(wanted.split(",")) <= set(found.split(","))
    return found == wanted


def _joined(name: str, wanted: str, found: str) -> str:
    """Words of others are kept."""
    if name not in LISTS or not found:
        return wanted
    return ",".join(dict.fromkeys([*found.split(","), *wanted.split(",")]))


def settings_of(text: str) -> Mapping[str, str]:
    """The settings of a slurm.conf, names in small letters; nodes and partitions are left out."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, sign, value = line.partition("#")[0].strip().partition("=")
        if sign and name.strip().lower() not in ("nodename", "partitionname"):
            found[name.strip().lower()] = value.strip().strip('"')
    return found


def includes_of(text: str) -> tuple[str, ...]:
    """The files that a slurm.conf includes."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return tuple(words[1] for words in lines if len(words) == 2 and words[0].lower() == "include")

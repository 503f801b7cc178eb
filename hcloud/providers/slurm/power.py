"""What slurmctld's power saving calls: hcloud launches and ends machines itself, so these only set nodes right.

- resume: slurmctld wants a node up. hcloud asked for it: its machine is being launched, there is nothing to do. Nobody
  of hcloud did (an administrator, or a job that Slurm placed by itself before hcloud looked): there is no machine and
  none comes of it, so the node is powered down at once and its job waits again. Machines come from one place alone,
  which knows limits and prices; a second one would launch what the first one ends.
- suspend: slurmctld counts a node as off. hcloud sees that at its next look, and ends a machine that it has there.
- resume-failed: a node did not come in time and is "down~", which Slurm never ends by itself; it is set right.

Each may be called again (slurmctld does, after it was started anew), and slurmctld does not wait for it.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hcloud.errors import CloudError, UsageError
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.ledger import has_machine
from hcloud.providers.slurm.site import SlurmSite, load_site

TOLD = tuple[str, ...]
_NODE = r"(?:[\w.-]|\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\])+"
_LISTED = re.compile(rf"{_NODE}(?:,{_NODE})*", re.ASCII)


def called(verb: str, site_file: Path, nodes: Sequence[str]) -> TOLD:
    """What slurmctld's power saving calls; it has neither PATH nor HOME, and signals are blocked."""
    unblocked()
    site = load_site(site_file)
    conf = site_file.parent / "slurm.conf"
    return PROGRAMS[verb](site, SlurmCommands(conf if conf.exists() else None), nodes)


def unblocked() -> None:
    """slurmctld starts programs with signals blocked; what they start would have them blocked, too."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def resume(site: SlurmSite, commands: SlurmCommands, listed: Sequence[str]) -> TOLD:
    """What was done about nodes that slurmctld wants up, a line each."""
    told = []
    for node in names_of(commands, listed):
        if has_machine(site, node):
            told.append(f"{node}: its machine is being launched")
        elif site.is_ours(node):
            said = _set(commands, node, state="power_down_force", reason="hcloud: no machine")
            told.append(f"{node}: hcloud launches no machine for it; {said}")
    _ring(site)
    return tuple(told)


def suspend(site: SlurmSite, commands: SlurmCommands, listed: Sequence[str]) -> TOLD:
    """The same for nodes that slurmctld counts as off."""
    nodes = names_of(commands, listed)
    _ring(site)
    return tuple(f"{node}: hcloud ends its machine" for node in nodes if site.is_ours(node))


def resume_failed(site: SlurmSite, commands: SlurmCommands, listed: Sequence[str]) -> TOLD:
    """The same for nodes that did not come in time."""
    nodes = [node for node in names_of(commands, listed) if site.is_ours(node)]
    told = tuple(f"{node}: {_set(commands, node, state='resume')}" for node in nodes)
    _ring(site)
    return told


PROGRAMS: Mapping[str, Callable[[SlurmSite, SlurmCommands, Sequence[str]], TOLD]] = {
    "resume": resume,
    "suspend": suspend,
    "resume-failed": resume_failed,
}


def names_of(commands: SlurmCommands, listed: Sequence[str]) -> tuple[str, ...]:
    """Nodes one by one; slurmctld writes several as hc-small-[0-3,7],hcr-small-0. UsageError for what is no list of
    nodes: scontrol would make names of it."""
    for word in listed:
        if not _LISTED.fullmatch(word):
            raise UsageError(
                f"{word!r}: is no list of nodes", hint="as slurmctld writes them: hc-small-[0-3,7],hcr-small-0"
            )
    single = re.compile(r"[^\[,]+")
    return tuple(n for word in listed for n in ([word] if single.fullmatch(word) else commands.hostnames(word)))


def _set(commands: SlurmCommands, node: str, **values: str) -> str:
    try:
        commands.update_node(node, **values)
    except CloudError as error:
        return str(error)
    return f"set to {values['state']}"


def _ring(site: SlurmSite) -> None:
    """The controller looks sooner."""
    site.folder.mkdir(parents=True, exist_ok=True)
    site.bell.write_text("power\n", encoding="ascii")

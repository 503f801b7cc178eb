"""What is to be done about a node so that it is as its machine is: pure, by its state and its claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcloud.model.running.job import NodePhase
from hcloud.providers.slurm.answers import SlurmNode
from hcloud.providers.slurm.ledger import NodeClaim

DOWN = frozenset({"DOWN", "ERROR", "FAIL"})
OURS = "hcloud: "
NO_MACHINE, ENDING = f"{OURS}no machine", f"{OURS}machine ends"
COMPLETING, SILENT = "COMPLETING", "NOT_RESPONDING"
POWERED_DOWN, POWERING_DOWN, DRAIN = "POWERED_DOWN", "POWERING_DOWN", "DRAIN"
POWERING_UP, POWER_UP = "POWERING_UP", "POWER_UP"
Update = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node for which a machine was ordered: what is told of it, and what slurmctld is to be told. ``ask`` says that
    it is asked to expect the machine, ``joined`` that the machine is ready for the first time."""

    phase: NodePhase
    updates: tuple[Update, ...] = ()
    ask: bool = False
    joined: bool = False


def is_coming(node: SlurmNode) -> bool:
    """Whether slurmctld waits for its machine. One that registered before slurmctld came to power it up keeps the flag
    POWER_UP for ever, and runs jobs."""
    return POWERING_UP in node.flags or (POWER_UP in node.flags and POWERED_DOWN in node.flags)


def is_off(node: SlurmNode) -> bool:
    """Whether Slurm counts it as without a machine."""
    return bool(node.flags & {POWERED_DOWN, POWERING_DOWN, "POWER_DOWN"}) and not is_coming(node)


def tended(node: SlurmNode, claim: NodeClaim, boot: str) -> NodeView:
    """A node that has a machine, or is to get one; ``boot`` is when slurmctld started.

    A slurmctld that was killed may have forgotten that it expects a machine, or has it: it is asked again, once for
    each start of slurmctld. What it gave up after that, or what somebody powered down, is gone.
    """
    if is_off(node) or node.state in DOWN:
        return _without(node, claim, boot)
    if is_coming(node):
        return NodeView(NodePhase.READY if claim.joined else NodePhase.JOINING)
    if DRAIN in node.flags:
        if node.reason and not node.reason.startswith(OURS):
            return NodeView(NodePhase.LEAVING, joined=True)
        # it was drained while it had no machine; slurmctld cleared the reason when slurmd registered
        return NodeView(NodePhase.JOINING, ({"state": "undrain"},))
    return NodeView(NodePhase.READY, joined=True)


def _without(node: SlurmNode, claim: NodeClaim, boot: str) -> NodeView:
    if POWERING_DOWN in node.flags and not claim.joined:
        return NodeView(NodePhase.JOINING)  # its last machine has just ended
    if claim.asked == boot:
        return NodeView(NodePhase.GONE, at_rest(node))
    updates: list[Update] = [{"state": "resume"}] if node.state in DOWN else []
    if DRAIN in node.flags:
        updates.append({"state": "undrain"})
    if is_off(node):
        updates.append({"state": "power_up"})
    return NodeView(NodePhase.READY if claim.joined else NodePhase.JOINING, tuple(updates), ask=True)


def at_rest(node: SlurmNode, reason: str = NO_MACHINE) -> tuple[Update, ...]:
    """What brings a node to rest that has no machine, or whose machine ends: nothing is placed on it, so that Slurm
    asks for no machine by itself; empty where it rests."""
    if COMPLETING in node.flags and node.state not in DOWN:
        # slurmctld waits for a slurmd that may be gone to end its jobs; "down" tells it that they have ended
        return ({"state": "down", "reason": reason},)
    if POWERING_DOWN in node.flags or "POWER_DOWN" in node.flags:
        return ()
    if node.state in DOWN and POWERED_DOWN in node.flags:
        return ({"state": "resume"},)  # else it stays "down~" for ever
    if POWERED_DOWN not in node.flags:
        drain: tuple[Update, ...] = () if DRAIN in node.flags else ({"state": "drain", "reason": reason},)
        return (*drain, {"state": "power_down_force"})
    return () if DRAIN in node.flags else ({"state": "drain", "reason": reason},)


def rests(node: SlurmNode) -> bool:
    """Whether Slurm is through with a node's last machine."""
    return POWERED_DOWN in node.flags and POWERING_DOWN not in node.flags and not is_coming(node)

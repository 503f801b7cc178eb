"""What is done about a node by its state and its claim."""

from __future__ import annotations

import pytest

from hcloud.model.running.job import NodePhase
from hcloud.providers.slurm.answers import SlurmNode
from hcloud.providers.slurm.ledger import NodeClaim
from hcloud.providers.slurm.nodes import at_rest, rests, tended

BOOT = "2026-11-23T04:00:00"
NEW, ASKED, JOINED = (
    NodeClaim("n", 1, "small"),
    NodeClaim("n", 1, "small", asked=BOOT),
    NodeClaim("n", 1, "small", asked=BOOT, joined=True),
)
FORGOTTEN = NodeClaim("n", 1, "small", asked="earlier", joined=True)


def node(*flags: str, state: str = "IDLE", reason: str = "") -> SlurmNode:
    return SlurmNode("n", state, frozenset(flags), reason)


@pytest.mark.parametrize(
    ("seen", "claim", "phase", "states"),
    [
        (node("POWERED_DOWN", "DRAIN"), NEW, NodePhase.JOINING, ["undrain", "power_up"]),
        (node("POWERED_DOWN", "POWER_UP"), ASKED, NodePhase.JOINING, []),
        (node("POWERING_UP", "NOT_RESPONDING"), ASKED, NodePhase.JOINING, []),
        (node("POWER_UP"), ASKED, NodePhase.READY, []),
        (node(), ASKED, NodePhase.READY, []),
        (node("DRAIN"), NEW, NodePhase.JOINING, ["undrain"]),
        (node("DRAIN", reason="disk"), JOINED, NodePhase.LEAVING, []),
        (node("NOT_RESPONDING"), JOINED, NodePhase.READY, []),
        (node("NOT_RESPONDING", state="DOWN"), JOINED, NodePhase.GONE, ["drain", "power_down_force"]),
        (node("POWERED_DOWN"), JOINED, NodePhase.GONE, ["drain"]),
        (node("POWERED_DOWN", state="DOWN"), ASKED, NodePhase.GONE, ["resume"]),
        (node("POWERED_DOWN"), FORGOTTEN, NodePhase.READY, ["power_up"]),
        (node("POWERING_DOWN"), NEW, NodePhase.JOINING, []),
    ],
)
def test_a_node_with_a_machine(seen: SlurmNode, claim: NodeClaim, phase: NodePhase, states: list[str]) -> None:
    view = tended(seen, claim, BOOT)
    assert (view.phase, [update["state"] for update in view.updates]) == (phase, states)


@pytest.mark.parametrize(
    ("seen", "states", "over"),
    [
        (node("POWERED_DOWN", "DRAIN"), [], True),
        (node("POWERED_DOWN"), ["drain"], True),
        (node("POWERED_DOWN", state="DOWN"), ["resume"], True),
        (node("POWERING_DOWN"), [], False),
        (node("COMPLETING", "POWER_DOWN"), ["down"], False),
        (node(), ["drain", "power_down_force"], False),
        (node("DRAIN"), ["power_down_force"], False),
        (node("POWERED_DOWN", "POWER_UP"), ["drain"], False),
    ],
)
def test_a_node_without_a_machine_comes_to_rest(seen: SlurmNode, states: list[str], *, over: bool) -> None:
    assert ([update["state"] for update in at_rest(seen)], rests(seen)) == (states, over)

"""Compiles the loop over ticks with numba, on first use only; short runs are done by plain Python."""

from __future__ import annotations

from functools import cache
from typing import Any

from hcloud.kernel_cache import KernelSet

PLAIN_WORK = 30_000
"""Server-ticks that plain Python goes through in less time than numba takes to import and load its cache."""
ENTRY = "sim.harvesting.ticks.go_through"
SET = KernelSet(
    "harvest.kernels.pool",
    "harvest.kernels.choosing",
    "harvest.kernels.holding",
    "sim.harvesting.ending",
    "sim.harvesting.serving",
    "sim.harvesting.tree",
    "sim.harvesting.dispatching",
    "sim.harvesting.ticks",
)
INLINE = frozenset(("spare", "in_use", "containers", "note_load", "note_broken", "room_now", "memory_now", "draw"))


def go_through(work: int) -> Any:
    """The loop: plain Python while a process asks for little, compiled from then on; the answers agree."""
    kernel: Any = SET.plain[ENTRY] if SET.is_little(work, PLAIN_WORK) else compiled()[ENTRY]
    return kernel


@cache
def compiled() -> dict[str, Any]:
    """Every kernel; the loop is compiled at its first call, and kept with all that it calls."""
    from hcloud.kernel_compiler import entries
    from hcloud.kernel_tables import pass_by_address
    from hcloud.sim.harvesting.world import DagWork, Hosts, IdleRules, IdleWorld

    pass_by_address(IdleWorld, Hosts, DagWork, IdleRules)
    return entries(SET, frozenset((ENTRY.rpartition(".")[2],)), INLINE)

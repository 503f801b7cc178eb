"""Compiles the loop over ticks with numba, on first use only; short runs are done by plain Python."""

from __future__ import annotations

from functools import cache
from typing import Any

from hcloud.kept_kernels import kept_kernels
from hcloud.kernel_cache import KernelSet

PLAIN_WORK = 30_000
"""Server-ticks that plain Python goes through in less time than numba takes to import and load its cache."""
ENTRY = "sim.harvesting.dispatching.go_through"
INLINE = frozenset(("spare", "in_use", "containers", "note_load", "note_broken", "room_now", "memory_now", "draw"))
SET = KernelSet(
    "harvest.kernels.pool",
    "harvest.kernels.choosing",
    "harvest.kernels.holding",
    "sim.harvesting.serving",
    "sim.harvesting.dispatching",
    inline=INLINE.__contains__,
)


def go_through(work: int) -> Any:
    """The loop: plain Python while a process asks for little, compiled from then on; the answers agree."""
    return SET.plain[ENTRY] if SET.is_little(work, PLAIN_WORK) else compiled()


@cache
def compiled() -> Any:
    """The loop, compiled at its first call and kept with all that it calls."""
    own = ENTRY.rpartition(".")[2]
    return kept_kernels(SET, (own,))[own]

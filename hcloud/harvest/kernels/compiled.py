"""Compiles the kernels of replicas with numba, on first use only; few blocks are placed by plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hcloud.kept_kernels import kept_kernels
from hcloud.kernel_cache import KernelSet

PLAIN_BLOCKS = 20_000  # plain Python places as many in less time than numba takes to import and load its cache
ENTRIES = frozenset(("place", "fill", "last"))
"""The kernels that plain Python calls."""
INLINE = frozenset(("draw", "is_open", "is_free", "in_environment", "put_in", "close_batch", "has_reserved"))
SET = KernelSet(
    "harvest.kernels.pool",
    "harvest.kernels.picking",
    "harvest.kernels.lasting",
    inline=INLINE.__contains__,
)


def kernels(blocks: int) -> Mapping[str, Any]:
    """The kernels by name: plain Python while a process asks for little, compiled from then on."""
    return SET.named if SET.is_little(blocks, PLAIN_BLOCKS) else compiled()


@cache
def compiled() -> Mapping[str, Any]:
    """Those that plain Python calls by name; compiled at their first call, and kept."""
    return kept_kernels(SET, ENTRIES)

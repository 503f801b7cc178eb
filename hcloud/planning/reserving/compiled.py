"""Compiles the flow kernels with numba, on first use only: importing numba costs more than most plans."""

from __future__ import annotations

from functools import cache
from typing import Any

from hcloud.kernel_cache import KernelSet, by_name

PLAIN_HOURS = 1000  # plain Python solves as many in less time than numba takes to import and load its cache
SET = KernelSet("planning.reserving.flow", "planning.reserving.sweeps")


def kernels(hours: int) -> dict[str, Any]:
    """The kernels by name: plain Python while a process asks for little, compiled from then on."""
    return SET.named if SET.is_little(hours, PLAIN_HOURS) else compiled()


@cache
def compiled() -> dict[str, Any]:
    """Every kernel compiled, and kept by what the kernels do."""
    from numba import njit

    return by_name(SET.compiled(lambda name, twin: njit(cache=True)(twin)))

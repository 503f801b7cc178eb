"""Compiles the flow kernels with numba, on first use only: importing numba costs more than most plans."""

from __future__ import annotations

from functools import cache
from typing import Any

from hcloud import kernel_cache
from hcloud.planning.reserving import flow, sweeps

PLAIN_HOURS = 1000  # plain Python solves as many in less time than numba takes to import and load its cache


class _SpentHours:
    """The hours given to plain Python so far: many short pools are worth the compiled kernels, too."""

    hours = 0


def kernels(hours: int) -> dict[str, Any]:
    """The kernels by name: plain Python while a process asks for little, compiled from then on; the answers agree."""
    _SpentHours.hours += hours
    return plain() if _SpentHours.hours <= PLAIN_HOURS else compiled()


def plain() -> dict[str, Any]:
    """Every kernel as it stands in its module."""
    return {
        name: function for module in (flow, sweeps) for name, function in kernel_cache.own_functions(module).items()
    }


@cache
def compiled() -> dict[str, Any]:
    """Every kernel compiled, and kept by what the kernels do; see :mod:`hcloud.kernel_cache`."""
    from numba import njit

    place = kernel_cache.folder(kernel_cache.digest(plain().values()))
    with kernel_cache.cached_in(place):
        made = kernel_cache.twins(
            ((module.__name__, module) for module in (flow, sweeps)), place, lambda name, twin: njit(cache=True)(twin)
        )
    return {name.rpartition(".")[2]: kernel for name, kernel in made.items()}

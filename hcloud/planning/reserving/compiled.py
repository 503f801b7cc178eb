"""Compiles the flow kernels with numba, on first use only: importing numba costs more than most plans."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from hcloud.kernel_cache import KernelSet, by_name

PLAIN_HOURS = 1000  # plain Python solves as many in less time than numba takes to import and load its cache
SET = KernelSet("planning.reserving.flow", "planning.reserving.sweeps")
CALLED = frozenset(("blockwise", "contradictions", "start_earlier", "solve_inside"))
"""The kernels that plain Python calls: only those are kept and can be called so: a fifth less to compile."""


def kernels(hours: int) -> dict[str, Any]:
    """The kernels by name: plain Python while a process asks for little, compiled from then on."""
    return SET.named if SET.is_little(hours, PLAIN_HOURS) else compiled()


@cache
def compiled() -> dict[str, Any]:
    """Every kernel compiled, and those that plain Python calls kept by what the kernels do."""
    from numba import njit

    def one(name: str, twin: FunctionType) -> Any:
        is_called = name.rpartition(".")[2] in CALLED
        options: Any = {"cache": is_called, "no_cpython_wrapper": not is_called, "no_cfunc_wrapper": True}
        return njit(**options)(twin)

    return by_name(SET.compiled(one))

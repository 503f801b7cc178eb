"""Compiles the flow kernels with numba, on first use only: importing numba costs more than most plans."""

from __future__ import annotations

from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from hcloud.planning import flow

PLAIN_HOURS = 336  # plain Python solves two weeks in the time numba takes to import


def kernels(hours: int) -> dict[str, Any]:
    """The functions of the flow module, as plain Python for short horizons and compiled for the others."""
    return vars(flow) if hours <= PLAIN_HOURS else compiled()


@cache
def compiled(module: ModuleType = flow) -> dict[str, Any]:
    """Every function of ``module`` by name, compiled and cached on disk.

    The functions are rebuilt over a copy of the module's globals in which the names of its functions mean the
    compiled ones, so that kernels call compiled kernels while the module itself stays plain Python.
    """
    from numba import njit

    scope: dict[str, Any] = dict(vars(module))
    own = [f for f in scope.values() if isinstance(f, FunctionType) and f.__module__ == module.__name__]
    for function in own:
        twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
        twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
        scope[function.__name__] = njit(cache=True)(twin)
    return {function.__name__: scope[function.__name__] for function in own}

"""Compiles the flow kernels with numba, on first use only: importing numba costs more than most plans."""

from __future__ import annotations

from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from hcloud.planning import flow, sweeps

PLAIN_HOURS = 1000  # plain Python solves as many in less time than numba takes to import and load its cache


class _Spent:
    """The hours given to plain Python so far: many short pools are worth the compiled kernels, too."""

    hours = 0


def kernels(hours: int) -> dict[str, Any]:
    """The kernels by name: plain Python while a process asks for little, compiled from then on; the answers agree."""
    _Spent.hours += hours
    return plain() if _Spent.hours <= PLAIN_HOURS else compiled()


def plain() -> dict[str, Any]:
    """Every kernel as it stands in its module."""
    return {name: function for module in (flow, sweeps) for name, function in own_functions(module).items()}


@cache
def compiled() -> dict[str, Any]:
    """Every kernel compiled, and kept on disk where Python keeps its own bytecode.

    The functions are rebuilt over a copy of their module's globals in which the names of its functions mean the
    compiled ones, so that kernels call compiled kernels while the module itself stays plain Python. Kernels call none
    of another file: numba's cache watches only the file a function is in.
    """
    from numba import njit

    done: dict[str, Any] = {}
    for module in (flow, sweeps):
        scope: dict[str, Any] = dict(vars(module))
        for name, function in own_functions(module).items():
            twin = FunctionType(function.__code__, scope, name)
            twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
            try:
                scope[name] = njit(cache=True)(twin)
            except RuntimeError:  # numba found no directory it may write its cache to
                scope[name] = njit(twin)
            done[name] = scope[name]
    return done


def own_functions(module: ModuleType) -> dict[str, FunctionType]:
    """The functions defined in the module itself."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }

"""Tells a controller what happened, by its one kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from hcloud.control.handle import OPEN_POOL
from hcloud.control.opening import rank_by_type
from hcloud.control.tables import ControlTables
from hcloud.policy.placing.placement import RESOURCES

HANDLE = "control.handle.handle"
"""The kernel that plain Python calls; it calls all others."""
Kernels = Mapping[str, Callable[..., Any]]


def is_compiled(kernels: Kernels) -> bool:
    """Whether kernels are compiled; else they are plain Python."""
    return not isinstance(kernels[HANDLE], FunctionType)


class Teller:
    """Calls :func:`hcloud.control.handle.handle` on the present tables of a controller. ``nature`` is what a job is
    like, where a controller is told of that."""

    def __init__(self, tables: ControlTables, kernels: Kernels) -> None:
        self._tables, self._kernels = tables, kernels
        self.nature = np.zeros(2 * RESOURCES, np.int64)

    def tell(self, what: int, who: int, at: float, also: tuple[int, int] = (0, 0), figure: float = 0.0) -> None:
        """Tell what happened to whom and when; the commands are then in the tables."""
        handle = self._kernels[HANDLE]  # may be another one than the last time
        handle(self._tables.control, what, (who, *also), (figure, at), self.nature)

    def open_reserve(self, lots: Iterable[tuple[int, int]]) -> None:
        """Open so many servers of each type."""
        for kind, servers in lots:
            self.tell(OPEN_POOL, kind, math.nan, (servers, 0))
        rank_by_type(self._tables.control)

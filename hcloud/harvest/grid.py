"""The grid of tenants: columns of like risk of reimages, rows of like peaks, each cell with the same space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


def grid_of(space: Floats, rate: Floats, peak: Floats, side: int) -> NDArray[np.int64]:
    """The cell (row x side + column) of every tenant. Columns go by the rate of reimages, rows within each by the peak;
    a tenant is never split, and is where the middle of its space falls."""
    column = np.empty(len(space), np.int64)
    row = np.empty(len(space), np.int64)
    by_rate = np.lexsort((np.arange(len(space)), peak, rate))
    column[by_rate] = _parts(space[by_rate], side)
    for at in range(side):
        mine = np.flatnonzero(column == at)
        by_peak = mine[np.lexsort((mine, rate[mine], peak[mine]))]
        row[by_peak] = _parts(space[by_peak], side)
    return row * side + column


def _parts(space: Floats, parts: int) -> NDArray[np.int64]:
    """Which of some parts of equal space the middle of each falls into."""
    total = float(space.sum())
    if total <= 0:
        return np.zeros(len(space), np.int64)
    middle = np.cumsum(space) - space / 2
    return np.minimum((parts * middle / total).astype(np.int64), parts - 1)


def space_by_cell(space: Floats, cell: NDArray[np.int64], side: int) -> Floats:
    """The space of the tenants of each cell."""
    return np.bincount(cell, space, side * side).astype(np.float64)

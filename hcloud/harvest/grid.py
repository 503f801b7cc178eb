"""The grid of tenants: columns of like risk of reimages, rows of like peaks, each cell with the same space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
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


def can_differ(cell: NDArray[np.int64], environment: NDArray[np.int64], side: int, copies: int) -> bool:
    """Whether some tenants differ in their environments and, in turns of ``side`` copies, in row and column."""
    of_cell = [frozenset(environment[cell == at].tolist()) for at in range(side * side)]
    turns = [min(side, copies - done) for done in range(0, copies, side)]
    return any(_all_differ([of_cell[at] for at in cells]) for cells in _cells_of(side, turns))


def _cells_of(side: int, turns: Sequence[int]) -> Iterator[list[int]]:
    """Cells for so many copies a turn, no two of a turn in one row or column; the order within a turn is no matter."""
    each = []
    for count in turns:
        chosen = {frozenset(enumerate(rows[:side])) for rows in permutations(range(side))}
        parts = {frozenset(part) for whole in chosen for part in permutations(sorted(whole), count)}
        each.append([[row * side + column for column, row in sorted(part)] for part in sorted(parts, key=sorted)])
    for cells in product(*each):
        yield [at for part in cells for at in part]


def _all_differ(sets: Sequence[frozenset[int]]) -> bool:
    """Whether each set can have a member of its own: every one is given one, others making room for it."""
    owner: dict[int, int] = {}

    def gets_one(at: int, tried: set[int]) -> bool:
        for member in sets[at] - tried:
            tried.add(member)
            if member not in owner or gets_one(owner[member], tried):
                owner[member] = at
                return True
        return False

    return all(gets_one(at, set()) for at in range(len(sets)))

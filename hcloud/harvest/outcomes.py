"""What a study of replicas found: by system what was placed, refused, lost and out of reach; and audits of sets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.harvest.grid import space_by_cell
from hcloud.harvest.replicas import ReplicaPool
from hcloud.harvest.servers import MARKETS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cell: its row (the peak) and column (reimages), tenants, share of the space, and of this what lies on each
    market."""

    row: int
    column: int
    tenants: int
    space: float
    by_market: dict[str, float]


@dataclass(frozen=True, slots=True)
class SharedGroups:
    """A key, and the blocks of which two copies or more are in one group of it."""

    key: str
    blocks: int


@dataclass(frozen=True, slots=True)
class SystemOutcome:
    """One system over all seeds: blocks placed and refused (by reason), sets with something relaxed (by what), blocks
    lost and accesses failed in each seed's year, copies made, copies without a server, and how often a block waited to
    be copied since all servers that have it or may take it were busy; how full small, middle and large tenants are; and
    what copies share. No use known: no accesses; no reimages: nothing lost."""

    system: str
    placed: int
    refused: dict[str, int]
    relaxed: dict[str, int]
    lost: tuple[int, ...]
    failed: tuple[int, ...]
    copied: int
    stuck: int
    put_off: int
    fill: tuple[float, ...]
    shared: tuple[SharedGroups, ...]


@dataclass(frozen=True, slots=True)
class ReplicaStudy:
    """Systems beside one another: blocks in so many copies on servers, each seed a year; ``accesses`` are tried in each
    (0: no use is known), ``log_days`` are those that the reimages are drawn from (0: none are known)."""

    name: str
    servers: int
    tenants: int
    environments: int
    blocks: int
    copies: int
    seeds: int
    accesses: int
    log_days: float
    copies_an_hour: float
    grid: tuple[GridCell, ...]
    systems: tuple[SystemOutcome, ...]


@dataclass(frozen=True, slots=True)
class PlacementAudit:
    """A placement: what its copies share, blocks without a copy on a reserved server (None where no server is, or no
    market is stated), and blocks lost in each seed's year (none without reimages). Of the blocks that the guard counts
    those with every copy in an environment of its own are ``diverse``; a share of ``least_diverse`` of them has to be
    (None: nothing is asked). Where nothing tells tenants apart by peak or by reimages, rows or columns of the grid are
    ``unknown``."""

    name: str
    blocks: int
    copies: int
    shared: tuple[SharedGroups, ...]
    unreserved: int | None
    lost: tuple[int, ...]
    guarded: int
    diverse: int
    least_diverse: float | None
    unknown: tuple[str, ...] = ()

    @property
    def is_too_alike(self) -> bool:
        """Whether no more blocks should be taken (OSDI'16 §7)."""
        return self.least_diverse is not None and self.diverse < self.least_diverse * self.guarded


def grid_cells(found: ReplicaPool) -> tuple[GridCell, ...]:
    """The cells row by row."""
    side, total = found.policy.grid_side, float(found.space.sum())
    space = space_by_cell(found.space.astype(np.float64), found.cell, side)
    of_server = found.cell[found.servers.tenants.of]
    market = found.servers.groups.get("market")
    cells = []
    for cell in range(side * side):
        mine = of_server == cell
        by = {}
        for name in MARKETS if market is not None else ():
            on = np.array([label == name for label in market.names])[market.of] if market is not None else mine
            by[name] = float(found.blocks[mine & on].sum() / total)
        tenants = int(((found.cell == cell) & (found.space > 0)).sum())
        cells.append(GridCell(cell // side, cell % side, tenants, float(space[cell] / total), by))
    return tuple(cells)


def shared_groups(found: ReplicaPool, sets: NDArray[np.int32]) -> tuple[SharedGroups, ...]:
    """How many blocks have two copies in one group, for every key of the servers, and rows and columns of the grid."""
    placed = sets[sets[:, 0] >= 0]
    cell = found.cell[found.servers.tenants.of]
    side = found.policy.grid_side
    keys = {name: group.of for name, group in found.servers.groups.items() if name != "market"}
    keys |= {"row": cell // side, "column": cell % side}
    return tuple(SharedGroups(name, _alike(codes[placed])) for name, codes in keys.items())


def _alike(codes: NDArray[np.int64]) -> int:
    """Rows in which two numbers are alike."""
    ordered = np.sort(codes, axis=1)
    return int((ordered[:, 1:] == ordered[:, :-1]).any(axis=1).sum())


def added(counts: list[dict[str, int]]) -> dict[str, int]:
    """Counts by name added up."""
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return dict(total)


def mean_of(rows: list[tuple[float, ...]]) -> tuple[float, ...]:
    """The mean of each place of several rows."""
    mean: Floats = np.mean(np.array(rows), axis=0)
    return tuple(mean.tolist())

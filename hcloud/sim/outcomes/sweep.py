"""A sweep that is finished: every figure of every row over the seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcloud.sim.outcomes.interval import Interval
from hcloud.sim.setup.grid import SweepGrid


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of the table: a strategy with its changes, and every figure over the seeds."""

    strategy: str
    changes: Mapping[str, str]
    seeds: int
    figures: Mapping[str, Interval | None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A finished sweep: its grid, the digest of its inputs, its cells in the order of the grid, notes, the place."""

    grid: SweepGrid
    workload: str
    inputs: str
    figures: tuple[str, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    place: str

"""The grid of a sweep: all combinations of strategies, changes and seeds, so ordered that a run serves many prices."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hcloud.errors import UsageError
from hcloud.sim.setup.variation import ParameterChange, parse_axis

MOST_WHAT_IFS = 200_000

Changes = tuple[ParameterChange, ...]


@dataclass(frozen=True, slots=True)
class SweepCase:
    """One row to be: a strategy, a seed, and the changes in the order of their keys on the command line."""

    strategy: str
    seed: int
    changes: Changes

    @property
    def digest(self) -> str:
        """The same for the same what-if, however it was written and whatever else is swept."""
        parts = [self.strategy, self.seed, sorted(c.text for c in self.changes)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]

    @property
    def labels(self) -> Mapping[str, str]:
        """The changes as they were written."""
        return {c.key: c.label for c in self.changes}


@dataclass(frozen=True, slots=True)
class WhatIfBatch:
    """What-ifs that one run answers: they differ in prices only."""

    what_ifs: tuple[SweepCase, ...]

    @property
    def first(self) -> SweepCase:
        """Any of them: strategy, seed and all that is not a price are the same."""
        return self.what_ifs[0]


@dataclass(frozen=True, slots=True)
class SweepGrid:
    """What is varied, as given; ``keys`` in the order of the command line."""

    strategies: tuple[str, ...]
    seeds: tuple[int, ...]
    axes: tuple[Changes, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(axis[0].key for axis in self.axes)

    @property
    def runs(self) -> int:
        """Runs that answer all what-ifs."""
        return len(self) // math.prod(len(axis) for axis in self.axes if axis[0].scope == "price")

    @property
    def cells(self) -> int:
        """Rows of the table: what-ifs without their seeds."""
        return math.prod(map(len, self.axes)) * len(self.strategies)

    def __len__(self) -> int:
        return self.cells * len(self.seeds)

    def variants(self) -> Iterator[tuple[str, Changes]]:
        """Strategies and changes of the grid without seeds, in the order of the table."""
        return ((s, c) for s in self.strategies for c in itertools.product(*self.axes))

    def batches(self) -> Iterator[WhatIfBatch]:
        """All what-ifs: prices change fastest, then seeds, then the last key that needs a run."""
        runs = [axis for axis in self.axes if axis[0].scope != "price"]
        prices = [axis for axis in self.axes if axis[0].scope == "price"]
        for strategy, run, seed in itertools.product(self.strategies, itertools.product(*runs), self.seeds):
            offered = itertools.product(*prices)
            yield WhatIfBatch(tuple(SweepCase(strategy, seed, self._ordered((*run, *price))) for price in offered))

    def _ordered(self, changes: Changes) -> Changes:
        return tuple(sorted(changes, key=lambda c: self.keys.index(c.key)))


def parse_grid(vary: Sequence[str], strategies: Sequence[str], seeds: Sequence[int]) -> SweepGrid:
    """The grid of ``--vary KEY=v1,v2`` options; the keys ``strategy`` and ``seed`` stand for options of that name.

    Raises UsageError for a key that is varied twice, or both by its option and here; nothing to vary, or too many
    what-ifs.
    """
    axes = {axis[0].key: axis for axis in _distinct(map(parse_axis, vary))}
    if by_key := axes.pop("strategy", None):
        _refuse_twice("strategy", strategies)
        strategies = [str(c.value) for c in by_key]
    if chosen := axes.pop("seed", None):
        _refuse_twice("seeds", seeds[1:])
        seeds = [int(str(c.value)) for c in chosen]
    grid = SweepGrid(tuple(dict.fromkeys(strategies)), tuple(seeds), tuple(axes.values()))
    if not vary:
        raise UsageError("nothing to vary", hint="for example --vary limits.hard=0.8,0.85,0.9 --vary price_ratio=1,2,4")
    each = math.prod(map(len, grid.axes)) * len(grid.seeds)
    if each > MOST_WHAT_IFS:
        raise UsageError(f"{each:,} what-ifs of a strategy are more than {MOST_WHAT_IFS:,}")
    return grid


def _refuse_twice(flag: str, given: Sequence[object]) -> None:
    if given:
        key = flag.removesuffix("s")
        raise UsageError(f"--{flag} and --vary {key}=... say the same: leave out one of them")


def _distinct(axes: Iterator[Changes]) -> Iterator[Changes]:
    seen = set[str]()
    for axis in axes:
        if axis[0].key in seen:
            raise UsageError(f"--vary {axis[0].key}: give all its values at once, separated by commas")
        seen.add(axis[0].key)
        yield axis

"""``hcloud sweep``: run the grid, keep what is finished, and sum it up over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from hcloud.errors import UsageError
from hcloud.model.workload import Jobs
from hcloud.readers.configuration.config import Loaded
from hcloud.sim.outcomes.comparison import MOST_REFUSED, Cell, Dropped, Sweep
from hcloud.sim.outcomes.interval import Interval
from hcloud.sim.setup.clustered.clusters import OWN
from hcloud.sim.setup.grid import Changes, SweepGrid, WhatIfBatch, parse_grid
from hcloud.sim.setup.shop import cloud_words
from hcloud.store.sweep_rows import RowFile, SweepRow, open_rows
from hcloud.units import counted
from hcloud.usecases.studies.simulate import strategies_named
from hcloud.usecases.studies.simulation import SimulationRequest, open_study, usual_strategies
from hcloud.usecases.studies.sweep_engines import SweepBench, SweepEngine
from hcloud.usecases.workloads.modelled import of_rules


@dataclass(frozen=True, slots=True)
class SweepWatch:
    """Who hears how a sweep goes: ``resumed`` is told how many rows were there already, ``advance`` how many are."""

    resumed: Callable[[int], None]
    advance: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What is asked for: keys with values, strategies by name or file (empty: all), each with every
    placement, admission and watching that is named, and how many seeds."""

    vary: tuple[str, ...]
    strategies: tuple[str, ...] = ()
    placements: tuple[str, ...] = ()
    seeds: int = 1
    asked: SimulationRequest = field(default_factory=SimulationRequest)
    admissions: tuple[str, ...] = ()
    watchings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sweep that was checked and can begin."""

    bench: SweepBench
    grid: SweepGrid
    notes: tuple[str, ...]

    def summed(self, cells: tuple[Cell, ...]) -> Sweep:
        """The sweep with its results."""
        names = tuple(dict.fromkeys(name for cell in cells for name in cell.figures))
        workload = self.bench.study.jobs.provenance.name
        shop = self.bench.study.shop
        key = shop.reserved.key
        region = key.region if key.region == OWN else f"{key.provider} {key.region}"
        place = f"{region}, {key.instance_type} reserved, cloud {cloud_words(self.bench.study.cloud.name, shop)}"
        said = (*self.bench.study.notes, *of_rules(self.bench.study.jobs.provenance.modelled))
        notes = (*said, *self.notes, *_left_out(cells, self.bench.study.dropped))
        return Sweep(self.grid, workload, self.bench.digest, names, cells, notes, place)


def _left_out(cells: tuple[Cell, ...], dropped: Dropped) -> Iterator[str]:
    """What of the work no type holds: before any run, and by row where it is too much to compare dollars."""
    if dropped.jobs:
        yield f"{counted(dropped.jobs, 'job')} left out ({dropped.work:.1%} of the work): no type holds them"
    for cell in cells:
        refused = cell.figures.get("refused_work")
        work = dropped.work + (1 - dropped.work) * (refused.mean if refused else 0.0)
        if work > MOST_REFUSED:
            changes = " ".join(f"{key}={value}" for key, value in cell.changes.items())
            yield f"{cell.strategy} with {changes} left out {work:.1%} of the work: do not compare its dollars"


def prepare(loaded: Loaded, at: datetime, request: SweepRequest, jobs: Jobs | None = None) -> Prepared:
    """Read everything, and refuse what cannot be, before anything runs; ``jobs`` stand in for the workload."""
    first = loaded.config.planning.seed
    grid = parse_grid(request.vary, request.strategies, range(first, first + request.seeds))
    named = bool(grid.strategies)
    chosen = grid.strategies or usual_strategies(loaded)
    found = strategies_named(chosen, request.placements, (), request.admissions, request.watchings)
    grid = replace(grid, strategies=tuple(dict.fromkeys(s.name for s in found)))
    if len(grid.strategies) < len(found):
        raise UsageError("two strategies have the same name", hint="give each file a name of its own")
    study = open_study(loaded, request.asked, at.date())
    bench = SweepBench(study if jobs is None else replace(study, jobs=jobs, scenario=None), {s.name: s for s in found})
    grid, notes = applicable(bench, grid, named=named)
    return Prepared(bench, grid, notes)


def applicable(bench: SweepBench, grid: SweepGrid, *, named: bool) -> tuple[SweepGrid, tuple[str, ...]]:
    """The grid, checked before anything runs. Strategies that were ``named`` must follow the varied rules; of all
    strategies those that do not are left out, with a note.

    Raises UsageError for the first what-if that cannot be.
    """
    refused = dict[str, UsageError]()
    for strategy, changes in grid.variants():
        if strategy not in refused:
            try:
                bench.check(strategy, changes)
            except UsageError as error:
                if named:
                    raise
                refused[strategy] = error
    kept = tuple(s for s in grid.strategies if s not in refused)
    if not kept:
        raise next(iter(refused.values()))
    notes = tuple(f"{s} is left out: {error}" for s, error in refused.items())
    return replace(grid, strategies=kept), notes


def run_sweep(prepared: Prepared, engine: SweepEngine, out: Path | None, watch: SweepWatch) -> Sweep:
    """Every what-if of the grid, summed up over seeds. Rows that are in ``out`` already are not computed again."""
    bench, grid = prepared.bench, prepared.grid
    sums = _Sums(grid)
    with open_rows(out, bench.digest) as file:
        if file.found:
            known = {what_if.digest for batch in grid.batches() for what_if in batch.what_ifs}
            watch.resumed(len(known & file.found.keys()))
        for done, row in enumerate(_rows(bench, grid, engine, file), start=1):
            sums.add(row)
            watch.advance(done)
    return prepared.summed(sums.cells())


def _rows(bench: SweepBench, grid: SweepGrid, engine: SweepEngine, file: RowFile) -> Iterator[SweepRow]:
    """The rows in the order of the grid, found or computed; a batch that lacks one is computed whole."""
    todo = (b for b in grid.batches() if _missing(b, file))
    with closing(engine.answers(bench, todo)) as answers:
        for batch in grid.batches():
            if _missing(batch, file):
                rows = next(answers)
                file.append(row for row in rows if row.what_if not in file.found)
            else:
                rows = tuple(replace(file.found[w.digest], changes=w.labels) for w in batch.what_ifs)
            yield from rows


def _missing(batch: WhatIfBatch, file: RowFile) -> bool:
    return any(what_if.digest not in file.found for what_if in batch.what_ifs)


class _Sums:
    """Figures by cell while rows arrive; a few numbers a row are all that is kept of it."""

    def __init__(self, grid: SweepGrid) -> None:
        self.grid = grid
        self.values: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, row: SweepRow) -> None:
        """Count a row in."""
        cell = self.values[row.strategy, *row.changes.values()]
        for name, value in row.figures.items():
            cell[name] += [] if value is None else [float(value)]

    def cells(self) -> tuple[Cell, ...]:
        """All cells in the order of the grid."""
        return tuple(self._cell(strategy, changes) for strategy, changes in self.grid.variants())

    def _cell(self, strategy: str, changes: Changes) -> Cell:
        labels = {c.key: c.label for c in changes}
        figures = {
            name: Interval.of(values) if values else None
            for name, values in self.values[strategy, *labels.values()].items()
        }
        return Cell(strategy, labels, len(self.grid.seeds), figures)

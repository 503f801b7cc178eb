"""The covering program of demand by instances, fractional or whole, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hcloud.errors import HcloudError
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.forecasting.idle import COLUMNS, IdleHours

if TYPE_CHECKING:
    import highspy
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Cells = NDArray[np.int64]

WHOLE_GAP = 1e-4  # ours: whole instances are proven to a hundredth of a per cent
FINEST_GRID = 256  # ours: demand is first rounded down to this many levels of its peak
SLIGHT = 1e-9  # a limit that asks for no more than this beyond another is the same
WHOLE_NODES = 100  # ours: branch-and-bound nodes, not seconds, so that the same input gives the same plan


@dataclass(frozen=True, slots=True)
class Loads:
    """The distinct demand vectors of a forecast by epoch (vCPUs, GiB), with the hours each of them lasts and what of
    each may run in idle hours."""

    epoch: NDArray[np.int64]
    cores: Floats
    memory: Floats
    hours: Floats
    idle: IdleHours | None = None

    def __len__(self) -> int:
        return len(self.hours)


def loads_of(forecast: Forecast, epochs: int, most: int | None = None) -> Loads:
    """Merge equal demand vectors inside each of ``epochs`` equal parts of the horizon: their order does not matter.

    Where more than ``most`` would be left, demand is rounded down to an ever coarser grid: enough for a lower bound.
    """
    epoch = np.arange(len(forecast)) * epochs // len(forecast)
    if forecast.idle is not None:
        of_idle = [row for name in COLUMNS for row in np.atleast_2d(getattr(forecast.idle, name))]
        rows, counts = _distinct([epoch, forecast.cores, forecast.memory, *of_idle])
        if most is None or len(rows) <= most:
            idle = forecast.idle.each(lambda column: column[..., rows])
            return _loads(epoch[rows], forecast, (forecast.cores[rows], forecast.memory[rows]), counts, idle)
        forecast = forecast.beside(np.inf)  # as if every service were on reserved machines: no plan needs less
    asked = (forecast.cores, forecast.memory)
    rows, counts = _distinct([epoch, *asked])
    levels = FINEST_GRID
    while most is not None and len(rows) > most:
        asked = (_floored(forecast.cores, levels), _floored(forecast.memory, levels))
        rows, counts = _distinct([epoch, *asked])
        levels //= 2
    return _loads(epoch[rows], forecast, (asked[0][rows], asked[1][rows]), counts)


def _distinct(columns: Sequence[NDArray[Any]]) -> tuple[Cells, Cells]:
    """The first row of each distinct one, in the order of the columns' values, and how many rows are equal to it."""
    order = np.lexsort(columns[::-1])
    starts = np.zeros(len(order), dtype=bool)
    starts[:1] = True
    for column in columns:
        inorder = column[order]
        starts[1:] |= inorder[1:] != inorder[:-1]
    at = np.flatnonzero(starts)
    return order[at], np.diff(at, append=len(order))


def _loads(
    epoch: Cells, forecast: Forecast, asked: tuple[Floats, Floats], counts: Cells, idle: IdleHours | None = None
) -> Loads:
    return Loads(epoch.astype(np.int64), *asked, np.multiply(counts, forecast.step_hours), idle)


def _floored(values: Floats, levels: int) -> Floats:
    step = float(values.max()) / levels
    floored: Floats = np.floor(values / step) * step if step > 0 else values
    return np.minimum(floored, values)


@dataclass(frozen=True, slots=True)
class ProgramColumn:
    """Instances of one shape (vCPUs, GiB) that serve the loads at ``rows`` for ``cost`` dollars each, ``limit`` of them
    at most; the idle hours of what is ``reserved`` carry batch."""

    shape: tuple[float, float]
    cost: float
    rows: Cells
    limit: float = np.inf
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class ProgramOptimum:
    """The best cost found, the bound on any, and the instances of each column."""

    cost: float
    bound: float
    counts: Floats


def solve(columns: Sequence[ProgramColumn], loads: Loads, *, whole: bool) -> ProgramOptimum:
    """The cheapest instances that cover every load in vCPUs and in GiB.

    Whole instances are searched to ``WHOLE_GAP`` or ``WHOLE_NODES``. Raises HcloudError where HiGHS finds nothing.
    """
    import highspy

    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in {
        "output_flag": False,
        "threads": 1,
        "mip_rel_gap": WHOLE_GAP,
        "mip_max_nodes": WHOLE_NODES,
    }.items():
        solver.setOptionValue(option, value)
    solver.passModel(_model(columns, loads, whole=whole))
    solver.run()
    status = solver.getModelStatus()
    found = np.array(solver.getSolution().col_value)
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kSolutionLimit) or not len(found):
        raise HcloudError(f"the covering program was not solved: {solver.modelStatusToString(status)}")
    cost = float(solver.getObjectiveValue())
    return ProgramOptimum(cost, float(solver.getInfo().mip_dual_bound) if whole else cost, found)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What must be covered beside the vCPUs and the GiB of each load, a row each in the order of the loads, from
    ``first`` of each on: 0 for vCPUs or 1 for GiB, how much, and how much more than its own each vCPU that is reserved
    counts for, as services on it leave idle hours."""

    load: Cells
    of_gib: Cells
    least: Floats
    bonus: Floats
    first: Cells

    def served(self, column: ProgramColumn) -> tuple[Cells, Floats]:
        """The rows that a column adds to, and how much one instance adds to each."""
        if not len(self.load):
            return self.load, self.least
        if len(column.rows) == 1:
            at = np.arange(self.first[column.rows[0]], self.first[column.rows[0] + 1])
        else:
            at = np.flatnonzero(np.isin(self.load, column.rows))
        adds = np.asarray(column.shape)[self.of_gib[at]]
        return at, adds + self.bonus[at] * column.shape[0] if column.reserved else adds


def _limits(loads: Loads, least: Floats) -> _Limits:
    """A row for each limit of what idle hours carry, where it asks for more than the ``least`` of its load."""
    found: list[tuple[Cells, Cells, Floats, Floats]] = []
    if loads.idle is not None:
        idle = loads.idle
        for kind, column, each in ((0, loads.cores, np.ones(len(loads))), (1, loads.memory, idle.gib)):
            for base, slope in idle.cuts:
                asked = column - each * (base + slope * idle.owned)
                rows = np.flatnonzero((slope > 0) & (asked > least[kind * len(loads) :][: len(loads)] + SLIGHT))
                found.append((rows, np.full(len(rows), kind), asked[rows], (each * slope)[rows]))
    if not found:
        none = np.empty(0, np.int64)
        return _Limits(none, none, np.empty(0), np.empty(0), np.zeros(len(loads) + 1, np.int64))
    load, kinds = (np.concatenate([f[at] for f in found]).astype(np.int64) for at in (0, 1))
    least_, bonus = (np.concatenate([np.asarray(f[at], np.float64) for f in found]) for at in (2, 3))
    order = np.argsort(load, kind="stable")
    first = np.searchsorted(load[order], np.arange(len(loads) + 1)).astype(np.int64)
    return _Limits(load[order], kinds[order], least_[order], bonus[order], first)


def _model(columns: Sequence[ProgramColumn], loads: Loads, *, whole: bool) -> highspy.HighsLp:
    """Rows are the vCPUs of every load, then the GiB of every load, then the limits of what idle hours carry; a column
    adds its shape to the rows it serves."""
    import highspy

    least = np.concatenate([loads.cores, loads.memory])
    if loads.idle is not None:  # what is left where every service is on a reserved machine
        carried = loads.idle.carried(np.inf)
        least = least - np.concatenate([carried, carried * loads.idle.gib])
    limits = _limits(loads, least)
    beside = [limits.served(c) for c in columns]
    rows = [
        np.concatenate([c.rows, c.rows + len(loads), 2 * len(loads) + at])
        for c, (at, _) in zip(columns, beside, strict=True)
    ]
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(columns), len(least) + len(limits.load)
    model.col_cost_ = np.array([c.cost for c in columns])
    model.col_lower_ = np.zeros(len(columns))
    model.col_upper_ = np.array([min(c.limit, highspy.kHighsInf) for c in columns])
    model.row_lower_ = np.concatenate([least, limits.least])
    model.row_upper_ = np.full(model.num_row_, highspy.kHighsInf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate(rows)
    model.a_matrix_.value_ = np.concatenate(
        [np.concatenate([np.repeat(c.shape, len(c.rows)), adds]) for c, (_, adds) in zip(columns, beside, strict=True)]
    )
    if whole:
        model.integrality_ = [highspy.HighsVarType.kInteger] * len(columns)
    return model

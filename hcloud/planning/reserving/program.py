"""The covering program of demand by instances, fractional or whole, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import HcloudError
from hcloud.planning.forecasting.forecast import Forecast

if TYPE_CHECKING:
    import highspy
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Cells = NDArray[np.int64]

WHOLE_GAP = 1e-4  # ours: whole instances are proven to a hundredth of a per cent
FINEST_GRID = 256  # ours: demand is first rounded down to this many levels of its peak
WHOLE_NODES = 100  # ours: branch-and-bound nodes, not seconds, so that the same input gives the same plan


@dataclass(frozen=True, slots=True)
class Loads:
    """The distinct demand vectors of a forecast by epoch (vCPUs, GiB), with the hours each of them lasts."""

    epoch: NDArray[np.int64]
    cores: Floats
    memory: Floats
    hours: Floats

    def __len__(self) -> int:
        return len(self.hours)


def loads_of(forecast: Forecast, epochs: int, most: int | None = None) -> Loads:
    """Merge equal demand vectors inside each of ``epochs`` equal parts of the horizon: their order does not matter.

    Where more than ``most`` would be left, demand is rounded down to an ever coarser grid: enough for a lower bound.
    """
    epoch = np.arange(len(forecast)) * epochs // len(forecast)
    distinct, counts = np.unique(np.column_stack([epoch, forecast.cores, forecast.memory]), axis=0, return_counts=True)
    levels = FINEST_GRID
    while most is not None and len(distinct) > most:
        rows = np.column_stack([epoch, _floored(forecast.cores, levels), _floored(forecast.memory, levels)])
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        levels //= 2
    hours = np.multiply(counts, forecast.step_hours)
    return Loads(distinct[:, 0].astype(np.int64), distinct[:, 1], distinct[:, 2], hours)


def _floored(values: Floats, levels: int) -> Floats:
    step = float(values.max()) / levels
    floored: Floats = np.floor(values / step) * step if step > 0 else values
    return np.minimum(floored, values)


@dataclass(frozen=True, slots=True)
class ProgramColumn:
    """Instances of one shape (vCPUs, GiB) that serve the loads at ``rows`` for ``cost`` dollars each, ``limit`` of them
    at most."""

    shape: tuple[float, float]
    cost: float
    rows: Cells
    limit: float = np.inf


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


def _model(columns: Sequence[ProgramColumn], loads: Loads, *, whole: bool) -> highspy.HighsLp:
    """Rows are the vCPUs of every load, then the GiB of every load; a column adds its shape to the rows it serves."""
    import highspy

    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(columns), 2 * len(loads)
    model.col_cost_ = np.array([c.cost for c in columns])
    model.col_lower_ = np.zeros(len(columns))
    model.col_upper_ = np.array([min(c.limit, highspy.kHighsInf) for c in columns])
    model.row_lower_ = np.concatenate([loads.cores, loads.memory])
    model.row_upper_ = np.full(2 * len(loads), highspy.kHighsInf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum([2 * len(c.rows) for c in columns])]).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate([np.concatenate([c.rows, c.rows + len(loads)]) for c in columns])
    model.a_matrix_.value_ = np.concatenate([np.repeat(c.shape, len(c.rows)) for c in columns])
    if whole:
        model.integrality_ = [highspy.HighsVarType.kInteger] * len(columns)
    return model

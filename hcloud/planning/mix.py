"""Several instance types together: a linear program for the bound, whole instances around its optimum for the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import HcloudError
from hcloud.model.catalog import Offer
from hcloud.planning.candidates import Candidate
from hcloud.planning.fleet import Holding, cover
from hcloud.planning.forecast import Forecast
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

MOST_TYPES = 4  # whole-instance search is pairwise in the types; more of them never helped on the traces tried
FIRST_MOVE = 8


@dataclass(frozen=True, slots=True)
class Cells:
    """The distinct demand vectors of the forecast by epoch, with the hours each of them lasts."""

    epoch: NDArray[np.int64]
    cores: Floats
    memory: Floats
    hours: Floats


@dataclass(frozen=True, slots=True)
class Bound:
    """The fractional optimum: no plan of any mix costs less than ``cost``; ``reserve`` is instances by candidate in the
    first epoch."""

    cost: float
    reserve: Floats


def cells_of(forecast: Forecast, epochs: int) -> Cells:
    """Merge equal demand vectors inside each of ``epochs`` equal parts of the horizon: their order does not matter."""
    epoch = np.arange(len(forecast)) * epochs // len(forecast)
    rows = np.column_stack([epoch, forecast.cores, forecast.memory])
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return Cells(
        distinct[:, 0].astype(np.int64), distinct[:, 1], distinct[:, 2], np.multiply(counts, forecast.step_hours)
    )


def useful_types(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """One region's candidates without those dominated by another: no larger, and dearer on demand and in every term."""
    return tuple(c for c in candidates if not any(_dominates(d, c) for d in candidates if d is not c))


def _dominates(better: Candidate, worse: Candidate) -> bool:
    """Whether all that ``worse`` offers is had from ``better`` for no more money; of equals the first by address."""
    return _serves(better, worse) and (not _serves(worse, better) or better.address < worse.address)


def _serves(this: Candidate, that: Candidate) -> bool:
    large_enough = this.shape.vcpus >= that.shape.vcpus and this.shape.memory_gib >= that.shape.memory_gib
    if not large_enough or _cheapest_on_demand(this) > _cheapest_on_demand(that):
        return False
    unlimited = [o for o in this.commitments if o.remaining is None]
    return all(
        any(o.term_hours >= other.term_hours and o.term_cost <= other.term_cost for o in unlimited)
        for other in that.commitments
    )


def _cheapest_on_demand(candidate: Candidate) -> float:
    """The on-demand price an hour, a sustained-use series at its full-month price: a bound for any use."""
    factor = 1.0 if candidate.sustained is None else float(candidate.sustained.full_month_factor)
    return float(candidate.on_demand.hourly) * factor


def lower_bound(candidates: Sequence[Candidate], forecast: Forecast) -> Bound:
    """The cheapest fractional fleet of any mix with perfect foresight (LB-J of the covering program).

    Where a term ends inside the horizon, purchases are made at the start of any month and, to stay a bound on
    purchases at any hour, cover one month more than their term. Raises HcloudError where the solver fails.
    """
    horizon = len(forecast) * forecast.step_seconds // SECONDS_PER_HOUR
    offers = [(i, o) for i, c in enumerate(candidates) for o in _best_by_term(c)]
    epochs = 1 if all(o.term_hours >= horizon for _, o in offers) else max(horizon // HOURS_PER_MONTH, 1)
    cells = cells_of(forecast, epochs)
    return _solve(candidates, offers, cells, horizon / epochs)


def _best_by_term(candidate: Candidate) -> list[Offer]:
    best: dict[int, Offer] = {}
    for offer in candidate.commitments:
        known = best.get(offer.term_hours)
        if known is None or offer.term_cost < known.term_cost:
            best[offer.term_hours] = offer
    return [best[t] for t in sorted(best)]


def _solve(
    candidates: Sequence[Candidate], offers: Sequence[tuple[int, Offer]], cells: Cells, epoch_hours: float
) -> Bound:
    """Columns: purchases by offer and epoch, then rentals by candidate and cell; rows: vCPUs, then GiB, by cell."""
    import highspy

    epochs = int(cells.epoch.max()) + 1
    shapes = np.array([[float(c.shape.vcpus), float(c.shape.memory_gib)] for c in candidates])
    columns: list[tuple[float, NDArray[np.int64], int]] = []
    for i, offer in offers:
        for start in range(epochs):
            whole = epochs if epochs == 1 else int(offer.term_hours // epoch_hours) + 1
            covered = (cells.epoch >= start) & (cells.epoch < start + whole)
            columns.append((float(offer.term_cost), np.flatnonzero(covered), i))
    for i, candidate in enumerate(candidates):
        price = _cheapest_on_demand(candidate)
        columns += [(price * hours, np.array([j]), i) for j, hours in enumerate(cells.hours)]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(columns), 2 * len(cells.hours)
    lp.col_cost_ = np.array([c[0] for c in columns])
    lp.col_lower_, lp.col_upper_ = np.zeros(len(columns)), np.full(len(columns), highspy.kHighsInf)
    lp.row_lower_ = np.concatenate([cells.cores, cells.memory])
    lp.row_upper_ = np.full(lp.num_row_, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum([2 * len(c[1]) for c in columns])]).astype(np.int32)
    lp.a_matrix_.index_ = np.concatenate([np.concatenate([c[1], c[1] + len(cells.hours)]) for c in columns])
    lp.a_matrix_.value_ = np.concatenate([np.repeat(shapes[c[2]], len(c[1])) for c in columns])
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.passModel(lp)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise HcloudError(f"the lower bound was not found: {solver.modelStatusToString(solver.getModelStatus())}")
    solution = np.array(solver.getSolution().col_value)
    reserve = np.zeros(len(candidates))
    for index, (i, _) in enumerate(offers):
        reserve[i] += solution[index * epochs]
    return Bound(float(solver.getObjectiveValue()), reserve)


def mixed_reserve(candidates: Sequence[Candidate], forecast: Forecast, start: Floats) -> tuple[Holding, ...]:
    """A constant reserve of several types in whole instances, near ``start`` (instances by candidate).

    Coordinate search on the exact cost with whole rented instances, in moves of 8, 4, 2 and 1; each type uses its
    cheapest commitment. It is a heuristic: the plan prints its gap to the bound.
    """
    chosen = sorted(np.argsort(-start, kind="stable")[:MOST_TYPES])
    types = [candidates[i] for i in chosen]
    horizon = len(forecast) * forecast.step_seconds // SECONDS_PER_HOUR
    offers = [_cheapest(c, horizon) for c in types]
    cells = cells_of(forecast, 1)
    counts = np.floor(start[chosen]).astype(np.int64)
    counts[[i for i, o in enumerate(offers) if o is None]] = 0
    best = _cost(types, offers, cells, counts, horizon)
    move = FIRST_MOVE
    while move:
        improved = False
        for i, offer in enumerate(offers):
            for step in (move, -move):
                trial = counts.copy()
                trial[i] += step
                if offer is None or trial[i] < 0 or (offer.remaining is not None and trial[i] > offer.remaining):
                    continue
                cost = _cost(types, offers, cells, trial, horizon)
                if cost < best - 1e-9 * abs(best):
                    counts, best, improved = trial, cost, True
        if not improved:
            move //= 2
    return tuple(Holding(o, int(n)) for o, n in zip(offers, counts, strict=True) if o is not None and n)


def _cheapest(candidate: Candidate, horizon: int) -> Offer | None:
    return min(candidate.commitments, key=lambda o: (o.term_cost * -(-horizon // o.term_hours), o.key), default=None)


def _cost(
    types: Sequence[Candidate], offers: Sequence[Offer | None], cells: Cells, counts: NDArray[np.int64], horizon: int
) -> float:
    """Dollars over the horizon: commitments renewed at expiry plus whole rented instances."""
    cores, memory, cost = cells.cores, cells.memory, 0.0
    for candidate, offer, count in zip(types, offers, counts, strict=True):
        cores = cores - int(count) * float(candidate.shape.vcpus)
        memory = memory - int(count) * float(candidate.shape.memory_gib)
        if offer is not None:
            cost += int(count) * float(offer.term_cost) * -(-horizon // offer.term_hours)
    rented = cover(np.maximum(cores, 0.0), np.maximum(memory, 0.0), types)
    for candidate, needed in zip(types, rented, strict=True):
        cost += float(candidate.on_demand.hourly) * float(np.dot(needed, cells.hours))
    return cost

"""Several instance types together: the bound on any fleet of them, and the cheapest constant reserve of whole ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.catalog import Offer
from hcloud.planning.fleets.at_expiry import best_by_term
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import cost_over, fill, ladder
from hcloud.planning.fleets.fleet import Holding, cover
from hcloud.planning.fleets.floor import as_sold, counted_dearer
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.reserving.program import Loads, ProgramColumn, loads_of, solve
from hcloud.units import HOURS_PER_YEAR, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Counts = NDArray[np.int64]

FIRST_MOVE = 8
HOURS_PER_QUARTER = HOURS_PER_YEAR // 4
MOST_LOADS = 4000  # ours: the bound over several purchase dates stays a matter of seconds
MOST_LOADS_AT_ONCE = 10_000  # ours: and so does the one over a single date, in steps of an hour or more
SOLVED_WHOLE = 3000  # ours: up to this many whole counts (types x distinct loads) HiGHS answers in half a minute,
SOLVED_MACHINES = 128  # ours: where so many machines serve the peak; of more, one more or less is hardly worth a proof
LEAST_USED = 1e-6  # instances: less is the solver's rounding
EXACT, SEARCHED = "integer program (HiGHS)", "linear program, whole instances by search"


@dataclass(frozen=True, slots=True)
class Bound:
    """The fractional optimum: no plan of any mix costs less than ``cost``; ``reserve`` is instances by candidate in the
    first epoch, ``used`` whether any are bought or rented."""

    cost: float
    reserve: Floats
    used: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Mix:
    """A constant reserve of several types, the cheapest one if commitments had not to save a share of their cost, the
    bound on fleets of whole instances of them, and how it was found."""

    holdings: tuple[Holding, ...]
    cheapest: tuple[Holding, ...]
    bound: float
    method: str


def shape_of(candidate: Candidate) -> int:
    """The power of two nearest to its GiB per vCPU: of one shape types are not mixed."""
    return round(math.log2(candidate.shape.memory_gib / candidate.shape.vcpus))


def useful_types(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """One region's candidates without those dominated by another: no larger, and dearer on demand and in every term."""
    return tuple(c for c in candidates if not any(_dominates(d, c) for d in candidates if d is not c))


def _dominates(better: Candidate, worse: Candidate) -> bool:
    """Whether all that ``worse`` offers is had from ``better`` for no more money; of equals the first by address."""
    return _serves(better, worse) and (not _serves(worse, better) or better.address < worse.address)


def _serves(this: Candidate, that: Candidate) -> bool:
    large_enough = all(mine >= its for mine, its in zip(this.capacity, that.capacity, strict=True))
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

    Where a term ends inside the horizon, purchases are made at the start of any quarter and, to stay a bound on
    purchases at any hour, reach every quarter they could touch. Very many distinct loads are rounded down.
    Raises HcloudError where the solver fails.
    """
    horizon = forecast.hours
    offers = [(i, o) for i, c in enumerate(candidates) for o in best_by_term(c.commitments)]
    once = all(o.term_hours >= horizon for _, o in offers)
    epochs = 1 if once else max(horizon // HOURS_PER_QUARTER, 1)
    is_hourly = forecast.step_seconds >= SECONDS_PER_HOUR
    loads = loads_of(forecast, epochs, MOST_LOADS_AT_ONCE if once and is_hourly else MOST_LOADS)
    if once and len(candidates) == 1 and loads.idle is None:
        return _of_one_type(candidates[0], [float(o.term_cost) for _, o in offers], loads)
    bought = [_purchase(candidates[i], o, loads, start, horizon) for i, o in offers for start in range(epochs)]
    rented = [r for c in candidates for r in _rentals(c, loads, _cheapest_on_demand(c))]
    answer = solve([*bought, *rented], loads, whole=False)
    reserve = np.zeros(len(candidates))
    for index, (i, _) in enumerate(offers):
        reserve[i] += answer.counts[index * epochs]
    of_column = [*(i for i, _ in offers for _ in range(epochs)), *np.repeat(range(len(candidates)), len(loads))]
    counted = np.bincount(of_column, answer.counts, len(candidates))
    return Bound(answer.cost, reserve, counted > LEAST_USED)


def _of_one_type(candidate: Candidate, terms: Sequence[float], loads: Loads) -> Bound:
    """The same of a single type that is bought once, at the cheapest of these: each level of demand is bought that is
    in use for so long that it costs more on demand."""
    vcpus, gib = _shape(candidate)
    hourly, cheapest = _cheapest_on_demand(candidate), min(terms, default=np.inf)
    used = np.maximum(loads.cores / vcpus, loads.memory / gib)
    order = np.argsort(-used, kind="stable")
    dollars = np.cumsum(loads.hours[order]) * hourly
    pays = np.flatnonzero(dollars > cheapest)
    reserve = float(used[order][pays[0]]) if len(pays) else 0.0
    rented = hourly * float((np.maximum(used - reserve, 0.0) * loads.hours).sum())
    return Bound(rented + (cheapest * reserve if reserve else 0.0), np.array([reserve]), np.array([True]))


def _shape(candidate: Candidate) -> tuple[float, float]:
    vcpus, gib = candidate.capacity
    return float(vcpus), float(gib)


def _purchase(candidate: Candidate, offer: Offer, loads: Loads, start: int, horizon: int) -> ProgramColumn:
    """One instance bought in an epoch; it reaches every epoch its term could touch (see lower_bound)."""
    epochs = int(loads.epoch.max()) + 1
    reach = epochs if offer.term_hours >= horizon else -(-offer.term_hours * epochs // horizon) + 1
    rows = np.flatnonzero((loads.epoch >= start) & (loads.epoch < start + reach))
    return ProgramColumn(_shape(candidate), float(offer.term_cost), rows, reserved=True)


def _rentals(candidate: Candidate, loads: Loads, hourly: float) -> list[ProgramColumn]:
    """One instance on demand through each load."""
    return [ProgramColumn(_shape(candidate), hourly * hours, np.array([row])) for row, hours in enumerate(loads.hours)]


def mixed_reserve(
    types: Sequence[Candidate],
    forecast: Forecast,
    fractional: tuple[float, Floats],
    least: float = 0.0,
    *,
    prove: bool = False,
) -> Mix:
    """A constant reserve of the types in whole instances, from their cheapest commitments on, renewed at expiry,
    without those that save less than the part ``least`` of their cost.

    A search from the ``fractional`` optimum (its dollars and instances by type); to ``prove`` it, where that
    :func:`is_provable`, from an integer program. The bound of fractions stands where the program proves none: after a
    search, and where purchases at other times or sustained use could cost less than the program knows.
    """
    bound, start = fractional
    horizon = forecast.hours
    loads = loads_of(forecast, 1)
    ladders = [ladder(c.commitments, horizon) for c in types]
    if prove:
        start, proven = _whole(types, ladders, loads, horizon)
        settled = all(c.sustained is None and all(o.term_hours >= horizon for o in c.commitments) for c in types)
        bound, method, move = proven if settled else bound, EXACT, 1
    else:
        method, move = SEARCHED, FIRST_MOVE
    pool = _Pool(types, ladders, loads, horizon)
    counts = _search(pool, start, move)
    cheapest = pool.holdings(counts)
    if not least:
        return Mix(cheapest, cheapest, bound, method)
    sold = [counted_dearer(offers, least) for offers in ladders]
    counted = replace(pool, ladders=[tuple(of) for of in sold])
    worth = counted.holdings(_search(counted, counts.astype(float), move))
    return Mix(as_sold(worth, {dear: o for of in sold for dear, o in of.items()}), cheapest, bound, method)


def is_provable(types: Sequence[Candidate], forecast: Forecast) -> bool:
    """Whether an integer program of these types is small enough: of loads, and of machines at the peak, of the type of
    which it takes fewest."""
    loads = loads_of(forecast, 1)
    most = min(float(np.maximum(loads.cores / c, loads.memory / m).max()) for c, m in map(_shape, types))
    return len(types) * len(loads) <= SOLVED_WHOLE and most <= SOLVED_MACHINES


def _whole(
    types: Sequence[Candidate], ladders: Sequence[Sequence[Offer]], loads: Loads, horizon: int
) -> tuple[Floats, float]:
    """Instances to hold by type, by the integer program, and its bound."""
    everywhere = np.arange(len(loads))
    offers = [(c, o) for c, ladder_ in zip(types, ladders, strict=True) for o in ladder_]
    bought = [
        ProgramColumn(
            _shape(c),
            float(cost_over(o, horizon)),
            everywhere,
            np.inf if o.remaining is None else o.remaining,
            reserved=True,
        )
        for c, o in offers
    ]
    rented = [r for c in types for r in _rentals(c, loads, float(c.on_demand.hourly))]
    answer = solve([*bought, *rented], loads, whole=True)
    held = zip((c for c, _ in offers), np.rint(answer.counts[: len(offers)]), strict=True)
    by_type = dict.fromkeys((c.address for c in types), 0.0)
    for candidate, count in held:
        by_type[candidate.address] += float(count)
    return np.array(list(by_type.values())), answer.bound


@dataclass(frozen=True, slots=True)
class _Pool:
    """Types with their offers, cheapest first, and the loads they serve over a horizon in hours."""

    types: Sequence[Candidate]
    ladders: Sequence[Sequence[Offer]]
    loads: Loads
    horizon: int

    def holdings(self, counts: Counts) -> tuple[Holding, ...]:
        """So many instances of each type, from its cheapest offers on."""
        of = zip(self.ladders, counts, strict=True)
        return tuple(h for offers, count in of for h in fill(offers, int(count), self.horizon))

    def cost(self, counts: Counts) -> float:
        """Dollars over the horizon: commitments renewed at expiry plus whole rented instances."""
        cores, memory, cost = self.loads.cores, self.loads.memory, 0.0
        if self.loads.idle is not None:
            vcpus = sum(int(n) * _shape(c)[0] for c, n in zip(self.types, counts, strict=True))
            carried = self.loads.idle.carried(vcpus)
            cores, memory = cores - carried, memory - carried * self.loads.idle.gib
        for candidate, offers, count in zip(self.types, self.ladders, counts, strict=True):
            vcpus, gib = _shape(candidate)
            cores, memory = cores - int(count) * vcpus, memory - int(count) * gib
            cost += sum(float(h.cost) for h in fill(offers, int(count), self.horizon))
        rented = cover(np.maximum(cores, 0.0), np.maximum(memory, 0.0), self.types)
        for candidate, needed in zip(self.types, rented, strict=True):
            cost += float(candidate.on_demand.hourly) * float((needed * self.loads.hours).sum())
        return cost


def _search(pool: _Pool, start: Floats, move: int) -> Counts:
    """Coordinate search on the exact cost with whole rented instances, in halving moves, alone and in pairs of one type
    up and another down."""
    limits = np.array([sum(np.inf if o.remaining is None else o.remaining for o in offers) for offers in pool.ladders])
    counts: Counts = np.minimum(np.floor(start), limits).astype(np.int64)
    known: dict[bytes, float] = {}

    def cost(trial: Counts) -> float:
        if (trial < 0).any() or (trial > limits).any():
            return np.inf
        if (key := trial.tobytes()) not in known:
            known[key] = pool.cost(trial)
        return known[key]

    best = cost(counts)
    while move:
        trials = [counts + step for step in _steps(len(limits), move)]
        costs = [cost(trial) for trial in trials]
        at = int(np.argmin(costs))
        if costs[at] < best * (1 - 1e-9):
            counts, best = trials[at], costs[at]
        else:
            move //= 2
    return counts


def _steps(types: int, move: int) -> list[Counts]:
    """Every type up or down, and every ordered pair one up and the other down."""
    unit = np.eye(types, dtype=np.int64) * move
    alone = [sign * unit[i] for i in range(types) for sign in (1, -1)]
    return alone + [unit[i] - unit[j] for i in range(types) for j in range(types) if i != j]

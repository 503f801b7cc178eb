"""The cheapest mix of commitments and on-demand for one pool of known demand, with a proof that it is the cheapest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hcloud.errors import HcloudError
from hcloud.planning.reserving.flow import Flags, FlowGrid, FlowOptimum, Ints

Floats = npt.NDArray[np.float64]

CLOSED_FORM = "closed form"
FLOW = "network flow"
ALL_ON_DEMAND = "nothing reserved"
PROOF_TOLERANCE = 1e-9  # relative; floats over a few years of hours lose about 1e-12
MAX_UNITS = 1 << 40  # total unit-hours stay far inside 64 bits


class ProofError(HcloudError):
    """A commitment plan could not be proven optimal; it is withheld rather than shown."""


@dataclass(frozen=True, slots=True)
class CommitmentKind:
    """One offer: ``cost`` dollars buy one unit for ``term_hours`` hours, paid in full whatever is used."""

    name: str
    term_hours: int
    cost: float

    def __post_init__(self) -> None:
        if self.term_hours < 1:
            raise ValueError(f"commitment {self.name!r}: a term of {self.term_hours} h is not positive")
        if not (math.isfinite(self.cost) and self.cost >= 0):
            raise ValueError(f"commitment {self.name!r}: a cost of {self.cost} is not a finite amount of at least 0")


@dataclass(frozen=True, slots=True, eq=False)
class ReserveSolution:
    """The cheapest plan and its proof.

    ``cost`` and ``dual_bound`` are in the currency of the prices, ``on_demand`` and ``reserved`` in units per hour,
    ``purchases`` are (index of the kind, first hour, units), ``prices`` is the value of one more unit in each hour.
    No plan costs less than ``dual_bound``; ``gap`` is what ``cost`` lies above it.
    """

    cost: float
    on_demand: Ints
    purchases: tuple[tuple[int, int, int], ...]
    reserved: Ints
    dual_bound: float
    gap: float
    method: str
    prices: Floats


class _Offer(NamedTuple):
    """A kind that can pay off: its index, the hours it covers at most inside the horizon, and its cost."""

    kind: int
    term: int
    cost: float


class _Plan(NamedTuple):
    """What a method proposes: purchases, hour prices (not yet trusted), and its name."""

    purchases: tuple[tuple[int, int, int], ...]
    prices: Floats
    method: str


def optimal_reserve(demand: npt.ArrayLike, on_demand_price: float, kinds: Sequence[CommitmentKind]) -> ReserveSolution:
    """The cheapest way to serve ``demand`` (units per hour) at ``on_demand_price`` per unit-hour.

    Terms that run past the last hour are charged in full (no salvage). Of equally cheap plans a steady reserve that is
    renewed at expiry is taken; where none is optimal, the one with the fewest commitments, and every purchase starts as
    early as it can for the same money. Raises ValueError for demand that is not whole and nonnegative or a price
    that is not, ProofError when optimality cannot be shown.

    The covering matrix has consecutive ones, so the linear program has whole-number optima (Veinott and Wagner 1962).
    """
    units, price = _whole_units(demand), _price(on_demand_price)
    offers = _worthwhile(kinds, price, len(units))
    if not offers or not units.any():
        return _proven(_costed(units, price, kinds, _Plan((), np.where(units > 0, price, 0.0), ALL_ON_DEMAND)))
    steady = _costed(units, price, kinds, _steady_plan(units, price, offers))
    if _is_proven(steady) or (len(offers) == 1 and offers[0].term == len(units)):
        return _proven(steady)
    return _proven(_costed(units, price, kinds, _flow_plan(units, price, offers)))


def bound_before_flow(demand: npt.ArrayLike, on_demand_price: float, kind: CommitmentKind) -> float:
    """What no plan with commitments of one kind costs less than, as far as prices that prove a steady reserve tell;
    0 where :func:`optimal_reserve` needs no flow, as it then has the optimum as soon."""
    units, price = _whole_units(demand), _price(on_demand_price)
    offers = _worthwhile([kind], price, len(units))
    if not offers or offers[0].term == len(units) or not units.any():
        return 0.0
    steady = _costed(units, price, [kind], _steady_plan(units, price, offers))
    return 0.0 if _is_proven(steady) else steady.dual_bound


def _price(on_demand_price: float) -> float:
    price = float(on_demand_price)
    if not (math.isfinite(price) and price >= 0):
        raise ValueError(f"an on-demand price of {on_demand_price} is not a finite amount of at least 0")
    return price


def _whole_units(demand: npt.ArrayLike) -> Ints:
    """The demand as 64-bit integers; ValueError unless it is a row of whole numbers in 0..MAX_UNITS."""
    given = np.asarray(demand)
    if given.ndim != 1:
        raise ValueError(f"demand is one row of hours, not an array of {given.ndim} dimensions")
    if not len(given):
        return np.zeros(0, np.int64)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"demand is whole units per hour, not {given.dtype}")
    low, high = given.min(), given.max()  # NaN shows in both
    if not (low >= 0 and high <= MAX_UNITS):
        raise ValueError(f"demand is between 0 and {MAX_UNITS} units per hour; this ranges from {low} to {high}")
    units = given.astype(np.int64)
    if given.dtype.kind == "f" and (units != given).any():
        hour = int(np.flatnonzero(units != given)[0])
        raise ValueError(f"demand is whole units per hour; hour {hour} has {given[hour]}")
    return units


def _worthwhile(kinds: Sequence[CommitmentKind], price: float, hours: int) -> list[_Offer]:
    """The kinds an optimum may use, by growing term and cost.

    A kind is left out when a full term saves nothing, or when another covers as long for no more money.
    """
    offers = [_Offer(i, min(k.term_hours, hours), k.cost) for i, k in enumerate(kinds)]
    offers.sort(key=lambda offer: (-offer.term, offer.cost, offer.kind))
    kept: list[_Offer] = []
    cheapest = math.inf
    for offer in offers:
        if offer.cost < cheapest and offer.cost < price * offer.term:
            kept.append(offer)
        cheapest = min(cheapest, offer.cost)
    return kept[::-1]


def _steady_plan(units: Ints, price: float, offers: Sequence[_Offer]) -> _Plan:
    """The same units of one kind throughout, renewed at expiry: level k pays off iff #{t: d_t >= k} p > F, where F
    covers the horizon.

    The price p of the ``paid`` busiest hours, and the rest of F on the next busiest, prove it where one term covers the
    horizon, and nearly always where demand repeats itself within each term: a flow of so many hours takes minutes.
    """
    hours = len(units)
    once, terms, offer = min((o.cost * (n := -(-hours // o.term)), n, o) for o in offers)
    if once >= price * hours:  # the last term would be for a few hours
        return _Plan((), np.where(units > 0, price, 0.0), CLOSED_FORM)
    paid = min(int(once // price), hours - 1)
    while paid * price > once:  # the quotient of floats may round up
        paid -= 1
    while (paid + 1) * price <= once and paid + 1 < hours:
        paid += 1
    level = _exceeded_at_most(units, paid)
    prices = np.where(units > level, price, 0.0)
    rest = max(0.0, once - price * np.count_nonzero(prices))
    at_level = np.flatnonzero(units == level)
    prices[at_level] = min(price, rest / len(at_level))
    bought = tuple((offer.kind, term * offer.term, level) for term in range(terms)) if level else ()
    return _Plan(bought, prices, CLOSED_FORM)


def _exceeded_at_most(units: Ints, hours: int) -> int:
    """The least of the demanded units that more are demanded than in so many hours at most."""
    top = int(units.max())
    if top > len(units):
        return int(np.partition(units, len(units) - 1 - hours)[len(units) - 1 - hours])
    from_the_top = np.cumsum(np.bincount(units)[::-1])  # counted in one pass: a demand has few levels
    return top - int(np.searchsorted(from_the_top, hours, side="right"))


def _flow_plan(units: Ints, price: float, offers: list[_Offer]) -> _Plan:
    """The minimum-cost flow over the hours, on costs scaled to integers.

    A tree path has at most T arcs of at most max(p, F), which sets the largest scale that cannot overflow. Rounding
    every F up, past its own value, is what prefers fewer commitments among equals.
    """
    from hcloud.planning.reserving.compiled import kernels
    from hcloud.planning.reserving.reserve import BandDemand, solve_pool

    hours = len(units)
    dearest = max(1.0, max(offer.cost for offer in offers) / price)
    scale = 2.0 ** min(50, 60 - math.ceil(math.log2((hours + 1) * (dearest + 1))))
    terms = np.array([offer.term for offer in offers], np.int64)
    costs = np.array([math.floor(offer.cost / price * scale) + 1 for offer in offers], np.int64)
    ledger, potential = solve_pool(BandDemand(units, int(scale), terms, costs), kernels(hours))
    bought = zip(*np.nonzero(ledger), strict=True)
    purchases = tuple((offers[k].kind, int(t), int(ledger[k, t])) for k, t in bought)
    return _Plan(purchases, np.diff(potential) * (price / scale), FLOW)


def _costed(units: Ints, price: float, kinds: Sequence[CommitmentKind], plan: _Plan) -> ReserveSolution:
    """The plan with its cost and bound, both computed anew from the input."""
    hours = len(units)
    change = np.zeros(hours + 1, np.int64)
    fees = []
    for kind, start, count in plan.purchases:
        change[start] += count
        change[min(start + kinds[kind].term_hours, hours)] -= count
        fees.append(kinds[kind].cost * count)
    reserved = np.cumsum(change[:-1])
    on_demand = np.maximum(units - reserved, 0)
    cost = math.fsum([*fees, price * int(on_demand.sum())])
    prices = _feasible(plan.prices, price, kinds)
    bound = min(float((prices * units).sum()), cost)  # threads of a vector product wait by turning
    return ReserveSolution(cost, on_demand, plan.purchases, reserved, bound, cost - bound, plan.method, prices)


def _is_proven(solution: ReserveSolution) -> bool:
    return solution.gap <= PROOF_TOLERANCE * solution.cost


def _proven(solution: ReserveSolution) -> ReserveSolution:
    """The solution; ProofError unless its cost and bound meet."""
    if not _is_proven(solution):
        raise ProofError(
            f"the plan costs {solution.cost} but the proof only reaches {solution.dual_bound} "
            f"({solution.method}, {len(solution.prices)} h)",
            hint="report this with the demand and the offers; no plan was shown",
        )
    return solution


def _feasible(prices: Floats, price: float, kinds: Sequence[CommitmentKind]) -> Floats:
    """The hour prices shrunk until 0 <= y_t <= p and no term of any kind collects more than its cost.

    Every y within these limits bounds every plan from below by y.d (weak duality), so shrinking keeps the bound true
    whoever proposed y. O(hours x kinds).
    """
    limited = np.clip(prices, 0.0, price)
    total = np.concatenate(([0.0], np.cumsum(limited)))
    hours = len(limited)
    share = 1.0
    for kind in kinds:
        term = min(kind.term_hours, hours)
        collected = float((total[term:] - total[: hours + 1 - term]).max()) if hours else 0.0
        if collected > kind.cost:
            share = min(share, kind.cost / collected)
    return limited * share


Kernels = Mapping[str, Callable[..., Any]]

COARSE_LEVELS = 8  # the first pass tells this many levels of demand apart
REFINEMENT = 4  # each further pass tells this many times as many
COARSE_MARGIN = 3  # levels on either side of the coarser answer that stay open: half a coarser level and one more
OPEN_HOURS = 200  # what the first round on all hours has open at least
FIRST_REACH = 2  # levels
BLOCKS_PER_TERM = 15


class BandDemand(NamedTuple):
    """Hourly demand in units, the scaled price of a rented unit-hour, per kind its term in hours and scaled cost."""

    demand: Ints
    rent: int
    terms: Ints
    costs: Ints


def solve_pool(pool: BandDemand, kernels: Kernels) -> tuple[Ints, Ints]:
    """Units bought per kind and hour, and the potentials whose differences are the scaled hour prices.

    Coarse passes only guess the band; the last pass is on all hours and ends when nothing contradicts the band.
    """
    hours = len(pool.demand)
    grid = FlowGrid(pool.demand, np.ones(hours, np.int64), np.arange(hours + 1), pool.terms, pool.costs, pool.rent)
    low, high = guessed_band(pool, kernels)
    margin = ample_margin(pool.demand, low, high)
    answer = settle(grid, (low - margin, high + margin), kernels)
    ledger = answer.ledger
    spare = answer.held - pool.demand
    while kernels["start_earlier"](grid, ledger, spare):
        pass
    return ledger, answer.potential


def guessed_band(pool: BandDemand, kernels: Kernels) -> tuple[Ints, Ints]:
    """Between which levels the optimum holds units in each hour, as far as blocks of hours tell."""
    hours, top = len(pool.demand), int(pool.demand.max())
    block = int(pool.terms.min()) // BLOCKS_PER_TERM
    if block < 2:  # terms of a day or less: their guesses cost more than they save
        return np.zeros(hours, np.int64), np.full(hours, top)
    ordered = sorted_blocks(pool.demand, block)
    spans = np.maximum((2 * pool.terms + block) // (2 * block), 1)
    unit = max(1, top // COARSE_LEVELS)
    count = -(-hours // block)
    low, high = np.zeros(count, np.int64), np.full(count, top)
    while True:
        demand, length, first = kernels["blockwise"](ordered, block, unit)
        grid = FlowGrid(demand, length, first, spans, pool.costs, pool.rent)
        band = low // unit - COARSE_MARGIN, -(-high // unit) + COARSE_MARGIN
        low, high = nearby(settle(grid, band, kernels).held * unit)
        if unit == 1:
            return np.repeat(low, block)[:hours], np.repeat(high, block)[:hours]
        unit = max(1, unit // REFINEMENT)


def ample_margin(demand: Ints, low: Ints, high: Ints) -> int:
    """The least margin around the band that keeps enough hours open: below that a wrong guess costs more than size."""
    outside = np.maximum(low - demand, demand - high)
    few = min(OPEN_HOURS, len(outside) - 1)
    return max(1, int(np.partition(outside, few)[few]))


def sorted_blocks(demand: Ints, block: int) -> Ints:
    """The demand with the hours of each block in growing order."""
    whole = len(demand) // block * block
    return np.concatenate((np.sort(demand[:whole].reshape(-1, block), axis=1).ravel(), np.sort(demand[whole:])))


def nearby(held: Ints) -> tuple[Ints, Ints]:
    """The least and the most held in each interval and the ones next to it."""
    padded = np.concatenate((held[:1], held, held[-1:]))
    around = np.stack((padded[:-2], held, padded[2:]))
    return around.min(axis=0), around.max(axis=0)


def nothing_yet(grid: FlowGrid) -> FlowOptimum:
    """The answer that rents everything: where a solution starts when nothing is known."""
    count, kinds = len(grid.first) - 1, len(grid.spans)
    return FlowOptimum(
        np.zeros((kinds, count), np.int64),
        np.zeros(count, np.int64),
        np.zeros(count + 1, np.int64),
        np.zeros(kinds * count, np.bool_),
        np.zeros(len(grid.demand), np.bool_),
    )


def settle(grid: FlowGrid, band: tuple[Ints, Ints], kernels: Kernels) -> FlowOptimum:
    """The optimum of the grid, solved inside a band that is widened where it is at odds with the answer.

    At odds: prices fixed by the band exceed what commitments cost, or an hour outside contradicts its price. Without
    either the answer is optimal for all hours. Each round starts from the tree of the one before, and opens the band
    further each time in the same place, so it ends.
    """
    low, high = band
    answer: FlowOptimum = nothing_yet(grid)
    reach = np.full(len(low), FIRST_REACH)
    while True:
        answer, (first, last) = kernels["solve_inside"](grid, low, high, answer)
        if first < last:
            odd = np.zeros(len(low), np.bool_)
            odd[first:last] = True
            high = np.where(odd, high + reach, high)
            reach[odd] += reach[odd] // 4 + 1  # slower than below: these rounds are short, too wide a band is not
            continue
        wrong = kernels["contradictions"](grid, answer.held, low, high)
        if not wrong.any():
            return answer
        odd = widened(wrong)
        low = np.where(odd, np.clip(answer.held - 2, low - reach, low), low)
        high = np.where(odd, np.clip(answer.held + 2, high, high + reach), high)
        reach[odd] *= 2


def widened(flags: Flags) -> Flags:
    """The flagged intervals and their neighbours."""
    wide = flags.copy()
    wide[1:] |= flags[:-1]
    wide[:-1] |= flags[1:]
    return wide

"""The cheapest fleet of one instance type for a forecast, with its bound: closed form, network flow or by level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.flexibility import preference
from hcloud.catalog.quote import break_even
from hcloud.model.catalog import Offer
from hcloud.planning.fleets.at_expiry import (
    WORTH_A_COMMITMENT,
    bought_at_expiry,
    level_costs,
    taken_of,
    while_they_last,
)
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import (
    SLACK,
    Fleet,
    Holding,
    PlannedRental,
    instances_needed,
    parts_not_rented,
    rent,
)
from hcloud.planning.fleets.floor import as_sold, counted_dearer
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.reserving.reserve import PROOF_TOLERANCE, CommitmentKind, bound_before_flow, optimal_reserve
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats
    from hcloud.planning.fleets.fleet import Counts

BY_LEVEL = "level by level"
RENEWED = "a reserve renewed at expiry"
BY_IDLE_HOURS = "level by level, with idle hours"
BESIDE = 4  # ours: so many whole instances to either side of the best number in fractions are tried


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The best fleet of one candidate. ``bound`` is what no plan of whole instances of this type can undercut; it is
    below the cost only where ``method`` says so. ``spread_cost`` is what purchases at any date would cost, where they
    save too little."""

    candidate: Candidate
    fleet: Fleet
    cost: Decimal
    bound: Decimal
    method: str
    spread_cost: Decimal | None = None


def evaluate(
    candidate: Candidate,
    forecast: Forecast,
    offers: Sequence[Offer] | None = None,
    spread_min_saving: float = 0.0,
    commit_min_saving: float = 0.0,
) -> Evaluation:
    """The cheapest fleet of ``candidate`` for ``forecast`` using ``offers`` (its own commitments unless given). It buys
    at any date only where that saves ``spread_min_saving`` of a reserve that is bought anew when it expires, and no
    commitment that saves less than ``commit_min_saving`` of its cost; only where that is 0 does the bound hold for all
    fleets.

    Separable by level where every term covers the horizon: then sustained-use tiers and limited offers are exact too.
    Else, with those, it is the cheapest of a constant reserve, reserves that are bought anew at expiry, and, where it
    is offers that run out, what is best at any date without them.
    """
    sold = counted_dearer(candidate.commitments if offers is None else offers, commit_min_saving)
    counted = _evaluated(candidate, forecast, tuple(sold), spread_min_saving)
    fleet = replace(counted.fleet, holdings=as_sold(counted.fleet.holdings, sold))
    less = counted.cost - fleet.cost
    spread = None if counted.spread_cost is None else counted.spread_cost - less
    return replace(counted, fleet=fleet, cost=fleet.cost, bound=counted.bound - less, spread_cost=spread)


def fleet_of_one_offer(
    candidate: Candidate, forecast: Forecast, offer: Offer, spread_min_saving: float, commit_min_saving: float
) -> Fleet:
    """The fleet that :func:`evaluate` finds with this offer alone, but without the flow that tells its purchases at any
    date where a bound shows already that they save too little."""
    sold = counted_dearer([offer], commit_min_saving)
    if forecast.idle is None and not parts_not_rented(candidate, forecast).any() and not _is_special(candidate, sold):
        units = instances_needed(forecast.cores, forecast.memory, candidate)
        price, (kind,) = float(candidate.on_demand.hourly) * forecast.step_hours, (_kind(o, forecast) for o in sold)
        if bound := bound_before_flow(units, price, kind):
            fleet = _with_holdings(candidate, forecast, bought_at_expiry(candidate, forecast, tuple(sold)))
            if bound * (1 - PROOF_TOLERANCE) > float(fleet.cost) * (1 - spread_min_saving):
                return replace(fleet, holdings=as_sold(fleet.holdings, sold))
    return evaluate(candidate, forecast, [offer], spread_min_saving, commit_min_saving).fleet


def _is_special(candidate: Candidate, offers: Iterable[Offer]) -> bool:
    """Whether sustained use, or an offer that runs out, keeps a flow from telling what is best."""
    return candidate.sustained is not None or any(o.remaining is not None for o in offers)


def _evaluated(candidate: Candidate, forecast: Forecast, usable: Sequence[Offer], least: float) -> Evaluation:
    if forecast.idle is not None:
        return _with_idle_hours(candidate, forecast, usable)
    if parts_not_rented(candidate, forecast).any():
        return _with_parts(candidate, forecast, usable, least)
    return _in_whole_machines(candidate, forecast, usable, least)


def _in_whole_machines(candidate: Candidate, forecast: Forecast, usable: Sequence[Offer], least: float) -> Evaluation:
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    if not _is_special(candidate, usable):
        return _worth_spreading(_proven(candidate, forecast, units, usable), forecast, usable, least)
    holdings = _by_level(level_costs(candidate, units, forecast), usable, forecast.hours)
    fleet = _with_holdings(candidate, forecast, holdings)
    if all(o.term_hours >= forecast.hours for o in usable):
        return Evaluation(candidate, fleet, fleet.cost, fleet.cost, BY_LEVEL)
    bound = min(fleet.cost, _relaxed_bound(candidate, forecast, units, usable))
    constant = Evaluation(candidate, fleet, fleet.cost, bound, f"{BY_LEVEL}, renewed at expiry (see the gap)")
    others = [*_at_expiry(constant, forecast, usable)]
    if candidate.sustained is None:
        others += _at_any_date(constant, forecast, usable, least)
    return min((constant, *others), key=lambda e: e.cost)


def _at_expiry(constant: Evaluation, forecast: Forecast, offers: Sequence[Offer]) -> Iterator[Evaluation]:
    """Reserves that are bought anew when they expire, in another number or not at all: of all terms, and of each alone
    (an offer that runs out may not be worth the longer term that is left)."""
    candidate, terms = constant.candidate, sorted({o.term_hours for o in offers})
    alone = [[o for o in offers if o.term_hours == term] for term in terms]
    for usable in (offers, *(alone if len(terms) > 1 else ())):
        fleet = _with_holdings(candidate, forecast, bought_at_expiry(candidate, forecast, usable))
        bound = min(fleet.cost, constant.bound)
        yield Evaluation(candidate, fleet, fleet.cost, bound, f"{RENEWED} (see the gap)")


def _at_any_date(
    constant: Evaluation, forecast: Forecast, offers: Sequence[Offer], least: float
) -> Iterator[Evaluation]:
    """What would be best at any date if no offer ran out, and without those that do, each with the cheapest that are
    left when it is bought."""
    candidate = constant.candidate
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    for usable in (offers, [o for o in offers if o.remaining is None]):
        best = _worth_spreading(_proven(candidate, forecast, units, usable), forecast, usable, least)
        fleet = _with_holdings(candidate, forecast, while_they_last(best.fleet.holdings, offers))
        bound, method = min(fleet.cost, constant.bound), f"{best.method}, with offers that run out (see the gap)"
        yield Evaluation(candidate, fleet, fleet.cost, bound, method)


def _with_parts(candidate: Candidate, forecast: Forecast, offers: Sequence[Offer], least: float) -> Evaluation:
    """Where parts of machines are not rented: by level, which is exact where no term ends inside the horizon; else the
    cheapest of that, of what is bought anew at expiry, and of what whole machines alone would be worth."""
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    by_level = _with_holdings(
        candidate, forecast, _by_level(level_costs(candidate, units, forecast), offers, forecast.hours)
    )
    if all(o.term_hours >= forecast.hours for o in offers):
        return Evaluation(candidate, by_level, by_level.cost, by_level.cost, BY_LEVEL)
    whole = _in_whole_machines(candidate, forecast.in_whole_machines, offers, least)
    others = (whole.fleet.holdings, bought_at_expiry(candidate, forecast, offers))
    best = min((by_level, *(_with_holdings(candidate, forecast, h) for h in others)), key=lambda fleet: fleet.cost)
    parts = float(parts_not_rented(candidate, forecast).sum()) * forecast.step_hours
    saved = Decimal(repr(parts * float(candidate.on_demand.hourly)))
    bound = min(max(whole.bound - saved, Decimal(0)), best.cost)
    return Evaluation(candidate, best, best.cost, bound, f"{BY_LEVEL}, renewed at expiry (see the gap)")


def _proven(candidate: Candidate, forecast: Forecast, units: Counts, offers: Sequence[Offer]) -> Evaluation:
    kinds = [_kind(o, forecast) for o in offers]
    price = float(candidate.on_demand.hourly) * forecast.step_hours
    solution = optimal_reserve(units, price, kinds)
    holdings = tuple(
        Holding(offers[kind], count, start * forecast.step_seconds // SECONDS_PER_HOUR)
        for kind, start, count in solution.purchases
    )
    fleet = Fleet(holdings, _rented(candidate, solution.on_demand, forecast))
    gap = Decimal(repr(max(solution.gap, 0.0)))
    return Evaluation(candidate, fleet, fleet.cost, fleet.cost - gap, solution.method)


def _worth_spreading(best: Evaluation, forecast: Forecast, offers: Sequence[Offer], least: float) -> Evaluation:
    """The best fleet, or a reserve that is only bought anew at expiry where purchases at any date save less than a part
    of it: they are more to run, and their dates are no more certain than the forecast."""
    held = best.fleet.holdings
    if renewed([h for h in held if h.start_hour == 0], forecast.hours) == held:
        return best
    fleet = _with_holdings(best.candidate, forecast, bought_at_expiry(best.candidate, forecast, offers))
    if best.cost < fleet.cost * (1 - Decimal(repr(least))):
        return best
    return Evaluation(best.candidate, fleet, fleet.cost, best.bound, RENEWED, best.cost)


def _kind(offer: Offer, forecast: Forecast) -> CommitmentKind:
    return CommitmentKind(
        str(offer.key), offer.term_hours * SECONDS_PER_HOUR // forecast.step_seconds, float(offer.term_cost)
    )


def _with_idle_hours(candidate: Candidate, forecast: Forecast, offers: Sequence[Offer]) -> Evaluation:
    """Where idle hours of what is reserved carry batch, another instance that is reserved saves more than its own
    hours: the dollars on demand by the number reserved are convex but for whole instances, so the least of that curve
    is found by halving, and the best number in whole instances beside it."""
    curve = _IdleCurve.of(candidate, forecast, offers)
    low, high = 0, curve.most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if curve.bound(middle + 1) >= curve.bound(middle) else (middle + 1, high)
    plain = sum(h.count for h in static_hybrid(candidate, forecast, offers).holdings if h.start_hour == 0)
    near = {*range(max(low - BESIDE, 0), min(low + BESIDE, curve.most) + 1), min(plain, curve.most)}
    fleets = [_with_holdings(candidate, forecast, fill(offers, count, forecast.hours)) for count in sorted(near)]
    best = min(fleets, key=lambda fleet: fleet.cost)
    if all(o.term_hours >= forecast.hours for o in offers):
        return Evaluation(candidate, best, best.cost, min(Decimal(repr(curve.bound(low))), best.cost), BY_IDLE_HOURS)
    best = min((best, *_for_whole_terms(candidate, forecast, offers)), key=lambda fleet: fleet.cost)
    bound = min(best.cost, _relaxed_bound(candidate, forecast, curve.least, offers))
    return Evaluation(candidate, best, best.cost, bound, f"{BY_IDLE_HOURS}, renewed at expiry (see the gap)")


def _for_whole_terms(candidate: Candidate, forecast: Forecast, offers: Sequence[Offer]) -> Iterator[Fleet]:
    """A reserve of each term for as many whole terms as the horizon has, and rented machines after that."""
    for term in sorted({o.term_hours for o in offers}):
        hours = forecast.hours // term * term
        if 0 < hours < forecast.hours:
            first = forecast.first(hours * SECONDS_PER_HOUR // forecast.step_seconds)
            best = _with_idle_hours(candidate, first, [o for o in offers if o.term_hours == term])
            yield _with_holdings(candidate, forecast, best.fleet.holdings)


@dataclass(frozen=True, slots=True)
class _IdleCurve:
    """What so many reserved instances cost at the least, with idle hours: ``least`` is the instances in use at each
    step where all services are on reserved machines, ``price`` that of a step on demand, ``most`` the number beyond
    which nothing is left to save or to be had."""

    candidate: Candidate
    forecast: Forecast
    offers: Sequence[Offer]
    least: Counts
    price: float
    most: int

    @classmethod
    def of(cls, candidate: Candidate, forecast: Forecast, offers: Sequence[Offer]) -> _IdleCurve:
        """The curve of a type under some offers."""
        every, none = forecast.beside(float(np.inf)), forecast.beside(0.0)
        least = instances_needed(every.cores, every.memory, candidate)
        factor = 1.0 if candidate.sustained is None else float(candidate.sustained.full_month_factor)
        price = float(candidate.on_demand.hourly) * forecast.step_hours * factor
        peak = int(instances_needed(none.cores, none.memory, candidate).max(initial=0))
        endless = any(o.remaining is None for o in offers)
        there = peak if endless else sum(o.remaining or 0 for o in offers)
        return cls(candidate, forecast, offers, least, price, min(peak, there))

    def bound(self, count: int) -> float:
        """What ``count`` reserved instances and what is rented beside them cost at the least: whole ones where all
        services are on reserved machines, fractions elsewhere."""
        vcpus, gib = map(float, self.candidate.capacity)
        left = self.forecast.beside(count * vcpus)
        parts = np.maximum(left.cores / vcpus, left.memory / gib) * (1 - SLACK)
        rented = np.maximum(np.maximum(parts, self.least) - count, 0.0)
        fees = sum((h.cost for h in fill(self.offers, count, self.forecast.hours)), Decimal(0))
        return float(fees) + self.price * float(rented.sum())


def _by_level(costs: Floats, offers: Sequence[Offer], horizon_hours: int) -> tuple[Holding, ...]:
    """Cover levels from the busiest down with the cheapest offer left, as long as it undercuts the level on demand."""
    worth = 0
    for offer in ladder(offers, horizon_hours):
        price = float(cost_over(offer, horizon_hours)) + WORTH_A_COMMITMENT
        end = len(costs) if offer.remaining is None else min(worth + offer.remaining, len(costs))
        worth += int(np.sum(costs[worth:end] > price))  # costs fall from level to level
        if worth < end:
            break
    return fill(offers, worth, horizon_hours)


def cost_over(offer: Offer, horizon_hours: int) -> Decimal:
    """Dollars for one instance over the horizon, renewed at expiry and charged in full."""
    return offer.term_cost * -(-horizon_hours // offer.term_hours)


def pays_above(candidate: Candidate, offer: Offer, horizon_hours: int) -> Decimal:
    """The share of the time an instance must be in use for the offer to pay: of its term, or of a horizon that ends
    before."""
    return pays_throughout(candidate, offer, min(offer.term_hours, horizon_hours))


def pays_throughout(candidate: Candidate, offer: Offer, horizon_hours: int) -> Decimal:
    """The share of the horizon an instance must be in use for the offer to pay, renewed and charged in full."""
    on_demand = candidate.on_demand.hourly * horizon_hours
    return break_even(cost_over(offer, horizon_hours), on_demand, candidate.sustained)


def ladder(offers: Sequence[Offer], horizon_hours: int) -> tuple[Offer, ...]:
    """The offers worth having, cheapest over the horizon first, up to the first that never runs out."""
    order = sorted(offers, key=lambda o: (cost_over(o, horizon_hours), preference(o)))
    endless = next((i for i, o in enumerate(order) if o.remaining is None), len(order) - 1)
    return tuple(order[: endless + 1])


def fill(offers: Sequence[Offer], count: int, horizon_hours: int) -> tuple[Holding, ...]:
    """``count`` instances from the cheapest offers on, each as far as it lasts, renewed at expiry; fewer where all run
    out."""
    held = [Holding(offer, taken) for offer, taken in taken_of(ladder(offers, horizon_hours), count)]
    return renewed(held, horizon_hours)


def renewed(holdings: Sequence[Holding], horizon_hours: int) -> tuple[Holding, ...]:
    """The holdings bought again at each expiry until the horizon is covered."""
    return tuple(
        Holding(h.offer, h.count, start) for h in holdings for start in range(0, horizon_hours, h.offer.term_hours)
    )


def _relaxed_bound(candidate: Candidate, forecast: Forecast, units: Counts, offers: Sequence[Offer]) -> Decimal:
    """A bound with on-demand at its full-month price and no limits on offers: both only make plans cheaper."""
    factor = 1.0 if candidate.sustained is None else float(candidate.sustained.full_month_factor)
    price = float(candidate.on_demand.hourly) * forecast.step_hours * factor
    return Decimal(repr(optimal_reserve(units, price, [_kind(o, forecast) for o in offers]).dual_bound))


def _with_holdings(candidate: Candidate, forecast: Forecast, holdings: Sequence[Holding]) -> Fleet:
    held = held_instances(holdings, forecast)
    needed = forecast.beside(np.multiply(held, float(candidate.capacity[0]), dtype=np.float64))
    left = np.maximum(instances_needed(needed.cores, needed.memory, candidate) - held, 0)
    return Fleet(tuple(holdings), _rented(candidate, left, forecast))


def held_instances(holdings: Sequence[Holding], forecast: Forecast) -> Counts:
    """Instances under commitment at every step."""
    held = np.zeros(len(forecast), dtype=np.int64)
    for holding in holdings:
        held[holding.steps(forecast)] += holding.count
    return held


def _rented(candidate: Candidate, counts: Counts, forecast: Forecast) -> tuple[PlannedRental, ...]:
    return (rent(candidate, counts, forecast),) if counts.any() else ()


def all_on_demand(candidate: Candidate, forecast: Forecast) -> Fleet:
    """Everything rented as it is needed."""
    return _with_holdings(candidate, forecast, ())


def cheapest_on_demand(choices: Sequence[tuple[Candidate, Forecast]]) -> Fleet:
    """Of several types, each with the demand as it sees it, the one that is rented for least."""

    def least(choice: tuple[Candidate, Forecast]) -> float:
        candidate, forecast = choice
        rule = candidate.sustained
        factor = 1.0 if rule is None else float(rule.full_month_factor)
        needed = forecast.beside(0.0)
        steps = instances_needed(needed.cores, needed.memory, candidate) - parts_not_rented(candidate, forecast)
        hours = float(steps.sum()) * forecast.step_hours
        return hours * float(candidate.on_demand.hourly) * factor

    best: Fleet | None = None
    for bound, at in sorted((least(choice), at) for at, choice in enumerate(choices)):
        if best is not None and bound > float(best.cost) * (1 + PROOF_TOLERANCE):
            break
        fleet = all_on_demand(*choices[at])
        best = fleet if best is None or fleet.cost < best.cost else best
    assert best is not None
    return best


def reserved_for_peak(candidate: Candidate, forecast: Forecast, overprovision: float) -> Fleet | None:
    """The peak plus a margin under the cheapest commitments, renewed at expiry (strategy SR); None without offers."""
    if not candidate.commitments:
        return None
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    count = int(np.ceil(int(units.max()) * (1 + overprovision) - 1e-9))
    return _with_holdings(candidate, forecast, fill(candidate.commitments, count, forecast.hours))


def static_hybrid(
    candidate: Candidate, forecast: Forecast, offers: Sequence[Offer] | None = None, commit_min_saving: float = 0.0
) -> Fleet:
    """One constant reserve from the break-even quantile of demand (idle hours or not), renewed at expiry (the closed
    form)."""
    sold = counted_dearer(candidate.commitments if offers is None else offers, commit_min_saving)
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    held = _by_level(level_costs(candidate, units, forecast), tuple(sold), forecast.hours)
    return _with_holdings(candidate, forecast, as_sold(held, sold))

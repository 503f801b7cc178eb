"""The cheapest fleet of one instance type for a forecast, with its bound: closed form, network flow or by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.flexibility import preference
from hcloud.catalog.quote import break_even, sustained_factor
from hcloud.model.catalog import Offer
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import (
    SLACK,
    Fleet,
    Holding,
    PlannedRental,
    instances_needed,
    parts_owned,
    rent,
    steps_at_or_above,
    steps_in_use,
)
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.reserving.reserve import PROOF_TOLERANCE, CommitmentKind, optimal_reserve
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats
    from hcloud.planning.fleets.fleet import Counts

BY_LEVEL = "level by level"
RENEWED = "a reserve renewed at expiry"
BY_IDLE_HOURS = "level by level, with idle hours"
BESIDE = 4  # ours: so many whole instances to either side of the best number in fractions are tried
WORTH_A_COMMITMENT = 1e-9  # a level must save more than rounding noise to be worth a commitment


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
    candidate: Candidate, forecast: Forecast, offers: Sequence[Offer] | None = None, spread_min_saving: float = 0.0
) -> Evaluation:
    """The cheapest fleet of ``candidate`` for ``forecast`` using ``offers`` (its own commitments unless given). It buys
    at any date only where that saves ``spread_min_saving`` of a reserve that is bought anew when it expires.

    Separable by level where every term covers the horizon: then sustained-use tiers and limited offers are exact too.
    """
    usable = candidate.commitments if offers is None else tuple(offers)
    if forecast.idle is not None:
        return _with_idle_hours(candidate, forecast, usable)
    if parts_owned(candidate, forecast).any():
        return _with_parts(candidate, forecast, usable, spread_min_saving)
    return _in_whole_machines(candidate, forecast, usable, spread_min_saving)


def _in_whole_machines(candidate: Candidate, forecast: Forecast, usable: Sequence[Offer], least: float) -> Evaluation:
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    special = candidate.sustained is not None or any(o.remaining is not None for o in usable)
    if not special:
        return _worth_spreading(_proven(candidate, forecast, units, usable), forecast, usable, least)
    holdings = _by_level(level_costs(candidate, units, forecast), usable, forecast.hours)
    fleet = _with_holdings(candidate, forecast, holdings)
    if all(o.term_hours >= forecast.hours for o in usable):
        return Evaluation(candidate, fleet, fleet.cost, fleet.cost, BY_LEVEL)
    bound = min(fleet.cost, _relaxed_bound(candidate, forecast, units, usable))
    return Evaluation(candidate, fleet, fleet.cost, bound, f"{BY_LEVEL}, renewed at expiry (see the gap)")


def _with_parts(candidate: Candidate, forecast: Forecast, offers: Sequence[Offer], least: float) -> Evaluation:
    """Where parts of machines are owned: by level, which is exact where no term ends inside the horizon; else no more
    than pays off is kept of what whole machines alone would be worth."""
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    by_level = _with_holdings(
        candidate, forecast, _by_level(level_costs(candidate, units, forecast), offers, forecast.hours)
    )
    if all(o.term_hours >= forecast.hours for o in offers):
        return Evaluation(candidate, by_level, by_level.cost, by_level.cost, BY_LEVEL)
    whole = _in_whole_machines(candidate, forecast.in_whole_machines, offers, least)
    spread = _with_holdings(candidate, forecast, whole.fleet.holdings)
    owned = float(parts_owned(candidate, forecast).sum()) * forecast.step_hours * float(candidate.on_demand.hourly)
    best = min((by_level, spread), key=lambda fleet: fleet.cost)
    bound = min(max(whole.bound - Decimal(repr(owned)), Decimal(0)), best.cost)
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
    fleet = _with_holdings(best.candidate, forecast, _bought_at_expiry(best.candidate, forecast, offers))
    if best.cost < fleet.cost * (1 - Decimal(repr(least))):
        return best
    return Evaluation(best.candidate, fleet, fleet.cost, best.bound, RENEWED, best.cost)


def _bought_at_expiry(candidate: Candidate, forecast: Forecast, offers: Sequence[Offer]) -> tuple[Holding, ...]:
    """The cheapest reserve that is bought in the first hour of the horizon and each time that a term of it ends.

    Each level of demand is served, in every span of a term, by the least of its on-demand cost, one commitment of that
    term, and shorter terms one after the other.
    """
    cheapest = best_by_term(offers)
    shortest = cheapest[0].term_hours
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    costs = _level_costs_by_span(units, shortest, float(candidate.on_demand.hourly), forecast)
    held: list[Holding] = []
    covered = np.zeros(len(costs), np.int64)
    worth = [spans for offer in cheapest for spans in _worth_a_term(offer, shortest, costs)]
    for offer, span, count in reversed(worth):  # the longest first: what it serves, shorter terms need not
        if count > covered[span].max():
            held.append(Holding(offer, count - int(covered[span].max()), span.start * shortest))
            covered[span] = count
    return tuple(sorted(held, key=lambda h: (-h.offer.term_hours, h.start_hour)))


def _level_costs_by_span(units: Counts, span_hours: int, hourly: float, forecast: Forecast) -> Floats:
    """On-demand dollars [span, level] of each concurrent level in each span of the horizon."""
    steps = span_hours * SECONDS_PER_HOUR // forecast.step_seconds
    costs = np.zeros((-(-len(units) // steps), int(units.max(initial=0))))
    for at, row in enumerate(costs):
        used = steps_at_or_above(units[at * steps : (at + 1) * steps])
        row[: len(used)] = used * (hourly * forecast.step_hours)
    return costs


def _worth_a_term(offer: Offer, shortest: int, costs: Floats) -> Iterator[tuple[Offer, slice, int]]:
    """The spans of each term and the levels that the offer serves for less than ``costs``, which become its own. A term
    that is no multiple of the shortest is left out."""
    if offer.term_hours % shortest:
        return
    length = offer.term_hours // shortest
    for first in range(0, len(costs), length):
        span = slice(first, min(first + length, len(costs)))
        count = int(np.sum(costs[span].sum(axis=0) > float(offer.term_cost) + WORTH_A_COMMITMENT))
        costs[span, :count] = float(offer.term_cost) / (span.stop - first)  # a level is used no more than the one below
        yield offer, span, count


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
    bound = min(best.cost, _relaxed_bound(candidate, forecast, curve.least, offers))
    return Evaluation(candidate, best, best.cost, bound, f"{BY_IDLE_HOURS}, renewed at expiry (see the gap)")


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


def level_costs(candidate: Candidate, units: Counts, forecast: Forecast) -> Floats:
    """On-demand dollars over the horizon of each concurrent level k = 1 .. peak, sustained use included."""
    price, parts = float(candidate.on_demand.hourly), parts_owned(candidate, forecast)
    if candidate.sustained is None:
        used = steps_in_use(units, parts)
        return np.multiply(used, price * forecast.step_hours, dtype=np.float64)
    rule, months = candidate.sustained, forecast.months
    ends = np.linspace(0, 1, 65)
    factors = np.array([float(sustained_factor(rule, Decimal(repr(float(u))))) for u in ends])
    costs = np.zeros(int(units.max(initial=0)))
    for month in range(int(months[-1]) + 1):
        used = steps_in_use(units[months == month], parts[months == month])
        # the tiers are linear between quarters of the month, and the grid holds every quarter: no rounding here
        share = used * (forecast.step_hours / HOURS_PER_MONTH)
        costs[: len(used)] += np.interp(share, ends, factors) * (HOURS_PER_MONTH * price)
    return costs


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
    """The share of the horizon an instance must be in use for the offer to pay, renewed and charged in full."""
    on_demand = candidate.on_demand.hourly * horizon_hours
    return break_even(cost_over(offer, horizon_hours), on_demand, candidate.sustained)


def best_by_term(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Of each term the cheapest offer, of equals the one that is preferred; the shortest term first."""
    dearest_first = sorted(offers, key=lambda o: (o.term_cost, preference(o)), reverse=True)
    found = {o.term_hours: o for o in dearest_first}
    return tuple(found[term] for term in sorted(found))


def ladder(offers: Sequence[Offer], horizon_hours: int) -> tuple[Offer, ...]:
    """The offers worth having, cheapest over the horizon first, up to the first that never runs out."""
    order = sorted(offers, key=lambda o: (cost_over(o, horizon_hours), preference(o)))
    endless = next((i for i, o in enumerate(order) if o.remaining is None), len(order) - 1)
    return tuple(order[: endless + 1])


def fill(offers: Sequence[Offer], count: int, horizon_hours: int) -> tuple[Holding, ...]:
    """``count`` instances from the cheapest offers on, each as far as it lasts, renewed at expiry; fewer where all run
    out."""
    held: list[Holding] = []
    for offer in ladder(offers, horizon_hours):
        taken = count if offer.remaining is None else min(count, offer.remaining)
        count -= taken
        if taken:
            held.append(Holding(offer, taken))
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
        steps = instances_needed(needed.cores, needed.memory, candidate) - parts_owned(candidate, forecast)
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


def static_hybrid(candidate: Candidate, forecast: Forecast, offers: Sequence[Offer] | None = None) -> Fleet:
    """One constant reserve from the break-even quantile of demand (idle hours or not), renewed at expiry (the closed
    form)."""
    usable = candidate.commitments if offers is None else offers
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    return _with_holdings(
        candidate, forecast, _by_level(level_costs(candidate, units, forecast), usable, forecast.hours)
    )

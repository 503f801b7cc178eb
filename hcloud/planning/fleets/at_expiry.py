"""A reserve of one instance type that is bought in the first hour of the horizon and whenever a term of it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.flexibility import preference
from hcloud.catalog.quote import sustained_factor
from hcloud.model.catalog import Offer
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Holding, instances_needed, parts_not_rented, steps_in_use
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats
    from hcloud.planning.fleets.fleet import Counts

WORTH_A_COMMITMENT = 1e-9  # a level must save more than rounding noise to be worth a commitment
WHOLE = slice(None)


def bought_at_expiry(candidate: Candidate, forecast: Forecast, offers: Sequence[Offer]) -> tuple[Holding, ...]:
    """The cheapest reserve that is bought in the first hour of the horizon and each time that a term of it ends, in the
    number that pays off until the next; the rest is rented. Where offers run out it need not be the cheapest.

    Each level of demand is served, in every span of a term, by the least of its on-demand cost, one commitment of that
    term, and shorter terms one after the other.
    """
    terms = sorted({o.term_hours for o in offers})
    ladders = [tiers([o for o in offers if o.term_hours == term]) for term in terms]
    shortest = terms[0]
    costs = _level_costs_by_span(candidate, shortest, forecast)
    held: list[Holding] = []
    covered = np.zeros(len(costs), np.int64)
    worth = [spans for each in ladders for spans in _worth_a_term(each, shortest, costs)]
    for each, span, count in reversed(worth):  # the longest first: what it serves, shorter terms need not
        before = int(covered[span].max())
        if count > before:
            held += [Holding(offer, taken, span.start * shortest) for offer, taken in taken_of(each, count - before)]
            covered[span] = count
    return tuple(sorted(held, key=lambda h: (-h.offer.term_hours, h.start_hour)))


def tiers(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Of the offers of one term those worth having, the cheapest first, up to the first that never runs out."""
    order = sorted(offers, key=lambda o: (o.term_cost, preference(o)))
    endless = next((i for i, o in enumerate(order) if o.remaining is None), len(order) - 1)
    return tuple(order[: endless + 1])


def taken_of(offers: Sequence[Offer], count: int) -> Iterator[tuple[Offer, int]]:
    """``count`` instances from the first offers on, each as far as it lasts; fewer where all run out."""
    for offer in offers:
        taken = count if offer.remaining is None else min(count, offer.remaining)
        count -= taken
        if taken:
            yield offer, taken


def while_they_last(holdings: Sequence[Holding], offers: Sequence[Offer]) -> tuple[Holding, ...]:
    """The holdings, each bought at the cheapest offers of its term that are left at its date; fewer where none is."""
    held: list[Holding] = []
    for holding in sorted(holdings, key=lambda h: h.start_hour):
        same = tiers([o for o in offers if o.term_hours == holding.offer.term_hours])
        left = [
            o if o.remaining is None else replace(o, remaining=o.remaining - _in_force(held, o, holding)) for o in same
        ]
        held += [Holding(same[left.index(o)], n, holding.start_hour) for o, n in taken_of(left, holding.count)]
    return tuple(held)


def _in_force(held: Sequence[Holding], offer: Offer, at: Holding) -> int:
    """Instances of an offer that are held when another holding begins."""
    return sum(h.count for h in held if h.offer == offer and h.start_hour + offer.term_hours > at.start_hour)


def _level_costs_by_span(candidate: Candidate, span_hours: int, forecast: Forecast) -> Floats:
    """On-demand dollars [span, level] of each concurrent level in each span of the horizon."""
    units = instances_needed(forecast.cores, forecast.memory, candidate)
    steps = span_hours * SECONDS_PER_HOUR // forecast.step_seconds
    costs = np.zeros((-(-len(units) // steps), int(units.max(initial=0))))
    for at, row in enumerate(costs):
        each = level_costs(candidate, units, forecast, slice(at * steps, (at + 1) * steps))
        row[: len(each)] = each
    return costs


def _worth_a_term(
    offers: Sequence[Offer], shortest: int, costs: Floats
) -> Iterator[tuple[Sequence[Offer], slice, int]]:
    """The spans of each term and the number of levels that its offers serve for less than ``costs``, which become their
    own. A term that is no multiple of the shortest is left out."""
    if offers[0].term_hours % shortest:
        return
    length, levels = offers[0].term_hours // shortest, costs.shape[1]
    taken = [np.full(count, float(offer.term_cost)) for offer, count in taken_of(offers, levels)]
    prices = np.concatenate([*taken, np.full(levels, np.inf)])[:levels]
    for first in range(0, len(costs), length):
        span = slice(first, min(first + length, len(costs)))
        dearest = np.argsort(-costs[span].sum(axis=0), kind="stable")
        count = int(np.sum(costs[span].sum(axis=0)[dearest] > prices + WORTH_A_COMMITMENT))  # these fall, prices rise
        costs[span, dearest[:count]] = prices[:count] / (span.stop - first)
        yield offers, span, count


def level_costs(candidate: Candidate, units: Counts, forecast: Forecast, steps: slice = WHOLE) -> Floats:
    """On-demand dollars over some steps of the horizon of each concurrent level k = 1 .. peak, sustained use
    included."""
    price, units = float(candidate.on_demand.hourly), units[steps]
    parts = parts_not_rented(candidate, forecast)[steps]
    if candidate.sustained is None:
        return np.multiply(steps_in_use(units, parts), price * forecast.step_hours, dtype=np.float64)
    rule, months = candidate.sustained, forecast.months[steps]
    ends = np.linspace(0, 1, 65)
    factors = np.array([float(sustained_factor(rule, Decimal(repr(float(u))))) for u in ends])
    costs = np.zeros(int(units.max(initial=0)))
    for month in range(int(months[0]), int(months[-1]) + 1):
        used = steps_in_use(units[months == month], parts[months == month])
        # the tiers are linear between quarters of the month, and the grid holds every quarter: no rounding here
        share = used * (forecast.step_hours / HOURS_PER_MONTH)
        costs[: len(used)] += np.interp(share, ends, factors) * (HOURS_PER_MONTH * price)
    return costs


def best_by_term(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Of each term the cheapest offer, of equals the one that is preferred; the shortest term first."""
    dearest_first = sorted(offers, key=lambda o: (o.term_cost, preference(o)), reverse=True)
    found = {o.term_hours: o for o in dearest_first}
    return tuple(found[term] for term in sorted(found))

"""Why a decision came out as it did, in sentences with numbers, and every refused option with its margin."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from hcloud.model.catalog import Offer
from hcloud.model.plan import Refusal
from hcloud.planning.candidates import Candidate
from hcloud.planning.decide import Decision
from hcloud.planning.evaluate import held_instances
from hcloud.planning.fleet import Holding, instances_needed, serve, steps_at_or_above
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR, cents, rate


def reasons(decision: Decision) -> tuple[str, ...]:
    """The few sentences that carry the plan: the type, the level of the reserve, the option and the proof."""
    return (*_why_these_types(decision), *_why_this_reserve(decision), *_why_sized(decision))


def _why_these_types(decision: Decision) -> Iterator[str]:
    best = decision.evaluations[0]
    names = " + ".join(c.shape.name for c in decision.types)
    if len(decision.types) > 1:
        saved = best.cost - decision.fleet.cost
        yield (
            f"{names}: together {float(saved / best.cost):.1%} cheaper than {best.candidate.shape.name} alone, as the "
            "demand's GiB per vCPU lies between their shapes"
        )
        return
    others = [e for e in decision.evaluations[1:] if e.candidate.shape.name != best.candidate.shape.name]
    if not others:
        yield f"{names} is the only type allowed"
        return
    margin = others[0].cost - best.cost
    yield (
        f"{names} is the cheapest of {len(decision.evaluations)} types; {others[0].candidate.shape.name} comes next, "
        f"dearer by {float(margin / best.cost):.1%}"
    )


def _why_this_reserve(decision: Decision) -> Iterator[str]:
    if len(decision.types) != 1:
        return
    candidate = decision.types[0]
    if not decision.fleet.holdings:
        yield _why_nothing_reserved(decision, candidate)
        return
    if any(h.start_hour for h in decision.fleet.holdings):
        yield "purchases are spread over time: each starts when the demand it serves has come"
        return
    held = held_instances(decision.fleet.holdings, decision.forecast)
    count, use = int(held.max()), _use_of_levels(decision, candidate)
    last = use[count - 1] if count <= len(use) else 0.0
    following = use[count] if count < len(use) else 0.0
    cheapest = min(decision.fleet.holdings, key=lambda h: h.offer.effective_hourly)
    share = float(cheapest.offer.effective_hourly / candidate.on_demand.hourly)
    yield (
        f"instance {count} of the reserve is in use {last:.1%} of the time and the next one would be {following:.1%}; "
        f"{_option(cheapest.offer)} pays above {share:.1%}"
    )


def _why_nothing_reserved(decision: Decision, candidate: Candidate) -> str:
    if not candidate.commitments:
        return f"{candidate.address} has no commitment among the allowed options, so everything stays on demand"
    least = min(
        float(o.term_cost / (candidate.on_demand.hourly * decision.horizon_hours)) for o in candidate.commitments
    )
    use = _use_of_levels(decision, candidate)
    busiest = use[0] if len(use) else 0.0
    return f"even the busiest instance is in use {busiest:.1%} of the time; no commitment pays below {least:.1%}"


def _why_sized(decision: Decision) -> Iterator[str]:
    if decision.sized_at is not None:
        yield (
            f"the reserve is {decision.scale:.0%} of the forecast's optimum: the size with the least regret at the "
            f"{decision.sized_at:.0%} quantile of {len(decision.spread.costs) if decision.spread else 0} futures"
        )


def _use_of_levels(decision: Decision, candidate: Candidate) -> list[float]:
    """The share of the horizon each concurrent instance is in use, busiest first."""
    units = instances_needed(decision.forecast.cores, decision.forecast.memory, candidate)
    return [float(n) / len(units) for n in steps_at_or_above(units)]


def _option(offer: Offer) -> str:
    return f"a {offer.key.term_years}-year {offer.key.payment} {offer.key.option}"


def refusals(decision: Decision) -> tuple[Refusal, ...]:
    """Other types with the margin of their own best plan, other commitments of the chosen types, and rules."""
    found = [*_other_types(decision), *_other_options(decision), *decision.refusals]
    return tuple(sorted(found, key=lambda r: (r.margin is None, r.margin or Decimal(0), r.address)))


def _other_types(decision: Decision) -> Iterator[Refusal]:
    chosen = {c.address for c in decision.types}
    for evaluation in decision.evaluations:
        if evaluation.candidate.address in chosen:
            continue
        margin = evaluation.cost - decision.fleet.cost
        yield Refusal(
            evaluation.candidate.address,
            "its own cheapest plan costs more for the same demand",
            cents(evaluation.cost),
            cents(margin),
            f"its prices fall by {float(margin / evaluation.cost):.1%}",
        )


def _other_options(decision: Decision) -> Iterator[Refusal]:
    bought = {h.offer.key for h in decision.fleet.holdings}
    for candidate in decision.types:
        mine = [h for h in decision.fleet.holdings if h.offer.key.instance_type == candidate.shape.name]
        others = [o for o in candidate.commitments if o.key not in bought]
        if mine:
            yield from (_instead(decision, candidate, offer, mine) for offer in others)
        elif others:
            avoided = _avoided_by_one_more(decision, others[0])
            yield from (_in_addition(decision, candidate, offer, avoided) for offer in others)


def _in_place_of(decision: Decision, offer: Offer, start_hour: int, hours: int) -> Decimal:
    """Dollars to cover ``hours`` from ``start_hour`` with one instance of the offer, renewed and charged in full."""
    covered = min(hours, decision.horizon_hours - start_hour)
    return offer.term_cost * -(-covered // offer.term_hours)


def _instead(decision: Decision, candidate: Candidate, offer: Offer, mine: list[Holding]) -> Refusal:
    """The same instances at the same times under this offer in place of what was bought."""
    wanted = sum((_in_place_of(decision, offer, h.start_hour, h.offer.term_hours) * h.count for h in mine), Decimal(0))
    margin = wanted - sum((h.cost for h in mine), Decimal(0))
    bought = min((h.offer for h in mine), key=lambda o: o.effective_hourly)
    reason = f"${rate(offer.effective_hourly)}/h effective against ${rate(bought.effective_hourly)}/h"
    if offer.term_hours > decision.horizon_hours:
        reason = _outlasts(decision, candidate, offer, max(h.count for h in mine))
    return _dearer(decision, offer, reason, margin, wanted)


def _avoided_by_one_more(decision: Decision, offer: Offer) -> Decimal:
    """On-demand dollars that one more instance of the offer's type would save."""
    more = serve(decision.forecast, decision.types, (*decision.fleet.holdings, Holding(offer, 1)))
    return decision.fleet.rentals_cost - more.rentals_cost


def _in_addition(decision: Decision, candidate: Candidate, offer: Offer, avoided: Decimal) -> Refusal:
    """One instance under this offer beside what was bought."""
    wanted = _in_place_of(decision, offer, 0, decision.horizon_hours)
    used = float(avoided / (candidate.on_demand.hourly * decision.horizon_hours))
    pays = float(wanted / (candidate.on_demand.hourly * decision.horizon_hours))
    reason = f"one more instance would be in use {used:.1%} of the time, it pays above {pays:.1%}"
    return _dearer(decision, offer, reason, wanted - avoided, wanted)


def _dearer(decision: Decision, offer: Offer, reason: str, margin: Decimal, wanted: Decimal) -> Refusal:
    flips = f"its price falls by {float(margin / wanted):.1%}" if cents(margin) > 0 else "the tie is broken otherwise"
    return Refusal(str(offer.key), reason, cents(decision.fleet.cost + margin), cents(margin), flips)


def _outlasts(decision: Decision, candidate: Candidate, offer: Offer, count: int) -> str:
    """How long the demand would have to last for a term beyond the horizon."""
    use = float(np.mean(_use_of_levels(decision, candidate)[:count] or [0.0]))
    monthly = float(candidate.on_demand.hourly) * HOURS_PER_MONTH * use
    months = float(offer.term_cost) / monthly if monthly else float("inf")
    horizon = decision.horizon_hours / HOURS_PER_YEAR
    return (
        f"outlasts the horizon of {horizon:g} y and is charged in full; beats on-demand if the demand lasts "
        f"{months:.0f} months (planning.horizon)"
    )

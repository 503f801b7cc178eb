"""Why a decision came out as it did, in sentences with numbers, and every refused option with its margin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.flexibility import preference, why_preferred
from hcloud.model.catalog import Offer
from hcloud.model.plans.held import is_soon
from hcloud.model.plans.plan import Flip, Lever, Refusal
from hcloud.planning.decide import FleetDecision
from hcloud.planning.explanations.flips import falls_by, latest_flip, offer_flip, pool_of, saved_by, type_flip
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import cost_over, fleet_of_one_offer, held_instances, pays_above, pays_throughout
from hcloud.planning.fleets.fleet import SLACK, Fleet, Holding, instances_needed, parts_not_rented, steps_in_use
from hcloud.planning.fleets.floor import LeftOut
from hcloud.planning.settings import Outlook
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR, cents, counted_vcpus, format_money, rate

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

TELLING = 0.01  # ours: memory is named as the reason where it adds this share of the time
WORTH_A_WORD = 0.0005  # ours: what purchases at several dates would save of a plan


def reasons(decision: FleetDecision) -> tuple[str, ...]:
    """The few sentences that carry the plan: the types, the level of the reserve and the option, the sizing."""
    return (
        *_what_is_planned_for(decision.settings.outlook),
        *_why_these_types(decision),
        *_why_this_reserve(decision),
        *decision.left_out.said(decision.settings.commit_min_saving),
        *_why_of_equals(decision),
        *_why_sized(decision),
        *_what_whole_jobs_cost(decision),
    )


def _what_is_planned_for(outlook: Outlook) -> Iterator[str]:
    """What is added to the demand of the trace: ten for ten per cent would be eleven times as much."""
    growth, room = outlook.growth_per_year, outlook.headroom
    verb = "growing" if growth > 0 else "falling"
    grown = [f"{verb} by {abs(growth) * 100:,g}% a year (planning.growth_per_year)"] if growth else []
    spare = [f"with {room * 100:,g}% of spare capacity (planning.headroom)"] if room else []
    if grown or spare:
        yield f"planned for the demand of the trace, {' '.join((*grown, *spare))}"


def _why_these_types(decision: FleetDecision) -> Iterator[str]:
    best = decision.evaluations[0]
    if not decision.fleet.cost:
        named = (("owned", any(o.hours_left for o in decision.owned)), ("spot", bool(decision.spot.rentals)))
        serving = " and ".join(name for name, serves in named if serves)
        yield f"{serving} capacity serves all demand: nothing to reserve or rent on demand"
        return
    names = " + ".join(c.shape.name for c in decision.types)
    if len(decision.types) > 1:
        saved = float(1 - decision.optimum_cost / best.cost)
        yield f"{names}: together {saved:.1%} cheaper than {best.candidate.shape.name} alone"
        return
    others = decision.evaluations[1:]
    if not others:
        only = f"{names} is the only type"
        if len(decision.ladders[best.candidate.address]) > 1:
            only = f"{best.candidate.shape.family} is the only family"
        elif decision.settings.markets[0].vcpus:
            only += f" of {counted_vcpus(float(best.candidate.shape.vcpus))}"
        yield f"{only} allowed"
        return
    several = len({e.candidate.on_demand.key.region for e in decision.evaluations}) > 1
    choices = f"{len(decision.evaluations)} " + ("types and regions" if several else "types")
    first, second = (e.candidate.address if several else e.candidate.shape.name for e in decision.evaluations[:2])
    margin = float(others[0].cost / best.cost - 1)
    yield f"{first} is the cheapest of {choices}; {second} comes next, {margin:.1%} dearer"


def _why_this_reserve(decision: FleetDecision) -> Iterator[str]:
    if not decision.fleet.cost:
        return
    if len(decision.types) != 1:
        yield from _why_this_mix(decision)
        return
    candidate, holdings = decision.types[0], decision.fleet.holdings
    if not holdings:
        yield _why_nothing_reserved(decision, candidate)
        return
    held = held_instances(holdings, decision.forecast)
    if int(held.min()) != int(held.max()):
        if any(h.start_hour % h.offer.term_hours for h in holdings):
            yield "purchases are spread over time: the reserve follows the demand"
        else:
            yield "the reserve changes only after whole terms, each time to the number that pays off until the next"
            yield from _why_not_spread(decision)
        return
    count, use = int(held.max()), _use_of_levels(decision, candidate)
    last = use[count - 1] if count <= len(use) else 0.0
    following = use[count] if count < len(use) else 0.0
    dearest = max((h.offer for h in holdings), key=lambda o: pays_throughout(candidate, o, decision.horizon_hours))
    share = pays_throughout(candidate, dearest, decision.horizon_hours)
    unit = "" if len(decision.ladders[candidate.address]) == 1 else f"counted in {candidate.shape.name}, "
    unit = f"beside what is owned, {unit}" if any(o.hours_left for o in decision.owned) else unit
    if decision.forecast.idle is not None:
        full = candidate.on_demand.hourly * decision.horizon_hours
        last, following = (float(saved_by(decision, dearest, step) / full) for step in (-1, 1))
        yield (
            f"{unit}instance {count} of the reserve saves {last:.1%} of what it would cost on demand, by its own hours"
            f" and those that it leaves to batch, and the next one would save {following:.1%}; {_option(dearest)} has a"
            f" break-even of {share:.1%}"
        )
        return
    yield (
        f"{unit}instance {count} of the reserve is in use {last:.1%} of the time, the next would be in use "
        f"{following:.1%}; {_option(dearest)} has a break-even of {share:.1%}"
        f"{': by use alone it would not pay' if last < float(share) - TELLING else ''}"
    )
    yield from _why_not_spread(decision)
    by_vcpus = _share_above(decision.forecast.cores, (count - 1) * float(candidate.capacity[0]))
    if last - by_vcpus > TELLING:
        yield f"memory decides: by vCPUs alone instance {count} would be in use {by_vcpus:.1%} of the time"


def _why_not_spread(decision: FleetDecision) -> Iterator[str]:
    """What purchases at several dates would save, where that is worth a word."""
    best = decision.evaluations[0]
    if best.spread_cost is None or decision.fleet.holdings != best.fleet.holdings:
        return
    saved = best.cost - best.spread_cost
    if float(saved / best.cost) >= WORTH_A_WORD:
        yield (
            f"purchases at any date, not only when the reserve expires, would cost {format_money(saved)} less over the"
            f" horizon ({float(saved / best.cost):.2%}; planning.spread_min_saving)"
        )


def _why_this_mix(decision: FleetDecision) -> Iterator[str]:
    """What the last machine of a reserve of several types is needed for."""
    forecast, by_type = decision.forecast, {c.shape.name: c for c in decision.types}
    held = [(h.count, *map(float, by_type[h.offer.key.instance_type].capacity)) for h in decision.fleet.holdings]
    if not held or {h.start_hour for h in decision.fleet.holdings} != {0}:
        return
    vcpus, gib = (sum(count * each[at] for count, *each in held) for at in (0, 1))
    last_vcpu, last_gib = (min(each[at] for _, *each in held) for at in (0, 1))
    of_vcpus = _share_above(forecast.cores, vcpus - last_vcpu)
    of_gib = _share_above(forecast.memory, gib - last_gib)
    yield (
        f"the last of the reserve's {vcpus:g} vCPUs are in use {of_vcpus:.1%} of the time, the last of its {gib:g} GiB "
        f"{of_gib:.1%}"
    )


def _share_above(demand: Floats, level: float) -> float:
    """The share of the steps in which demand is above a level."""
    return float(np.mean(demand > level * (1 + SLACK)))


def _why_nothing_reserved(decision: FleetDecision, candidate: Candidate) -> str:
    if not candidate.commitments:
        return f"{candidate.address} has no commitment among the allowed options, so everything stays on demand"
    least = min(pays_above(candidate, o, decision.horizon_hours) for o in candidate.commitments)
    use = _use_of_levels(decision, candidate)
    busiest = use[0] if len(use) else 0.0
    if busiest > least:
        return (
            f"by its use alone a commitment would pay: the busiest instance is in use {busiest:.1%} of the time, and"
            f" the lowest break-even is {least:.1%}"
        )
    if decision.forecast.covered:
        return (
            f"beside what is owned even the busiest instance has {busiest:.1%} of its hours left to pay for; the lowest"
            f" break-even is {least:.1%}"
        )
    return f"even the busiest instance is in use {busiest:.1%} of the time; the lowest break-even is {least:.1%}"


def _why_of_equals(decision: FleetDecision) -> Iterator[str]:
    """Of each commitment that costs what another one would have cost, why it is the one bought."""
    hours, by_type = decision.horizon_hours, {c.shape.name: c.commitments for c in decision.types}
    told: dict[str, None] = {}
    for offer in dict.fromkeys(h.offer for h in decision.fleet.holdings):
        cost = cents(cost_over(offer, hours))
        equal = [o for o in by_type[offer.key.instance_type] if o != offer and cents(cost_over(o, hours)) == cost]
        if equal:
            other = min(equal, key=preference)
            told[f"{_told_from(offer, other)} at equal price: {why_preferred(offer, other)}"] = None
    yield from told


def _told_from(offer: Offer, other: Offer) -> str:
    """The two by what they differ in: ``EC2 instance savings plan instead of reserved instance``."""
    one, two = offer.key, other.key
    if one.option != two.option:
        return f"{one.option.in_words} instead of {two.option.in_words}"
    return f"{one.payment} instead of {two.payment}" if one.payment != two.payment else f"{one} instead of {two}"


def _why_sized(decision: FleetDecision) -> Iterator[str]:
    if decision.sized_at is None or decision.spread is None:
        return
    size = "the forecast's optimum" if decision.scale == 1.0 else f"{decision.scale:.0%} of the forecast's optimum"
    futures = len(decision.spread.costs)
    quantile = f"the {decision.sized_at:.0%} quantile of {futures} simulated futures"
    yield f"a reserve of {size} has the least regret at {quantile}"


def _what_whole_jobs_cost(decision: FleetDecision) -> Iterator[str]:
    """What is paid for jobs that cannot be split, if anything: the gaps they leave in machines."""
    if decision.divisible_cost is None or not decision.fleet.cost:
        return
    monthly = (decision.optimum_cost - decision.divisible_cost) / decision.horizon_hours * HOURS_PER_MONTH
    share = float(1 - decision.divisible_cost / decision.optimum_cost)
    if cents(monthly) > 0:
        dollars = f"{format_money(monthly)} a month ({share:.1%})"
        yield f"whole jobs leave gaps in machines: {dollars} that splitting (--divisible all) would save"


def _use_of_levels(decision: FleetDecision, candidate: Candidate) -> list[float]:
    """The share of the horizon each concurrent instance is in use, busiest first."""
    units = instances_needed(decision.forecast.cores, decision.forecast.memory, candidate)
    parts = parts_not_rented(candidate, decision.forecast)
    return [float(n) / len(units) for n in steps_in_use(units, parts)]


def _option(offer: Offer) -> str:
    return f"a {offer.key.term_years}-year {offer.key.payment} {offer.key.option.in_words}"


def refusals(decision: FleetDecision, whole: Decimal) -> tuple[Refusal, ...]:
    """Other types with the margin of their own best plan, other commitments of the chosen types, and rules; ``whole``
    is what the plan costs in cents, with what is owned and on spot.

    Margins of best plans are against the forecast's optimum, so that sizing by regret does not turn them round; so are
    their totals. In a mix an offer takes the place of what the plan buys.
    """
    least = whole - cents(decision.fleet.cost - decision.optimum_cost)
    alone = len(decision.types) == 1
    found = [
        *_totalled(_other_types(decision), least),
        *_totalled(_other_options(decision), least if alone else whole),
        *decision.refusals,
    ]
    return tuple(sorted(found, key=lambda r: (r.margin is None, r.margin or Decimal(0), r.address)))


def _totalled(found: Iterable[Refusal], beside: Decimal) -> Iterator[Refusal]:
    """The refusals with what a plan costs in all: by their margin more than what they are held to."""
    return (replace(r, total=beside + (r.margin or Decimal(0))) for r in found)


def _other_types(decision: FleetDecision) -> Iterator[Refusal]:
    chosen = {c.address for c in decision.types}
    for evaluation in decision.evaluations:
        if evaluation.candidate.address in chosen:
            continue
        margin = evaluation.cost - decision.optimum_cost
        yield Refusal(
            evaluation.candidate.address,
            "the cheapest plan with it costs more for the same demand",
            None,
            cents(margin),
            f"its prices fall by {float(margin / evaluation.cost):.1%}" if decision.optimum_cost else "",
            flip=type_flip(decision, evaluation.candidate, evaluation.cost),
        )


def _other_options(decision: FleetDecision) -> Iterator[Refusal]:
    """Of a plan with one type each option by its own best plan; of a mix each in place of what was bought."""
    bought = {h.offer.key for h in decision.fleet.holdings}
    for candidate in decision.types:
        mine = [h for h in decision.fleet.holdings if h.offer.key.instance_type == candidate.shape.name]
        others = [o for o in candidate.commitments if o.key not in bought]
        if len(decision.types) == 1:
            ways = {_terms(offer): offer for offer in others}  # reserved instances often cost what savings plans do
            least = decision.settings.least_savings
            rivals = {of: fleet_of_one_offer(candidate, decision.forecast, o, *least) for of, o in ways.items()}
            yield from (_alone(decision, candidate, offer, rivals[_terms(offer)]) for offer in others)
        elif mine:
            yield from (_instead(decision, candidate, offer, mine) for offer in others)
        elif others:
            avoided = saved_by(decision, others[0], 1)
            yield from (_in_addition(decision, candidate, offer, avoided) for offer in others)


def _terms(offer: Offer) -> tuple[int, Decimal, Decimal, int | None]:
    """What decides how much of an offer is bought."""
    return offer.term_hours, offer.hourly, offer.upfront, offer.remaining


def _alone(decision: FleetDecision, candidate: Candidate, offer: Offer, rival: Fleet) -> Refusal:
    """The cheapest plan of the same type that buys nothing but this offer: ``rival``."""
    margin = rival.cost - decision.optimum_cost
    pays = pays_above(candidate, offer, decision.horizon_hours)
    if not rival.holdings:
        spread, _ = decision.settings.least_savings
        free = fleet_of_one_offer(candidate, decision.forecast, offer, spread, 0.0)
        never = f"never worth buying here: its break-even is {pays:.1%}"
        reason = next(LeftOut.between(rival, free).said(decision.settings.commit_min_saving), never)
        if not free.holdings and offer.term_hours > decision.horizon_hours:
            reason = _outlasts(decision, candidate, offer, 1)
        flip = latest_flip(decision, candidate, offer)
        found = Refusal(str(offer.key), reason, None, cents(margin), falls_by(flip), flip=flip)
    else:
        count = max(h.count for h in rival.holdings)
        reason = f"the best plan with it buys {count} at ${rate(offer.effective_hourly)}/h"
        found = _dearer(offer, reason, margin, rival.commitments_cost)
    return _turned(decision, candidate, offer, found)


def _instead(decision: FleetDecision, candidate: Candidate, offer: Offer, mine: list[Holding]) -> Refusal:
    """The same number of instances over the horizon under this offer in place of what was bought."""
    hours = decision.horizon_hours
    count = sum(h.count for h in mine if is_soon(h.start_hour))
    wanted = cost_over(offer, hours) * count
    margin = wanted - sum((h.cost for h in mine), Decimal(0))
    bought = min((h.offer for h in mine), key=lambda o: o.effective_hourly)
    reason = f"${rate(offer.effective_hourly)}/h effective against ${rate(bought.effective_hourly)}/h"
    if offer.term_hours > hours:
        reason = _outlasts(decision, candidate, offer, count)
    return _turned(decision, candidate, offer, _dearer(offer, reason, margin, wanted))


def _turned(decision: FleetDecision, candidate: Candidate, offer: Offer, found: Refusal) -> Refusal:
    """The refusal of an offer with what it takes to pay, and what would turn it round: exactly where the decision comes
    apart by level, else at the latest by the margin."""
    pays, pool = rate(pays_above(candidate, offer, decision.horizon_hours)), pool_of(decision)
    if pool is not None:
        flip = offer_flip(pool, offer)
        return replace(found, pays_above=pays, flip=flip, flips_if=falls_by(flip))
    return replace(found, pays_above=pays)


def _in_addition(decision: FleetDecision, candidate: Candidate, offer: Offer, avoided: Decimal) -> Refusal:
    """One instance under this offer beside what was bought."""
    wanted = cost_over(offer, decision.horizon_hours)
    used = float(avoided / (candidate.on_demand.hourly * decision.horizon_hours))
    pays = pays_above(candidate, offer, decision.horizon_hours)
    reason = f"one more instance would replace on-demand use of {used:.1%} of the time; its break-even is {pays:.1%}"
    margin = wanted - avoided
    return _turned(decision, candidate, offer, _dearer(offer, reason, margin, wanted))


def _dearer(offer: Offer, reason: str, margin: Decimal, committed: Decimal) -> Refusal:
    share = margin / committed
    flips = f"its price falls by {float(share):.1%}" if cents(margin) > 0 and share < 1 else ""
    now = offer.effective_hourly
    latest = Flip(Lever.OFFER, rate(now), rate(now * (1 - share)), "it is bought", exact=False) if flips else None
    return Refusal(str(offer.key), reason, None, cents(margin), flips, flip=latest)


def _outlasts(decision: FleetDecision, candidate: Candidate, offer: Offer, count: int) -> str:
    """How long the demand would have to last for a term beyond the horizon."""
    use = float(np.mean(_use_of_levels(decision, candidate)[:count] or [0.0]))
    monthly = float(candidate.on_demand.hourly) * HOURS_PER_MONTH * use
    horizon = decision.horizon_hours / HOURS_PER_YEAR
    lasts = f"beats on-demand if the demand lasts {float(offer.term_cost) / monthly:.0f} months" if monthly else ""
    return (
        f"outlasts the horizon of {horizon:g} y and is charged in full; "
        f"{lasts or 'nothing would run on it'} (planning.horizon)"
    )

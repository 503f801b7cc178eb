"""Which strategy with which reserve: the sizes worth simulating, and the choice among what was predicted of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from hcloud.model.catalog import Offer
from hcloud.model.operation import OperatingPoint
from hcloud.planning.candidates import Candidate
from hcloud.planning.decide import Decision
from hcloud.planning.evaluate import held_instances, ladder, static_hybrid
from hcloud.planning.fleet import instances_needed
from hcloud.units import format_money

OWN_RULE, PLANNED, STATIC, REFINED = "its own rule", "the plan's optimum", "the static hybrid's", "beside the best"
BASELINE = "what to compare with"
SHARES_OF_PEAK = (0.25, 0.5, 0.75, 1.0)
"""Ours: a hybrid is also tried with these parts of the highest demand: arithmetic packs demand perfectly, and where
jobs leave gaps a larger reserve pays than it says."""


@dataclass(frozen=True, slots=True)
class Target:
    """What the user wants: a share of jobs that keep their performance, and dollars a month at most."""

    qos: float
    budget: Decimal | None


def main_commitment(decision: Decision) -> Offer | None:
    """The offer that most of the reserve is bought at; where nothing is reserved the cheapest one allowed."""
    held = [h for h in decision.fleet.holdings if h.start_hour == 0]
    if held:
        return max(held, key=lambda h: h.count).offer
    usable = ladder(decision.types[0].commitments, decision.horizon_hours)
    return usable[0] if usable else None


def planned_reserve(decision: Decision) -> int:
    """Instances the decision holds from the first hour on."""
    return sum(h.count for h in decision.fleet.holdings if h.start_hour == 0)


def reserves_to_try(candidate: Candidate, decision: Decision, own: int) -> Mapping[int, str]:
    """Reserves of a hybrid worth simulating, rising, each with where it comes from; ``own`` is by its own rule."""
    forecast = decision.forecast
    static = static_hybrid(candidate, forecast)
    steady = int(held_instances(static.holdings, forecast).max(initial=0))
    peak = int(instances_needed(forecast.cores, forecast.memory, candidate).max(initial=0))
    tried = {round(peak * share): f"{share:.0%} of the peak" for share in SHARES_OF_PEAK}
    tried |= {steady: STATIC, own: OWN_RULE, planned_reserve(decision): PLANNED}
    return {count: tried[count] for count in sorted(tried) if count > 0} or {1: "the least there is"}


def refined(points: Sequence[OperatingPoint], target: Target) -> Mapping[str, tuple[int, ...]]:
    """Of every strategy tried with several reserves those halfway between its best one and the next ones."""
    found: dict[str, tuple[int, ...]] = {}
    for name in dict.fromkeys(p.strategy for p in points):
        mine = sorted((p for p in points if p.strategy == name), key=lambda p: p.reserve)
        best = mine.index(choose(mine, target))
        beside = [p.reserve for p in mine[max(best - 1, 0) : best + 2]]
        halfway = {(low + high) // 2 for low, high in pairwise(beside)}
        found[name] = tuple(sorted(halfway - {p.reserve for p in mine}))
    return found


def unbeaten(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Of (cost, quality) pairs whether no other one is both cheaper and better."""
    return [not any((c <= cost and q >= kept) and (c < cost or q > kept) for c, q in points) for cost, kept in points]


def with_front(points: Sequence[OperatingPoint]) -> list[OperatingPoint]:
    """The points, each told whether no other one is both cheaper and better in the mean."""
    front = unbeaten([(float(p.hourly), p.kept_qos.mean) for p in points])
    return [replace(p, on_front=told) for p, told in zip(points, front, strict=True)]


def choose(points: Sequence[OperatingPoint], target: Target) -> OperatingPoint:
    """The cheapest point that meets the target within the budget; else the best within the budget; else the cheapest.

    Of equals the one named first wins.
    """
    affordable = [p for p in points if is_affordable(p, target)]
    good = [p for p in affordable if meets(p, target)]
    if good:
        return min(good, key=lambda p: p.hourly)
    if affordable:
        return min(affordable, key=lambda p: (-p.kept_qos.mean, p.hourly))
    return min(points, key=lambda p: p.hourly)


def meets(point: OperatingPoint, target: Target) -> bool:
    """Whether the share of jobs that keep their performance reaches the target in the mean."""
    return point.kept_qos.mean >= target.qos


def is_affordable(point: OperatingPoint, target: Target) -> bool:
    """Whether a month costs no more than the budget."""
    return target.budget is None or point.monthly <= target.budget


def judged(points: Sequence[OperatingPoint], chosen: OperatingPoint, target: Target) -> tuple[OperatingPoint, ...]:
    """Every point but the chosen one with the reason why it was not, and the margin."""
    return tuple(p if p is chosen else replace(p, verdict=_verdict(p, chosen, target)) for p in points)


def _verdict(point: OperatingPoint, chosen: OperatingPoint, target: Target) -> str:
    if target.budget is not None and point.monthly > target.budget:
        return f"{format_money(point.monthly - target.budget)}/month above the budget"
    if not meets(point, target):
        return f"{point.kept_qos.mean:.1%} of jobs keep their performance, {target.qos:.1%} are asked for"
    dearer = point.monthly - chosen.monthly
    if not dearer:
        return "no cheaper"
    return f"{format_money(dearer)}/month dearer"


def why(points: Sequence[OperatingPoint], chosen: OperatingPoint, target: Target) -> Iterator[str]:
    """The sentences that carry the choice: what it meets, what the cheaper and the better ones would do instead."""
    who = f"{chosen.strategy} with {chosen.reserve} reserved"
    kept = f"{chosen.kept_qos.mean:.1%} of jobs keep their performance"
    within = " within the budget" if target.budget is not None else ""
    good = [p for p in points if meets(p, target) and is_affordable(p, target)]
    if not is_affordable(chosen, target):
        yield f"{who} is the cheapest, and still {format_money(chosen.monthly - _budget(target))}/month over the budget"
    elif good:
        which = f"cheapest of the {len(good)} of {len(points)} that keep" if len(good) > 1 else "only one that keeps"
        yield f"{who} is the {which} the target{within}: {kept}, {target.qos:.1%} are asked for"
    else:
        yield f"none of {len(points)}{within} keeps the target of {target.qos:.1%}; {who} comes closest: {kept}"
    if meets(chosen, target) and chosen.kept_qos.low < target.qos:
        yield f"its interval reaches down to {chosen.kept_qos.low:.1%}: more seeds (--seeds) would tell"
    cheaper = [p for p in points if p.on_front and p.hourly < chosen.hourly]
    if cheaper:
        best = max(cheaper, key=lambda p: p.kept_qos.mean)
        saved = format_money(chosen.monthly - best.monthly)
        yield (
            f"{best.strategy} with {best.reserve} would save {saved}/month and keep {best.kept_qos.mean:.1%}: "
            f"--qos {math.floor(1000 * best.kept_qos.mean) / 1000:.3f} or less takes it"
        )
    better = [p for p in points if p.on_front and p.kept_qos.mean > chosen.kept_qos.mean]
    if better:
        best = min(better, key=lambda p: p.hourly)
        more = format_money(best.monthly - chosen.monthly)
        yield f"{best.strategy} with {best.reserve} would keep {best.kept_qos.mean:.1%} for {more}/month more"


def _budget(target: Target) -> Decimal:
    return target.budget or Decimal(0)

"""Which strategies with which reserves are worth simulating."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from hcloud.model.catalog import Offer
from hcloud.model.plans.held import is_soon
from hcloud.model.plans.operation import OperatingPoint
from hcloud.planning.decide import FleetDecision
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import held_instances, ladder, static_hybrid
from hcloud.planning.fleets.fleet import instances_needed
from hcloud.planning.strategies.choice import OperatingTarget, choose, is_affordable, meets

OWN_RULE, PLANNED, STATIC, REFINED = "its own rule", "the plan's optimum", "the static hybrid's", "beside the best"
LARGER, NOTHING, OWNED = "a quarter more", "nothing reserved", "what is owned"
BASELINE = "what to compare with"
CLOSE = 0.02  # ours: a part of a reserve; nearer ones are not looked for
SHARES_OF_PEAK = (0.25, 0.5, 0.75, 1.0)
"""Ours: a hybrid is also tried with these parts of the highest demand: arithmetic packs demand perfectly, and where
jobs leave gaps a larger reserve pays than it says."""


def main_commitment(decision: FleetDecision) -> Offer | None:
    """The offer that most of the reserve is bought at; where nothing is reserved the cheapest one allowed."""
    held = [h for h in decision.fleet.holdings if is_soon(h.start_hour)]
    if held:
        return max(held, key=lambda h: h.count).offer
    usable = ladder(decision.types[0].commitments, decision.horizon_hours)
    return usable[0] if usable else None


def planned_reserve(decision: FleetDecision) -> int:
    """Instances the decision holds from the first day on."""
    return sum(h.count for h in decision.fleet.holdings if is_soon(h.start_hour))


def reserves_to_try(candidate: Candidate, decision: FleetDecision, own: int) -> Mapping[int, str]:
    """Reserves of a hybrid worth simulating, none among them, rising, each with where it comes from; ``own`` is by its
    own rule."""
    forecast = decision.forecast
    static = static_hybrid(candidate, forecast, None, decision.settings.commit_min_saving)
    steady = int(held_instances(static.holdings, forecast).max(initial=0))
    peak = int(instances_needed(forecast.cores, forecast.memory, candidate).max(initial=0))
    tried = {round(peak * share): f"{share:.0%} of the peak" for share in SHARES_OF_PEAK}
    tried |= {steady: STATIC, own: OWN_RULE, planned_reserve(decision): PLANNED, 0: NOTHING}
    return {count: tried[count] for count in sorted(tried)}


def enlarged(
    points: Sequence[OperatingPoint], target: OperatingTarget, cost: Callable[[int], Decimal]
) -> Mapping[str, tuple[int, ...]]:
    """Of every strategy with a reserve whose best is the largest, one a quarter larger: where that misses
    the target and costs less than a point that keeps it, or keeps it for less than the one before; none where one
    more by itself costs as much as such a point (``cost``: dollars an hour of a reserve)."""
    kept = min((p.hourly for p in points if meets(p, target) and is_affordable(p, target)), default=Decimal("Infinity"))
    found: dict[str, tuple[int, ...]] = {}
    for name, mine in _by_strategy(points):
        last = mine[-1]
        most = mine[-2:][0].hourly if meets(last, target) else kept
        if last.reserve and choose(mine, target) is last and last.hourly < most and cost(last.reserve + 1) < kept:
            found[name] = (last.reserve + max(last.reserve // 4, 1),)
    return found


def closer(points: Sequence[OperatingPoint], target: OperatingTarget) -> Mapping[str, tuple[int, ...]]:
    """The reserves halfway between the choice and the next ones of its strategy, and of others that keep the target
    between their best and the next smaller one where halfway may cost less than the choice; none that are close, and
    of one that keeps the target none that can save no more than what is alike."""
    chosen = choose(points, target)
    found: dict[str, tuple[int, ...]] = {}
    for name, counts in refined(points, target).items():
        mine = next(of for strategy, of in _by_strategy(points) if strategy == name)
        best = choose(mine, target)
        smaller = next((p for p in reversed(mine) if p.reserve < best.reserve), best)
        is_chosen = name == chosen.strategy
        may_pay = is_chosen or (meets(best, target) and (smaller.hourly + best.hourly) / 2 < chosen.hourly)
        far = [n for n in counts if abs(n - best.reserve) >= max(CLOSE * best.reserve, 1)]
        if is_chosen and meets(best, target):
            far = [n for n in far if _may_save(n, best, mine) > float(best.hourly) * target.alike]
        if may_pay and (some := tuple(n for n in far if is_chosen or n < best.reserve)):
            found[name] = some
    return found


def _may_save(reserve: int, best: OperatingPoint, mine: Sequence[OperatingPoint]) -> float:
    """Dollars an hour that a reserve beside the best one may save at the most: those between it and the next point on
    that side, where that is cheaper; else, as costs rise ever faster on both sides of a reserve that costs least, what
    the line from the other side through the best one falls on the way to that point."""
    at = mine.index(best)
    way = 1 if reserve > best.reserve else -1
    beside = mine[at + way]
    if beside.hourly < best.hourly:
        return float(best.hourly - beside.hourly)
    if not 0 <= at - way < len(mine):
        return math.inf
    other = mine[at - way]
    return float(other.hourly - best.hourly) * abs((beside.reserve - best.reserve) / (other.reserve - best.reserve))


def refined(points: Sequence[OperatingPoint], target: OperatingTarget) -> Mapping[str, tuple[int, ...]]:
    """Of every strategy tried with several reserves those halfway between its best one and the next ones."""
    found: dict[str, tuple[int, ...]] = {}
    for name, mine in _by_strategy(points):
        best = mine.index(choose(mine, target))
        beside = [p.reserve for p in mine[max(best - 1, 0) : best + 2]]
        halfway = {(low + high) // 2 for low, high in pairwise(beside)}
        found[name] = tuple(sorted(halfway - {p.reserve for p in mine}))
    return found


def _by_strategy(points: Sequence[OperatingPoint]) -> Iterator[tuple[str, list[OperatingPoint]]]:
    """Every strategy with its points, the smallest reserve first."""
    for name in dict.fromkeys(p.strategy for p in points):
        yield name, sorted((p for p in points if p.strategy == name), key=lambda p: p.reserve)

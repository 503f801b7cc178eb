"""Why a simulated point was chosen and each other one was not, in sentences with numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from hcloud.model.plans.operation import OperatingPoint
from hcloud.planning.strategies.choice import (
    OperatingTarget,
    Paired,
    choose,
    in_doubt,
    is_affordable,
    late,
    meets,
    model_of,
    quality_gap,
)
from hcloud.planning.strategies.operation import PLANNED
from hcloud.units import counted, format_duration, format_money, format_span, some_of

SHOWN = 3


def judged(
    points: Sequence[OperatingPoint], chosen: OperatingPoint, target: OperatingTarget
) -> tuple[OperatingPoint, ...]:
    """Every point but the chosen one with the reason why it was not, and the margin."""
    return tuple(p if p is chosen else replace(p, verdict=_verdict(p, chosen, target)) for p in points)


def _verdict(point: OperatingPoint, chosen: OperatingPoint, target: OperatingTarget) -> str:
    if target.budget is not None and point.monthly > target.budget:
        return f"{format_money(point.monthly - target.budget)}/month above the budget"
    dearer = point.monthly - chosen.monthly
    better = quality_gap(point, chosen, target)
    if dearer > 0 and not meets(chosen, target) and better.mean > 0 >= better.low and better.count > 1:
        return f"{format_money(dearer)}/month dearer, and not told to be better: {_points(better)}"
    if waits := told_late(point, target):
        return waits
    if not meets(point, target):
        return f"{point.kept_qos.mean:.1%} of jobs keep their performance, {target.qos:.1%} are asked for"
    return f"{format_money(dearer)}/month dearer" if dearer else "no cheaper"


LATE_ONES = {"service_wait": "1% of services", "job_wait": "5% of jobs"}


def told_wait(key: str, wait: float, allowed: int) -> str:
    """How long services or jobs wait, and how long they may by the key, in seconds."""
    told = f"{LATE_ONES[key]} wait {format_span(wait)} or longer before they begin"
    return f"{told} ({format_duration(allowed)} allowed, operation.{key})"


def told_late(point: OperatingPoint, target: OperatingTarget) -> str:
    """The same of a simulated point; empty where its jobs begin in time."""
    return "; ".join(told_wait(*one) for one in late(point, target))


def _points(gap: Paired) -> str:
    """A difference of shares: ``+0.1 ±11.0 points of jobs``."""
    return f"{100 * gap.mean:+.1f} ±{100 * gap.half:.1f} points of jobs"


def why(points: Sequence[OperatingPoint], chosen: OperatingPoint, target: OperatingTarget) -> Iterator[str]:
    """The sentences that carry the choice: what it meets, what the cheaper and the better ones would do instead."""
    unsure = meets(chosen, target) and chosen.kept_qos.low < target.qos
    low = f"; its interval reaches down to {chosen.kept_qos.low:.1%}"
    yield _main(points, chosen, target) + (low if unsure else "")
    yield from _of_arithmetic(points, chosen)
    yield from _others(points, chosen, target)


def _of_arithmetic(points: Sequence[OperatingPoint], chosen: OperatingPoint) -> Iterator[str]:
    """What the reserve does that costs least by its use alone, where another one was chosen."""
    planned = [p for p in points if p.reserve_rule == PLANNED]
    planned = [p for p in planned if p.strategy == chosen.strategy] or planned
    if not planned or chosen.reserve in {p.reserve for p in planned}:
        return
    best = min(planned, key=lambda p: p.hourly)
    more = best.monthly - chosen.monthly
    beside = f"{format_money(abs(more))}/month {'dearer' if more > 0 else 'cheaper'}, {best.kept_qos.mean:.1%} kept"
    yield f"by use alone {best.reserve} cost least; simulated, {named(best)} is {beside}"


def _main(points: Sequence[OperatingPoint], chosen: OperatingPoint, target: OperatingTarget) -> str:
    who, kept = f"{named(chosen)} reserved", f"{chosen.kept_qos.mean:.1%} of jobs"
    within = " within the budget" if target.budget is not None else ""
    affordable = [p for p in points if is_affordable(p, target)]
    if not affordable:
        over = chosen.monthly - (target.budget or Decimal(0))
        return f"{who} is the cheapest, and still {format_money(over)}/month over the budget"
    model, good = model_of(affordable, target), [p for p in affordable if meets(p, target)]
    if chosen != model:
        return _told_from(chosen, model, target, f"none of {len(points)}{within} keeps the target" if not good else "")
    if good:
        which = f"cheapest of the {len(good)} of {len(points)} that keep" if len(good) > 1 else "only one that keeps"
        return f"{who} is the {which} the target{within}: {kept}, {target.qos:.1%} asked for"
    waits = f"; {waits}" if (waits := told_late(chosen, target)) else ""
    return f"none of {len(points)}{within} keeps the target of {target.qos:.1%}; {who} comes closest: {kept}{waits}"


def _told_from(chosen: OperatingPoint, model: OperatingPoint, target: OperatingTarget, missed: str) -> str:
    """That the chosen point is cheaper than the one it is held to, and by how little it is worse, if it is."""
    less = format_money(model.monthly - chosen.monthly)
    role = "comes closest to" if missed else "keeps"
    said = (
        f"{named(chosen)} reserved is {less}/month cheaper than {named(model)}, which {role} the target of"
        f" {target.qos:.1%} in the mean of its own runs, and {_no_worse(quality_gap(chosen, model, target), target)}"
    )
    return f"{missed}; {said}" if missed else said


def _no_worse(gap: Paired, target: OperatingTarget) -> str:
    """What the seeds of both say of a point beside the one it is held to, of which they do not tell it to be worse."""
    sure = f"{target.confidence:.0%} confidence: {_points(gap)}"
    if gap.count > 1 and gap.low > 0:
        return f"keeps more jobs than it at the seeds that both were run with, at {sure}"
    if gap.count > 1 and gap.high < 0:
        return f"is worse by less than counts (operation.alike), at {sure}"
    return f"cannot be told from it at {sure}"


def _others(points: Sequence[OperatingPoint], chosen: OperatingPoint, target: OperatingTarget) -> Iterator[str]:
    """What a lower target would take, and what keeps more jobs for more money."""
    lower = next(settled_below(points, chosen, target), None)
    if lower is not None:
        wish, best = lower
        saved = format_money(chosen.monthly - best.monthly)
        kept = f"{best.kept_qos.mean:.1%}: --qos {wish:.3f} takes it or a cheaper one"
        yield f"{named(best)} would save {saved}/month and keep {kept}"
    better = [p for p in points if p.on_front and p.hourly > chosen.hourly]
    better = [p for p in better if quality_gap(p, chosen, target).mean > 0]
    if better:
        best = min(better, key=lambda p: p.hourly)
        more, gap = format_money(best.monthly - chosen.monthly), quality_gap(best, chosen, target)
        by = f" ({_points(gap)} at the same seeds)" if gap.count > 1 else ""
        over = "" if is_affordable(best, target) else ", above the budget"
        yield f"{named(best)} would keep {best.kept_qos.mean:.1%}{by} for {more}/month more{over}"


def settled_below(
    points: Sequence[OperatingPoint], chosen: OperatingPoint, target: OperatingTarget
) -> Iterator[tuple[float, OperatingPoint]]:
    """Lower targets, the highest first, at which these runs settle on a cheaper point, and the point: where they do not
    settle, more runs with that target may turn to another."""
    cheaper = (p for p in points if p.on_front and p.hourly < chosen.hourly)
    wishes = {math.floor(1000 * min(p.kept_qos.mean - (p.kept_qos.half or 0.0), target.qos)) / 1000 for p in cheaper}
    for wish in sorted(wishes, reverse=True):
        asked = replace(target, qos=wish)
        best = choose(points, asked)
        if wish > 0 and best.hourly < chosen.hourly and not in_doubt(points, asked):
            yield wish, best


def how_sure(points: Sequence[OperatingPoint], chosen: OperatingPoint, target: OperatingTarget, runs: int) -> str:
    """Whether the choice is settled, and what is open where it is not."""
    after, doubtful = counted(runs, "run"), in_doubt(points, target)
    if not doubtful:
        left = f"no other that keeps the target is expected to save more than {target.alike:.1%} (operation.alike)"
        return f"settled by {after}, every pair of points compared at the same seeds: {left}"
    rivals = [p for p in doubtful if p != chosen]
    turn = f"more runs may turn to {some_of(map(named, rivals), SHOWN)}"
    return f"not settled after {after} (operation.runs): {turn if rivals else 'it is open whether it keeps the target'}"


def named(point: OperatingPoint) -> str:
    """A simulated point by its strategy and reserve."""
    return f"{point.strategy} with {point.reserve}"

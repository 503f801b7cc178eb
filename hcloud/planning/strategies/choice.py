"""The choice among simulated points: by paired seeds, and of what cannot be told apart the cheaper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from statistics import fmean, stdev

from hcloud.model.plans.operation import OperatingPoint


@dataclass(frozen=True, slots=True)
class Paired:
    """A mean over ``count`` seeds (of a figure, or of the difference of two at the same seeds) and half of its
    interval; one seed has no interval, and ``half`` is 0 then."""

    mean: float
    half: float
    count: int

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half


def mean_of(values: Sequence[float], confidence: float) -> Paired:
    """The mean of one or more values with its interval at a two-sided confidence of 0 to 1 exclusive."""
    count = len(values)
    if count == 1:
        return Paired(values[0], 0.0, 1)
    return Paired(fmean(values), student(count - 1, confidence) * stdev(values) / math.sqrt(count), count)


def difference(one: Sequence[float], other: Sequence[float], confidence: float) -> Paired:
    """How much higher ``one`` is than ``other`` at the seeds that both were run with (the first of both)."""
    return mean_of([a - b for a, b in zip(one, other, strict=False)], confidence)


@cache
def student(degrees: int, confidence: float) -> float:
    """The number t such that Student's distribution lies within -t and t with a probability of ``confidence``."""
    low, high = 0.0, 1.0
    while _within(high, degrees) < confidence:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return high


def _within(t: float, degrees: int) -> float:
    """The probability that Student's t lies within -t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, odd = math.cos(angle), degrees % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= cosine * cosine * ((k - 1) / k)
        total += term
    if not odd:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + (math.sin(angle) * total if degrees > 1 else 0.0))


FRONT_WITH_KNEE = 3


@dataclass(frozen=True, slots=True)
class OperatingTarget:
    """What the user wants: a share of jobs that keep their performance, and dollars a month at most; and when two
    points count as told apart: at ``confidence``, and not closer than ``alike`` (a part of all jobs, or of the cost).
    All but 1 % of the services have to begin within ``service_wait`` seconds; None: no limit.
    """

    qos: float
    budget: Decimal | None
    confidence: float = 0.95
    alike: float = 0.005
    service_wait: int | None = None


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The cheapest and the best of all points, and the one of the front between them from which on more money buys
    least; no knee where the front has nothing between its ends."""

    cheapest: OperatingPoint
    best: OperatingPoint
    knee: OperatingPoint | None


def unbeaten(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Of (cost, quality) pairs whether no other one is both cheaper and better."""
    return [not any((c <= cost and q >= kept) and (c < cost or q > kept) for c, q in points) for cost, kept in points]


def with_front(points: Sequence[OperatingPoint]) -> list[OperatingPoint]:
    """The points, each told whether no other one is both cheaper and better in the mean."""
    front = unbeaten([(float(p.hourly), p.kept_qos.mean) for p in points])
    return [replace(p, on_front=told) for p, told in zip(points, front, strict=True)]


def meets(point: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether the share of jobs that keep their performance reaches the target in the mean, and services begin in
    time."""
    return point.kept_qos.mean >= target.qos and not begins_late(point, target)


def begins_late(point: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether more than 1 % of the services wait longer than is allowed before they begin."""
    waits, most = point.service_wait, target.service_wait
    return waits is not None and most is not None and waits.mean > most


def is_affordable(point: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether a month costs no more than the budget."""
    return target.budget is None or point.monthly <= target.budget


def choose(points: Sequence[OperatingPoint], target: OperatingTarget) -> OperatingPoint:
    """Of the affordable points that cannot be told from the model by their quality, the cheapest in the mean; the
    model is the cheapest that meets the target in the mean, else the best. The cheapest of all where none is
    affordable. Of equals the one named first wins.
    """
    affordable = [p for p in points if is_affordable(p, target)]
    if not affordable:
        return min(points, key=lambda p: p.hourly)
    model = model_of(affordable, target)
    return min((p for p in affordable if not is_worse(p, model, target)), key=lambda p: p.hourly)


def model_of(affordable: Sequence[OperatingPoint], target: OperatingTarget) -> OperatingPoint:
    """What a choice is held to: the cheapest point that meets the target in the mean, else the best one."""
    good = [p for p in affordable if meets(p, target)]
    if good:
        return min(good, key=lambda p: p.hourly)
    return min(affordable, key=lambda p: (begins_late(p, target), -p.kept_qos.mean, p.hourly))


def is_worse(point: OperatingPoint, model: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether fewer jobs keep their performance than with the model, told by the seeds that both were run with; where
    the model misses the target itself, fewer by more than what is alike. Or whether services begin late, and not with
    the model."""
    if begins_late(point, target) and not begins_late(model, target):
        return True
    gap, allowed = quality_gap(point, model, target), 0.0 if meets(model, target) else target.alike
    return point != model and gap.high < 0 and gap.mean < -allowed


def quality_gap(point: OperatingPoint, other: OperatingPoint, target: OperatingTarget) -> Paired:
    """By how much a larger share of jobs keeps its performance than with the other; by the means without seeds."""
    if not point.kept_by_seed or not other.kept_by_seed:
        return Paired(point.kept_qos.mean - other.kept_qos.mean, 0.0, 0)
    return difference(point.kept_by_seed, other.kept_by_seed, target.confidence)


def cost_gap(point: OperatingPoint, other: OperatingPoint, target: OperatingTarget) -> Paired:
    """By how many dollars an hour it is dearer than the other; by the means without seeds."""
    one, two = ([float(d) for d in p.hourly_by_seed] for p in (point, other))
    if not one or not two:
        return Paired(float(point.hourly - other.hourly), 0.0, 0)
    return difference(one, two, target.confidence)


def is_kept(points: Sequence[OperatingPoint], target: OperatingTarget) -> bool:
    """Whether anything that is affordable (anything at all, where nothing is) meets the target in the mean."""
    affordable = [p for p in points if is_affordable(p, target)]
    return any(meets(p, target) for p in affordable or [choose(points, target)])


def in_doubt(points: Sequence[OperatingPoint], target: OperatingTarget) -> tuple[OperatingPoint, ...]:
    """The points that more seeds could still bring in or throw out, with those that they are held to; none where the
    choice is settled."""
    affordable = [p for p in points if is_affordable(p, target)]
    if not affordable:
        return ()
    model, chosen = model_of(affordable, target), choose(points, target)
    doubtful = [p for p in affordable if _may_turn(p, chosen, model, target)]
    return tuple(p for p in affordable if doubtful and (p in doubtful or p in (model, chosen)))


def _may_turn(point: OperatingPoint, chosen: OperatingPoint, model: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether it is open that the point is chosen, or that the chosen one is."""
    if point == chosen:
        return _is_open(point, target) or not (chosen == model or _is_told(quality_gap(chosen, model, target), target))
    if not _may_be_cheaper(point, chosen, target):
        return False
    if point.hourly < chosen.hourly:
        return _is_open(point, target)
    return not is_worse(point, model, target)


def _may_be_cheaper(point: OperatingPoint, chosen: OperatingPoint, target: OperatingTarget) -> bool:
    gap = cost_gap(point, chosen, target)
    return gap.count == 1 or gap.low < -target.alike * float(chosen.hourly)


def _is_open(point: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether it is open that a point meets the target."""
    if not point.kept_by_seed or begins_late(point, target):
        return False
    kept = mean_of(point.kept_by_seed, target.confidence)
    return not _is_told(Paired(kept.mean - target.qos, kept.half, kept.count), target)


def _is_told(gap: Paired, target: OperatingTarget) -> bool:
    """Whether the interval lies on one side of zero, or so near to it that the difference does not matter."""
    return gap.count != 1 and (gap.low >= -target.alike or gap.high < 0)


def landmarks(points: Sequence[OperatingPoint]) -> Landmarks:
    """The cheapest, the best and the knee: the point of the front that lies farthest above the line between both ends
    of it, cost and quality each measured by what lies between the ends."""
    front = sorted((p for p in points if p.on_front), key=lambda p: p.hourly) or list(points)
    cheapest, best = front[0], front[-1]
    dollars, kept = best.hourly - cheapest.hourly, best.kept_qos.mean - cheapest.kept_qos.mean
    if len(front) < FRONT_WITH_KNEE or dollars <= 0 or kept <= 0:
        return Landmarks(cheapest, best, None)

    def above(point: OperatingPoint) -> float:
        return (point.kept_qos.mean - cheapest.kept_qos.mean) / kept - float((point.hourly - cheapest.hourly) / dollars)

    knee = max(front, key=above)
    return Landmarks(cheapest, best, knee if above(knee) > 0 else None)

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

    def __neg__(self) -> Paired:
        """The difference the other way round."""
        return replace(self, mean=-self.mean)


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


def chance_above(gap: Paired, confidence: float) -> float:
    """The probability that a mean or a difference lies above 0, by Student's distribution; ``gap`` has its interval at
    ``confidence``."""
    if not gap.half:
        return float(gap.mean > 0)
    degrees = gap.count - 1
    z = gap.mean / gap.half * student(degrees, confidence)
    return 0.5 + math.copysign(_within(abs(z), degrees), z) / 2


def mean_above(gap: Paired, confidence: float) -> float:
    """By how much a mean or a difference lies above 0, in the mean of all that it may be, what lies below counted as 0
    (the expected opportunity cost of Chick and Inoue, 2001); endless with two seeds that differ."""
    if not gap.half:
        return max(gap.mean, 0.0)
    degrees = gap.count - 1
    if degrees == 1:
        return math.inf
    error = gap.half / student(degrees, confidence)
    z = gap.mean / error
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    density = scale * math.pow(1 + z * z / degrees, -(degrees + 1) / 2)
    return error * ((degrees + z * z) / (degrees - 1) * density + z * chance_above(gap, confidence))


FRONT_WITH_KNEE = 3


@dataclass(frozen=True, slots=True)
class OperatingTarget:
    """What the user wants: a share of jobs that keep their performance, and dollars a month at most; and when two
    points count as told apart: at ``confidence``, and not closer than ``alike`` (a part of all jobs, or of the cost).
    All but 1 % of the services have to begin within ``service_wait`` seconds, and all but 5 % of all jobs within
    ``job_wait``; None: no limit.
    """

    qos: float
    budget: Decimal | None
    confidence: float = 0.95
    alike: float = 0.005
    service_wait: int | None = None
    job_wait: int | None = None


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
    """Whether the share of jobs that keep their performance reaches the target in the mean, and jobs begin in time."""
    return point.kept_qos.mean >= target.qos and not begins_late(point, target)


def begins_late(point: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether more services or jobs wait longer than is allowed before they begin."""
    return bool(late(point, target))


def late(point: OperatingPoint, target: OperatingTarget) -> tuple[tuple[str, float, int], ...]:
    """Which limits on waits a point is above, by their keys, with the wait and what is allowed, in seconds."""
    waits = (
        ("service_wait", point.service_wait, target.service_wait),
        ("job_wait", point.job_wait, target.job_wait),
    )
    return tuple(
        (key, wait.mean, most)
        for key, wait, most in waits
        if wait is not None and most is not None and wait.mean > most
    )


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
    the model misses the target itself, fewer by more than what is alike. Or whether jobs begin late, and not with the
    model."""
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


def may_keep(points: Sequence[OperatingPoint], target: OperatingTarget) -> bool:
    """Whether the best that is affordable meets the target, or may meet it by what its seeds leave open."""
    best = model_of([p for p in points if is_affordable(p, target)] or points, target)
    may_meet = bool(best.kept_by_seed) and _over(best, target).high >= 0
    return meets(best, target) or (may_meet and not begins_late(best, target))


def in_doubt(points: Sequence[OperatingPoint], target: OperatingTarget) -> tuple[OperatingPoint, ...]:
    """The points that more seeds could still bring in or throw out, with those that they are held to; none where the
    choice is settled."""
    affordable = [p for p in points if is_affordable(p, target)]
    if not affordable:
        return ()
    model, chosen = model_of(affordable, target), choose(points, target)
    allowed = target.alike * float(chosen.hourly)
    doubtful = [p for p in affordable if p != chosen and _loss(p, chosen, model, target) > allowed]
    if doubtful or _is_open(chosen, target) or not (chosen == model or _is_no_worse(chosen, model, target)):
        return tuple(p for p in affordable if p in doubtful or p in (model, chosen))
    return ()


def _loss(point: OperatingPoint, chosen: OperatingPoint, model: OperatingPoint, target: OperatingTarget) -> float:
    """Dollars an hour that are lost in the mean of what the seeds leave open, as another point is not chosen."""
    chance = 1.0
    if point.hourly < chosen.hourly:
        chance = _chance_kept(point, target)
    elif is_worse(point, model, target):
        chance = 0.0
    dearer = cost_gap(point, chosen, target)
    if not chance or dearer.count == 1:
        return math.inf if chance else 0.0
    return chance * mean_above(-dearer, target.confidence)


def _chance_kept(point: OperatingPoint, target: OperatingTarget) -> float:
    """The probability that a point meets the target; 0 where that is told, or does not matter."""
    if not point.kept_by_seed or begins_late(point, target):
        return 0.0
    over = _over(point, target)
    if over.count > 1 and (over.high < 0 or over.low >= -target.alike):
        return 0.0
    return 1.0 if over.count == 1 else chance_above(over, target.confidence)


def _is_no_worse(point: OperatingPoint, model: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether so few jobs fewer keep their performance than with the model that it does not matter."""
    gap = quality_gap(point, model, target)
    return gap.count != 1 and mean_above(-gap, target.confidence) <= target.alike


def _is_open(point: OperatingPoint, target: OperatingTarget) -> bool:
    """Whether it is open that a point meets the target, and by more than does not matter."""
    if not point.kept_by_seed or begins_late(point, target):
        return False
    over = _over(point, target)
    if over.count == 1 or over.high < 0:
        return over.count == 1
    return mean_above(-over if over.mean > 0 else over, target.confidence) > target.alike


def _over(point: OperatingPoint, target: OperatingTarget) -> Paired:
    """By how much the share of jobs that keeps its performance is above the target."""
    kept = mean_of(point.kept_by_seed, target.confidence)
    return replace(kept, mean=kept.mean - target.qos)


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

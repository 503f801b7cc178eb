"""The law of the best of R: how good the best of R candidates is that are drawn at random among n servers.

The servers are ranked by whatever quality counts, worst first, and ranks are told as i / (n - 1), so that 1 is the
best. Of R independent draws the best has an index of at most i with probability ((i + 1) / n)^R, whatever the qualities
themselves are (Tarcil, thesis §7.3.3). Nothing here needs a rank while a server is chosen: ranks are for audits.

Two samples are possible. Among the free servers the law holds at any load. Among all of them a busy server that is
drawn is a miss, so that only the free ones of the best are hits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

LOOKS_A_CANDIDATE = 8
"""Ours: so many servers are looked at for each candidate at most, where busy ones are passed over."""
_EXACT = 1e-9
"""What a quotient of logarithms or a product of shares may be off by rounding."""
_NARROW = 1e-12
"""A probability that is told apart from none."""


def below(quality: float, units: int) -> int:
    """How many of ``units`` rank below a quality: those of index i with i / (units - 1) < quality."""
    return math.ceil(quality * (units - 1) - _EXACT)


def candidates_for(quality: float, miss: float, units: int | None = None) -> int:
    """The fewest draws of which, with a probability of at most ``miss``, none reaches a quality; ``units`` None stands
    for very many."""
    short = quality if units is None else below(quality, units) / units
    return 1 if short <= 0 else max(math.ceil(math.log(miss) / math.log(short) - _EXACT), 1)


def chance_of_miss(candidates: int, quality: float, units: int | None = None) -> float:
    """The probability that the best of the draws stays below a quality."""
    return float((quality if units is None else below(quality, units) / units) ** candidates)


def quality_kept(candidates: int, miss: float, units: int | None = None) -> float:
    """The best quality that so many draws miss with a probability of at most ``miss``."""
    short = float(miss ** (1 / candidates))
    if units is None:
        return short
    return math.floor(short * units + _EXACT) / (units - 1) if units > 1 else 1.0


def mean_rank(candidates: int, units: int | None = None) -> float:
    """The rank that the best draw has on average, 0..1."""
    if units is None:
        return candidates / (candidates + 1)
    if units == 1:
        return 1.0
    return math.fsum(1 - (i / units) ** candidates for i in range(1, units)) / (units - 1)


def free_above(quality: float, units: int, busy: float) -> int:
    """How many of the servers that reach a quality are free where a share of all is busy, those equally often."""
    return math.floor((units - below(quality, units)) * (1 - busy) + _EXACT)


def quality_among_all(hits: float, units: float) -> float:
    """The quality to put into the law where all servers are sampled and ``hits`` of them are free and good enough."""
    return 1 - hits / units


class AuditedDecision(NamedTuple):
    """What an audit notes of one decision: how many of the servers it might have taken are ``better`` than the one it
    took, of how many ``units`` it drew how many ``candidates``, and whether it took any; if not, ``better`` are all
    that were free. So many, itself counted, are ``alike``: between them the law says nothing."""

    better: int
    units: int
    candidates: int
    taken: bool = True
    alike: int = 1


def distance(decisions: Iterable[AuditedDecision]) -> float:
    """The Kolmogorov distance of observed ranks from the law, 0 where they follow it to the letter.

    Each decision spreads its weight evenly over the probabilities that the law gives to its own rank, so that the atom
    at the top counts as one and decisions among different numbers of servers can be put together. Where all have the
    same number this is the largest difference of the two distribution functions. Without any decision it is no number.
    """
    spans = [_span(decision) for decision in decisions]
    if not spans:
        return math.nan
    rises: dict[float, float] = {}
    for low, high in spans:
        rises[low] = rises.get(low, 0.0) + 1 / (high - low)
        rises[high] = rises.get(high, 0.0) - 1 / (high - low)
    farthest = at = reached = slope = 0.0
    for end in sorted(rises):
        reached += slope * (end - at)
        farthest = max(farthest, abs(reached / len(spans) - end))
        slope, at = slope + rises[end], end
    return farthest


def distance_of_values(values: Sequence[float], candidates: Sequence[int]) -> float:
    """The Kolmogorov distance of qualities, of which 0 is the worst server's and 1 the best one's, from the law that
    holds where they are evenly distributed (Paragon §3.3). Without any decision it is no number."""
    reached = sorted(value**drawn for value, drawn in zip(values, candidates, strict=True))
    count = len(reached)
    steps = (max(at / count - end, end - (at - 1) / count) for at, end in enumerate(reached, 1))
    return max(steps, default=math.nan)


def _span(decision: AuditedDecision) -> tuple[float, float]:
    """The probabilities that the law gives to what is worse than the rank of a decision, and to that with it."""
    others = decision.units - decision.better
    high = float((others / decision.units) ** decision.candidates)
    worse = others - decision.alike
    low = float((worse / decision.units) ** decision.candidates) if decision.taken else 0.0
    return low, max(high, low + _NARROW)

"""How the reserve fares when demand turns out otherwise: drawn futures, regret, and demand that falls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Fleet, Holding, cover, instances_needed, parts_not_rented
from hcloud.planning.forecasting.covered import end_to_end
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.forecasting.idle import joined
from hcloud.planning.risks.futures import Futures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

SCALES = np.linspace(0.0, 2.0, 81)  # reserves compared, as multiples of the forecast's optimum; 1.0 is among them
LEVELS = 17  # ours: multiples of demand at which on-demand use is counted, at equal shares of all that is drawn


@dataclass(frozen=True, slots=True)
class FutureCosts:
    """Costs over futures: of each scaled reserve (futures x scales), the scales themselves, and the mean demand of each
    future as a multiple of the forecast's."""

    scales: Floats
    costs: Floats
    demand: Floats

    @property
    def regrets(self) -> Floats:
        """What each reserve costs above the best of them in the same future (futures x scales)."""
        best: Floats = self.costs - self.costs.min(axis=1, keepdims=True)
        return best

    def best_scale(self, quantile: float) -> float:
        """The scale whose regret at ``quantile`` is least; of equals the smaller reserve."""
        return float(self.scales[int(np.argmin(np.quantile(self.regrets, quantile, axis=0)))])

    def at(self, scale: float) -> int:
        """The column of a scale."""
        return int(np.argmin(np.abs(self.scales - scale)))


@dataclass(frozen=True, slots=True)
class HoldingSpan:
    """Months of the horizon through which the same holdings last; ``left`` is the pattern of the demand they face, at a
    multiple of the trace's."""

    months: NDArray[np.int64]
    holdings: tuple[Holding, ...]
    left: Callable[[float], Forecast]


def spread(types: Sequence[Candidate], fleet: Fleet, spans: Sequence[HoldingSpan], futures: Futures) -> Floats:
    """Dollars of the fleet, its reserve scaled, in every future: futures x ``SCALES``.

    On-demand use is counted at ``LEVELS`` multiples of demand and taken as linear in between; in each month the days of
    a future occur as often as in all of it. A sustained-use series is charged at the fleet's own average.
    """
    rates = [_charged_rate(c, fleet) for c in types]
    steps = futures.counts.shape[1] * futures.block_steps
    levels = np.unique(np.quantile(futures.paths, np.linspace(0.0, 1.0, LEVELS)))
    costs = np.zeros((len(futures.counts), len(SCALES)))
    for span in spans:
        shares = _shares(futures.paths[:, span.months], levels) / futures.paths.shape[1]
        beside = step_costs(types, _end_to_end([span.left(float(level)) for level in levels], steps), rates)
        held = [scaled(span.holdings, float(scale)) for scale in SCALES]
        number = {each: at for at, each in enumerate(dict.fromkeys(held))}  # a small reserve is the same at many scales
        blocks = [beside(each).reshape(len(levels), -1, futures.block_steps).sum(axis=2) for each in number]
        dollars = (futures.counts @ np.concatenate(blocks).T).reshape(len(futures.counts), len(blocks), len(levels))
        costs += (dollars * shares[:, None, :]).sum(axis=2)[:, [number[each] for each in held]]
    costs += np.array([float(sum(h.cost for h in scaled(fleet.holdings, float(scale)))) for scale in SCALES])
    return costs


def _shares(factors: Floats, levels: Floats) -> Floats:
    """How many months each future spends at each level, futures x levels; a month between two is shared by both."""
    shares: Floats = np.zeros((len(factors), len(levels)))
    if len(levels) == 1:
        shares += factors.shape[1]
        return shares
    below = np.clip(np.searchsorted(levels, factors, side="right") - 1, 0, len(levels) - 2)
    part = (factors - levels[below]) / (levels[below + 1] - levels[below])
    rows = np.broadcast_to(np.arange(len(factors))[:, None], factors.shape)
    np.add.at(shares, (rows, below), 1.0 - part)
    np.add.at(shares, (rows, below + 1), part)
    return shares


def _end_to_end(patterns: Sequence[Forecast], steps: int) -> Forecast:
    """The first steps of each, one after the other."""
    cores, memory, batch = (
        np.concatenate([getattr(p, name)[:steps] for p in patterns]) for name in ("cores", "memory", "batch_cores")
    )
    some = [p.first(steps) for p in patterns]
    idle = [p.idle for p in some if p.idle is not None]
    covered = tuple(map(end_to_end, zip(*(p.covered for p in some), strict=True)))
    return replace(
        patterns[0],
        cores=cores,
        memory=memory,
        batch_cores=batch,
        idle=joined(idle) if idle else None,
        covered=covered,
    )


def _charged_rate(candidate: Candidate, fleet: Fleet) -> float:
    """Dollars an hour on demand, with the sustained-use discount the fleet gets on average."""
    mine = [r for r in fleet.rentals if r.offer.key == candidate.on_demand.key and r.hours]
    share = float(mine[0].charged_hours / mine[0].hours) if mine else 1.0
    return float(candidate.on_demand.hourly) * share


def scaled(holdings: Sequence[Holding], scale: float) -> tuple[Holding, ...]:
    """The holdings with their counts multiplied and rounded to whole instances, no more of an offer than there are."""
    counts = [replace(h, count=_at_most(round(h.count * scale), h.offer.remaining)) for h in holdings]
    return tuple(h for h in counts if h.count)


def _at_most(count: int, limit: int | None) -> int:
    return count if limit is None else min(count, limit)


def step_costs(
    candidates: Sequence[Candidate], pattern: Forecast, rates: Sequence[float]
) -> Callable[[Sequence[Holding]], Floats]:
    """On-demand dollars of every step of the pattern, as they depend on the holdings that they are rented beside."""
    if len(candidates) == 1 and pattern.idle is None:
        units = instances_needed(pattern.cores, pattern.memory, candidates[0])
        return partial(_rented_alone, units - parts_not_rented(candidates[0], pattern), rates[0] * pattern.step_hours)
    return partial(_rented_beside, candidates, pattern, rates)


def _rented_alone(needed: Floats, price: float, holdings: Sequence[Holding]) -> Floats:
    """The same where all machines are of one type, so many of which are ``needed``."""
    rented: Floats = np.maximum(needed - sum(h.count for h in holdings), 0.0)
    rented *= price
    return rented


def _rented_beside(
    candidates: Sequence[Candidate], pattern: Forecast, rates: Sequence[float], holdings: Sequence[Holding]
) -> Floats:
    holds = {c.shape.name: c.capacity for c in candidates}
    vcpus, gib = (sum(h.count * float(holds[h.offer.key.instance_type][at]) for h in holdings) for at in (0, 1))
    left = pattern.beside(vcpus)
    cores, memory = left.cores - vcpus, left.memory - gib
    if len(candidates) == 1:
        needed = instances_needed(cores, memory, candidates[0])
        return (needed - parts_not_rented(candidates[0], pattern) * (needed > 0)) * (rates[0] * pattern.step_hours)
    dollars = np.zeros(len(cores))
    counts = cover(np.maximum(cores, 0.0), np.maximum(memory, 0.0), candidates)
    for needed, rate in zip(counts, rates, strict=True):
        dollars += needed * (rate * pattern.step_hours)
    return dollars


def changed(forecast: Forecast, change: float) -> Forecast:
    """The forecast with demand changed by a fraction: -0.3 is 30 % less."""
    return forecast.times(1.0 + change)


def unused_share(fleet: Fleet, candidates: Sequence[Candidate], forecast: Forecast) -> float:
    """The share of the commitments inside the horizon that demand does not use: at each step that of the resource,
    vCPUs or GiB, which it uses more of."""
    capacities = {c.shape.name: c.capacity for c in candidates}
    held = np.zeros((2, len(forecast)))
    for holding in fleet.holdings:
        one = capacities[holding.offer.key.instance_type]
        held[:, holding.steps(forecast)] += holding.count * np.array([[float(x)] for x in one])
    if not held.any():
        return 0.0
    needed = forecast.beside(held[0])
    idle = np.maximum(held - np.stack([needed.cores, needed.memory]), 0.0)
    shares = np.divide(idle, held, out=np.zeros_like(held), where=held > 0).min(axis=0)
    return float((shares * held[0]).sum() / held[0].sum())

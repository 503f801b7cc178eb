"""How the reserve fares when demand turns out otherwise: bootstrap futures, regret, and demand that falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.candidates import Candidate
from hcloud.planning.fleet import Fleet, Holding, cover
from hcloud.planning.forecast import Forecast, Futures

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

SCALES = np.linspace(0.0, 2.0, 81)  # reserves compared, as multiples of the forecast's optimum; 1.0 is among them


@dataclass(frozen=True, slots=True)
class Spread:
    """Costs over futures: of each scaled reserve (futures x scales), and the scales themselves."""

    scales: Floats
    costs: Floats

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


def spread(candidates: Sequence[Candidate], fleet: Fleet, forecast: Forecast, futures: Futures) -> Spread:
    """Cost of the fleet's reserve, scaled, in every future of days drawn from the trace.

    Meant for a reserve that is held over the whole horizon and for demand that does not grow. A sustained-use series
    is charged at the fleet's own average.
    """
    rates = [_charged_rate(c, fleet) for c in candidates]
    days = futures.counts.shape[1] * futures.block_steps
    pattern = replace(forecast, cores=forecast.cores[:days], memory=forecast.memory[:days])
    costs = np.empty((len(futures.counts), len(SCALES)))
    for column, scale in enumerate(SCALES):
        kept = scaled(fleet.holdings, float(scale))
        committed = float(sum(h.cost for h in kept))
        day_costs = _day_costs(candidates, kept, pattern, rates).reshape(-1, futures.block_steps).sum(axis=1)
        costs[:, column] = committed + futures.counts @ day_costs
    return Spread(SCALES, costs)


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


def _day_costs(
    candidates: Sequence[Candidate], holdings: Sequence[Holding], pattern: Forecast, rates: Sequence[float]
) -> Floats:
    """On-demand dollars of every step of the pattern beside the holdings."""
    holds = {c.shape.name: c.capacity for c in candidates}
    cores = pattern.cores - sum(h.count * float(holds[h.offer.key.instance_type][0]) for h in holdings)
    memory = pattern.memory - sum(h.count * float(holds[h.offer.key.instance_type][1]) for h in holdings)
    counts = cover(np.maximum(cores, 0.0), np.maximum(memory, 0.0), candidates)
    dollars = np.zeros(len(cores))
    for needed, rate in zip(counts, rates, strict=True):
        dollars += needed * (rate * pattern.step_hours)
    return dollars


def changed(forecast: Forecast, change: float) -> Forecast:
    """The forecast with demand changed by a fraction: -0.3 is 30 % less."""
    factor = 1.0 + change
    return replace(
        forecast,
        cores=forecast.cores * factor,
        memory=forecast.memory * factor,
        batch_cores=forecast.batch_cores * factor,
    )


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
    idle = np.maximum(held - np.stack([forecast.cores, forecast.memory]), 0.0)
    shares = np.divide(idle, held, out=np.zeros_like(held), where=held > 0).min(axis=0)
    return float((shares * held[0]).sum() / held[0].sum())

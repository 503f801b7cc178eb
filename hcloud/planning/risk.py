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


def spread(
    candidates: Sequence[Candidate], holdings: Sequence[Holding], forecast: Forecast, futures: Futures
) -> Spread:
    """Cost of scaled reserves in every future.

    A future's days are days of the trace; growth enters as the mean over the horizon, and a sustained-use series is
    priced at list (its discount would favour smaller reserves a little).
    """
    pattern = _pattern(forecast, futures)
    costs = np.empty((len(futures.counts), len(SCALES)))
    for column, scale in enumerate(SCALES):
        kept = scaled(holdings, float(scale))
        committed = float(sum(h.cost for h in kept))
        costs[:, column] = committed + futures.counts @ _day_costs(candidates, kept, pattern, futures.block_steps)
    return Spread(SCALES, costs)


def scaled(holdings: Sequence[Holding], scale: float) -> tuple[Holding, ...]:
    """The holdings with their counts multiplied and rounded to whole instances."""
    counts = [replace(h, count=round(h.count * scale)) for h in holdings]
    return tuple(h for h in counts if h.count)


def _pattern(forecast: Forecast, futures: Futures) -> Forecast:
    """One cycle of the trace at the horizon's mean level."""
    steps = futures.counts.shape[1] * futures.block_steps
    level = float(forecast.cores.mean()) / max(float(forecast.cores[:steps].mean()), 1e-12)
    return replace(
        forecast,
        cores=forecast.cores[:steps] * level,
        memory=forecast.memory[:steps] * level,
        batch_cores=forecast.batch_cores[:steps] * level,
    )


def _day_costs(
    candidates: Sequence[Candidate], holdings: Sequence[Holding], pattern: Forecast, block_steps: int
) -> Floats:
    shapes = {c.shape.name: c.shape for c in candidates}
    first = [h for h in holdings if h.start_hour == 0]
    cores = pattern.cores - sum(h.count * float(shapes[h.offer.key.instance_type].vcpus) for h in first)
    memory = pattern.memory - sum(h.count * float(shapes[h.offer.key.instance_type].memory_gib) for h in first)
    counts = cover(np.maximum(cores, 0.0), np.maximum(memory, 0.0), candidates)
    dollars = sum(
        (n * float(c.on_demand.hourly) for c, n in zip(candidates, counts, strict=True)), np.zeros(len(pattern))
    )
    days: Floats = dollars.reshape(-1, block_steps).sum(axis=1) * pattern.step_hours
    return days


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
    """The share of the committed vCPU-hours inside the horizon that demand does not use."""
    shapes = {c.shape.name: c.shape for c in candidates}
    held = np.zeros(len(forecast))
    for holding in fleet.holdings:
        per_hour = 1 / forecast.step_hours
        first = round(holding.start_hour * per_hour)
        last = first + round(holding.offer.term_hours * per_hour)
        held[first:last] += holding.count * float(shapes[holding.offer.key.instance_type].vcpus)
    total = float(held.sum())
    return float(np.maximum(held - forecast.cores, 0.0).sum()) / total if total else 0.0

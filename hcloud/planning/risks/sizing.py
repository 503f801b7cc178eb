"""How a fleet fares over futures of its demand, and the reserve scaled to the regret that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hcloud.planning.fleets.fleet import Fleet, serve
from hcloud.planning.fleets.options import dividing
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.forecasting.forecast import Forecast, repeating
from hcloud.planning.risks.futures import draw_futures
from hcloud.planning.risks.risk import SCALES, FutureCosts, HoldingSpan, scaled, spread
from hcloud.planning.risks.rivals import ChosenFleet
from hcloud.planning.settings import PlanSettings
from hcloud.units import HOURS_PER_MONTH

MOST_SPANS = 36  # ours: three years month by month
SEED_FUTURES = 1  # purpose of the random stream, mixed with the seed so that another stream never moves it


@dataclass(frozen=True, slots=True)
class SizedFleet:
    """The spread over futures (None without any, or without a commitment), the scale of the reserve, what is held."""

    spread: FutureCosts | None
    scale: float
    chosen: ChosenFleet


def sized_fleet(chosen: ChosenFleet, settings: PlanSettings, owned: Sequence[Owned]) -> SizedFleet:
    """The spread over futures and, where a regret quantile is set, the reserve scaled to it."""
    generator = np.random.default_rng([settings.seed, SEED_FUTURES])
    demanded, planned = chosen.option.demanded, chosen.option.parts.planned
    pattern = repeating(demanded, settings.outlook)
    futures = draw_futures(pattern, settings.outlook, settings.risk, generator)
    if futures is None or not chosen.fleet.holdings:
        return SizedFleet(None, 1.0, chosen)
    spans = _spans(chosen.fleet, pattern, settings, owned)
    costs = spread(chosen.types, chosen.fleet, spans, futures)
    outcome = FutureCosts(SCALES, costs, futures.mean_demand(pattern) / futures.forecast_demand(pattern))
    quantile = settings.risk.regret_quantile
    if quantile is None:
        return SizedFleet(outcome, 1.0, chosen)
    scale = outcome.best_scale(quantile)
    holdings = scaled(chosen.fleet.holdings, scale)
    if sum(h.count for h in holdings) == sum(h.count for h in chosen.fleet.holdings):
        return SizedFleet(outcome, 1.0, chosen)
    return SizedFleet(outcome, scale, replace(chosen, fleet=serve(planned, chosen.types, holdings)))


def _spans(fleet: Fleet, pattern: Forecast, settings: PlanSettings, owned: Sequence[Owned]) -> list[HoldingSpan]:
    """The months of the horizon, those together in whose middle the same is held and owned; of more than ``MOST_SPANS``
    months several are looked at as one."""
    together: dict[tuple[tuple[int, ...], tuple[tuple[int, int], ...]], list[int]] = {}
    hours = settings.outlook.horizon_hours
    count = -(-hours // HOURS_PER_MONTH)
    alike = -(-count // MOST_SPANS)
    for month in range(count):
        middle = min((month // alike + 0.5) * alike * HOURS_PER_MONTH, float(hours))
        lasting = (i for i, h in enumerate(fleet.holdings) if 0 <= middle - h.start_hour <= h.offer.term_hours)
        left = ((i, o.phase(middle)) for i, o in enumerate(owned) if o.hours_left >= middle)
        together.setdefault((tuple(lasting), tuple(left)), []).append(month)
    return [
        HoldingSpan(
            np.array(months),
            tuple(fleet.holdings[i] for i in held),
            _left(pattern, settings, [owned[i].lasting(phase, hours) for i, phase in left]),
        )
        for (held, left), months in together.items()
    ]


def _left(pattern: Forecast, settings: PlanSettings, owned: Sequence[Owned]) -> Callable[[float], Forecast]:
    """What is planned for of a multiple of the pattern."""
    divided = dividing(pattern, settings, owned)
    return lambda level: divided(level - 1.0).planned

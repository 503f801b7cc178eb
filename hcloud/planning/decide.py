"""The decision: from demand and offers to the cheapest fleet, the alternatives it beat and the bound it is held to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError
from hcloud.model.catalog import Offer
from hcloud.model.plan import Refusal
from hcloud.model.workload import Demand
from hcloud.planning.candidates import Candidate, find_candidates
from hcloud.planning.evaluate import (
    Evaluation,
    all_on_demand,
    evaluate,
    fill,
    reserved_for_peak,
    static_hybrid,
)
from hcloud.planning.fleet import Fleet, serve
from hcloud.planning.forecast import Forecast, repeating, stretch
from hcloud.planning.futures import draw_futures
from hcloud.planning.mix import lower_bound, mixed_reserve, useful_types
from hcloud.planning.owned import Owned, use_first, without_spot
from hcloud.planning.risk import SCALES, Span, Spread, changed, scaled, spread, unused_share
from hcloud.planning.settings import PlanSettings
from hcloud.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

MOST_SPANS = 36  # ours: three years month by month
SEED_FUTURES = 1  # purpose of the random stream, mixed with the seed so that another stream never moves it


@dataclass(frozen=True, slots=True)
class Rival:
    """Another fleet for the same demand, with the name and the sentence that explains it."""

    name: str
    description: str
    fleet: Fleet


@dataclass(frozen=True, slots=True)
class Fall:
    """What happens to the plan when demand changes: its own fleet and spot part, and the fleets chosen in hindsight."""

    change: float
    planned: Fleet
    spot: Fleet
    on_demand: Fleet
    hindsight: Fleet
    unused_share: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The chosen fleet and everything it was compared with; bounds are float dollars, the rest is exact.

    ``optimum_cost`` is the forecast's optimum, which the fleet exceeds only where it was sized by regret. ``demanded``
    is the demand with what owned capacity and spot serve of it.
    """

    forecast: Forecast
    types: tuple[Candidate, ...]
    fleet: Fleet
    optimum_cost: Decimal
    spot: Fleet
    method: str
    bound_gap: float
    lower_bound: float
    rivals: tuple[Rival, ...]
    evaluations: tuple[Evaluation, ...]
    refusals: tuple[Refusal, ...]
    falls: tuple[Fall, ...]
    spread: Spread | None
    scale: float
    sized_at: float | None
    owned: tuple[Owned, ...]
    demanded: Forecast
    settings: PlanSettings

    @property
    def offers_in_use(self) -> tuple[Offer, ...]:
        """What is bought and rented, spot included."""
        rentals = (*self.fleet.rentals, *self.spot.rentals)
        return (*(h.offer for h in self.fleet.holdings), *(r.offer for r in rentals))

    @property
    def horizon_hours(self) -> int:
        """The planning horizon in hours."""
        return self.forecast.hours


def decide(
    book: PriceBook,
    demand: Demand,
    settings: PlanSettings,
    owned: Sequence[Owned] = (),
    reserve: int | None = None,
) -> Decision:
    """Choose the cheapest fleet for the demand's forecast among the markets' offers; with ``reserve`` the one that
    holds so many instances of the cheapest single type, whatever would be optimal.

    Raises EvidenceError where no candidate has a price, InputError where there is no demand.
    """
    demanded = stretch(demand, settings.outlook)
    parts = divide(demanded, settings, owned)
    found = [find_candidates(book, m, settings.outlook.horizon_hours) for m in settings.markets]
    candidates = tuple(_paced(c, settings) for kept, _ in found for c in kept)
    if not candidates:
        raise EvidenceError(
            "no instance type is left to plan with",
            hint="widen markets.families, architectures or regions, or set markets.vcpus to a size they have",
        )
    evaluations = tuple(
        sorted((evaluate(c, parts.planned) for c in candidates), key=lambda e: (e.cost, e.candidate.address))
    )
    optimum = _choose(evaluations, parts.planned, settings)
    start = optimum if reserve is None else _holding(evaluations[0], parts.planned, optimum, reserve)
    sized = _sized(start, (demanded, parts.planned), settings, owned)
    chosen = sized.chosen
    return Decision(
        parts.planned,
        chosen.types,
        chosen.fleet,
        optimum.fleet.cost,
        _spot_fleet(candidates, evaluations[0].candidate, parts.spot),
        chosen.method,
        chosen.gap + float(chosen.fleet.cost - start.fleet.cost),
        chosen.lower_bound,
        _rivals(candidates, parts.whole, settings),
        evaluations,
        tuple(r for _, refused in found for r in refused),
        tuple(
            _fall(chosen, candidates, divide(changed(demanded, -f), settings, owned), -f) for f in settings.risk.falls
        ),
        sized.spread,
        sized.scale,
        settings.risk.regret_quantile if sized.spread is not None else None,
        tuple(owned),
        demanded,
        settings,
    )


@dataclass(frozen=True, slots=True)
class _Sized:
    """The spread over futures (None without any, or without a commitment), the scale of the reserve, what is held."""

    spread: Spread | None
    scale: float
    chosen: _Chosen


@dataclass(frozen=True, slots=True)
class Parts:
    """Demand that nothing owned serves (``whole``), divided into what is planned for and what spot takes."""

    whole: Forecast
    planned: Forecast
    spot: Forecast


def _paced(candidate: Candidate, settings: PlanSettings) -> Candidate:
    speed = settings.speed(candidate.shape.provider, candidate.shape.family)
    return candidate if speed == candidate.speed else replace(candidate, speed=speed)


def divide(demanded: Forecast, settings: PlanSettings, owned: Sequence[Owned]) -> Parts:
    """Demand less what is owned, and that in two."""
    whole = use_first(demanded, owned)
    return Parts(whole, *without_spot(whole, settings.spot_share_of_batch))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The types in use, the fleet, how it was found, its gap to the bound on such fleets, the bound on any."""

    types: tuple[Candidate, ...]
    fleet: Fleet
    method: str
    gap: float
    lower_bound: float


def _choose(evaluations: Sequence[Evaluation], forecast: Forecast, settings: PlanSettings) -> _Chosen:
    """The best single type, or a mix of types of its region where that saves enough."""
    best = evaluations[0]
    relaxed = {
        _region(group[0]): (group, lower_bound(group, forecast))
        for group in map(useful_types, _regions([e.candidate for e in evaluations]))
    }
    bound = min(r.cost for _, r in relaxed.values())
    single = _Chosen((best.candidate,), best.fleet, best.method, float(best.cost - best.bound), bound)
    useful, fractional = relaxed[_region(best.candidate)]
    if not settings.mix_types or len(useful) == 1:
        return single
    start = _by_shape(evaluations, useful, fractional.reserve)
    shapes = tuple(start)
    mix = mixed_reserve(shapes, forecast, fractional.cost, np.array(list(start.values())))
    mixed = serve(forecast, shapes, mix.holdings)
    if float(mixed.cost) >= float(best.cost) * (1 - settings.mix_min_saving):
        return single
    return _Chosen(_in_use(shapes, mixed), mixed, mix.method, max(float(mixed.cost) - mix.bound, 0.0), bound)


def _holding(best: Evaluation, forecast: Forecast, optimum: _Chosen, count: int) -> _Chosen:
    """The fleet of the best single type with a stated reserve, its gap counted from the optimum's bound."""
    holdings = fill(best.candidate.commitments, count, forecast.hours)
    fleet = serve(forecast, (best.candidate,), holdings)
    gap = float(fleet.cost - best.bound)
    return _Chosen((best.candidate,), fleet, f"a reserve of {count}, chosen by simulation", gap, optimum.lower_bound)


def _by_shape(
    evaluations: Sequence[Evaluation], useful: Sequence[Candidate], reserve: Floats
) -> dict[Candidate, float]:
    """Of the useful types the cheapest of each shape (GiB per vCPU to the nearest power of two) with the fractional
    reserve of all types of that shape: two of one shape are more to run and save next to nothing."""
    wanted: dict[int, float] = {}
    for candidate, count in zip(useful, reserve, strict=True):
        wanted[shape_of(candidate)] = wanted.get(shape_of(candidate), 0.0) + float(count)
    cheapest: dict[int, Candidate] = {}
    for evaluation in evaluations:
        if evaluation.candidate in useful:
            cheapest.setdefault(shape_of(evaluation.candidate), evaluation.candidate)
    return {candidate: wanted[shape] for shape, candidate in cheapest.items()}


def shape_of(candidate: Candidate) -> int:
    """The power of two nearest to its GiB per vCPU: of one shape types are not mixed."""
    return round(math.log2(candidate.shape.memory_gib / candidate.shape.vcpus))


def _region(candidate: Candidate) -> tuple[str, str]:
    return candidate.on_demand.key.provider, candidate.on_demand.key.region


def _regions(candidates: Sequence[Candidate]) -> list[tuple[Candidate, ...]]:
    """The candidates by provider and region, in name order."""
    ordered = sorted(candidates, key=lambda c: (_region(c), c.address))
    return [tuple(group) for _, group in itertools.groupby(ordered, key=_region)]


def _in_use(candidates: Sequence[Candidate], fleet: Fleet) -> tuple[Candidate, ...]:
    used = {h.offer.key.instance_type for h in fleet.holdings} | {r.offer.key.instance_type for r in fleet.rentals}
    return tuple(c for c in candidates if c.shape.name in used)


def _sized(
    chosen: _Chosen, forecasts: tuple[Forecast, Forecast], settings: PlanSettings, owned: Sequence[Owned]
) -> _Sized:
    """The spread over futures and, where a regret quantile is set, the reserve scaled to it.

    ``forecasts`` are all of the demand, and what of it is planned for beside what is owned and what spot takes.
    """
    generator = np.random.default_rng([settings.seed, SEED_FUTURES])
    demanded, planned = forecasts
    pattern = repeating(demanded, settings.outlook)
    futures = draw_futures(pattern, settings.outlook, settings.risk, generator)
    if futures is None or not chosen.fleet.holdings:
        return _Sized(None, 1.0, chosen)
    spans = _spans(chosen.fleet, pattern, settings, owned)
    costs = spread(chosen.types, chosen.fleet, spans, futures)
    mean = float(np.mean(pattern.cores) * futures.stated.mean())
    outcome = Spread(SCALES, costs, futures.mean_demand(pattern) / mean)
    quantile = settings.risk.regret_quantile
    if quantile is None:
        return _Sized(outcome, 1.0, chosen)
    scale = outcome.best_scale(quantile)
    holdings = scaled(chosen.fleet.holdings, scale)
    if sum(h.count for h in holdings) == sum(h.count for h in chosen.fleet.holdings):
        return _Sized(outcome, 1.0, chosen)
    return _Sized(outcome, scale, replace(chosen, fleet=serve(planned, chosen.types, holdings)))


def _spans(fleet: Fleet, pattern: Forecast, settings: PlanSettings, owned: Sequence[Owned]) -> list[Span]:
    """The months of the horizon, those together in whose middle the same is held and owned; of more than ``MOST_SPANS``
    months several are looked at as one."""
    together: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    hours = settings.outlook.horizon_hours
    count = -(-hours // HOURS_PER_MONTH)
    alike = -(-count // MOST_SPANS)
    for month in range(count):
        middle = min((month // alike + 0.5) * alike * HOURS_PER_MONTH, float(hours))
        lasting = (i for i, h in enumerate(fleet.holdings) if 0 <= middle - h.start_hour <= h.offer.term_hours)
        left = (i for i, o in enumerate(owned) if o.hours_left >= middle)
        together.setdefault((tuple(lasting), tuple(left)), []).append(month)
    return [
        Span(
            np.array(months),
            tuple(fleet.holdings[i] for i in held),
            partial(_left, pattern, settings, [replace(owned[i], hours_left=hours) for i in left]),
        )
        for (held, left), months in together.items()
    ]


def _left(pattern: Forecast, settings: PlanSettings, owned: Sequence[Owned], level: float) -> Forecast:
    """What is planned for of a multiple of the pattern."""
    return divide(changed(pattern, level - 1.0), settings, owned).planned


def _spot_fleet(candidates: Sequence[Candidate], near: Candidate, part: Forecast) -> Fleet:
    """Spot instances of the cheapest type of the plan's region for the batch work that may be interrupted."""
    if not part.cores.any():
        return Fleet((), ())
    offered = [
        replace(c, on_demand=c.spot, sustained=None) for c in candidates if c.spot and _region(c) == _region(near)
    ]
    if not offered:
        raise EvidenceError(
            f"{near.address}: no spot price in this region", hint="set planning.spot_share_of_batch to 0 or import one"
        )
    return min((all_on_demand(c, part) for c in offered), key=lambda f: f.cost)


def _rivals(candidates: Sequence[Candidate], forecast: Forecast, settings: PlanSettings) -> tuple[Rival, ...]:
    """All on demand, reserved for the peak, and the static hybrid, each with the type that makes it cheapest."""
    margin = settings.peak_overprovision
    peaks = [reserved_for_peak(c, forecast, margin) for c in candidates]
    named = [
        ("all on demand", "rent every instance when it is needed", [all_on_demand(c, forecast) for c in candidates]),
        (
            f"reserved for the peak + {margin:.0%}",
            "commit to the highest demand and a margin (SR)",
            [p for p in peaks if p is not None],
        ),
        (
            "static hybrid",
            "one constant reserve at the break-even quantile of demand",
            [static_hybrid(c, forecast) for c in candidates],
        ),
    ]
    return tuple(Rival(name, text, min(fleets, key=lambda f: f.cost)) for name, text, fleets in named if fleets)


def _fall(chosen: _Chosen, candidates: Sequence[Candidate], less: Parts, change: float) -> Fall:
    """The plan's commitments under changed demand, beside what would have been best for its own types."""
    planned = serve(less.planned, chosen.types, chosen.fleet.holdings)
    return Fall(
        change,
        planned,
        _spot_fleet(candidates, chosen.types[0], less.spot),
        min((all_on_demand(c, less.whole) for c in chosen.types), key=lambda f: f.cost),
        min((planned, *(evaluate(c, less.planned).fleet for c in chosen.types)), key=lambda f: f.cost),
        unused_share(chosen.fleet, chosen.types, less.planned),
    )

"""The decision: from demand and offers to the cheapest fleet, the alternatives it beat and the bound it is held to."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError
from hcloud.model.catalog import Offer
from hcloud.model.plans.plan import Refusal
from hcloud.model.workload import Demand
from hcloud.planning.fleets.apart import Leanest, are_held, reserves_several
from hcloud.planning.fleets.candidates import Candidate, find_candidates, of_machine_alone
from hcloud.planning.fleets.evaluate import Evaluation, evaluate, fill
from hcloud.planning.fleets.fleet import Fleet, Holding, hours_in_use, serve, vcpus_held
from hcloud.planning.fleets.floor import NOTHING_LEFT_OUT, LeftOut
from hcloud.planning.fleets.mix import Bound, is_provable, lower_bound, mixed_reserve, shape_of, useful_types
from hcloud.planning.fleets.options import (
    DemandParts,
    FleetProblem,
    Option,
    find_options,
    ladders_of,
    region_of,
    together,
)
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.fleets.required import RequiredMachine, meeting_all
from hcloud.planning.fleets.sizes import Ladder, stated
from hcloud.planning.fleets.spot import spot_fleet
from hcloud.planning.fleets.whole_jobs import holding_all
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.forecasting.idle import IdleHours
from hcloud.planning.forecasting.packing import RunningJobs
from hcloud.planning.risks.risk import FutureCosts
from hcloud.planning.risks.rivals import NEAREST, ChosenFleet, Fall, Rival, fall, rivals
from hcloud.planning.risks.sizing import sized_fleet
from hcloud.planning.settings import PlanSettings

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

WORTH_SEVERAL = 0.1  # ours: run as HC a reserve of several shapes costs more; a second best saves so much

RelaxedRegion = tuple[tuple[Candidate, ...], Bound]
"""The useful types of a region, and what fractions of them cost at the least."""


@dataclass(frozen=True, slots=True)
class ComparedFleets:
    """All that a fleet is chosen among: the options, the cheapest fleet of each alone (the cheapest first), each
    region's ``relaxed`` fleet, the demand if every job could be split (``plain``), and what was refused."""

    asked: FleetProblem
    options: tuple[Option, ...]
    evaluations: tuple[Evaluation, ...]
    plain: DemandParts
    relaxed: Mapping[tuple[str, str], RelaxedRegion]
    refusals: tuple[Refusal, ...] = ()

    @property
    def optimum(self) -> ChosenFleet:
        """The cheapest fleet for the forecast."""
        return _choose(self, self.asked.settings)


@dataclass(frozen=True, slots=True)
class FleetDecision:
    """The chosen fleet and everything it was compared with; bounds are float dollars, the rest is exact.

    ``optimum_cost`` is that of the forecast's optimum, from which the fleet differs only where it was sized otherwise
    (by regret, by simulation, with all kinds of a bill): dearer, or cheaper by some of what the optimum leaves out.
    ``demanded`` is the demand with what owned capacity and spot serve of it. ``fleet`` counts in the smallest sizes of
    ``types``; ``machines`` is the same fleet in the larger ones of their ``ladders`` (by address), as it is bought and
    runs. ``divisible_cost`` is what the cheapest fleet would cost if every job could be split, None where all can be;
    ``left_out`` what is not bought as it saves too little.
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
    spread: FutureCosts | None
    scale: float
    sized_at: float | None
    owned: tuple[Owned, ...]
    demanded: Forecast
    settings: PlanSettings
    ladders: Mapping[str, Ladder]
    machines: Fleet
    compared: ComparedFleets
    divisible_cost: Decimal | None = None
    left_out: LeftOut = NOTHING_LEFT_OUT

    @property
    def offers_in_use(self) -> tuple[Offer, ...]:
        """What is bought and rented, spot included."""
        rentals = (*self.machines.rentals, *self.spot.rentals)
        return (*(h.offer for h in self.machines.holdings), *(r.offer for r in rentals))

    @property
    def licences(self) -> Decimal:
        """Dollars of what is billed by use beside machines, whatever these run on."""
        each = self.types[0].licence
        return each * Decimal(repr(hours_in_use(self.demanded, self.types[0]))) if each else each

    @property
    def horizon_hours(self) -> int:
        """The planning horizon in hours."""
        return self.forecast.hours

    @property
    def sunk(self) -> Decimal:
        """Dollars over the horizon of what is owned, whatever is bought."""
        return sum((o.cost(self.horizon_hours) for o in self.owned), Decimal(0))

    @property
    def cost(self) -> Decimal:
        """Dollars over the horizon, what is owned and the licences beside included, as the plan states them."""
        return self.machines.cost + self.spot.cost + self.sunk + self.licences


@dataclass(frozen=True, slots=True)
class Given:
    """What a decision may be told beside demand and settings: ``running``, the demand's jobs where some of them cannot
    be split; ``reserve``, so many instances of the cheapest single type to hold, whatever would be optimal, or so many
    ``vcpus`` of it; ``leanest``, the GiB per vCPU of the demand's jobs, where it has jobs; ``idle``, what of the demand
    may run in the idle hours of what is reserved; ``otherwise``, the decision without them: it is never done worse than
    that; ``required``, what jobs require of their machine; ``whole``, jobs that some size of a chosen type's shape has
    to hold, beside its own; ``compared``, what the fleet is chosen among, where that was found before; ``holdings``,
    what of the cheapest types to hold; ``only_cost`` leaves out what it is compared with."""

    running: RunningJobs | None = None
    reserve: int | None = None
    vcpus: float | None = None
    leanest: Leanest | None = None
    idle: IdleHours | None = None
    otherwise: FleetDecision | None = None
    required: tuple[RequiredMachine, ...] = ()
    whole: RunningJobs | None = None
    compared: ComparedFleets | None = None
    holdings: tuple[Holding, ...] | None = None
    only_cost: bool = False


def decide(
    book: PriceBook,
    demand: Demand,
    settings: PlanSettings,
    owned: Sequence[Owned] = (),
    given: Given | None = None,
) -> FleetDecision:
    """Choose the cheapest fleet for the demand's forecast among the markets' offers.

    Raises EvidenceError where no candidate has a price or a job fits or may run on none, InputError where there is no
    demand.
    """
    given = given or Given()
    compared = given.compared or compare(book, demand, settings, owned, given)
    asked, options, evaluations = compared.asked, compared.options, compared.evaluations
    optimum = _beside_the_cheapest(_no_worse_than(given.otherwise, _choose(compared, settings), compared), settings)
    start = _start(optimum, evaluations[0].candidate, settings, given)
    sized = sized_fleet(start, settings, owned)
    chosen = sized.chosen
    ladders = ladders_of(options)
    return FleetDecision(
        chosen.option.parts.planned,
        chosen.types,
        chosen.fleet,
        optimum.fleet.cost,
        spot_fleet(options, evaluations[0].candidate, chosen.option.parts.spot, asked.running),
        chosen.method,
        chosen.gap + float(chosen.fleet.cost - start.fleet.cost),
        chosen.lower_bound,
        () if given.only_cost else rivals(options, chosen, settings),
        evaluations,
        compared.refusals,
        tuple(fall(chosen, evaluations, options, asked, -f) for f in settings.risk.falls),
        sized.spread,
        sized.scale,
        settings.risk.regret_quantile if sized.spread is not None else None,
        tuple(owned),
        chosen.option.demanded,
        settings,
        ladders,
        stated(chosen.fleet, chosen.types, ladders, chosen.option.parts.planned),
        compared,
        None if given.only_cost else _if_divisible(compared, optimum),
        optimum.left_out if chosen is optimum else NOTHING_LEFT_OUT,
    )


def of_several_types(decision: FleetDecision, otherwise: FleetDecision | None = None) -> Decimal:
    """What the fleet would cost if types were mixed however little that saves, sized for the forecast."""
    compared = decision.compared
    settings = replace(decision.settings, mix_types=True, mix_min_saving=0.0)
    chosen = _no_worse_than(otherwise, _choose(compared, settings, proven=False), compared)
    return stated(chosen.fleet, chosen.types, ladders_of(compared.options), chosen.option.parts.planned).cost


def compare(
    book: PriceBook, demand: Demand, settings: PlanSettings, owned: Sequence[Owned], given: Given
) -> ComparedFleets:
    """All that a fleet for the demand is chosen among; raises as :func:`decide` does."""
    asked = FleetProblem(demand, settings, owned, given.running, given.leanest, given.idle)
    found = [find_candidates(book, m, settings.outlook.horizon_hours) for m in settings.markets]
    able, unable = meeting_all([c for kept, _ in found for c in kept], given.required)
    holding, narrow = holding_all(able, book, given.whole)
    candidates = [_paced(of_machine_alone(c, book) if demand.by_part else c, settings) for c in holding]
    if not candidates:
        why = {r.reason for _, refused in found for r in refused}
        raise EvidenceError(
            "no instance type matches the settings" + (f": each {why.pop()}" if len(why) == 1 else ""),
            hint="widen markets.families, architectures or regions, or set markets.vcpus to a size they have",
        )
    options, plain, too_small = find_options(candidates, asked)
    evaluations = _evaluated(options, settings)
    groups = map(useful_types, _regions([e.candidate for e in evaluations]))
    relaxed = {region_of(group[0]): (group, lower_bound(group, plain.planned)) for group in groups}
    refused = (*(r for _, refused in found for r in refused), *unable, *narrow, *too_small)
    return ComparedFleets(asked, options, evaluations, plain, relaxed, refused)


def _start(optimum: ChosenFleet, best: Candidate, settings: PlanSettings, given: Given) -> ChosenFleet:
    """The optimum, or the fleet that holds what is given."""
    if given.holdings is not None:
        return _together(optimum, given.holdings)
    reserve = given.reserve if given.vcpus is None else int(given.vcpus / float(best.shape.vcpus))
    return optimum if reserve is None else _holding(best, optimum, reserve, settings)


def _paced(candidate: Candidate, settings: PlanSettings) -> Candidate:
    speed = settings.speed(candidate.shape.provider, candidate.shape.family)
    return candidate if speed == candidate.speed else replace(candidate, speed=speed)


def _evaluated(options: Sequence[Option], settings: PlanSettings) -> tuple[Evaluation, ...]:
    """The cheapest fleet of each type alone, the cheapest first."""
    found = (evaluate(o.candidate, o.parts.planned, None, *settings.least_savings) for o in options)
    return tuple(sorted(found, key=lambda e: (e.cost, e.candidate.address)))


def _if_divisible(compared: ComparedFleets, optimum: ChosenFleet) -> Decimal | None:
    """What the fleet would cost if every job could be split; no more than it costs."""
    asked, plain = compared.asked, compared.plain
    if asked.running is None:
        return None
    without_gaps = {o.candidate.address for o in compared.options if o.parts is plain}
    again = [
        e.cost
        if e.candidate.address in without_gaps
        else evaluate(e.candidate, plain.planned, None, *asked.settings.least_savings).cost
        for e in compared.evaluations[:NEAREST]
    ]
    mixed = serve(plain.planned, optimum.types, optimum.fleet.holdings).cost
    return min(mixed, optimum.fleet.cost, *again)


def _choose(compared: ComparedFleets, settings: PlanSettings, *, proven: bool = True) -> ChosenFleet:
    """The best single type, or a mix of types of its region where that saves enough, ``proven`` by an integer program
    where one is taken. The bound is for demand that can be split."""
    asked, evaluations, options = compared.asked, compared.evaluations, compared.options
    best, plain = evaluations[0], compared.plain.planned
    by_address = {o.candidate.address: o for o in options}
    bound = _bound(options, [r.cost for _, r in compared.relaxed.values()], plain)
    own = by_address[best.candidate.address]
    single = ChosenFleet((best.candidate,), own, best.fleet, best.method, float(best.cost - best.bound), bound)
    useful, fractional = compared.relaxed[region_of(best.candidate)]
    enough = float(best.cost) * (1 - settings.mix_min_saving)
    if not settings.mix_types or len(useful) == 1 or fractional.cost >= enough:
        return single
    wanted = _by_shape(evaluations, useful, fractional.reserve)
    in_use = [best.candidate, *(c for c, is_used in zip(useful, fractional.used, strict=True) if is_used)]
    used = tuple(c for c in wanted if shape_of(c) in set(map(shape_of, in_use)))

    def mixed(shapes: tuple[Candidate, ...], *, prove: bool = False) -> ChosenFleet | None:
        """The fleet of several types, if it saves enough and holds the jobs."""
        several = together([by_address[c.address] for c in shapes], asked)
        forecast, start = several.parts.planned, (fractional.cost, np.array([wanted[c] for c in shapes]))
        if prove and not is_provable(shapes, forecast):
            return None
        mix = mixed_reserve(shapes, forecast, start, settings.commit_min_saving, prove=prove)
        fleet = _but_at_last(mix.holdings, shapes, forecast)
        needed = forecast.beside(vcpus_held(fleet, shapes, forecast))
        is_second = len(shapes) < len(used) and reserves_several(fleet)
        if float(fleet.cost) >= min(enough, float(best.cost) * (1 - WORTH_SEVERAL) if is_second else enough):
            return None
        if asked.leanest is not None and not are_held(fleet, shapes, needed, asked.leanest):
            return None
        gap, cheapest = max(float(fleet.cost) - mix.bound, 0.0), _but_at_last(mix.cheapest, shapes, forecast)
        left = LeftOut.between(fleet, cheapest)
        return ChosenFleet(_in_use(shapes, fleet), several, fleet, mix.method, gap, bound, left)

    # Whole machines may need one more family; and of fleets that cost the same in sums one may hold the jobs.
    fewer = [tuple(c for c in used if c is not one) for one in used if len(used) > 2]
    for shapes in dict.fromkeys((used, tuple(wanted), *fewer)):
        if (searched := mixed(shapes)) is not None:
            return (mixed(shapes, prove=True) if proven else None) or searched
    return single


def _but_at_last(held: Sequence[Holding], types: Sequence[Candidate], forecast: Forecast) -> Fleet:
    """The fleet with what is held, without what is bought anew at last for a part of its term if that is cheaper."""
    ended = [h for h in held if h.start_hour + h.offer.term_hours <= forecast.hours]
    ways = {len(held): held, len(ended): ended}.values()
    return min((serve(forecast, types, kept) for kept in ways), key=lambda fleet: fleet.cost)


def _beside_the_cheapest(chosen: ChosenFleet, settings: PlanSettings) -> ChosenFleet:
    """The fleet of a single type with its gap to the cheapest, and what is left out of that as it saves too little."""
    if not settings.commit_min_saving or len(chosen.types) > 1:
        return chosen
    best = evaluate(chosen.types[0], chosen.option.parts.planned, None, settings.spread_min_saving)
    gap = max(float(chosen.fleet.cost - best.bound), 0.0)
    return replace(chosen, gap=gap, left_out=LeftOut.between(chosen.fleet, best.fleet))


def _bound(options: Sequence[Option], relaxed: Sequence[float], plain: Forecast) -> float:
    """What no fleet of any region costs less than: ``relaxed`` by region, unless types are counted at other prices than
    their own; less what sizes are cheaper that a type stands for."""
    if any(o.unit.counted for o in options):
        own = _regions([o.ladder[0] for o in options])
        relaxed = [lower_bound(useful_types(group), plain).cost for group in own]
    return min(relaxed) / (1 + max(o.unit.excess for o in options))


def _no_worse_than(otherwise: FleetDecision | None, optimum: ChosenFleet, compared: ComparedFleets) -> ChosenFleet:
    """The optimum, or the fleet of another decision where that serves the demand for less (a mix of types need not
    have saved enough to be looked at)."""
    if otherwise is None:
        return optimum
    by_address = {o.candidate.address: o for o in compared.options}
    types = tuple(by_address[c.address].candidate for c in otherwise.types if c.address in by_address)
    if len(types) < len(otherwise.types):
        return optimum
    fleet = serve(optimum.option.parts.planned, types, otherwise.fleet.holdings)
    if fleet.cost >= optimum.fleet.cost:
        return optimum
    gap, left = max(float(fleet.cost) - optimum.lower_bound, 0.0), LeftOut.between(fleet, optimum.fleet)
    return replace(optimum, types=types, fleet=fleet, gap=gap, left_out=optimum.left_out.plus(left))


def _holding(best: Candidate, optimum: ChosenFleet, count: int, settings: PlanSettings) -> ChosenFleet:
    """The fleet of the best single type with a stated reserve, its gap counted from the bound on all fleets of it."""
    forecast = optimum.option.parts.planned
    fleet = serve(forecast, (best,), fill(best.commitments, count, forecast.hours))
    gap = float(fleet.cost - evaluate(best, forecast, None, settings.spread_min_saving).bound)
    method = "simulated reserve"
    return ChosenFleet((best,), optimum.option, fleet, method, gap, optimum.lower_bound)


def _together(optimum: ChosenFleet, holdings: tuple[Holding, ...]) -> ChosenFleet:
    """The fleet of the same types with what is held chosen elsewhere."""
    if holdings == optimum.fleet.holdings:
        return optimum
    fleet = serve(optimum.option.parts.planned, optimum.types, holdings)
    gap = optimum.gap + float(fleet.cost - optimum.fleet.cost)
    return replace(optimum, fleet=fleet, method="chosen with all kinds of machines of the bill", gap=max(gap, 0.0))


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


def _regions(candidates: Sequence[Candidate]) -> list[tuple[Candidate, ...]]:
    """The candidates by provider and region, in name order."""
    ordered = sorted(candidates, key=lambda c: (region_of(c), c.address))
    return [tuple(group) for _, group in itertools.groupby(ordered, key=region_of)]


def _in_use(candidates: Sequence[Candidate], fleet: Fleet) -> tuple[Candidate, ...]:
    used = {h.offer.key.instance_type for h in fleet.holdings} | {r.offer.key.instance_type for r in fleet.rentals}
    return tuple(c for c in candidates if c.shape.name in used)

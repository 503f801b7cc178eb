"""Other fleets for the same demand, each as cheap as its kind can be, and what becomes of a plan when demand falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import (
    Evaluation,
    cheapest_on_demand,
    evaluate,
    reserved_for_peak,
    static_hybrid,
)
from hcloud.planning.fleets.fleet import Fleet, serve
from hcloud.planning.fleets.floor import NOTHING_LEFT_OUT, LeftOut
from hcloud.planning.fleets.options import FleetProblem, Option, divide
from hcloud.planning.fleets.spot import spot_fleet
from hcloud.planning.risks.risk import changed, unused_share
from hcloud.planning.settings import PlanSettings

NEAREST = 3  # ours: so many types are planned for anew where the question is what would have been best

ON_DEMAND = "all on demand"
"""The name of the alternative that commits to nothing."""


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
class ChosenFleet:
    """The types in use with the demand as they see it, the fleet, how it was found, its gap to the bound on such
    fleets, the bound on any, and what was left out as it saves too little."""

    types: tuple[Candidate, ...]
    option: Option
    fleet: Fleet
    method: str
    gap: float
    lower_bound: float
    left_out: LeftOut = NOTHING_LEFT_OUT


def rivals(options: Sequence[Option], chosen: ChosenFleet, settings: PlanSettings) -> tuple[Rival, ...]:
    """All on demand, reserved for the peak, and the static hybrid, each with the types that make it cheapest."""
    margin = settings.peak_overprovision
    each = [(o.candidate, o.parts.whole) for o in options]
    peaks = [reserved_for_peak(c, forecast, margin) for c, forecast in each]
    named = [
        (
            ON_DEMAND,
            "rent every instance when it is needed",
            [cheapest_on_demand(each), serve(chosen.option.parts.whole, chosen.types, ())],
        ),
        (
            f"reserved for the peak + {margin:.0%}",
            "commit to the highest demand and a margin (SR)",
            [p for p in peaks if p is not None],
        ),
        (
            "static hybrid",
            "one constant reserve at the break-even quantile of demand",
            [static_hybrid(c, forecast, None, settings.commit_min_saving) for c, forecast in each],
        ),
    ]
    cheapest = [(name, text, min(fleets, key=lambda f: f.cost)) for name, text, fleets in named if fleets]
    return tuple(Rival(name, text, _at_own_prices(fleet, options)) for name, text, fleet in cheapest)


def _at_own_prices(fleet: Fleet, options: Sequence[Option]) -> Fleet:
    """A fleet of one type in its machines, where that is counted at other prices than its own."""
    offers = [*(h.offer for h in fleet.holdings), *(r.offer for r in fleet.rentals)]
    types = {f"{o.key.provider}/{o.key.region}/{o.key.instance_type}" for o in offers}
    found = [o for o in options if {o.candidate.address} == types and o.unit.counted]
    return found[0].stated(fleet, found[0].parts.whole) if found else fleet


def fall(
    chosen: ChosenFleet,
    evaluations: Sequence[Evaluation],
    options: Sequence[Option],
    asked: FleetProblem,
    change: float,
) -> Fall:
    """The plan's commitments under changed demand, beside the cheapest all on demand then and the best in hindsight
    (of the plan's types and the ``NEAREST`` that come next)."""

    seen = {id(o.demanded): o.demanded for o in (chosen.option, *options)}  # most types see the same demand
    less = {key: divide(changed(demanded, change), asked.settings, asked.owned) for key, demanded in seen.items()}
    own = less[id(chosen.option.demanded)]
    planned = serve(own.planned, chosen.types, chosen.fleet.holdings)
    parts = {o.candidate.address: less[id(o.demanded)] for o in options}
    rented = cheapest_on_demand([(o.candidate, parts[o.candidate.address].whole) for o in options])
    near = dict.fromkeys((*chosen.types, *(e.candidate for e in evaluations[:NEAREST])))
    best = [evaluate(c, parts[c.address].planned).fleet for c in near]
    return Fall(
        change,
        planned,
        spot_fleet(options, chosen.types[0], own.spot, asked.running),
        min((rented, serve(own.whole, chosen.types, ())), key=lambda f: f.cost),
        min((planned, *best), key=lambda f: f.cost),
        unused_share(chosen.fleet, chosen.types, own.planned),
    )

"""A plan that counts on idle hours: decided by arithmetic, played, and decided again with what play carried."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple, Protocol

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import InstanceType, OfferKey, PurchaseOption
from hcloud.model.workload import Demand, Jobs, Workload
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.fleets.fleet import vcpus_held
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.forecasting.dividing import settled
from hcloud.planning.forecasting.idle import IdleUse, PlayedHours
from hcloud.planning.settings import PlanSettings
from hcloud.planning.strategies.own_fleet import WITH_RESERVE, PlannedFleet
from hcloud.readers.configuration.config import Config
from hcloud.usecases.deciding.own_fleet import fleet_study
from hcloud.usecases.studies.simulation import Study

MOST_PLAYS = 3
ALIKE = 0.01
"""Ours: a plan is taken where it counts on no more than play carried on its own reserve, but for this share."""


class FindIdle(Protocol):
    """Finds what services leave idle, by arithmetic and by play."""

    def __call__(self, workload: Workload, demand: Demand, settings: PlanSettings, vcpus: float) -> IdleUse:
        """What services leave idle on servers of so many vCPUs."""

    def played(self, study: Study, fleet: PlannedFleet, use: IdleUse, demand: Demand, *, first: bool) -> IdleUse:
        """The same where only those jobs may run in idle hours that end there beside a fleet; the ``first`` time
        services may be left where batch is on machines."""


class PlanQuestion(NamedTuple):
    """What a plan is asked: the workload, its prices and demand, the settings, and what is owned."""

    workload: Workload
    book: PriceBook
    demand: Demand
    settings: PlanSettings
    owned: tuple[Owned, ...]
    config: Config


def decide_with_idle_hours(
    asked: PlanQuestion, find: FindIdle, use: IdleUse, given: Given, without: FleetDecision
) -> tuple[FleetDecision, IdleUse]:
    """The decision with idle hours, and what of them it counts on: no more than play carries on its own reserve. Where
    that does not pay nothing is counted on, and the plan is the one without.

    Where play carries less than arithmetic, less is reserved, on which still less is carried. So what was played first
    is also held against what this comes to."""

    def decided(
        settings: PlanSettings, use: IdleUse, book: PriceBook | None = None, reserve: int | None = None
    ) -> FleetDecision:
        told = replace(given, idle=use.hours, otherwise=without, reserve=reserve)
        return decide(book or asked.book, asked.demand, settings, asked.owned, told)

    if not isinstance(asked.workload, Jobs):
        return decided(asked.settings, use), replace(use, played=PlayedHours("a demand series has no jobs"))
    quick = replace(asked.settings, risk=replace(asked.settings.risk, falls=()))
    decision, kept = decided(quick, use, _near(asked.book, without)), list[tuple[FleetDecision, IdleUse]]()
    arithmetic, wanted = _carried(asked, decision, use), float(use.hours.batch.sum(axis=0).mean())
    for at in range(MOST_PLAYS):
        fleet = _fleet_of(decision, asked.owned)
        study = fleet_study(fleet, (settled(asked.workload, asked.settings.divisible), asked.book), asked.config)
        found = find.played(study, fleet, use, asked.demand, first=at == 0)
        assert found.played is not None, "it was played, or is said why not"
        if found.played.why_not:
            return decided(asked.settings, use), replace(use, played=found.played)
        told = replace(found.played, arithmetic=arithmetic, wanted=wanted)
        is_met = at > 0 and _carried(asked, decision, use) <= told.vcpus * (1 + ALIKE)
        if not is_met:
            use, decision = found, decided(asked.settings, found)
            is_met = at > 0 and _fleet_of(decision, asked.owned) == fleet
        if is_met:
            kept.append((decision, replace(use, played=told)))
            break
        if at == 1:
            held = decided(asked.settings, use, reserve=fleet.servers)
            kept += [(held, replace(use, played=told))] if _fleet_of(held, asked.owned) == fleet else []
    best = min(kept, key=lambda one: _cost(one[0]), default=None)
    if best is not None and _cost(best[0]) <= _cost(without):
        return best
    nothing = replace(use.hours, batch=np.zeros_like(use.hours.batch))
    use = replace(use, hours=nothing, lengths=np.full_like(use.lengths, -1), played=replace(told, vcpus=0.0, ended=0))
    return decided(asked.settings, use), use


def _cost(decision: FleetDecision) -> Decimal:
    """Of all that is bought and rented over the horizon."""
    return decision.machines.cost + decision.spot.cost


def _near(book: PriceBook, without: FleetDecision) -> PriceBook:
    """The prices of the families that the plan without idle hours has: what is reserved of them is played first."""
    families = {c.shape.family for c in without.types}
    near = [c for ladder in without.ladders.values() for c in ladder if c.shape.family in families]
    return book.restricted(k for c in near for k in (c.on_demand.key, *(o.key for o in c.commitments)))


def _carried(asked: PlanQuestion, decision: FleetDecision, use: IdleUse) -> float:
    """The vCPUs of batch that a decision counts on in the mean, at the demand as it was."""
    held = float(vcpus_held(decision.fleet, decision.types, decision.forecast)[0])
    owned = sum(float(o.shape.vcpus * o.speed * o.count) for o in asked.owned if o.hours_left)
    return float(use.hours.carried(held + owned).mean())


def _fleet_of(decision: FleetDecision, owned: tuple[Owned, ...]) -> PlannedFleet:
    """All that is reserved as servers of the type that does most of it; where nothing is, none of the type rented."""
    shapes = {c.shape.name: c.shape for ladder in decision.ladders.values() for c in ladder}
    lots = [(h.offer.key, shapes[h.offer.key.instance_type], Decimal(h.count)) for h in decision.machines.holdings]
    lots += [(o.offer.key, o.shape, o.count) for o in owned if o.hours_left]
    vcpus: dict[OfferKey, Decimal] = {}
    for key, shape, count in lots:
        vcpus[key] = vcpus.get(key, Decimal(0)) + shape.vcpus * count
    rented = tuple(dict.fromkeys(r.offer.key.instance_type for r in decision.machines.rentals))
    if not vcpus:
        key = decision.types[0].on_demand.key
        return PlannedFleet(key, None, 0, WITH_RESERVE, (), (), rented)
    key = max(vcpus, key=lambda one: (vcpus[one], str(one)))
    size = _shape_of(key, lots).vcpus
    on_demand = replace(
        key, option=PurchaseOption.ON_DEMAND, term_years=0, payment=decision.types[0].on_demand.key.payment
    )
    return PlannedFleet(on_demand, key, int(sum(vcpus.values()) / size), WITH_RESERVE, (), (), rented)


def _shape_of(key: OfferKey, lots: list[tuple[OfferKey, InstanceType, Decimal]]) -> InstanceType:
    return next(shape for one, shape, _ in lots if one == key)

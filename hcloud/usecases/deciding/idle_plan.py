"""A plan that counts on idle hours: decided by arithmetic, played, and decided again with what play carried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple, Protocol

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import OfferKey, PurchaseOption
from hcloud.model.workload import Demand, Jobs, Workload
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.fleets.fleet import vcpus_held
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.forecasting.dividing import settled
from hcloud.planning.forecasting.idle import IdleUse, PlayedHours
from hcloud.planning.settings import PlanSettings
from hcloud.planning.strategies.own_fleet import STRATEGY, PlannedFleet
from hcloud.readers.configuration.config import Config
from hcloud.usecases.deciding.own_fleet import fleet_study
from hcloud.usecases.studies.simulation import Study

MOST_PLAYS = 4
"""Ours: where play does not bear out what was decided, so many reserves are tried."""
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

    Where play carries less than arithmetic, less is reserved, on which still less is carried. So other reserves are
    played, too, beside what was played first.
    """
    jobs = settled(asked.workload, asked.settings.divisible) if isinstance(asked.workload, Jobs) else None
    plays = _Plays(asked, find, given, without, jobs)
    if jobs is None:
        return plays.decided(asked.settings, use), replace(use, played=PlayedHours("a demand series has no jobs"))
    decision = plays.decided(plays.quick, use, _near(asked.book, without))
    arithmetic, wanted = _carried(asked, decision, use), float(use.hours.batch.sum(axis=0).mean())
    first = _fleet_of(decision, asked.owned)
    found = plays.beside(first, use, first=True)
    assert found.played is not None, "it was played, or is said why not"
    if found.played.why_not:
        return plays.decided(asked.settings, use), replace(use, played=found.played)
    best, last = plays.settled(first, use, found)
    if best is not None and _cost(best[0]) <= _cost(without):
        decision, use = best
        assert use.played is not None
        return decision, replace(use, played=replace(use.played, arithmetic=arithmetic, wanted=wanted))
    told = replace(last, arithmetic=arithmetic, wanted=wanted, vcpus=0.0, ended=0)
    nothing = replace(use.hours, batch=np.zeros_like(use.hours.batch))
    use = replace(use, hours=nothing, lengths=np.full_like(use.lengths, -1), played=told)
    return plays.decided(asked.settings, use), use


Settled = tuple[FleetDecision, IdleUse]
"""A decision, and what it counts on: no more than play carried beside its own reserve."""


class _Plays(NamedTuple):
    """Decides by what was played, and plays what was decided."""

    asked: PlanQuestion
    find: FindIdle
    given: Given
    without: FleetDecision
    jobs: Jobs | None

    @property
    def quick(self) -> PlanSettings:
        """The settings without what only a plan that is shown needs."""
        return replace(self.asked.settings, risk=replace(self.asked.settings.risk, falls=()))

    def decided(
        self, settings: PlanSettings, use: IdleUse, book: PriceBook | None = None, vcpus: float | None = None
    ) -> FleetDecision:
        """The best plan that counts on so much, or the best that reserves so many vCPUs."""
        told = replace(self.given, idle=use.hours, otherwise=self.without, vcpus=vcpus)
        return decide(book or self.asked.book, self.asked.demand, settings, self.asked.owned, told)

    def beside(self, fleet: PlannedFleet, use: IdleUse, *, first: bool = False) -> IdleUse:
        """What of some idle hours is carried beside the services of a fleet."""
        assert self.jobs is not None, "only jobs are played"
        study = fleet_study(fleet, (self.jobs, self.asked.book), self.asked.config)
        return self.find.played(study, fleet, use, self.asked.demand, first=first)

    def settled(self, first: PlannedFleet, use: IdleUse, found: IdleUse) -> tuple[Settled | None, PlayedHours]:
        """The best decision that was found to be true, and the last play of one that follows from the first."""
        decision = self.decided(self.asked.settings, found)
        fleet = _fleet_of(decision, self.asked.owned)
        again = self.beside(fleet, found)
        assert again.played is not None
        if _carried(self.asked, decision, found) <= again.played.vcpus * (1 + ALIKE):
            return (decision, replace(found, played=again.played)), again.played
        decision = self.decided(self.asked.settings, again)
        if _fleet_of(decision, self.asked.owned) == fleet:
            return (decision, again), again.played
        return self.searched((first, fleet), use, again), again.played

    def searched(self, fleets: tuple[PlannedFleet, PlannedFleet], use: IdleUse, found: IdleUse) -> Settled | None:
        """Of some reserves the one that costs least with what play carries beside it: that which was played last, that
        which arithmetic asks for, and some between and above."""
        first, last = fleets if fleets[0].servers else (fleets[1], fleets[1])
        if not first.servers:
            return None
        size, held, plain = self.size_of(first), dict[int, Settled](), _fleet_of(self.without, self.asked.owned)
        tried = {plain.servers * self.size_of(plain) // size: _cost(self.without)}
        count: int | None = last.servers * self.size_of(last) // size
        for at in range(MOST_PLAYS):
            if count is None:
                break
            fleet = last if at == 0 else replace(first, servers=count)
            told = found if at == 0 else self.beside(fleet, use)
            made = self.decided(self.quick, told, vcpus=self.bought(fleet))
            tried[count] = _cost(made)
            buys = _fleet_of(made, self.asked.owned)
            if (buys.on_demand, buys.servers) == (fleet.on_demand, fleet.servers):
                held[count] = made, told
            count = first.servers if at == 0 and first.servers not in tried else next_reserve(tried)
        best = min(held.values(), key=lambda one: _cost(one[0]), default=None)
        if best is None:
            return None
        reserved = self.bought(_fleet_of(best[0], self.asked.owned))
        return self.decided(self.asked.settings, best[1], vcpus=reserved), best[1]

    def bought(self, fleet: PlannedFleet) -> float:
        """The vCPUs of a fleet's reserve that are not owned."""
        owned = sum(float(o.shape.vcpus * o.count) for o in self.asked.owned if o.is_used)
        return max(fleet.servers * self.size_of(fleet) - owned, 0.0)

    def size_of(self, fleet: PlannedFleet) -> int:
        """The vCPUs of a server of a fleet."""
        ladders = self.without.ladders.values()
        shapes = [*(c.shape for ladder in ladders for c in ladder), *(o.shape for o in self.asked.owned)]
        return next(int(s.vcpus) for s in shapes if s.name == fleet.on_demand.instance_type)


def next_reserve(tried: Mapping[int, Decimal]) -> int | None:
    """How many servers to try next: more, where the most that was tried costs least, else half way from the best to the
    cheaper one beside it; None where nothing lies between."""
    counts = sorted(tried)
    at = counts.index(min(counts, key=lambda count: (tried[count], count)))
    best, beside = counts[at], (counts[at - 1 : at] + counts[at + 1 : at + 2])
    if at == len(counts) - 1:
        return best + max((best - beside[0]) // 2, 1) if beside else None
    apart = [count for count in beside if abs(count - best) > 1]
    return (best + min(apart, key=lambda count: (tried[count], count))) // 2 if apart else None


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
    owned = sum(float(o.shape.vcpus * o.speed * o.count) for o in asked.owned if o.is_used)
    return float(use.hours.carried(held + owned).mean())


def _fleet_of(decision: FleetDecision, owned: tuple[Owned, ...]) -> PlannedFleet:
    """All that is reserved as servers of the type that does most of it; where nothing is, none of the type rented."""
    shapes = {c.shape.name: c.shape for ladder in decision.ladders.values() for c in ladder}
    lots = [(h.offer.key, shapes[h.offer.key.instance_type], Decimal(h.count)) for h in decision.machines.holdings]
    lots += [(o.offer.key, o.shape, o.count) for o in owned if o.is_used]
    vcpus: dict[OfferKey, Decimal] = {}
    for key, shape, count in lots:
        vcpus[key] = vcpus.get(key, Decimal(0)) + shape.vcpus * count
    rented = tuple(dict.fromkeys(r.offer.key.instance_type for r in decision.machines.rentals))
    if not vcpus:
        key = decision.types[0].on_demand.key
        return PlannedFleet(key, None, 0, STRATEGY, rented=rented)
    key = max(vcpus, key=lambda one: (vcpus[one], str(one)))
    size = next(shape.vcpus for one, shape, _ in lots if one == key)
    on_demand = replace(
        key, option=PurchaseOption.ON_DEMAND, term_years=0, payment=decision.types[0].on_demand.key.payment
    )
    return PlannedFleet(on_demand, key, int(sum(vcpus.values()) / size), STRATEGY, rented=rented)

"""All kinds of machines of a bill together: what commitments that float between them cover, hour by hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.shapes import family_of
from hcloud.model.catalog import Offer, OfferKey, Payment, Provider, PurchaseOption
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Holding, instances_needed, rent
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.forecasting.rising import HOURS_PER_WEEK

if TYPE_CHECKING:
    from hcloud.model.workload import Floats


Term = tuple[Provider, PurchaseOption, int | None, Payment | None, str, str]
"""Provider, option, years and payment, and the region and family that it is bound to, if to any."""
SAVING_PLACES = 6  # beyond them shares of prices are rounding


def term_of(offer: Offer) -> Term:
    """What offers that float, or cover several systems of a family, have in common where their dollars are the same."""
    key = offer.key
    place = ("", "") if key.option.floats else (key.region, machines_alike(key))
    return key.provider, key.option, key.term_years, key.payment, *place


def machines_alike(key: OfferKey) -> str:
    """The machines that what is sold for a family covers as it covers this one: of Google, which commits vCPUs and GiB
    apart, those of the same GiB a vCPU."""
    if key.provider is Provider.GCP:
        return key.instance_type.rpartition("-")[0]
    return family_of(key.provider, key.instance_type)


@dataclass(frozen=True, slots=True)
class EstateKind:
    """A kind of machine: how many of one type are in use at each step that nothing which is held of it alone serves
    (parts as parts), and the price of one on demand. Kinds without a ``candidate`` use what floats, and their own
    dollars are not counted; ``forecast`` is the demand of the others."""

    machines: Floats
    price: float
    candidate: Candidate | None = None
    forecast: Forecast | None = None

    @classmethod
    def planned(cls, candidate: Candidate, forecast: Forecast) -> EstateKind:
        """One that is planned in a type."""
        vcpus, gib = map(float, candidate.capacity)
        used = np.maximum(forecast.cores / vcpus, forecast.memory / gib)
        return cls(used, float(candidate.on_demand.hourly), candidate, forecast)

    @property
    def least_price(self) -> float:
        """The price of one that is in use in all hours of a month."""
        rule = None if self.candidate is None else self.candidate.sustained
        return self.price if rule is None else self.price * float(rule.full_month_factor)

    def rented(self, machines: Floats) -> float:
        """Dollars of so many machines at each step on demand."""
        candidate, forecast = self.candidate, self.forecast
        if candidate is None or forecast is None:
            return 0.0
        if candidate.sustained is None:
            return float(machines.sum()) * forecast.step_hours * self.price
        vcpus, gib = map(float, candidate.capacity)
        left = replace(forecast, cores=machines * vcpus, memory=machines * gib)
        return float(rent(candidate, instances_needed(left.cores, left.memory, candidate), left).cost)


@dataclass(frozen=True, slots=True)
class EstatePool:
    """Commitments that float: their dollars an hour at each step, and what an hour of a machine of each kind that they
    may cover takes of them, by the number of the kind. Those bound to a family are applied ``first``; instances of one
    (``alike``) to its kinds in proportion to what they use, as they save the same of each."""

    dollars: Floats
    rates: Mapping[int, float]
    first: bool = False
    alike: bool = False

    @classmethod
    def of(cls, dollars: Floats, rates: Mapping[int, float], option: PurchaseOption) -> EstatePool:
        """That of an option."""
        return cls(dollars, rates, not option.floats, not option.is_spend_based)


@dataclass(frozen=True, slots=True)
class KindPurchase:
    """What is bought for a kind, held in ``steps``, in instances of so many of the machines that it is counted in;
    ``rates`` are those of a pool where it floats."""

    kind: int
    holding: Holding
    steps: slice
    machines: float
    rates: Mapping[int, float] | None = None

    def of(self, count: int) -> KindPurchase:
        """The same in another number."""
        return replace(self, holding=replace(self.holding, count=count))

    @property
    def term(self) -> Term:
        """What floats alike: it applies at the same rates."""
        return term_of(self.holding.offer)


@dataclass(frozen=True, slots=True)
class EstateCosts:
    """What is rented of each kind, and what each uses of commitments that float and bears of what is idle of those that
    are held, in dollars of the horizon; what purchases cost."""

    rented: tuple[float, ...]
    used: tuple[float, ...]
    idle: tuple[float, ...]
    bought: float

    @property
    def total(self) -> float:
        """What differs between one way to buy and another."""
        return self.counted(1.0)

    def counted(self, dearer: float) -> float:
        """The same where dollars of purchases count dearer by a factor."""
        return sum(self.rented) + self.bought * dearer


@dataclass(frozen=True, slots=True)
class BilledEstate:
    """The kinds of a bill, and the commitments of it that float between them.

    AWS, "Calculating your bills with Savings Plans": reserved instances first, then EC2 Instance Savings Plans, then
    Compute Savings Plans; of these the usage with the highest percentage saved first, of equal ones that with the
    lowest rate. Azure: reservations, then savings plans by the highest discount. Google: committed use of resources,
    then flexible committed use; in which order it does not say, here (ours) by the highest saving beside what sustained
    use leaves.
    """

    kinds: tuple[EstateKind, ...]
    pools: tuple[EstatePool, ...]
    step_hours: float

    def costs(self, bought: Sequence[KindPurchase]) -> EstateCosts:
        """What it costs with these purchases."""
        left, used, rooms = self._played(bought)
        rented = tuple(kind.rented(machines) for kind, machines in zip(self.kinds, left, strict=True))
        idle = self._idle(used, [float(room.sum()) for room in rooms])
        of_all, of_idle = (tuple((dollars.sum(axis=0) * self.step_hours).tolist()) for dollars in (used, idle))
        return EstateCosts(rented, of_all, of_idle, sum(float(p.holding.cost) for p in bought))

    def held(self) -> list[float]:
        """How many machines of each kind what is held that floats serves before purchases, what is idle of it included,
        in the mean of the first week."""
        week = max(round(HOURS_PER_WEEK / self.step_hours), 1)
        kinds = tuple(replace(kind, machines=kind.machines[:week]) for kind in self.kinds)
        now = replace(self, kinds=kinds, pools=tuple(replace(p, dollars=p.dollars[:week]) for p in self.pools))
        _, used, rooms = now._played(())
        machines = [0.0] * len(self.kinds)
        for dollars, pool in zip(used + now._idle(used, [float(room.sum()) for room in rooms]), now.pools, strict=True):
            steps = max(int(np.count_nonzero(pool.dollars)), 1)
            for kind, rate in pool.rates.items():
                machines[kind] += float(dollars[kind]) / rate / steps
        return machines

    def used(self, bought: Sequence[KindPurchase]) -> dict[Term, Floats]:
        """What each kind uses of what floats of purchases, by its term, in dollars an hour summed over the steps."""
        rows = self._played(bought)[1][len(self.pools) :]
        return dict(zip(self.terms(bought), rows, strict=True))

    def _played(self, bought: Sequence[KindPurchase]) -> tuple[list[Floats], Floats, list[Floats]]:
        """(the machines of each kind that are left on demand, the dollars that each uses of each pool, those that are
        left of each pool)."""
        left = [np.maximum(machines, 0.0) for machines in self.beside_bound(bought)]
        pools = self.floating(bought)
        rooms = [pool.dollars.copy() for pool in pools]
        used = np.zeros((len(pools), len(self.kinds)))
        order = enumerate(self.order(pools))
        for (number, _), same in groupby(order, lambda at: (at[1][1], -1 if pools[at[1][1]].alike else at[0])):
            rates = [(rate, kind) for _, (rate, _, kind) in same]
            asked = sum((left[kind] * rate for rate, kind in rates), np.zeros(1))
            part = np.minimum(np.divide(rooms[number], asked, out=np.ones_like(asked), where=asked > 0), 1.0)
            for rate, kind in rates:
                taken = left[kind] * part
                left[kind] = left[kind] - taken
                used[number, kind] = float(taken.sum()) * rate
            rooms[number] = np.maximum(rooms[number] - asked * part, 0.0)
        return left, used, rooms

    def _idle(self, used: Floats, rooms: Sequence[float]) -> Floats:
        """What each kind bears of what is idle: of each commitment in proportion to what it uses of it, or, where no
        kind does, to what a machine of it would."""
        idle = np.zeros((len(self.pools), len(self.kinds)))
        for number, (taken, room, pool) in enumerate(zip(used, rooms, self.pools, strict=False)):
            weights = taken if taken.any() else np.array([pool.rates.get(n, 0.0) for n in range(len(self.kinds))])
            if weights.any():
                idle[number] = weights * (room / weights.sum())
        return idle

    def beside_bound(self, bought: Sequence[KindPurchase]) -> list[Floats]:
        """The machines of each kind that purchases for it alone leave; below zero where they are more."""
        left = [kind.machines for kind in self.kinds]
        for purchase in bought:
            if purchase.rates is None and purchase.holding.count:
                left[purchase.kind] = left[purchase.kind].copy()
                left[purchase.kind][purchase.steps] -= purchase.holding.count * purchase.machines
        return left

    def terms(self, bought: Sequence[KindPurchase]) -> dict[Term, Mapping[int, float]]:
        """The terms of what floats of purchases, each with its rates."""
        return {p.term: p.rates for p in bought if p.rates is not None}

    def floating(self, bought: Sequence[KindPurchase]) -> list[EstatePool]:
        """What is held that floats, then what is bought, that of one term as one."""
        steps = len(self.kinds[0].machines)
        found = self.terms(bought).items()
        terms = {term: EstatePool.of(np.zeros(steps), rates, term[1]) for term, rates in found}
        for p in bought:
            if p.rates is not None:
                terms[p.term].dollars[p.steps] += float(p.holding.offer.effective_hourly) * p.holding.count
        return [*self.pools, *terms.values()]

    def order(self, pools: Sequence[EstatePool]) -> list[tuple[float, int, int]]:
        """(rate, number of the pool, number of the kind) as they are applied, the highest saving first; none where the
        price on demand is no higher."""
        pairs = [(self.kinds[k], r, n, k) for n, pool in enumerate(pools) for k, r in pool.rates.items() if r]
        shares = [
            (not pools[n].first, round(r / kind.least_price, SAVING_PLACES), r, n, k)
            for kind, r, n, k in pairs
            if r < kind.price
        ]
        return [share[2:] for share in sorted(shares)]

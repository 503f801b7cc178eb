"""Where a decision turns round: the prices and the demand beyond which it would come out otherwise, all else equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from hcloud.model.catalog import Offer
from hcloud.model.plans.held import is_soon
from hcloud.model.plans.plan import Flip, Lever, Sizing
from hcloud.planning.decide import FleetDecision
from hcloud.planning.fleets.at_expiry import level_costs
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import (
    all_on_demand,
    cost_over,
    evaluate,
    held_instances,
    pays_throughout,
    renewed,
)
from hcloud.planning.fleets.fleet import Holding, instances_needed, serve
from hcloud.planning.fleets.floor import dearer_by
from hcloud.planning.fleets.mix import shape_of
from hcloud.planning.fleets.options import dividing
from hcloud.units import SECONDS_PER_HOUR, cents, rate

MOST_DEMAND = 4.0  # ours: no more than this multiple of the forecast is looked at
HALVINGS = 20  # ours: a demand is found to a millionth of the forecast
NOTHING_RESERVED = "nothing is reserved"
FEWER, MORE = "fewer are reserved", "more are reserved"


@dataclass(frozen=True, slots=True)
class TypeDecision:
    """A decision for one type that comes apart by level: each instance is bought where it pays, at the cheapest offer
    (``bought``, None where nothing pays), which counts ``dearer`` than it is by what it has to save. ``levels`` is what
    each would cost on demand, the busiest first."""

    candidate: Candidate
    bought: Offer | None
    count: int
    levels: tuple[Decimal, ...]
    hours: int
    dearer: Decimal

    @property
    def price(self) -> Decimal:
        """Dollars over the horizon that one instance under the offer counts for; where nothing is bought, of the
        busiest one on demand: an offer must undercut that to be taken."""
        return self.level(1) if self.bought is None else self.counted(self.bought)

    def counted(self, offer: Offer) -> Decimal:
        """Dollars over the horizon that one instance under an offer counts for."""
        return cost_over(offer, self.hours) * self.dearer

    def level(self, number: int) -> Decimal:
        """What the instance of this number (1 is the busiest) would cost on demand over the horizon."""
        return self.levels[number - 1] if 0 < number <= len(self.levels) else Decimal(0)


def pool_of(decision: FleetDecision) -> TypeDecision | None:
    """The decision by level; None where it is none: idle hours, several types, terms inside the horizon, offers that
    run out, or a reserve that is not the forecast's optimum."""
    if decision.forecast.idle is not None:
        return None
    if len(decision.types) != 1 or not decision.fleet.cost or decision.fleet.cost != decision.optimum_cost:
        return None
    candidate, hours = decision.types[0], decision.horizon_hours
    if any(o.remaining is not None or o.term_hours < hours for o in candidate.commitments):
        return None
    held = decision.fleet.holdings
    if len(held) > 1:
        return None
    units = instances_needed(decision.forecast.cores, decision.forecast.memory, candidate)
    levels = tuple(Decimal(repr(float(c))) for c in level_costs(candidate, units, decision.forecast))
    dearer = dearer_by(decision.settings.commit_min_saving)
    return TypeDecision(candidate, held[0].offer if held else None, held[0].count if held else 0, levels, hours, dearer)


def offer_flip(pool: TypeDecision, offer: Offer) -> Flip | None:
    """The effective price an hour below which an offer that was refused is bought."""
    share = pool.price / pool.counted(offer)
    if not share:
        return None
    then = "it is bought" if pool.bought is None else "it is bought instead"
    return Flip(Lever.OFFER, rate(offer.effective_hourly), rate(offer.effective_hourly * min(share, Decimal(1))), then)


def latest_flip(decision: FleetDecision, candidate: Candidate, offer: Offer) -> Flip | None:
    """The effective price an hour below which an offer that never pays here is bought, at the latest: in place of one
    that is bought, or, where nothing is, for the busiest instance. None where there is none."""
    instead = [h.offer.term_cost / cost_over(offer, h.offer.term_hours) for h in decision.fleet.holdings]
    counted = offer.term_cost * dearer_by(decision.settings.commit_min_saving)
    share = max(instead, default=_busiest(decision, candidate, offer.term_hours) / counted)
    now = offer.effective_hourly
    return (
        Flip(Lever.OFFER, rate(now), rate(now * min(share, Decimal(1))), "it is bought", exact=False) if share else None
    )


def _busiest(decision: FleetDecision, candidate: Candidate, hours: int) -> Decimal:
    """On-demand dollars of the busiest instance in the first hours."""
    first = decision.forecast.first(hours * SECONDS_PER_HOUR // decision.forecast.step_seconds)
    units = instances_needed(first.cores, first.memory, candidate)
    return Decimal(repr(float(max(level_costs(candidate, units, first), default=0.0))))


def falls_by(flip: Flip | None) -> str:
    """By how much a price falls before it turns a decision round, in words; nothing where it need not fall."""
    fall = -float(flip.change) if flip else 0.0
    return f"its price falls by {fall:.1%}" if fall > 0 else ""


def type_flip(decision: FleetDecision, candidate: Candidate, cost: Decimal) -> Flip | None:
    """The on-demand price of a type below which (its other prices falling alike) it is chosen; ``cost`` is that of its
    own best plan. A type of another shape may come into a mix before that. None where no price would be low enough."""
    if not cost or not decision.optimum_cost:
        return None
    alone = len(decision.types) == 1 and (
        not decision.settings.mix_types or shape_of(candidate) == shape_of(decision.types[0])
    )
    now = candidate.on_demand.hourly
    at = now * min(decision.optimum_cost / cost, Decimal(1))
    return Flip(Lever.TYPE, rate(now), rate(at), "it is chosen", alone)


def sizings(decision: FleetDecision, *, simulated: bool = False) -> tuple[Sizing, ...]:
    """Why each commitment of a steady reserve is bought in its number; nothing turns it round where the number was
    chosen by simulation or by regret."""
    held = held_instances(decision.fleet.holdings, decision.forecast)
    if not held.any() or int(held.min()) != int(held.max()):
        return ()
    pool = None if simulated else pool_of(decision)
    first = {h.offer.key: h for h in decision.fleet.holdings if h.start_hour == 0}
    known = {c.shape.name: c for c in decision.types}
    return tuple(_sizing(decision, known[h.offer.key.instance_type], h, pool) for h in first.values())


def _sizing(decision: FleetDecision, candidate: Candidate, holding: Holding, pool: TypeDecision | None) -> Sizing:
    hours = decision.horizon_hours
    full = candidate.on_demand.hourly * hours
    last, following = (saved_by(decision, holding.offer, step) for step in (-1, 1))
    price = cost_over(holding.offer, hours)
    return Sizing(
        str(holding.offer.key),
        holding.count,
        rate(last / full),
        rate(following / full),
        rate(pays_throughout(candidate, holding.offer, hours)),
        cents(last - price),
        cents(following - price),
        () if pool is None else tuple(_of_prices(decision, pool)) + tuple(_of_demand(decision, pool)),
        _bought_as(decision, candidate, holding.offer),
    )


def _bought_as(decision: FleetDecision, candidate: Candidate, offer: Offer) -> tuple[str, ...]:
    """The offers of larger sizes that an offer is bought as; none where it is bought as it is counted."""
    sizes = {c.shape.name for c in decision.ladders[candidate.address]}
    keys = {h.offer.key for h in decision.machines.holdings if h.offer.key.instance_type in sizes}
    same = {k for k in keys if replace(k, instance_type=offer.key.instance_type) == offer.key}
    return () if same == {offer.key} else tuple(sorted(map(str, same)))


def saved_by(decision: FleetDecision, offer: Offer, step: int) -> Decimal:
    """On-demand dollars that the last instance of an offer saves (``step`` -1), or one more would (1)."""
    before = list(decision.fleet.holdings)
    if step > 0:
        changed_to = [*before, *renewed([Holding(offer, 1)], decision.horizon_hours)]
    else:
        changed_to = [Holding(h.offer, h.count - (h.offer.key == offer.key), h.start_hour) for h in before]
    after = serve(decision.forecast, decision.types, changed_to).rentals_cost
    return abs(after - decision.fleet.rentals_cost)


def _of_prices(decision: FleetDecision, pool: TypeDecision) -> Iterator[Flip]:
    """How far the prices of the type's commitments may move before another number, or another type, is cheapest."""
    if pool.bought is None:
        return
    now, fewer, then = pool.bought.effective_hourly, pool.level(pool.count) / pool.price, FEWER
    if len(decision.evaluations) > 1:
        second = decision.evaluations[1]
        dearer = (second.cost - decision.fleet.rentals_cost) / decision.fleet.commitments_cost
        if dearer < fewer:
            fewer, then = dearer, f"{second.candidate.address} is chosen"
    exact = _is_alone(decision)
    yield Flip(Lever.COMMITMENTS, rate(now), rate(now * max(fewer, Decimal(1))), then, exact)
    if following := pool.level(pool.count + 1):
        yield Flip(Lever.COMMITMENTS, rate(now), rate(now * min(following / pool.price, Decimal(1))), MORE, exact)


def _is_alone(decision: FleetDecision) -> bool:
    """Whether no mix of types can come in between."""
    shapes = {shape_of(e.candidate) for e in decision.evaluations}
    return not decision.settings.mix_types or len(shapes) == 1


def _of_demand(decision: FleetDecision, pool: TypeDecision) -> Iterator[Flip]:
    """By what demand another number of instances of the type would be reserved."""
    divided = dividing(decision.demanded, decision.settings, decision.owned)
    least = decision.settings.least_savings

    def number(scale: float) -> int:
        best = evaluate(pool.candidate, divided(scale - 1.0).planned, None, *least)
        return sum(h.count for h in best.fleet.holdings if is_soon(h.start_hour))

    fewer = _turn(lambda scale: number(scale) >= pool.count, 0.0, 1.0)
    yield Flip(Lever.DEMAND, Decimal(1), rate(Decimal(repr(fewer))), FEWER, exact=False)
    if number(MOST_DEMAND) > pool.count:
        more = _turn(lambda scale: number(scale) > pool.count, 1.0, MOST_DEMAND)
        yield Flip(Lever.DEMAND, Decimal(1), rate(Decimal(repr(more))), MORE, exact=False)


def _turn(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that does not hold at ``low`` and does at ``high`` begins to hold."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2


def plan_flips(decision: FleetDecision, *, simulated: bool = False) -> tuple[Flip, ...]:
    """What turns the whole plan round: demand so low that all on demand would have been cheaper, and an on-demand price
    so low that nothing would be reserved."""
    pool = None if simulated else pool_of(decision)
    found = list(_of_commitments(decision))
    if pool is not None and pool.bought is not None:
        now = pool.candidate.on_demand.hourly
        at = now * pool.price / pool.level(1)
        found.append(Flip(Lever.ON_DEMAND, rate(now), rate(at), NOTHING_RESERVED, _is_alone(decision)))
    return tuple(found)


def _of_commitments(decision: FleetDecision) -> Iterator[Flip]:
    """The demand below which these commitments, bought as they are, cost more than all on demand."""
    if not decision.fleet.holdings or decision.spot.rentals:
        return

    divided = dividing(decision.demanded, decision.settings, decision.owned)

    def pays(scale: float) -> bool:
        less = divided(scale - 1.0)
        rented = min(all_on_demand(c, less.whole).cost for c in decision.types)
        return serve(less.planned, decision.types, decision.fleet.holdings).cost < rented

    if pays(1.0):
        at = rate(Decimal(repr(_turn(pays, 0.0, 1.0))))
        unbought = "buying nothing more" if decision.owned else "all on demand"
        yield Flip(Lever.DEMAND, Decimal(1), at, f"{unbought} would have been cheaper")

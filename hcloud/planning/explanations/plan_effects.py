"""Why dollars moved from one plan to another: prices, demand and decisions, which add up to the difference exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.plans.difference import Effects
from hcloud.model.plans.figures import NOTHING, PlanFigures, PlanPart
from hcloud.units import RATE, rate

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class OfferPair:
    """An offer in both plans; None where one of them does not have it."""

    before: PlanPart | None
    after: PlanPart | None

    @property
    def part(self) -> PlanPart:
        """The part of the later plan, else of the earlier one."""
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class EffectsContext:
    """What holds for all parts: the mean demand of both plans, None where one says nothing of it, and whether what a
    commitment costs an hour is comparable, which over another horizon it is not."""

    mean_before: Decimal | None
    mean_after: Decimal | None
    same_horizon: bool


def ground_of(base: PlanFigures, head: PlanFigures) -> EffectsContext:
    """What is compared on; without demand in both plans none of the difference is put down to demand."""
    means = [None if f.demand is None else f.demand.mean_cores for f in (base, head)]
    if not all(means):  # unknown, or no demand that shares could be taken of
        means = [None, None]
    return EffectsContext(means[0], means[1], base.horizon_hours == head.horizon_hours)


def paired(base: PlanFigures, head: PlanFigures) -> Mapping[Key, OfferPair]:
    """The offers of both plans, in the order of their addresses."""
    sides = [{(p.address, p.starts_hour): p for p in f.parts} for f in (base, head)]
    return {key: OfferPair(sides[0].get(key), sides[1].get(key)) for key in sorted({*sides[0], *sides[1]})}


def price_moved(pair: OfferPair, ground: EffectsContext) -> bool:
    """Whether the price of one instance is another, by more than what rounding to millionths makes of it."""
    before, after = pair.before, pair.after
    if before is None or after is None or before.price is None or after.price is None:
        return False
    if before.option.is_commitment and not ground.same_horizon:
        return False
    blur = sum(((1 + p.price) / p.count for p in (before, after) if p.price is not None), NOTHING) * RATE
    return abs(after.price - before.price) > blur


def effects_of(pair: OfferPair, ground: EffectsContext) -> Effects:
    """Prices times counts, counts being demand times a share of it: the symmetric (Shapley) split of a product of
    three, so that exchanging the plans changes the sign of every figure and nothing else.

    What stands in one plan only has the same price in both. Decisions are what is left, so that all is explained.
    """
    count = [NOTHING if p is None else p.count for p in (pair.before, pair.after)]
    dollars = [NOTHING if p is None else p.hourly for p in (pair.before, pair.after)]
    price = _prices(pair, ground)
    whole = dollars[1] - dollars[0]
    by_price = rate((price[1] - price[0]) * _weight(count, ground)) + NOTHING  # a zero has no sign then
    by_demand = rate(_demand_effect(price, count, ground)) + NOTHING
    return Effects(by_price, by_demand, whole - by_price - by_demand)


def _prices(pair: OfferPair, ground: EffectsContext) -> list[Decimal]:
    known = [None if p is None else p.price for p in (pair.before, pair.after)]
    if not price_moved(pair, ground):
        told = [p for p in known if p is not None]
        mean = sum(told, NOTHING) / len(told) if told else NOTHING
        return [mean, mean]
    return [p or NOTHING for p in known]


def _weight(count: list[Decimal], ground: EffectsContext) -> Decimal:
    """The count a change of price is charged on: the mean over all orders in which the three could have changed."""
    before, after = count
    if ground.mean_before is None or ground.mean_after is None:
        return (before + after) / 2
    grown = before * ground.mean_after / ground.mean_before
    shrunk = after * ground.mean_before / ground.mean_after
    return (before + after) / 3 + (grown + shrunk) / 6


def _demand_effect(price: list[Decimal], count: list[Decimal], ground: EffectsContext) -> Decimal:
    if ground.mean_before is None or ground.mean_after is None:
        return NOTHING
    share = [count[0] / ground.mean_before, count[1] / ground.mean_after]
    straight = price[0] * share[0] + price[1] * share[1]
    crossed = price[0] * share[1] + price[1] * share[0]
    return (ground.mean_after - ground.mean_before) * (straight / 3 + crossed / 6)


def summed(effects: list[Effects], difference: Decimal) -> Effects:
    """The effects of all parts; what rounding of the headline adds goes to decisions, so that the sum is exact."""
    prices = sum((e.prices for e in effects), NOTHING)
    demand = sum((e.demand for e in effects), NOTHING)
    return Effects(prices, demand, difference - prices - demand)

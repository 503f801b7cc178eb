"""The difference between two plans, a pure function of both: exchanging them changes the sign of every figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.catalog import PurchaseOption
from hcloud.model.plans.difference import (
    Effects,
    Mark,
    OptionShift,
    PartShift,
    PlanDifference,
    PriceShift,
    QualityShift,
    Shift,
    Side,
    TextShift,
    shift,
)
from hcloud.model.plans.figures import NOTHING, DemandFigures, PlanFigures, PlanInput, PlanPart
from hcloud.model.plans.held import most_held
from hcloud.model.plans.operation import Band, OperatingPoint
from hcloud.units import RATE, rate

_QUALITY = (
    ("jobs that keep 95% of their performance", "share", "kept_qos"),
    ("batch jobs: performance of all but 5%", "share", "batch_p5"),
    ("services: tail latency of all but 5%", "times isolation", "tail_p95"),
    ("wait of all but 5%", "s", "wait_p95"),
)


def difference_of(base: PlanFigures | None, head: PlanFigures | None) -> PlanDifference:
    """What is different from one plan to another; None is a plan that is not there, which costs nothing.

    Raises ValueError for plans in different currencies, and where both are None.
    """
    told = head or base
    if told is None:
        raise ValueError("there is no plan to compare")
    before, after = base or _nothing_like(told), head or _nothing_like(told)
    if before.currency != after.currency:
        raise ValueError(f"one is in {before.currency}, the other in {after.currency}: they cannot be compared")
    ground, pairs = ground_of(before, after), paired(before, after)
    shifts = {key: _part_shift(key, pair, ground) for key, pair in pairs.items()}
    hourly = shift(before.hourly, after.hourly)
    rounding = shift(before.hourly - _total(before), after.hourly - _total(after))
    both = base is not None and head is not None
    return PlanDifference(
        currency=told.currency,
        base=None if base is None else Side(base.name, base.made),
        head=None if head is None else Side(head.name, head.made),
        hourly=hourly,
        monthly=shift(before.monthly, after.monthly),
        simulated_monthly=_simulated(base, head),
        upfront=shift(before.upfront, after.upfront),
        upfront_now=shift(before.upfront_now, after.upfront_now),
        longest_term_years=shift(Decimal(before.longest_term_years), Decimal(after.longest_term_years)),
        effects=summed([s.effects for s in shifts.values()], hourly.difference),
        rounding=rounding,
        options=tuple(_options(pairs)),
        parts=tuple(s for key, s in shifts.items() if _is_changed(s, pairs[key])),
        prices=tuple(_moved(pairs, ground)),
        mean_cores=_demand(before.demand, after.demand, "mean_cores"),
        peak_cores=_demand(before.demand, after.demand, "peak_cores"),
        quality=tuple(_quality(before.quality, after.quality)),
        inputs=tuple(_texts(before.inputs, after.inputs)) if both else (),
        settings=tuple(_texts(before.settings, after.settings)) if both else (),
        new_warnings=_beyond(after.warnings, before.warnings),
        gone_warnings=_beyond(before.warnings, after.warnings),
        notes=tuple(_notes(before, after)) if both else ("no plan to compare with: everything is new",),
    )


def _nothing_like(plan: PlanFigures) -> PlanFigures:
    """What stands for a plan that is not there."""
    return PlanFigures("", plan.made, plan.currency, NOTHING, NOTHING, plan.horizon_hours, (), ())


def _simulated(base: PlanFigures | None, head: PlanFigures | None) -> Shift | None:
    """What a month costs as simulated, where every plan there is was; one that is not there costs nothing."""
    there = [plan for plan in (base, head) if plan is not None]
    if any(plan.quality is None for plan in there):
        return None
    costs = [NOTHING if plan is None or plan.quality is None else plan.quality.monthly for plan in (base, head)]
    return shift(costs[0], costs[1])


def _total(plan: PlanFigures) -> Decimal:
    return sum((p.hourly for p in plan.parts), NOTHING)


def _part_shift(key: Key, pair: OfferPair, ground: EffectsContext) -> PartShift:
    count, hourly, upfront = (_shift_of([pair], name) for name in ("count", "hourly", "upfront"))
    return PartShift(_mark(pair), key[0], pair.part.option, key[1], count, hourly, upfront, effects_of(pair, ground))


def _mark(pair: OfferPair) -> Mark:
    if pair.after is None:
        return Mark.REMOVE
    had = NOTHING if pair.before is None else pair.before.count
    if pair.after.bought and pair.after.count > had:
        return Mark.COMMIT
    return Mark.ADD if pair.before is None else Mark.CHANGE


def _is_changed(found: PartShift, pair: OfferPair) -> bool:
    appears = pair.before is None or pair.after is None
    return appears or any(s.difference for s in (found.count, found.hourly, found.upfront))


def _held_of(pairs: Sequence[OfferPair]) -> Shift:
    """The instances of parts, before and after: the most at one time, as what renews another is not held beside it."""
    sides = [[p.before for p in pairs], [p.after for p in pairs]]
    before, after = (most_held([p for p in side if p is not None], lambda part: part.count) for side in sides)
    return shift(before, after)


def _shift_of(pairs: Sequence[OfferPair], name: str) -> Shift:
    """The sum of a figure over parts, before and after."""
    before = sum((getattr(p.before, name) for p in pairs if p.before is not None), NOTHING)
    return shift(before, sum((getattr(p.after, name) for p in pairs if p.after is not None), NOTHING))


def _options(pairs: Mapping[Key, OfferPair]) -> Iterator[OptionShift]:
    """All purchase options of either plan, changed or not, so that they add up."""
    used = {pair.part.option for pair in pairs.values()}
    for option in PurchaseOption:
        if option in used:
            chosen = [p for p in pairs.values() if p.part.option is option]
            dollars = (_shift_of(chosen, name) for name in ("hourly", "upfront"))
            yield OptionShift(option, _held_of(chosen), *dollars)


def _moved(pairs: Mapping[Key, OfferPair], ground: EffectsContext) -> Iterator[PriceShift]:
    told = set()
    for (address, _), pair in pairs.items():
        before, after = pair.before, pair.after
        if before is None or after is None or address in told or not price_moved(pair, ground):
            continue
        told.add(address)
        price = shift(rate(before.price or NOTHING), rate(after.price or NOTHING))
        yield PriceShift(address, price, _day(before), _day(after))


def _day(part: PlanPart) -> str:
    return "" if part.price_day is None else part.price_day.isoformat()


def _demand(before: DemandFigures | None, after: DemandFigures | None, name: str) -> Shift | None:
    return None if before is None or after is None else shift(getattr(before, name), getattr(after, name))


def _quality(before: OperatingPoint | None, after: OperatingPoint | None) -> Iterator[QualityShift]:
    """The predicted figures that are not the same."""
    for name, unit, field in _QUALITY:
        bands = [None if p is None else getattr(p, field) for p in (before, after)]
        yield from _quality_shift(name, unit, bands[0], bands[1])


def _quality_shift(name: str, unit: str, before: Band | None, after: Band | None) -> Iterator[QualityShift]:
    means = [None if band is None else band.mean for band in (before, after)]
    halves = [None if band is None else band.half for band in (before, after)]
    if means[0] != means[1] or halves[0] != halves[1]:
        moved = None if means[0] is None or means[1] is None else means[1] - means[0]
        yield QualityShift(name, unit, means[0], means[1], moved, halves[0], halves[1])


def _texts(before: Sequence[PlanInput], after: Sequence[PlanInput]) -> Iterator[TextShift]:
    """Keys that say something else; what a key says of several things is taken together, the same once."""
    sides = [_joined(side) for side in (before, after)]
    for key in dict.fromkeys((*sides[0], *sides[1])):
        texts = [side.get(key, "") for side in sides]
        if texts[0] != texts[1]:
            yield TextShift(key, texts[0], texts[1])


def _joined(stated: Sequence[PlanInput]) -> Mapping[str, str]:
    found: dict[str, dict[str, None]] = {}
    for item in stated:
        found.setdefault(item.key, {})[item.value] = None
    return {key: ", ".join(values) for key, values in found.items()}


def _beyond(these: Sequence[str], those: Sequence[str]) -> tuple[str, ...]:
    """What is in the first and not, or less often, in the second."""
    return tuple((Counter(these) - Counter(those)).elements())


def _notes(before: PlanFigures, after: PlanFigures) -> Iterator[str]:
    """What a reader has to know before comparing figures."""
    said = {t.key: t for t in _texts(before.inputs, after.inputs)}
    if "made from" in said:
        yield "one plan was made from a trace, the other from a configured fleet"
    elif "workload digest" in said:
        yield "the plans were made from different traces"
    if "cloud" in said or "region" in said:
        yield "the fleets are in different regions"
    if before.horizon_hours != after.horizon_hours and before.horizon_hours and after.horizon_hours:
        yield "the plans have different horizons: hourly costs of commitments are not compared as prices"


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

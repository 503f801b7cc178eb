"""All kinds of machines of a bill together: what a commitment that floats covers first, and what pays beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest

from hcloud.model.bill import Bill, BilledUsage, LineKind, LineSum, UsageKind
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.planning.billed.applied import AppliedPools, MovedPurchase
from hcloud.planning.billed.better import LEAST_GAIN, better, left_out
from hcloud.planning.billed.estate import BilledEstate, EstateKind, EstatePool, KindPurchase
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Holding
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.readers.configuration.config import Loaded, MarketSection, load_config
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.usecases.deciding.billed import plan as bill_plan
from hcloud.usecases.workloads.billed import by_kinds
from hcloud.usecases.workloads.sources import Flags, with_flags

HOURS = 8760
BOOK = load_bundled(providers={Provider.AWS, Provider.GCP}, regions={"us-east-1", "us-central1"}, systems={"linux"})


def kind(
    name: str, machines: float, provider: Provider = Provider.AWS, region: str = "us-east-1", hours: int = HOURS
) -> EstateKind:
    """So many of a type in every hour of a year."""
    shape = BOOK.types[provider, name]
    on_demand = BOOK.offers[OfferKey(provider, region, name, PurchaseOption.ON_DEMAND)]
    candidate = Candidate(shape, on_demand, (), None, BOOK.sustained.get((provider, shape.family)))
    vcpus = np.full(hours, machines * float(shape.vcpus))
    gib = np.full(hours, machines * float(shape.memory_gib))
    return EstateKind.planned(candidate, Forecast(3600, vcpus, gib, np.zeros(hours), 168, by_part=True))


def pool(dollars: float, *rates: float) -> EstatePool:
    return EstatePool(np.full(HOURS, dollars), dict(enumerate(rates)))


def used(kinds: tuple[EstateKind, ...], floating: EstatePool) -> list[float]:
    """Dollars an hour of what floats that each kind uses."""
    return [round(x / HOURS, 6) for x in BilledEstate(kinds, (floating,), 1.0).costs(()).used]


def test_the_highest_percentage_saved_is_covered_first_and_of_equal_ones_the_lowest_rate() -> None:
    m5, c6g, r5 = kind("m5.large", 10), kind("c6g.large", 10), kind("r5.large", 10)
    half = [k.price / 2 for k in (m5, c6g, r5)]
    assert used((m5, c6g, r5), pool(0.9, half[0], half[1], half[2] * 0.9)) == [0.0, 0.333, 0.567]
    assert used((m5, r5), pool(0.5, m5.price * 1.1, half[2])) == [0.0, 0.5]  # none above the price on demand
    # instances of a family save the same of each: all went to one kind, and the plan of the other bought beside them
    few, many = kind("m5.large", 10), kind("m5.large", 30)
    shared = np.full(HOURS, 20 * half[0]), {0: half[0], 1: half[0]}
    assert used((few, many), EstatePool.of(*shared, PurchaseOption.RESERVATION)) == [5 * half[0], 15 * half[0]]
    assert used((few, many), EstatePool.of(*shared, PurchaseOption.INSTANCE_SAVINGS_PLAN)) == [10 * half[0]] * 2


def test_of_equal_discounts_the_kind_without_sustained_use_is_covered_first() -> None:
    n1, e2 = (kind(name, 4, Provider.GCP, "us-central1") for name in ("n1-standard-2", "e2-standard-4"))
    assert used((n1, e2), pool(0.2, n1.price * 0.72, e2.price * 0.72)) == [0.0, 0.2]


def test_kinds_that_are_not_planned_use_what_floats_and_their_dollars_do_not_count() -> None:
    m5, small = kind("m5.large", 10), EstateKind(np.full(HOURS, 2.0), 1.0)
    costs = BilledEstate((m5, small), (pool(1.0, m5.price * 0.9, 0.3),), 1.0).costs(())
    assert [round(x / HOURS, 6) for x in costs.used] == [0.4, 0.6]
    assert costs.rented[1] == 0


def test_what_is_idle_is_borne_by_the_kinds_of_its_cloud_and_where_none_uses_it_too() -> None:
    """Kinds of Google bore what was idle of AWS, and nobody what no kind used."""
    m5, n1 = kind("m5.large", 10), kind("n1-standard-2", 10, Provider.GCP, "us-central1")
    half, of_n1 = m5.price / 2, EstatePool(np.full(HOURS, 0.1), {1: n1.price / 2})
    partly = BilledEstate((m5, n1), (pool(10 * half + 1.0, half), of_n1), 1.0).costs(())
    assert [round(x / HOURS, 6) for x in partly.idle] == [1.0, 0.0]
    unused = BilledEstate((kind("m5.large", 0), n1), (pool(1.0, half), of_n1), 1.0).costs(())
    assert [round(x / HOURS, 6) for x in unused.idle] == [1.0, 0.0]


@pytest.mark.parametrize("held", [0, 3])
def test_a_purchase_that_frees_a_plan_for_another_kind_is_bought_for_what_it_saves_there(held: int) -> None:
    """Each m5.large that is bought for frees $0.0576 an hour, which cover $0.0823 of the c6g.large; eight free as much
    as these can use. Where the plan covers both kinds in full, nothing pays."""
    offer = BOOK.offers[OfferKey(Provider.AWS, "us-east-1", "m5.large", PurchaseOption.RESERVED, 1, Payment.NONE)]
    m5, c6g = kind("m5.large", 10), kind("c6g.large", 10)
    rates = m5.price * 0.6, c6g.price * 0.7
    purchase = KindPurchase(0, Holding(offer, held), slice(0, HOURS), 1.0)
    counts = [
        sum(p.holding.count for p in better(BilledEstate((m5, c6g), (pool(dollars, *rates),), 1.0), [purchase]))
        for dollars in (10 * rates[0], 10 * sum(rates))
    ]
    assert counts == [8, 0]


def test_one_purchase_is_exchanged_for_another_where_neither_alone_saves() -> None:
    """A compute plan over both kinds left nothing to save for a plan of c6g alone, which is cheaper, and less of the
    compute plan only lost. Use is the same in all hours: each kind is cheapest under its own cheapest commitment."""
    m5, c6g = kind("m5.large", 10), kind("c6g.large", 10)
    options = PurchaseOption.COMPUTE_SAVINGS_PLAN, PurchaseOption.INSTANCE_SAVINGS_PLAN
    places = [("m5.large", options[0]), ("c6g.large", options[0]), ("c6g.large", options[1])]
    of_m5, of_c6g, own = (BOOK.offers[OfferKey(Provider.AWS, "us-east-1", *at, 1, Payment.NONE)] for at in places)
    rates = {0: float(of_m5.effective_hourly), 1: float(of_c6g.effective_hourly)}
    floats = KindPurchase(0, Holding(of_m5, 0), slice(0, HOURS), 1.0, rates)
    bound = KindPurchase(1, Holding(own, 0), slice(0, HOURS), 1.0)
    estate = BilledEstate((m5, c6g), (), 1.0)
    found = better(estate, [floats, bound])
    assert [purchase.holding.count for purchase in found] == [10, 10]
    assert estate.costs(found).total == pytest.approx(10 * float(of_m5.term_cost + own.term_cost))


def test_nothing_is_bought_that_saves_less_than_its_part_of_the_cost_beside_the_rest() -> None:
    """An instance was bought for $505 that saved $2. All numbers of two purchases, one that floats, are tried."""
    places = [("m5.large", PurchaseOption.COMPUTE_SAVINGS_PLAN), ("c6g.large", PurchaseOption.COMPUTE_SAVINGS_PLAN),
              ("c6g.large", PurchaseOption.INSTANCE_SAVINGS_PLAN)]  # fmt: skip
    of_m5, of_c6g, own = (BOOK.offers[OfferKey(Provider.AWS, "us-east-1", *at, 1, Payment.NONE)] for at in places)
    day = np.arange(HOURS) % 24
    m5, c6g = (
        replace(kind(name, 1), machines=np.sum([day < hours for hours in range(first, 24)], axis=0, dtype=float))
        for name, first in (("m5.large", 13), ("c6g.large", 14))
    )
    rates = {0: float(of_m5.effective_hourly), 1: float(of_c6g.effective_hourly)}
    floats, bound = (
        KindPurchase(0, Holding(of_m5, 0), slice(0, HOURS), 1.0, rates),
        KindPurchase(1, Holding(own, 0), slice(0, HOURS), 1.0),
    )
    estate = BilledEstate((m5, c6g), (), 1.0)
    costs = {(n, k): estate.costs([floats.of(n), bound.of(k)]) for n in range(12) for k in range(12)}
    for least in (0.0, 0.05, 0.2):
        found = better(estate, [floats, bound], least=least)
        best = min(costs.values(), key=lambda of: of.total + least * of.bought)
        kept = estate.costs(found)
        assert kept.total + least * kept.bought == pytest.approx(best.total + least * best.bought, rel=1e-4)
        for purchase, fewer in ((p, [q for q in found if q is not p] + [p.of(p.holding.count - 1)]) for p in found):
            assert estate.costs(fewer).total - kept.total >= least * float(purchase.holding.offer.term_cost) - 0.01
        out = left_out(estate, found)
        assert (out.saved > 0) == (out.committed > 0) == (least > 0)
        assert float(out.saved) == pytest.approx(kept.total - min(of.total for of in costs.values()), abs=40)
        assert out.saved <= out.committed * Decimal(str(least))


@pytest.mark.parametrize("seed", range(2))
def test_what_another_number_of_a_purchase_changes_is_what_the_whole_costs_more(seed: int) -> None:
    """Of pools that overlap and end, of kinds with sustained use, of purchases of two terms that begin and end too,
    after others have moved, some to none."""
    rng, many = np.random.default_rng(seed), 1460  # two months, for sustained use
    hours, names = np.arange(many), ("m5.large", "c6g.large", "r5.large", "m6i.large")
    aws = [kind(name, float(rng.integers(1, 20)), hours=many) for name in names]
    all_kinds = (*aws, kind("n1-standard-2", 6, Provider.GCP, "us-central1", many))
    kinds = tuple(replace(k, machines=k.machines * (1 + 0.5 * np.sin(hours / 4 + rng.random()))) for k in all_kinds)
    ends, shares = rng.integers(100, many, 3), rng.uniform(0.4, 1.02, (3, len(kinds)))
    dollars = [np.where(hours < end, rng.random(), 0.0) for end in ends]
    rates = [{n: k.price * s for n, (k, s) in enumerate(zip(kinds, of, strict=True))} for of in shares]
    estate = BilledEstate(kinds, tuple(map(EstatePool, dollars, rates)), 1.0)
    held = []
    for number, option in enumerate([PurchaseOption.RESERVED, PurchaseOption.COMPUTE_SAVINGS_PLAN] * 2):
        years, steps = (1, slice(0, ends[0])) if number < 2 else (3, slice(ends[1] // 2, many))
        offer = BOOK.offers[OfferKey(Provider.AWS, "us-east-1", "m5.large", option, years, Payment.NONE)]
        own = rates[number // 2] if option.floats else None
        held.append(KindPurchase(number, Holding(offer, int(rng.integers(0, 6))), steps, 1.0, own))
    applied = AppliedPools(estate, held)
    for number, count in zip(rng.integers(0, 4, 30).tolist(), rng.integers(-5, 15, 30).clip(0).tolist(), strict=True):
        before, told = estate.costs(held).total, applied.moved(held[number], count).dollars
        applied.hold(held[number], count)
        held[number] = held[number].of(count)
        assert told == pytest.approx(estate.costs(held).total - before, abs=1e-6)
    anew = AppliedPools(estate, held)
    for name in ("left", "beside", "slack"):
        assert np.allclose(getattr(applied, name), getattr(anew, name), rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [(PurchaseOption.COMPUTE_SAVINGS_PLAN,), ()])
def test_the_plan_of_one_kind_buys_the_same_where_only_what_is_bought_floats(
    monkeypatch: pytest.MonkeyPatch, options: tuple[PurchaseOption, ...]
) -> None:
    """Each kind bought for itself where nothing is held that floats, and one that covers both was not even tried where
    another is cheaper for each alone: the plan of the bill buys one that covers both."""
    day, usage = np.sin(np.arange(24 * 28) / 24 * 2 * np.pi), []
    for name, hours in (("r5a.xlarge", 20 + 10 * day), ("m6i.xlarge", 10 - 10 * day)):
        listed = BOOK.offers[OfferKey(Provider.AWS, "us-east-1", name, PurchaseOption.ON_DEMAND)].hourly
        cost = listed * Decimal(str(round(float(hours.sum()), 6)))
        usage.append(
            BilledUsage(UsageKind(Provider.AWS, "1", "us-east-1", name[:-7], name, "linux"), hours, cost, cost)
        )
    lines = {LineKind.ON_DEMAND: LineSum(1, usage[0].cost + usage[1].cost)}
    start, now = datetime(2026, 10, 23, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
    made = Bill("acme", "cur-2.0", "d" * 64, start, len(day), False, tuple(usage), (), lines)
    monkeypatch.setattr(bill_plan, "bill_by_kinds", lambda loaded, progress: by_kinds(made, loaded))

    def asked(*which: str) -> Loaded:
        loaded = with_flags(load_config(None), Flags(workload="acme.csv", options=which))
        market = MarketSection(provider=Provider.AWS, options=options, terms=(1,))
        return replace(loaded, config=loaded.config.model_copy(update={"markets": (market,)}))

    whole = bill_plan.plan_bill(asked(), now)
    apart = [bill_plan.plan_kind(asked(f"kind={kind.name}"), now).plan for kind in whole.kinds]
    bought = [{line.option for line in kind.purchases} for kind in whole.kinds]
    assert all(PurchaseOption.COMPUTE_SAVINGS_PLAN in of for of in bought)  # of what covers both each buys what it uses
    assert [plan.purchases for plan in apart] == [kind.purchases for kind in whole.kinds]
    assert all(any("chosen for all kinds together" in one for one in plan.warnings) for plan in apart)
    others = [sum(one.quantity for one in plan.beside if one.to_buy) for plan in apart]
    counted = [sum(line.hourly_held for line in kind.purchases) for kind in whole.kinds]
    assert [float(one) for one in reversed(others)] == pytest.approx([float(one) for one in counted], abs=1e-5)
    assert all(plan.refusals for plan in apart)
    assert not any(kind.plan.refusals for kind in whole.kinds if kind.plan)  # shown nowhere, and most of the work


@pytest.mark.parametrize("extra", [0, 24])
def test_a_plan_over_kinds_is_bought_where_each_of_them_alone_would_buy_its_own(extra: int) -> None:
    """Machines for 16 hours a day in one family and for the other 8 in another: alone the first buys its own savings
    plan, which is cheaper, and the second nothing; one over both is never idle. Less of the one and more of the other
    have to be tried at once, beside kinds enough that not all pairs are tried too."""
    night = np.arange(HOURS) % 24 < 8
    names = ("m5.large", "c6g.large", *["r5.large"] * extra)
    kinds = [kind(name, 10) for name in names]
    kinds[0] = replace(kinds[0], machines=np.where(night, 0.0, 10.0))
    kinds[1] = replace(kinds[1], machines=np.where(night, 20.0, 0.0))
    own, shared = PurchaseOption.INSTANCE_SAVINGS_PLAN, PurchaseOption.COMPUTE_SAVINGS_PLAN
    offers = [BOOK.offers[OfferKey(Provider.AWS, "us-east-1", name, own, 1, Payment.ALL)] for name in names]
    over = [BOOK.offers[OfferKey(Provider.AWS, "us-east-1", name, shared, 1, Payment.ALL)] for name in names]
    rates = {number: float(offer.effective_hourly) for number, offer in enumerate(over)}
    year = slice(0, HOURS)
    bound = [KindPurchase(number, Holding(offer, 10 * (number != 1)), year, 1.0) for number, offer in enumerate(offers)]
    found = better(
        BilledEstate(tuple(kinds), (), 1.0), [KindPurchase(1, Holding(over[1], 0), year, 1.0, rates), *bound]
    )
    assert [p.holding.count for p in found[1:]] == [0, 0, *[10] * extra]
    assert abs(found[0].holding.count - 10 * rates[0] / rates[1]) < 1  # as many dollars as the first kind uses


def test_many_kinds_are_chosen_over_the_hours_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial went through all 8,760 hours of a year that repeats one week, and nothing was told of the search. What
    it finds is held to all hours: not one more or less of any purchase saves."""
    hours, names = np.arange(HOURS) % 168, ["m5.large", "c6g.large", "r5.large", "m6i.large"] * 7
    shared, own = (
        [BOOK.offers[OfferKey(Provider.AWS, "us-east-1", name, option, 1, Payment.NONE)] for name in names]
        for option in (PurchaseOption.COMPUTE_SAVINGS_PLAN, PurchaseOption.INSTANCE_SAVINGS_PLAN)
    )
    kinds = [
        replace(kind(name, 1), machines=30 + n + np.round(20 * np.sin(hours / 4 + n))) for n, name in enumerate(names)
    ]
    estate, year = BilledEstate(tuple(kinds), (), 1.0), slice(0, HOURS)
    floats = KindPurchase(
        0, Holding(shared[0], 0), year, 1.0, {n: float(offer.effective_hourly) for n, offer in enumerate(shared)}
    )
    bound = [KindPurchase(number, Holding(offer, 40), year, 1.0) for number, offer in enumerate(own)]
    looked, told, moved = set[int](), list[float](), AppliedPools.moved

    def seen(self: AppliedPools, purchase: KindPurchase, count: int, *, keep: bool = False) -> MovedPurchase:
        looked.add(self.steps)
        return moved(self, purchase, count, keep=keep)

    monkeypatch.setattr(AppliedPools, "moved", seen)
    found = better(estate, [floats, *bound], told.append)
    total = estate.costs(found).total
    assert total < estate.costs([floats, *bound]).total
    for number, purchase in enumerate(found):
        for other in {purchase.holding.count + 1, max(purchase.holding.count - 1, 0)}:
            tried = [*found[:number], purchase.of(other), *found[number + 1 :]]
            assert estate.costs(tried).total > total - 2 * LEAST_GAIN
    assert looked == {168}
    assert told == sorted(told)
    assert len(told) > len(kinds)
    assert 0 < told[0] < told[-1] < 1

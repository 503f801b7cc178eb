"""Decisions on small markets whose best answer can be seen by eye."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from builders import REGION, book, candidate, demand, key, rented, reserved, shape

from hcloud.catalog.book import PriceBook
from hcloud.catalog.overlay import Match, OverlayRule, apply_overlay
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import Offer, Payment, Provider, PurchaseOption, QuarantinedPrice
from hcloud.planning.decide import Given, decide, of_several_types
from hcloud.planning.explanations.reasons import reasons, refusals
from hcloud.planning.fleets.candidates import Candidate, _excluded, find_candidates, of_machine_alone
from hcloud.planning.fleets.evaluate import reserved_for_peak
from hcloud.planning.fleets.floor import NOTHING_LEFT_OUT
from hcloud.planning.fleets.mix import lower_bound
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.forecasting.forecast import stretch
from hcloud.planning.settings import Market, Outlook, PlanSettings, RiskSettings
from hcloud.planning.strategies.operation import NOTHING, PLANNED, STATIC, reserves_to_try
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.usecases.deciding.plan_notes import assumptions

MARKET = Market(Provider.AWS, (REGION,))
SETTINGS = PlanSettings(markets=(MARKET,))
DAYS = [[160.0] * 12 + [320.0] * 12, [170.0] * 12 + [330.0] * 12, [150.0] * 12 + [310.0] * 12]


def market_of_two() -> tuple[Candidate, Candidate]:
    cheap = candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.60"), reserved("m9.4xlarge", "0.40", 3)])
    dear = candidate("m8.4xlarge", "1.10", [reserved("m8.4xlarge", "0.66")])
    return cheap, dear


def test_the_base_is_reserved_and_the_rest_rented() -> None:
    decision = decide(book(*market_of_two()), demand(DAYS[0]), SETTINGS)
    assert [(str(h.offer.key), h.count) for h in decision.fleet.holdings] == [
        ("aws/us-east-1/m9.4xlarge/reserved-instance-1y-all-upfront", 10)
    ]
    assert decision.fleet.rentals[0].hours == 10 * 4380
    assert decision.bound_gap == pytest.approx(0, abs=1e-6)
    assert decision.lower_bound <= float(decision.fleet.cost)


@pytest.mark.parametrize("committed", ["0.613", "0.957", "1.20", ""])
def test_the_bound_of_one_type_is_what_the_program_finds_for_two_that_are_alike(committed: str) -> None:
    def one(name: str) -> Candidate:
        return candidate(name, "1.00", [reserved(name, committed)] if committed else [])

    uneven = [float(x) for x in np.random.default_rng(3).integers(0, 400, 24 * 5)]
    forecast = stretch(demand(uneven), Outlook())
    alone, twins = (
        lower_bound(some, forecast) for some in ([one("m9.4xlarge")], [one("m9.4xlarge"), one("m8.4xlarge")])
    )
    assert alone.cost == pytest.approx(twins.cost, rel=1e-9)
    assert alone.reserve.sum() == pytest.approx(twins.reserve.sum(), abs=1e-6)


def test_every_refusal_has_a_reason_and_a_margin() -> None:
    decision = decide(book(*market_of_two()), demand(DAYS[0]), SETTINGS)
    found = {r.address: r for r in refusals(decision, Decimal(0))}
    assert found["aws/us-east-1/m8.4xlarge"].margin == Decimal("9636.00")  # a tenth of 96,360
    three = found["aws/us-east-1/m9.4xlarge/reserved-instance-3y-all-upfront"]
    assert three.margin == (Decimal("1.00") - Decimal("0.60")) * 8760 * 10  # never worth buying: all on demand
    assert "14 months" in three.reason
    assert any("instance 10 of the reserve is in use 100.0%" in r for r in reasons(decision))


def test_the_only_type_of_its_size_is_not_said_to_be_the_only_one_that_is_allowed() -> None:
    one = book(candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.60")]))
    for vcpus, said in (
        (16, "m9.4xlarge is the only type of 16 vCPUs allowed"),
        (0, "m9.4xlarge is the only type allowed"),
    ):
        asked = replace(SETTINGS, markets=(replace(MARKET, vcpus=vcpus),))
        assert said in reasons(decide(one, demand(DAYS[0]), asked))


@pytest.mark.slow
def test_a_three_year_horizon_lets_the_three_year_term_win() -> None:
    outlook = Outlook(horizon_hours=3 * 8760)
    decision = decide(book(*market_of_two()), demand(DAYS[0]), replace(SETTINGS, outlook=outlook))
    assert [(h.offer.key.term_years, h.count) for h in decision.fleet.holdings] == [(3, 20)]


def test_nothing_is_reserved_below_break_even() -> None:
    decision = decide(book(*market_of_two()), demand([0.0] * 12 + [160.0] * 12), SETTINGS)
    assert decision.fleet.holdings == ()
    assert any("in use 50.0% of the time; the lowest break-even is 60.0%" in r for r in reasons(decision))


@pytest.mark.slow
def test_growth_renews_in_a_larger_number() -> None:
    outlook = Outlook(horizon_hours=2 * 8760, growth_per_year=1.0)
    one_year = replace(MARKET, terms=(1,))
    decision = decide(
        book(*market_of_two()), demand([160.0], step=86_400), PlanSettings(markets=(one_year,), outlook=outlook)
    )
    first, second = decision.fleet.holdings
    assert (first.start_hour, second.start_hour) == (0, 8760)
    assert first.count < second.count
    assert decision.bound_gap <= 1e-6 * float(decision.fleet.cost)
    told = reasons(replace(decision, settings=replace(decision.settings, outlook=replace(outlook, headroom=0.07))))
    assert "changes only after whole terms" in " ".join(told)
    grown = "growing by 100% a year (planning.growth_per_year) with 7% of spare capacity (planning.headroom)"
    assert told[0] == f"planned for the demand of the trace, {grown}"


def test_a_reserve_is_renewed_as_a_whole_where_several_dates_save_next_to_nothing() -> None:
    """A year is no whole number of weeks: from Monday to Monday one has 261 working days and pays, these have 260."""
    market = book(candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.7137")]))  # 260.5 days
    settings = replace(SETTINGS, outlook=Outlook(horizon_hours=2 * 8760), commit_min_saving=0.0)
    week = demand(([100.0] * 2 + [320.0] * 5) * 2, step=86_400)
    spread, whole = (
        decide(market, week, replace(settings, spread_min_saving=least)) for least in (0.0, settings.spread_min_saving)
    )
    assert [h.count for h in spread.fleet.holdings if h.start_hour not in (0, 8760)] == [13]
    assert [(h.count, h.start_hour) for h in whole.fleet.holdings] == [(7, 0), (7, 8760)]
    saved = whole.fleet.cost - spread.fleet.cost
    assert 0 < saved < Decimal("0.01") * whole.fleet.cost
    assert whole.bound_gap == pytest.approx(float(saved), abs=0.01)
    assert whole.evaluations[0].spread_cost == spread.fleet.cost
    (told,) = (r for r in reasons(whole) if "purchases at any date" in r)
    assert f"cost ${saved:,.0f} less" in told
    assert any("instance 7 of the reserve is in use 100.0% of the time" in r for r in reasons(whole))


def test_no_commitment_is_bought_that_saves_less_than_a_twentieth_of_its_cost() -> None:
    """A machine was bought for $6,132 that saved $73 in a year: in use for 17 hours a day it saves 1.2 % of its cost,
    one of 18 hours 7 %; for three years, which cost less by the hour, 17 hours do, too."""
    market = book(candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.70"), reserved("m9.4xlarge", "0.66", 3)]))
    machines = [1 + (hour < 18) + (hour < 17) + (hour < 10) for hour in range(24)]
    asked = demand([16.0 * n for n in machines])
    for years, kept, more in ((1, 2, 1), (3, 3, 0)):
        settings = replace(SETTINGS, outlook=Outlook(horizon_hours=years * 8760))
        some, every = (decide(market, asked, replace(settings, commit_min_saving=share)) for share in (0.05, 0.0))
        assert [h.count for h in some.fleet.holdings] == [kept]
        assert [h.count for h in every.fleet.holdings] == [kept + more]
        assert some.left_out.committed == every.fleet.commitments_cost - some.fleet.commitments_cost
        assert some.left_out.saved == some.fleet.cost - every.fleet.cost
        assert some.bound_gap == pytest.approx(float(some.left_out.saved), abs=1e-3)
        told = [r for r in reasons(some) if r.startswith("not proposed")]
        assert len(told) == more
        assert all("$6,132 more, which would save $73.00 over the horizon: 1.2%" in r for r in told)
        assert reserves_to_try(some.evaluations[0].candidate, some, 9)[kept] == PLANNED
        assert STATIC not in reserves_to_try(some.evaluations[0].candidate, some, 9).values()  # it is the same
        assert reserves_to_try(some.evaluations[0].candidate, some, 9)[0] == NOTHING
        for reserve in (1, 2, 3):
            held = decide(market, asked, replace(settings, risk=RiskSettings(futures=0)), (), Given(reserve=reserve))
            assert held.bound_gap == pytest.approx(float(held.fleet.cost - every.fleet.cost), abs=1e-3)
    assert {a.key for a in assumptions(asked, SETTINGS, some)} | {"planning.commit_min_saving"} == {
        a.key for a in assumptions(asked, replace(SETTINGS, commit_min_saving=0.0), every)
    }
    alone = decide(market, demand([16.0 * (hour < 17) for hour in range(24)]), SETTINGS)
    why = {r.address.rsplit("/", 1)[1][:20]: r.reason for r in refusals(alone, Decimal(0))}
    assert "commitments of $6,132 more, which would save $73.00" in why["reserved-instance-1y"]


def test_what_a_reserve_by_regret_buys_is_not_said_to_be_left_out() -> None:
    """The third machine, which saves too little for the forecast, is bought for futures with more demand."""
    one = candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.70")])
    asked = demand([16.0 * (1 + (hour < 18) + (hour < 17) + (hour < 10)) for hour in range(24)])
    plain, by_regret = (
        decide(book(one), asked, replace(SETTINGS, risk=RiskSettings(regret_quantile=quantile, futures=50)))
        for quantile in (None, 0.9)
    )
    assert [sum(h.count for h in d.fleet.holdings) for d in (plain, by_regret)] == [2, 3]
    assert by_regret.fleet.cost < by_regret.optimum_cost == plain.fleet.cost
    assert [any("not proposed" in r for r in reasons(d)) for d in (plain, by_regret)] == [True, False]


def test_what_a_mix_of_another_decision_buys_is_not_said_to_be_left_out() -> None:
    """A plan with idle hours that fell back to the one without them named what that one buys as not proposed."""
    types = ("m9.4xlarge", "1.00", "0.70", 32), ("r9.4xlarge", "1.30", "0.91", 128)
    market = book(*(candidate(name, price, [reserved(name, year)], memory=gib) for name, price, year, gib in types))
    machines = [160.0 * (1 + (hour < 18) + (hour < 17) + (hour < 10)) for hour in range(24)]
    asked, mixed = demand(machines, memory_per_core=5.0), replace(SETTINGS, mix_types=True, mix_min_saving=0.0)
    some, every = (decide(market, asked, replace(mixed, commit_min_saving=share)) for share in (0.05, 0.0))
    again = decide(market, asked, mixed, (), Given(otherwise=every))
    assert some.left_out.saved == some.fleet.cost - every.fleet.cost > 0
    assert (again.fleet.cost, again.left_out) == (every.fleet.cost, NOTHING_LEFT_OUT)


def test_what_is_owned_is_used_first() -> None:
    offer = reserved("m9.4xlarge", "0.60")
    owned = Owned(offer, shape(), Decimal(6), 8760)
    decision = decide(book(*market_of_two()), demand([160.0] * 24), SETTINGS, [owned])
    assert [h.count for h in decision.fleet.holdings] == [4]


def test_owned_capacity_beyond_the_demand_leaves_nothing_to_buy() -> None:
    owned = Owned(reserved("m9.4xlarge", "0.60"), shape(), Decimal(60), 8760)
    decision = decide(book(*market_of_two()), demand([160.0] * 24), SETTINGS, [owned])
    assert decision.fleet.cost == 0
    assert reasons(decision) == ("owned capacity serves all demand: nothing to reserve or rent on demand",)
    assert all(r.margin is None or r.margin >= 0 for r in refusals(decision, Decimal(0)))


def test_owned_and_spot_do_not_serve_the_same_batch_twice() -> None:
    spot = rented("m9.4xlarge", "0.30", PurchaseOption.SPOT)
    cheap = replace(market_of_two()[0], spot=spot)
    owned = Owned(reserved("m9.4xlarge", "0.60"), shape(), Decimal(6), 8760)
    decision = decide(book(cheap), demand([160.0] * 24), replace(SETTINGS, spot_share_of_batch=1.0), [owned])
    assert decision.spot.rentals[0].peak == 4
    assert decision.fleet.cost == 0


def test_a_history_longer_than_the_horizon_keeps_its_latest_part() -> None:
    outlook = Outlook(horizon_hours=48)
    decision = decide(
        book(*market_of_two()), demand([16.0] * 24 + [160.0] * 24 + [320.0] * 24), replace(SETTINGS, outlook=outlook)
    )
    assert list(decision.forecast.cores[[0, 47]]) == [160.0, 320.0]


def test_reserving_the_peak_uses_up_a_limited_offer_and_goes_on_at_list_price() -> None:
    limited = replace(reserved("m9.4xlarge", "0.10"), remaining=2, then=reserved("m9.4xlarge", "0.60"))
    c = candidate("m9.4xlarge", "1.00", limited.tiers)
    decision = decide(book(candidate("m9.4xlarge", "1.00")), demand([160.0] * 24), SETTINGS)
    peak = reserved_for_peak(c, decision.forecast, 0.0)
    assert peak is not None
    assert [h.count for h in peak.holdings] == [2, 8]


def test_spot_takes_its_share_of_batch() -> None:
    spot = rented("m9.4xlarge", "0.30", PurchaseOption.SPOT)
    cheap = replace(market_of_two()[0], spot=spot)
    decision = decide(book(cheap), demand([160.0] * 24), replace(SETTINGS, spot_share_of_batch=0.5))
    assert [(r.offer.key.option, r.hours) for r in decision.spot.rentals] == [(PurchaseOption.SPOT, Decimal(5 * 8760))]
    assert [h.count for h in decision.fleet.holdings] == [5]


@pytest.mark.slow
def test_a_mix_is_taken_where_it_saves() -> None:
    lean = candidate("c9.4xlarge", "0.80", [reserved("c9.4xlarge", "0.48")], memory=32)
    fat = candidate("r9.4xlarge", "1.20", [reserved("r9.4xlarge", "0.72")], memory=128)
    decision = decide(book(lean, fat), demand([1600.0] * 24, memory_per_core=5.0), SETTINGS)
    assert {h.offer.key.instance_type: h.count for h in decision.fleet.holdings} == {"c9.4xlarge": 50, "r9.4xlarge": 50}
    assert decision.lower_bound == pytest.approx(float(decision.fleet.cost))
    assert any("cheaper than" in r for r in reasons(decision))
    said = "the last of the reserve's 1600 vCPUs are in use 100.0% of the time, the last of its 8000 GiB 100.0%"
    assert said in reasons(decision)


def test_a_preference_that_two_types_share_is_told_once() -> None:
    def twice(name: str, hourly: str) -> list[Offer]:
        made = reserved(name, hourly)
        return [made, replace(made, key=replace(made.key, option=PurchaseOption.INSTANCE_SAVINGS_PLAN))]

    lean = candidate("c9.4xlarge", "0.80", twice("c9.4xlarge", "0.48"), memory=32)
    fat = candidate("r9.4xlarge", "1.20", twice("r9.4xlarge", "0.72"), memory=128)
    decision = decide(book(lean, fat), demand([1600.0] * 24, memory_per_core=5.0), SETTINGS)
    assert len(decision.fleet.holdings) == 2
    assert len([r for r in reasons(decision) if "at equal price" in r]) == 1


def test_where_simulation_reserves_nothing_no_use_is_called_too_low() -> None:
    decision = decide(book(*market_of_two()), demand([160.0] * 24), SETTINGS, given=Given(reserve=0))
    assert decision.fleet.holdings == ()
    assert (
        "by its use alone a commitment would pay: the busiest instance is in use 100.0% of the time, and"
        " the lowest break-even is 60.0%" in reasons(decision)
    )


def test_memory_is_named_where_it_decides_the_reserve() -> None:
    """Half of the day 160 vCPUs, else 80; 640 GiB always: memory alone asks for ten machines."""
    hours = [160.0] * 12 + [80.0] * 12
    always = replace(demand(hours), memory=np.full(24, 640.0))
    told = reasons(decide(book(*market_of_two()), always, SETTINGS))
    assert any("instance 10 of the reserve is in use 100.0%" in r for r in told)
    assert "memory decides: by vCPUs alone instance 10 would be in use 50.0% of the time" in told
    assert not any("memory decides" in r for r in reasons(decide(book(*market_of_two()), demand(hours), SETTINGS)))


def test_a_regret_quantile_shrinks_or_grows_the_reserve_with_the_futures() -> None:
    hours = [h for day in DAYS for h in day]
    safe = replace(SETTINGS, risk=RiskSettings(regret_quantile=0.9, futures=300))
    decision = decide(book(*market_of_two()), demand(hours), safe)
    assert decision.spread is not None
    column = decision.spread.at(decision.scale)
    p90 = [float(sorted(decision.spread.regrets[:, c])[269]) for c in (column, decision.spread.at(1.0))]
    assert p90[0] <= p90[1]


def test_sizing_by_regret_turns_no_margin_round() -> None:
    hours = [h for day in DAYS for h in day]
    for quantile in (0.0, 0.5, 0.99, 1.0):
        risk = RiskSettings(regret_quantile=quantile, futures=50)
        decision = decide(book(*market_of_two()), demand(hours), replace(SETTINGS, risk=risk))
        assert decision.fleet.cost >= decision.optimum_cost
        assert all(r.margin is None or r.margin >= 0 for r in refusals(decision, Decimal(0)))


def test_what_a_refused_plan_costs_in_all_is_its_own_cost_where_the_plan_is_sized_by_regret() -> None:
    """Sixteen hours at ten machines and eight at fifteen, by hand: m8 is best with ten at $0.66, and costs that."""
    hours = [160.0] * 16 + [240.0] * 8
    risk = RiskSettings(regret_quantile=1.0, futures=200, level_prior=0.5)
    decision = decide(book(*market_of_two()), demand(hours * 3), replace(SETTINGS, risk=risk))
    assert decision.fleet.cost > decision.optimum_cost
    found = {r.address.rsplit("/", 1)[-1]: r for r in refusals(decision, decision.fleet.cost)}
    other = found["m8.4xlarge"]
    by_hand = 10 * Decimal("0.66") * 8760 + 5 * Decimal("1.10") * 8760 / 3
    assert other.total == pytest.approx(by_hand)
    assert other.margin == pytest.approx(by_hand - decision.optimum_cost)


def test_falls_keep_the_commitments() -> None:
    decision = decide(book(*market_of_two()), demand([160.0] * 24), SETTINGS)
    half = decision.falls[-1]
    assert half.change == -0.5
    assert half.planned.cost == decision.fleet.cost
    assert half.unused_share == pytest.approx(0.5)
    assert half.hindsight.cost < half.planned.cost


def test_rules_refuse_with_words() -> None:
    arm = replace(candidate("m9g.4xlarge"), shape=shape("m9g.4xlarge", arch="arm64"))
    burst = replace(candidate("t9.4xlarge"), shape=shape("t9.4xlarge", category="burstable"))
    flex = replace(candidate("f9.4xlarge"), shape=shape("f9.4xlarge", category="flex"))
    shared = replace(candidate("e9.4xlarge"), shape=shape("e9.4xlarge", category="shared-core"))
    gpu = replace(candidate("g9.4xlarge"), shape=shape("g9.4xlarge", gpus=1))
    kept, refused = find_candidates(book(candidate(), arm, burst, flex, shared, gpu), MARKET, 8760)
    assert [c.shape.name for c in kept] == ["m9.4xlarge"]
    assert {r.address.rsplit("/", 1)[1]: r.reason.split(" ")[0] for r in refused} == {
        "g9.4xlarge": "has",
        "m9g.4xlarge": "architecture",
        "t9.4xlarge": "burstable:",
        "f9.4xlarge": "flex:",
        "e9.4xlarge": "shared",
    }


def test_sustained_use_takes_nothing_off_a_licence() -> None:
    """Windows on Google was told up to a fifth too cheap on demand, and no commitment paid beside that."""
    shipped = load_bundled(providers={Provider.GCP}, regions={"us-central1"}, systems={"linux", "windows"})
    market = Market(Provider.GCP, ("us-central1",), families=("n2d-standard-2",))
    (linux,), (windows,) = (find_candidates(shipped, replace(market, os=os), 8760)[0] for os in ("linux", "windows"))
    assert linux.sustained is not None
    assert windows.sustained is not None
    licence = windows.on_demand.hourly - linux.on_demand.hourly
    month = linux.on_demand.hourly * linux.sustained.full_month_factor + licence
    assert windows.on_demand.hourly * windows.sustained.full_month_factor == pytest.approx(month)
    alone = of_machine_alone(windows, shipped)
    assert (alone.sustained, alone.licence) == (linux.sustained, licence)


def test_a_shared_core_is_allowed_only_where_its_size_is_named_as_well_as_its_family() -> None:
    shared = replace(candidate("e9.4xlarge"), shape=shape("e9.4xlarge", category="shared-core"))
    named = replace(MARKET, families=("e9",), vcpus=16)
    kept, _ = find_candidates(book(shared), named, 8760)
    assert [c.shape.name for c in kept] == ["e9.4xlarge"]
    assert _excluded(shared.shape, named) == ""
    whole = replace(candidate("e9.metal"), shape=shape("e9.metal"))  # metal machines only where they are meant
    for pattern, there in (("e9.*", "e9.4xlarge"), ("*.metal", "e9.metal"), ("e9.metal", "e9.metal")):
        kept, _ = find_candidates(book(shared, whole), replace(named, families=(pattern,)), 8760)
        assert [c.shape.name for c in kept] == [there]
    assert "markets.vcpus" in _excluded(shared.shape, replace(named, vcpus=0))


def test_a_missing_price_is_an_error_where_the_family_is_named_and_a_refusal_elsewhere() -> None:
    given = book(*market_of_two())
    broken = PriceBook(given.types, {k: o for k, o in given.offers.items() if k.instance_type != "m8.4xlarge"})
    kept, refused = find_candidates(broken, MARKET, 8760)
    assert [c.shape.name for c in kept] == ["m9.4xlarge"]
    assert "no such price" in refused[0].reason
    with pytest.raises(EvidenceError, match="no such price") as caught:
        find_candidates(broken, replace(MARKET, families=("m*",)), 8760)
    assert caught.value.exit_code == 9


def test_a_quarantined_commitment_stops_the_plan_that_needs_it() -> None:
    given = book(*market_of_two())
    bad = key("m9.4xlarge", PurchaseOption.CONVERTIBLE, 1, Payment.ALL)
    quarantined = replace(given, quarantine=(QuarantinedPrice("row 7", "the price is zero", bad),))
    with pytest.raises(EvidenceError, match="the price is zero"):
        decide(quarantined, demand(DAYS[0]), replace(SETTINGS, markets=(replace(MARKET, families=("m9",)),)))
    only_reserved = replace(MARKET, families=("m9",), options=(PurchaseOption.RESERVED,))
    assert decide(quarantined, demand(DAYS[0]), replace(SETTINGS, markets=(only_reserved,))).fleet.holdings


def test_a_negotiated_price_runs_out_and_the_list_price_follows() -> None:
    rules = [OverlayRule("deal", Match(option=PurchaseOption.RESERVED), percent=Decimal(10), capacity=4)]
    given = apply_overlay(book(market_of_two()[0]), rules, date(2026, 11, 20))
    decision = decide(given, demand([160.0] * 24), replace(SETTINGS, markets=(replace(MARKET, terms=(1,)),)))
    held = {h.offer.effective_hourly: h.count for h in decision.fleet.holdings}
    assert held == {Decimal("0.54"): 4, Decimal("0.6"): 6}
    assert decision.bound_gap == pytest.approx(0)


def test_an_on_demand_price_for_the_first_few_is_not_counted_on() -> None:
    rules = [OverlayRule("deal", Match(option=PurchaseOption.ON_DEMAND), percent=Decimal(50), capacity=4)]
    given = apply_overlay(book(market_of_two()[0]), rules, date(2026, 11, 20))
    kept, _ = find_candidates(given, MARKET, 8760)
    assert kept[0].on_demand.hourly == Decimal("1.00")


def test_names_the_book_does_not_know() -> None:
    given = book(*market_of_two())
    with pytest.raises(UsageError, match="no prices for region 'moon-1'"):
        find_candidates(given, replace(MARKET, regions=("moon-1",)), 8760)
    with pytest.raises(UsageError, match="no family or type matches 'z9' in us-east-1"):
        find_candidates(given, replace(MARKET, families=("z9",)), 8760)
    with pytest.raises(UsageError, match="no type has 4 vCPUs"):
        decide(given, demand(DAYS[0]), replace(SETTINGS, markets=(replace(MARKET, vcpus=4),)))
    with pytest.raises(EvidenceError, match="no instance type matches"):
        decide(given, demand(DAYS[0]), replace(SETTINGS, markets=(replace(MARKET, architectures=("arm64",)),)))


def test_what_types_cost_together_is_what_a_decision_that_mixes_them_finds() -> None:
    lean = candidate("c9.4xlarge", "0.80", [reserved("c9.4xlarge", "0.50")], memory=32)
    rich = candidate("r9.4xlarge", "1.20", [reserved("r9.4xlarge", "0.75")], memory=128)
    prices, series = book(lean, rich), demand([160.0] * 12 + [320.0] * 12, memory_per_core=5.0)
    settings = PlanSettings(markets=(Market(Provider.AWS, (REGION,)),), mix_min_saving=0.9)
    alone = decide(prices, series, settings)
    assert len(alone.types) == 1
    mixed = decide(prices, series, replace(settings, mix_min_saving=0.0))
    assert len(mixed.types) == 2
    assert of_several_types(alone) == mixed.machines.cost < alone.machines.cost

"""Turning points of plans: a little before them the decision stays, a little beyond it is another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from builders import REGION, book, candidate, demand, rented, reserved

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import Offer, Payment, Provider, PurchaseOption, SustainedUse
from hcloud.model.plans.plan import Flip, Lever
from hcloud.model.workload import Demand
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.flips import plan_flips, sizings
from hcloud.planning.explanations.reasons import refusals
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import serve
from hcloud.planning.settings import Market, Outlook, PlanSettings, RiskSettings

SETTINGS = PlanSettings(markets=(Market(Provider.AWS, (REGION,)),))
STEP = Decimal("0.0005")  # a twentieth of a percent to either side
HOURS = [100.0 + 10 * h for h in range(24)]


def convertible(name: str, hourly: str) -> Offer:
    offer = reserved(name, hourly)
    return replace(offer, key=replace(offer.key, option=PurchaseOption.CONVERTIBLE))


def partial(name: str, hourly: str) -> Offer:
    offer = reserved(name, hourly)
    half = Decimal(hourly) / 2
    return replace(offer, key=replace(offer.key, payment=Payment.PARTIAL), hourly=half, upfront=half * 8760)


def market() -> tuple[Candidate, ...]:
    return (
        candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.60"), partial("m9.4xlarge", "0.63"),
                                         convertible("m9.4xlarge", "0.71"), reserved("m9.4xlarge", "0.45", 3)]),
        candidate("m8.4xlarge", "1.04", [reserved("m8.4xlarge", "0.62")]),
        candidate("m7.4xlarge", "1.30", []),
    )  # fmt: skip


def scaled(prices: PriceBook, factor: Decimal, chosen: Callable[[Offer], bool]) -> PriceBook:
    """The book with some offers' prices multiplied, upfront and hourly alike."""
    offers = {
        k: replace(o, hourly=o.hourly * factor, upfront=o.upfront * factor) if chosen(o) else o
        for k, o in prices.offers.items()
    }
    return replace(prices, offers=offers)


def of_type(name: str) -> Callable[[Offer], bool]:
    return lambda offer: offer.key.instance_type == name


def at_address(address: str) -> Callable[[Offer], bool]:
    return lambda offer: str(offer.key) == address


def bought(decision: FleetDecision) -> list[tuple[str, int]]:
    return sorted((str(h.offer.key), h.count) for h in decision.fleet.holdings)


def either_side(flip: Flip) -> tuple[Decimal, Decimal]:
    """Factors just before and just beyond a turning point."""
    at = flip.at / flip.now
    beyond = STEP if at > 1 else -STEP
    return at * (1 - beyond), at * (1 + beyond)


@pytest.mark.slow
@pytest.mark.parametrize("hours", [HOURS, [160.0] * 12 + [320.0] * 12])
def test_each_refused_type_is_chosen_just_beyond_its_price_and_not_before(hours: list[float]) -> None:
    prices = book(*market())
    decision = decide(prices, demand(hours), SETTINGS)
    found = [r for r in refusals(decision, Decimal(0)) if r.flip is not None and r.flip.lever is Lever.TYPE]
    assert len(found) == 2
    for refusal in found:
        assert refusal.flip is not None
        assert refusal.flip.exact
        name = refusal.address.split("/")[-1]
        before, beyond = (
            decide(scaled(prices, f, of_type(name)), demand(hours), SETTINGS) for f in either_side(refusal.flip)
        )
        assert before.types[0].shape.name == "m9.4xlarge"
        assert beyond.types[0].shape.name == name


@pytest.mark.slow
@pytest.mark.parametrize("hours", [HOURS, [0.0] * 12 + [160.0] * 12])
def test_each_refused_offer_is_bought_just_below_its_price_and_not_above(hours: list[float]) -> None:
    prices = book(market()[0])
    decision = decide(prices, demand(hours), SETTINGS)
    found = [r for r in refusals(decision, Decimal(0)) if r.flip is not None and r.flip.lever is Lever.OFFER]
    assert len(found) >= 3
    for refusal in found:
        assert refusal.flip is not None
        assert refusal.flip.exact
        before, beyond = (
            decide(scaled(prices, f, at_address(refusal.address)), demand(hours), SETTINGS)
            for f in either_side(refusal.flip)
        )
        assert bought(before) == bought(decision)
        assert {address for address, _ in bought(beyond)} == {refusal.address}


def is_commitment(offer: Offer) -> bool:
    return offer.key.option.is_commitment and offer.key.instance_type == "m9.4xlarge"


@pytest.mark.slow
def test_the_number_changes_just_beyond_the_commitments_prices() -> None:
    prices = book(market()[0])
    decision = decide(prices, demand(HOURS), SETTINGS)
    (size,) = sizings(decision)
    flips = [f for f in size.flips if f.lever is Lever.COMMITMENTS]
    assert [f.then for f in flips] == ["fewer are reserved", "more are reserved"]
    for flip in flips:
        before, beyond = (decide(scaled(prices, f, is_commitment), demand(HOURS), SETTINGS) for f in either_side(flip))
        assert bought(before) == bought(decision)
        less = flip.then.startswith("fewer")
        count = sum(n for _, n in bought(beyond))
        assert count < size.count if less else count > size.count


def test_another_type_may_take_over_before_the_number_changes() -> None:
    prices = book(*market())
    decision = decide(prices, demand([160.0] * 24), SETTINGS)
    (size,) = sizings(decision)
    up = next(f for f in size.flips if f.lever is Lever.COMMITMENTS and f.at > f.now)
    assert up.then == "aws/us-east-1/m8.4xlarge is chosen"
    before, beyond = (decide(scaled(prices, f, is_commitment), demand([160.0] * 24), SETTINGS) for f in either_side(up))
    assert bought(before) == bought(decision)
    assert beyond.types[0].shape.name == "m8.4xlarge"


def scaled_demand(hours: list[float], factor: float) -> Demand:
    return demand([h * factor for h in hours])


@pytest.mark.slow
def test_the_number_changes_just_beyond_the_demand() -> None:
    prices = book(market()[0])
    decision = decide(prices, demand(HOURS), SETTINGS)
    (size,) = sizings(decision)
    flips = [f for f in size.flips if f.lever is Lever.DEMAND]
    assert len(flips) == 2
    for flip in flips:
        before, beyond = (decide(prices, scaled_demand(HOURS, float(f)), SETTINGS) for f in either_side(flip))
        assert bought(before) == bought(decision)
        count = sum(n for _, n in bought(beyond))
        assert count < size.count if flip.then.startswith("fewer") else count > size.count


def test_the_reserve_as_it_is_costs_more_than_none_just_below_the_demand() -> None:
    prices = book(market()[0])
    decision = decide(prices, demand(HOURS), SETTINGS)
    flip = next(f for f in plan_flips(decision) if f.lever is Lever.DEMAND)
    for factor, pays in zip(either_side(flip), (True, False), strict=True):
        then = decide(prices, scaled_demand(HOURS, float(factor)), SETTINGS)
        kept = serve(then.forecast, decision.types, decision.fleet.holdings).cost
        rented_all = next(r.fleet.cost for r in then.rivals if r.name == "all on demand")
        assert (kept < rented_all) is pays


def test_nothing_is_reserved_just_below_the_on_demand_price() -> None:
    prices = book(market()[0])
    decision = decide(prices, demand(HOURS), SETTINGS)
    flip = next(f for f in plan_flips(decision) if f.lever is Lever.ON_DEMAND)
    before, beyond = (
        decide(scaled(prices, f, lambda o: o.key.option is PurchaseOption.ON_DEMAND), demand(HOURS), SETTINGS)
        for f in either_side(flip)
    )
    assert bought(before)
    assert not bought(beyond)


@pytest.mark.slow
def test_the_last_instance_gains_and_the_next_would_lose_what_a_replan_says() -> None:
    prices = book(market()[0])
    decision = decide(prices, demand(HOURS), SETTINGS)
    (size,) = sizings(decision)
    fewer, more = (
        decide(prices, demand(HOURS), SETTINGS, (), Given(reserve=size.count + step)).fleet.cost for step in (-1, 1)
    )
    assert abs(fewer - decision.fleet.cost - size.last_gain) <= Decimal("0.01")
    assert abs(decision.fleet.cost - more - size.next_gain) <= Decimal("0.01")
    assert size.last_gain > 0 > size.next_gain
    assert size.next_use < size.pays_above < size.last_use


@pytest.mark.slow
def test_sustained_use_is_counted_in_every_turning_point() -> None:
    rule = SustainedUse("m9", tuple(map(Decimal, ("1", "0.8", "0.6", "0.4"))))
    one = candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.50")], sustained=rule)
    prices = replace(book(one), sustained={(Provider.AWS, "m9"): rule})
    hours = list(np.repeat(HOURS, 30))
    decision = decide(prices, demand(hours), SETTINGS)
    (size,) = sizings(decision)
    for flip in (f for f in size.flips if f.lever is Lever.COMMITMENTS):
        before, beyond = (decide(scaled(prices, f, is_commitment), demand(hours), SETTINGS) for f in either_side(flip))
        assert bought(before) == bought(decision)
        assert bought(beyond) != bought(decision)


def test_types_of_several_shapes_are_said_to_turn_at_the_latest() -> None:
    wide = candidate("r9.4xlarge", "1.40", [reserved("r9.4xlarge", "0.84")], memory=128)
    prices = book(market()[0], wide)
    decision = decide(prices, demand(HOURS), SETTINGS)
    refusal = next(r for r in refusals(decision, Decimal(0)) if r.address.endswith("r9.4xlarge"))
    assert refusal.flip is not None
    assert not refusal.flip.exact
    _, beyond = either_side(refusal.flip)
    then = decide(scaled(prices, beyond, lambda o: o.key.instance_type == "r9.4xlarge"), demand(HOURS), SETTINGS)
    assert "r9.4xlarge" in {c.shape.name for c in then.types}


def test_a_mix_of_types_says_what_one_more_and_one_fewer_would_gain() -> None:
    lean = candidate("c9.4xlarge", "0.80", [reserved("c9.4xlarge", "0.48")], memory=32)
    wide = candidate("r9.4xlarge", "1.30", [reserved("r9.4xlarge", "0.78")], memory=128)
    series = demand(HOURS, memory_per_core=4.0)
    decision = decide(book(lean, wide), series, SETTINGS)
    assert len(decision.types) == 2
    found = sizings(decision)
    assert {s.address.split("/")[2] for s in found} == {"c9.4xlarge", "r9.4xlarge"}
    for size in found:
        assert size.flips == ()
        held = [replace(h, count=h.count - (str(h.offer.key) == size.address)) for h in decision.fleet.holdings]
        fewer = serve(decision.forecast, decision.types, held).cost
        assert abs(fewer - decision.fleet.cost - size.last_gain) <= Decimal("0.01")


def test_a_reserve_that_was_sized_otherwise_has_no_turning_point_by_arithmetic() -> None:
    prices = book(market()[0])
    decision = decide(prices, demand(HOURS), SETTINGS)
    (size,) = sizings(decision, simulated=True)
    assert size.flips == ()
    assert [f.lever for f in plan_flips(decision, simulated=True)] == [Lever.DEMAND]
    settings = replace(SETTINGS, risk=RiskSettings(regret_quantile=0.9, futures=20))
    days = [100.0 + 40 * (h // 24 % 5) + 5 * (h % 24) for h in range(240)]
    other = decide(prices, demand(days), settings)
    if other.scale != 1.0:
        assert all(s.flips == () for s in sizings(other))


@pytest.mark.slow
def test_purchases_spread_over_time_and_terms_inside_the_horizon_have_none() -> None:
    outlook = Outlook(horizon_hours=2 * 8760, growth_per_year=1.0)
    one = candidate("m9.4xlarge", "1.00", [reserved("m9.4xlarge", "0.60")])
    spread = decide(book(one), demand([160.0] * 24), replace(SETTINGS, outlook=outlook))
    assert sizings(spread) == ()
    steady = decide(book(one), demand([160.0] * 24), replace(SETTINGS, outlook=Outlook(horizon_hours=2 * 8760)))
    (size,) = sizings(steady)
    assert (size.count, size.flips) == (10, ())
    assert plan_flips(steady)


@pytest.mark.slow
def test_demand_that_spot_serves_is_no_reason_to_reserve() -> None:
    prices = book(replace(market()[0], spot=rented("m9.4xlarge", "0.3", PurchaseOption.SPOT)))
    settings = replace(SETTINGS, spot_share_of_batch=0.5)
    decision = decide(prices, demand(HOURS), settings)
    assert decision.spot.rentals
    (size,) = sizings(decision)
    for flip in (f for f in size.flips if f.lever is Lever.DEMAND):
        before, beyond = (decide(prices, scaled_demand(HOURS, float(f)), settings) for f in either_side(flip))
        assert bought(before) == bought(decision)
        assert bought(beyond) != bought(decision)
